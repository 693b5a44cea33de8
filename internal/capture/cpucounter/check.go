package cpucounter

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/wire"
)

// Why a counter cannot be read.
var (
	errNoPMU      = errors.New("there are no counters of the processor here")
	errNotCounted = errors.New("this processor does not count it")
	errFiltered   = errors.New("perf_event_open is refused by a system call filter (seccomp), as in most containers")
	errNoKernel   = errors.New("the kernel has no perf events")
	errTooMany    = errors.New("the processor cannot count these at once: ask for fewer")
)

// paranoidFile says who may use perf events (Documentation/admin-guide/sysctl/kernel.rst).
const paranoidFile = "proc/sys/kernel/perf_event_paranoid"

// Check opens counters together, as the agent does, for this thread. An error says which cannot be read here, and why.
// root is that of the file system.
func Check(root fs.FS, list []Counter) error {
	leader := -1
	var files []int
	defer func() {
		for _, fd := range files {
			_ = unix.Close(fd)
		}
	}()
	for _, c := range list {
		if c.ofKernel() {
			if err := checkKernel(root, c); err != nil {
				return fmt.Errorf("%s: %w", c.Name, err)
			}
		}
		if c.Kind != wire.CounterPerf {
			continue
		}
		fd, err := open(c, leader)
		if err != nil {
			return fmt.Errorf("%s: %w", c.Name, explain(root, c, err, leader != -1))
		}
		if files = append(files, fd); leader == -1 {
			leader = fd
		}
	}
	return nil
}

// open opens the perf event of a counter. The attributes are those of the agent (cpu_counters.c).
func open(c Counter, leader int) (int, error) {
	attr := unix.PerfEventAttr{Type: c.Type, Config: c.Config, Size: unix.PERF_ATTR_SIZE_VER3,
		Bits:        unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv,
		Read_format: unix.PERF_FORMAT_GROUP | unix.PERF_FORMAT_TOTAL_TIME_ENABLED | unix.PERF_FORMAT_TOTAL_TIME_RUNNING}
	return unix.PerfEventOpen(&attr, 0, -1, leader, unix.PERF_FLAG_FD_CLOEXEC)
}

// explain says what an error of perf_event_open means.
func explain(root fs.FS, c Counter, err error, grouped bool) error {
	switch {
	case errors.Is(err, unix.ENOSYS):
		return errNoKernel
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		if level := paranoid(root); level > mostParanoid {
			return fmt.Errorf("perf_event_paranoid is %d: only root may read it, until it is %d or less", level, mostParanoid)
		}
		if isFiltered(root) {
			return errFiltered
		}
	case c.Hardware && !hasHardware(root):
		return errNoPMU
	case errors.Is(err, unix.EINVAL) && grouped:
		return errTooMany
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.EINVAL), errors.Is(err, unix.EOPNOTSUPP),
		errors.Is(err, unix.ENODEV):
		return errNotCounted
	case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE):
		return fmt.Errorf("there are too many open files (ulimit -n): %w", err)
	}
	return fmt.Errorf("the kernel refuses it: %w", err)
}

// mostParanoid is the level at which everyone may still count in user mode.
const mostParanoid = 2

// paranoid is who may use perf events; 0 if it is not known.
func paranoid(root fs.FS) int {
	level, _ := paranoidLevel(root)
	return level
}

// paranoidLevel is the same; not known where the kernel has no perf events.
func paranoidLevel(root fs.FS) (level int, known bool) {
	text, err := fs.ReadFile(root, paranoidFile)
	if err != nil {
		return 0, false
	}
	level, err = strconv.Atoi(strings.TrimSpace(string(text)))
	return level, err == nil
}

// isFiltered reports whether system calls of this process are filtered: "Seccomp:" is 2 then (proc_pid_status(5)).
func isFiltered(root fs.FS) bool {
	text, err := fs.ReadFile(root, "proc/self/status")
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(text), "\nSeccomp:")
	value, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(value) == "2"
}

// pmuFolder has a folder for each unit that counts; those of processors are cpu, or cpu_core and cpu_atom, or end in
// _pmu… on other machines.
const pmuFolder = "sys/bus/event_source/devices"

// hasHardware reports whether the kernel has found counters of the processor.
func hasHardware(root fs.FS) bool {
	for _, pattern := range []string{"cpu", "cpu_*", "armv*"} {
		if found, err := fs.Glob(root, path.Join(pmuFolder, pattern)); err == nil && len(found) > 0 {
			return true
		}
	}
	return false
}

// Hardware says in one line why there are no counters of the processor; "" if there are.
func Hardware(root fs.FS) string {
	if hasHardware(root) {
		return ""
	}
	return errNoPMU.Error() + ": most virtual machines have none"
}
