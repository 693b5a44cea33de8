// Package proc reads what the kernel tells of processes (proc(5)). Some may be another user's, who chooses what stands
// there: their names, arguments, environment, and how much of them there is.
package proc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/clrprof/clrprof/internal/quantity"
)

// maxProcFile bounds how much of a file is read, as the process may be another user's: a list of 65,530 mappings with
// the longest paths, or an environment, can have hundreds of megabytes. The rest is not read.
const maxProcFile = 16 << 20

// File reads a file that the kernel has of a process (proc(5)).
func File(pid int, name string) ([]byte, error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/%s", pid, name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxProcFile))
}

// Children are the processes that the threads of a process have started and that have not ended.
func Children(pid int) (children []int) {
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return nil // it has ended
	}
	for _, task := range tasks {
		list, err := File(pid, "task/"+task.Name()+"/children")
		if _, alive := StartedAt(pid); errors.Is(err, fs.ErrNotExist) && task.Name() == strconv.Itoa(pid) && alive {
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
		if fields := Stat(child); len(fields) > FieldParent && fields[FieldParent] == strconv.Itoa(pid) {
			children = append(children, child)
		}
	}
	return children
}

// Places of fields of /proc/PID/stat after the name, from 0 (proc(5) counts the name as the second).
const (
	FieldState  = 0 // the third
	FieldParent = 4 - 3
	FieldStart  = 22 - 3
)

// Stat are the fields after the name of a process; none: it has ended.
func Stat(pid int) []string {
	stat, err := File(pid, "stat")
	if err != nil {
		return nil
	}
	name := bytes.LastIndex(stat, []byte(") ")) // the process chooses its name, which may have parentheses
	if name < 0 {
		return nil
	}
	return strings.Fields(string(stat[name+2:]))
}

// Arguments are the command line of a process, which it can change; nil: it has none, has ended, or may not be seen.
func Arguments(pid int) []string {
	text, err := File(pid, "cmdline")
	if err != nil || len(text) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
}

// Environment is the environment with which a process was started.
func Environment(pid int) (map[string]string, error) {
	text, err := File(pid, "environ")
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for variable := range strings.SplitSeq(string(text), "\x00") {
		name, value, _ := strings.Cut(variable, "=")
		if _, ok := out[name]; !ok { // the first counts
			out[name] = value
		}
	}
	return out, nil
}

// Status are the fields of /proc/PID/status by their names; nil: the process has ended.
func Status(pid int) map[string][]string {
	text, err := File(pid, "status")
	if err != nil {
		return nil
	}
	out := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok {
			out[name] = strings.Fields(value)
		}
	}
	return out
}

// Inner is the id of a process in its own, innermost namespace of process ids; false: it has ended.
func Inner(pid int) (int, bool) {
	status := Status(pid)
	ids := status["NSpid"] // Linux 4.1 and later
	if len(ids) == 0 {
		return pid, status != nil
	}
	inner, err := strconv.Atoi(ids[len(ids)-1])
	return inner, err == nil
}

// userHertz is what the kernel counts times in proc(5) in, a second.
const userHertz = 100

// StartedAt is when a process was started, rounded down to a hundredth of a second, on the clock that also counts while
// the machine is suspended; false: it has ended.
func StartedAt(pid int) (quantity.Nanoseconds, bool) {
	fields := Stat(pid)
	if len(fields) <= FieldStart {
		return 0, false
	}
	ticks, err := strconv.ParseInt(fields[FieldStart], 10, 64)
	return quantity.Nanoseconds(ticks) * (1_000_000_000 / userHertz), err == nil
}

// Runtime returns the path of the runtime's library out of the list of what a process has mapped. A program in a single
// file has none, but the runtime maps its code twice, unless DOTNET_EnableWriteXorExecute=0 forbids it, and it marks
// whose diagnostics socket is there (10.0.12).
func Runtime(maps []byte) (path string, runtime bool) {
	for line := range bytes.Lines(maps) {
		if _, found, ok := bytes.Cut(line, []byte(" /")); ok {
			name := "/" + string(bytes.TrimSpace(found))
			if filepath.Base(name) == RuntimeLibrary {
				return name, true
			}
			runtime = runtime || strings.HasPrefix(name, "/memfd:doublemapper") ||
				strings.HasPrefix(name, "/memfd:dotnet_ipc_created")
		}
	}
	return "", runtime
}

// RuntimeLibrary is the file of the runtime.
const RuntimeLibrary = "libcoreclr.so"
