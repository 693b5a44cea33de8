package collect

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/clrprof/clrprof/internal/launch"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// maxProcFile bounds what is read of a process that somebody else may have made: 65,530 mappings of the longest paths,
// or an environment, can be hundreds of megabytes. The rest is not read.
const maxProcFile = 16 << 20

// procFile reads a file that the kernel has of a process (proc(5)).
func procFile(pid int, name string) ([]byte, error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/%s", pid, name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxProcFile))
}

// childrenOf are the processes that the threads of a process have started and that have not ended.
func childrenOf(pid int) (children []int) {
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return nil // it has ended
	}
	for _, task := range tasks {
		list, err := procFile(pid, "task/"+task.Name()+"/children")
		if _, alive := startedAt(pid); errors.Is(err, fs.ErrNotExist) && task.Name() == strconv.Itoa(pid) && alive {
			return childrenByParent(pid)
		}
		for _, text := range strings.Fields(string(list)) {
			if child, err := strconv.Atoi(text); err == nil {
				children = append(children, child)
			}
		}
	}
	return children
}

// childrenByParent finds them where the kernel has no such lists (CONFIG_PROC_CHILDREN): among all processes.
func childrenByParent(pid int) (children []int) {
	all, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, entry := range all {
		child, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if fields := statOf(child); len(fields) > statParent && fields[statParent] == strconv.Itoa(pid) {
			children = append(children, child)
		}
	}
	return children
}

// Places of fields of /proc/PID/stat after the name, from 0 (proc(5) counts the name as the second).
const (
	statState  = 0 // the third
	statParent = 4 - 3
	statStart  = 22 - 3
)

// statOf are the fields after the name of a process; none: it has ended.
func statOf(pid int) []string {
	stat, err := procFile(pid, "stat")
	if err != nil {
		return nil
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return strings.Fields(rest)
}

// userHertz is what the kernel counts times in proc(5) in, a second.
const userHertz = 100

// startedAt is when a process was started, rounded down to a hundredth of a second, on the clock that also counts while
// the machine is suspended; false: it has ended.
func startedAt(pid int) (quantity.Nanoseconds, bool) {
	fields := statOf(pid)
	if len(fields) <= statStart {
		return 0, false
	}
	ticks, err := strconv.ParseInt(fields[statStart], 10, 64)
	return quantity.Nanoseconds(ticks) * (second / userHertz), err == nil
}

// coreLibraryPath returns the path of the runtime's library out of the list of what a process has mapped. A program in
// a single file has none, but the runtime maps its code twice.
func coreLibraryPath(maps []byte) (path string, runtime bool) {
	for line := range bytes.Lines(maps) {
		if _, found, ok := bytes.Cut(line, []byte(" /")); ok {
			name := "/" + string(bytes.TrimSpace(found))
			if filepath.Base(name) == runtimeLibrary {
				return name, true
			}
			runtime = runtime || strings.HasPrefix(name, "/memfd:doublemapper")
		}
	}
	return "", runtime
}

// runtimeLibrary is the file of the runtime.
const runtimeLibrary = "libcoreclr.so"

// unseen is a process that runs .NET, or may run it, below the command.
type unseen struct {
	pid, inner int // inner: as its own namespace counts it
	begin      quantity.Nanoseconds
	exe        string
	arguments  []string
	reason     string               // why its agent cannot be there; session.LossNotLoaded: it still may be
	met        quantity.Nanoseconds // when it was seen first, on the Monotonic clock
}

// lookAt says whether a process runs .NET, and why it has no agent. nil: it does not, or has just been forked and may
// start another program. library is where its runtime is. others are the processes that were looked at, by the
// addresses of their programs.
func lookAt(pid int, others map[string]int) (found *unseen, library string) {
	auxv, err := procFile(pid, "auxv") // random addresses of this program
	if of, known := others[string(auxv)]; err == nil && known && of != pid {
		return nil, "" // what is mapped, and the environment, are those of the process that it was forked from
	}
	maps, err := procFile(pid, "maps")
	switch {
	case errors.Is(err, fs.ErrPermission):
		return describe(pid, session.LossUnreadable), ""
	case err != nil || len(maps) == 0:
		return nil, "" // it has ended
	}
	library, isRuntime := coreLibraryPath(maps)
	if !isRuntime {
		return nil, ""
	}
	others[string(auxv)] = pid
	environment, err := procFile(pid, "environ")
	if err != nil {
		return nil, library
	}
	return describe(pid, whyUnseen(pid, strings.Split(string(environment), "\x00"))), library
}

// whyUnseen says what keeps a process from being recorded.
func whyUnseen(pid int, environment []string) string {
	if !slices.Contains(environment, "CORECLR_PROFILER="+launch.ProfilerID) {
		return session.LossNoVariables
	}
	st, err := os.Stat(fmt.Sprintf("/proc/%d", pid))
	if err != nil {
		return session.LossNotLoaded
	}
	if of, ok := st.Sys().(*syscall.Stat_t); ok && int(of.Uid) != os.Geteuid() && of.Uid != 0 {
		return session.LossOtherUser
	}
	root := fmt.Sprintf("/proc/%d/root", pid) // as the process sees it
	_, err = os.Stat(root + launch.ArenasOf(environment))
	if _, alive := os.Stat(root + "/"); errors.Is(err, fs.ErrNotExist) && alive == nil {
		return session.LossNoFolder
	}
	return session.LossNotLoaded
}

// describe takes what is to be said of a process while it runs.
func describe(pid int, reason string) *unseen {
	out := &unseen{pid: pid, inner: pid, reason: reason, met: Monotonic()}
	text, err := procFile(pid, "cmdline")
	if err != nil || len(text) == 0 {
		return nil // it has ended
	}
	out.arguments = strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
	if out.exe, err = os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); err != nil {
		out.exe = out.arguments[0]
	}
	status, _ := procFile(pid, "status") // without it the two ids are taken to be one
	for line := range strings.Lines(string(status)) {
		if ids, ok := strings.CutPrefix(line, "NSpid:"); ok {
			fields := strings.Fields(ids)
			if n, err := strconv.Atoi(fields[len(fields)-1]); err == nil {
				out.inner = n
			}
		}
	}
	return out
}
