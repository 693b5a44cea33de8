// Package systemevent knows what the operating system does to a thread that can be listed (run --events), by name, and
// whether this machine lets one see it.
//
// Everything is asked of the thread's own getrusage(2), which nobody is refused: no right, no perf event and no file is
// needed. What only tracepoints tell is named here with what is missing.
package systemevent

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/clrprof/clrprof/internal/cpucounter"
	"github.com/clrprof/clrprof/internal/wire"
)

// Kind is something that is listed.
type Kind struct {
	Name     string
	Meaning  string
	Bit      uint32   // wire.EventSched and so on; 0: it is never listed
	Counters []string // that are read for it: names of cpucounter
}

// All returns all kinds.
func All() []Kind {
	return []Kind{
		{Name: "sched", Meaning: "context switches, because the thread waited or another one was given its processor",
			Bit: wire.EventSched},
		{Name: "page-faults", Meaning: "page faults, with the disk and without, in system calls too",
			Bit: wire.EventFaults, Counters: []string{"minor-faults", "major-faults"}},
		{Name: "io", Meaning: "blocks that are read from disks, or are to be written to them",
			Bit: wire.EventIO, Counters: []string{"block-reads", "block-writes"}},
		{Name: "syscalls", Meaning: "system calls"},
		{Name: "migrations", Meaning: "moves of a thread to another processor"},
	}
}

// Find returns the kind with a name.
func Find(name string) (Kind, bool) {
	for _, k := range All() {
		if k.Name == name {
			return k, true
		}
	}
	return Kind{}, false
}

// Files that say what a kernel has, and who may use it.
const (
	ioFile       = "proc/self/io" // proc_pid_io(5): with CONFIG_TASK_IO_ACCOUNTING
	syscallFile  = "sys/kernel/tracing/events/raw_syscalls/sys_enter/id"
	tracingRoot  = "sys/kernel/tracing/events"
	statusFile   = "proc/self/status"
	paranoidFile = "proc/sys/kernel/perf_event_paranoid" // Documentation/admin-guide/sysctl/kernel.rst
)

var (
	errNoIO       = errors.New("the kernel counts no blocks for threads (it was built without CONFIG_TASK_IO_ACCOUNTING)")
	errMigrations = errors.New("the kernel has no number of them that a thread can read where calls begin and end")
	errNotYet     = errors.New("they could be had here, and clrprof does not record them yet")
)

// Check says why a kind cannot be listed here; nil: it can. root is that of the file system.
func (k Kind) Check(root fs.FS) error {
	switch {
	case k.Name == "migrations":
		return errMigrations
	case k.Bit == 0:
		return checkTracepoint(root)
	case k.Bit == wire.EventIO:
		if _, err := fs.Stat(root, ioFile); errors.Is(err, fs.ErrNotExist) {
			return errNoIO
		}
	}
	return nil
}

// checkTracepoint says all that is missing for tracepoints.
func checkTracepoint(root fs.FS) error {
	var missing []string
	_, err := fs.ReadFile(root, syscallFile)
	if _, mounted := fs.Stat(root, tracingRoot); errors.Is(mounted, fs.ErrNotExist) {
		missing = append(missing, "tracefs is not mounted at /sys/kernel/tracing")
	} else if errors.Is(err, fs.ErrPermission) || errors.Is(mounted, fs.ErrPermission) {
		missing = append(missing, "/sys/kernel/tracing cannot be read by this user")
	} else if err != nil {
		missing = append(missing, "the kernel has no tracepoint raw_syscalls (CONFIG_FTRACE_SYSCALLS)")
	}
	level, known := paranoid(root)
	switch {
	case !known:
		missing = append(missing, "the kernel has no perf events")
	case level > -1 && !mayTrace(root):
		missing = append(missing, fmt.Sprintf("perf_event_paranoid is %d: tracepoints need -1, or CAP_PERFMON", level))
	}
	if cpucounter.IsFiltered(root) {
		missing = append(missing, "system calls are filtered (seccomp), which refuses perf_event_open in most containers")
	}
	if len(missing) == 0 {
		return errNotYet
	}
	return errors.New(strings.Join(missing, "; "))
}

func paranoid(root fs.FS) (level int, known bool) {
	text, err := fs.ReadFile(root, paranoidFile)
	if err != nil {
		return 0, false
	}
	level, err = strconv.Atoi(strings.TrimSpace(string(text)))
	return level, err == nil
}

// Capabilities, as bits (linux/capability.h).
const (
	capSysAdmin = 21
	capPerfmon  = 38
)

// mayTrace reports whether this process has CAP_PERFMON, or CAP_SYS_ADMIN, which has it too.
func mayTrace(root fs.FS) bool {
	text, err := fs.ReadFile(root, statusFile)
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(text), "\nCapEff:")
	value, _, _ := strings.Cut(rest, "\n")
	set, err := strconv.ParseUint(strings.TrimSpace(value), 16, 64)
	return err == nil && set&(1<<capSysAdmin|1<<capPerfmon) != 0
}

// Variable is what the agent is told: CLRPROF_EVENTS. limit is how many events of a process are listed.
func Variable(kinds []Kind, limit int) string {
	bits := uint32(0)
	for _, k := range kinds {
		bits |= k.Bit
	}
	if bits == 0 {
		return ""
	}
	return fmt.Sprintf("%d:%d", bits, limit)
}
