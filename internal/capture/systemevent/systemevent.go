// Package systemevent knows what the operating system does to a thread that can be listed (run --events), by name, and
// whether this machine lets one see it.
//
// Context switches, page faults and blocks are asked of the thread's own getrusage(2), which nobody is refused: no
// right, no perf event and no file is needed. System calls and migrations are perf events of the kernel, which need
// rights: what is missing for them is named.
package systemevent

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/clrprof/clrprof/internal/capture/cpucounter"
	"github.com/clrprof/clrprof/internal/wire"
)

// Kind is something that is listed.
type Kind struct {
	Name     string
	Meaning  string
	Bit      uint32   // wire.EventSched and so on
	Counters []string // that are read for it: names of cpucounter
}

// All returns all kinds.
func All() []Kind {
	return []Kind{
		{Name: "sched", Meaning: "context switches, because the thread waited or another one got its processor",
			Bit: wire.EventSched},
		{Name: "page-faults", Meaning: "page faults, with and without the disk, including those in system calls",
			Bit: wire.EventFaults, Counters: []string{"minor-faults", "major-faults"}},
		{Name: "io", Meaning: "blocks that are read from disks, or will be written to them",
			Bit: wire.EventIO, Counters: []string{"block-reads", "block-writes"}},
		{Name: "syscalls", Meaning: "system calls, including those that do not block: their time is then not " +
			"application time",
			Bit: wire.EventCalls, Counters: []string{"system-calls"}},
		{Name: "migrations", Meaning: "moves of a thread to another processor",
			Bit: wire.EventMoves, Counters: []string{"migrations"}},
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

// ioFile is there where the kernel counts blocks for threads (proc_pid_io(5)).
const ioFile = "proc/self/io"

var errNoIO = errors.New("the kernel counts no blocks for threads (it was built without CONFIG_TASK_IO_ACCOUNTING)")

// Check says why a kind cannot be listed here; nil: it can, if its counters can be read (cpucounter.Check). root is
// that of the file system.
func (k Kind) Check(root fs.FS) error {
	if _, err := fs.Stat(root, ioFile); k.Bit == wire.EventIO && errors.Is(err, fs.ErrNotExist) {
		return errNoIO
	}
	for _, name := range k.Counters {
		c, _ := cpucounter.Find(name)
		if _, err := c.Here(root); err != nil {
			return err
		}
	}
	return nil
}

// Variable is what the agent gets: CLRPROF_EVENTS. limit is how many events of a process are listed.
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
