package cpucounter

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/wire"
)

// tracefs may be at either of these (Documentation/trace/ftrace.rst).
var tracingRoots = []string{"sys/kernel/tracing/events", "sys/kernel/debug/tracing/events"}

// tracepoint is that of all system calls, and idFile in it has its number: perf_event_attr.config.
const (
	tracepoint = "raw_syscalls/sys_enter"
	idFile     = tracepoint + "/id"
	statusFile = "proc/self/status"
)

// Capabilities, as bits (linux/capability.h).
const (
	capSysAdmin = 21
	capPerfmon  = 38
)

// kernelParanoid is the level at which everyone may count what the kernel does (perf_event_open(2)).
const kernelParanoid = 1

// ofKernel reports whether the counter is a perf event of the kernel's own work.
func (c Counter) ofKernel() bool {
	return c.Kind == wire.CounterCalls || c.Kind == wire.CounterMigrations
}

// Here returns the counter as it is to be read on this machine, whose file system root is. An error says all that is
// missing for it.
func (c Counter) Here(root fs.FS) (Counter, error) {
	if !c.ofKernel() {
		return c, nil
	}
	var missing []string
	if c.Type == typeTracepoint {
		id, err := tracepointID(root)
		if err != nil {
			missing = append(missing, err.Error())
		}
		c.Config = id
	}
	level, known := paranoidLevel(root)
	switch {
	case !known:
		missing = append(missing, errNoKernel.Error())
	case level > kernelParanoid && !mayCountKernel(root):
		missing = append(missing, fmt.Sprintf("perf_event_paranoid is %d: the kernel's own events need %d or less, or "+
			"CAP_PERFMON", level, kernelParanoid))
	}
	if isFiltered(root) {
		missing = append(missing, "system calls are filtered (seccomp), and the filter refuses perf_event_open, as "+
			"in most containers")
	}
	if len(missing) > 0 {
		return c, errors.New(strings.Join(missing, "; "))
	}
	return c, nil
}

// tracepointID reads the number of the tracepoint.
func tracepointID(root fs.FS) (uint64, error) {
	mounted := false
	for _, folder := range tracingRoots {
		text, err := fs.ReadFile(root, folder+"/"+idFile)
		if err == nil {
			return strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
		}
		_, there := fs.Stat(root, folder)
		if errors.Is(err, fs.ErrPermission) || errors.Is(there, fs.ErrPermission) {
			return 0, fmt.Errorf("/%s cannot be read by this user", strings.TrimSuffix(folder, "/events"))
		}
		mounted = mounted || there == nil
	}
	if mounted {
		return 0, errors.New("the kernel has no tracepoint raw_syscalls (CONFIG_HAVE_SYSCALL_TRACEPOINTS)")
	}
	return 0, errors.New("tracefs is not mounted at /sys/kernel/tracing")
}

// mayCountKernel reports whether this process has CAP_PERFMON, or CAP_SYS_ADMIN, which has it too.
func mayCountKernel(root fs.FS) bool {
	text, err := fs.ReadFile(root, statusFile)
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(text), "\nCapEff:")
	value, _, _ := strings.Cut(rest, "\n")
	set, err := strconv.ParseUint(strings.TrimSpace(value), 16, 64)
	return err == nil && set&(1<<capSysAdmin|1<<capPerfmon) != 0
}

// checkKernel opens the event of a counter as the agent does (cpu_counters.c), for this thread.
func checkKernel(root fs.FS, c Counter) error {
	c, err := c.Here(root)
	if err != nil {
		return err
	}
	attr := unix.PerfEventAttr{Type: c.Type, Config: c.Config, Size: unix.PERF_ATTR_SIZE_VER3, Sample: 1}
	fd, err := unix.PerfEventOpen(&attr, 0, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return explain(root, c, err, false)
	}
	return unix.Close(fd)
}
