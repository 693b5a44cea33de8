package collect

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/clrprof/clrprof/internal/capture/launch"
	"github.com/clrprof/clrprof/internal/capture/proc"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

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
	auxv, err := proc.File(pid, "auxv") // random addresses of this program
	if of, known := others[string(auxv)]; err == nil && known && of != pid {
		return nil, "" // what is mapped, and the environment, are those of the process that it was forked from
	}
	maps, err := proc.File(pid, "maps")
	switch {
	case errors.Is(err, fs.ErrPermission):
		return describe(pid, session.LossUnreadable), ""
	case err != nil || len(maps) == 0:
		return nil, "" // it has ended
	}
	library, isRuntime := proc.Runtime(maps)
	if !isRuntime {
		return nil, ""
	}
	others[string(auxv)] = pid
	environment, err := proc.Environment(pid)
	if err != nil {
		return nil, library
	}
	return describe(pid, whyUnseen(pid, environment)), library
}

// whyUnseen says what keeps a process from being recorded.
func whyUnseen(pid int, environment map[string]string) string {
	if environment["CORECLR_PROFILER"] != launch.ProfilerID {
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
	_, err = os.Stat(root + environment[launch.EnvArenas])
	if _, alive := os.Stat(root + "/"); errors.Is(err, fs.ErrNotExist) && alive == nil {
		return session.LossNoFolder
	}
	return session.LossNotLoaded
}

// describe takes what is to be said of a process while it runs.
func describe(pid int, reason string) *unseen {
	out := &unseen{pid: pid, inner: pid, reason: reason, met: Monotonic()}
	if out.arguments = proc.Arguments(pid); out.arguments == nil {
		return nil // it has ended
	}
	var err error
	if out.exe, err = os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); err != nil {
		out.exe = out.arguments[0]
	}
	if inner, alive := proc.Inner(pid); alive {
		out.inner = inner
	}
	return out
}
