// Package running finds the .NET processes that this user may see, in containers too, and says what clrprof can record
// of each without starting it again.
//
// Everything that it reads of a process is that process's own word, which it can change at any time: it decides what is
// said of it, and nothing else. No process is changed: what is asked of a runtime is what it is (eventpipe.Describe).
package running

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/capture/eventpipe"
	"github.com/clrprof/clrprof/internal/capture/proc"
	"github.com/clrprof/clrprof/internal/quantity"
)

// Process is a process that runs .NET.
type Process struct {
	PID       int
	Inner     int // its id in its own namespace, which logs of a container have
	UID       int
	User      string // its name here, or the number
	Name      string // of the entry assembly, else of the program
	Arguments []string
	Version   string // of the runtime, "10.0.1"; "" if it cannot be known
	RID       string // "linux-x64"; "" if it cannot be known
	Apart     bool   // it sees other files or process ids than this process, as in a container
	Age       quantity.Nanoseconds
	Resident  quantity.Bytes
	Profilers []Profiler
	State     State
	Abilities [Abilities]Ability

	environment map[string]string
	maps        []byte
	unreachable error // why its runtime cannot be asked for anything
}

// askedAtOnce bounds the runtimes that are asked at the same time: each is one connection for a moment.
const askedAtOnce = 16

// answerTime is how long a runtime may take to say what it is. One that is stopped does not; what its files tell is
// said all the same.
const answerTime = 2 * time.Second

// List returns the processes, in the order of their ids. Hidden reports whether this user may not look into some
// processes: these may run .NET, too.
func List() (found []*Process, hidden bool, err error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, false, err
	}
	var pids []int
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil && pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	all := make([]*Process, len(pids))
	denied := make([]bool, len(pids))
	var wait sync.WaitGroup
	free := make(chan struct{}, askedAtOnce)
	for i, pid := range pids {
		free <- struct{}{}
		wait.Go(func() {
			defer func() { <-free }()
			var err error
			all[i], err = Look(pid)
			denied[i] = errors.Is(err, fs.ErrPermission)
		})
	}
	wait.Wait()
	found = slices.DeleteFunc(all, func(p *Process) bool { return p == nil })
	return found, slices.Contains(denied, true), nil
}

// ErrNone means that a process does not run .NET, or has ended.
var ErrNone = errors.New("it runs no .NET runtime")

// Look looks at one process. The error is ErrNone, or wraps fs.ErrPermission.
func Look(pid int) (*Process, error) {
	begun, alive := proc.StartedAt(pid)
	maps, err := proc.File(pid, "maps")
	if errors.Is(err, fs.ErrPermission) {
		return nil, err
	}
	library, isRuntime := proc.Runtime(maps)
	if !alive || err != nil || !isRuntime {
		return nil, ErrNone
	}
	p := &Process{PID: pid, maps: maps, Arguments: proc.Arguments(pid)}
	p.environment, _ = proc.Environment(pid) // who may read what is mapped may read it
	if p.Inner, alive = proc.Inner(pid); !alive {
		return nil, ErrNone
	}
	p.readStatus()
	p.Age = sinceBoot() - begun
	p.Apart = p.Inner != pid || !isSameFile(pid, "ns/mnt") || !isSameFile(pid, "root")
	info, err := eventpipe.Describe(pid, answerTime)
	p.unreachable = err
	p.Version, p.RID = versionOf(info.Version, library), info.RID
	p.Name = cmp.Or(info.Entry, programOf(p.Arguments))
	p.Profilers = profilersOf(p.environment, maps)
	p.findAgent()
	p.judge()
	if again, alive := proc.StartedAt(pid); !alive || again != begun {
		return nil, ErrNone // what was read may be of another process with its id
	}
	return p, nil
}

// readStatus reads the user and the size of the process (proc(5)).
func (p *Process) readStatus() {
	status := proc.Status(p.PID)
	if ids := status["Uid"]; len(ids) > 1 {
		p.UID, _ = strconv.Atoi(ids[1]) // the effective one; the kernel writes numbers
		p.User = ids[1]
	}
	if u, err := user.LookupId(p.User); err == nil {
		p.User = u.Username
	}
	if size := status["VmRSS"]; len(size) == 2 {
		n, _ := strconv.ParseInt(size[0], 10, 64)
		p.Resident = quantity.Bytes(n) << 10 // in "kB", which are KiB
	}
}

// sinceBoot is now on the clock of proc.StartedAt.
func sinceBoot() quantity.Nanoseconds {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return 0
	}
	return quantity.Nanoseconds(t.Nano())
}

func isSameFile(pid int, name string) bool {
	a, err := os.Stat(filepath.Join("/proc", strconv.Itoa(pid), name))
	b, otherErr := os.Stat(filepath.Join("/proc/self", name))
	return err == nil && otherErr == nil && os.SameFile(a, b)
}

// versionOf is the version that the runtime says, else that of the folder in which it is installed.
func versionOf(said, library string) string {
	if said, _, _ = strings.Cut(said, "+"); said != "" { // +COMMIT
		return said
	}
	if folder := filepath.Dir(library); filepath.Base(filepath.Dir(folder)) == "Microsoft.NETCore.App" {
		return filepath.Base(folder)
	}
	return ""
}

// Major is the runtime's major version, 0 if that is not known.
func (p *Process) Major() int {
	text, _, _ := strings.Cut(p.Version, ".")
	n, _ := strconv.Atoi(text)
	return n
}

// programOf is the name of a program: of the assembly that dotnet runs, else of the file.
func programOf(arguments []string) string {
	if len(arguments) == 0 {
		return ""
	}
	name := filepath.Base(arguments[0])
	if name != "dotnet" {
		return name
	}
	for _, a := range arguments[1:] {
		if strings.HasSuffix(a, ".dll") {
			return strings.TrimSuffix(filepath.Base(a), ".dll")
		}
	}
	return name
}
