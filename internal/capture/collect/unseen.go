package collect

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/capture/proc"
	"github.com/clrprof/clrprof/internal/capture/recording"
	"github.com/clrprof/clrprof/internal/capture/running"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// lookout looks for processes below the command that run .NET and have no agent.
//
// Problem: a program that starts another one with an environment of its own (sudo, su, a service manager, a cleared
// environment) keeps the variables from it by which the runtime finds the agent, so nobody tells of the process. It can
// end after some milliseconds.
//
// Idea: the kernel says when somebody opens the runtime's library (inotify), which each .NET process does when it
// starts; then the processes below the command are looked at. So are they when an agent makes its arena: what its
// runtime is, a process that this one starts most likely has too. What has no such file, a program in a single file, or
// a runtime that nobody knew of, is found by a look now and then. What is seen: processes whose parents, up to the
// command, were alive at some look.
type lookout struct {
	command int
	opened  *os.File // inotify; nil: the kernel cannot tell
	stop    chan struct{}
	ended   chan struct{} // closed after the last look

	// of its goroutine
	below     map[identity]bool // processes below the command; true: what it is is known
	addresses map[string]int
	watched   map[string]bool // libraries

	lock  sync.Mutex
	found map[identity]*unseen // that are not known to be recorded
}

// identity is a process: ids are used again.
type identity struct {
	pid   int
	begin quantity.Nanoseconds
}

// Looks. A process opens the library some 50 ms before its first code runs, and maps it right after that.
var looksAfterOpening = []time.Duration{2 * time.Millisecond, 15 * time.Millisecond, 50 * time.Millisecond}

const (
	lookEvery  = time.Second
	mostUnseen = 1000 // processes that are named; a loss without a name would say no more
	// with the variables and without an arena for so long, its runtime does not load the agent any more
	agentPatience quantity.Nanoseconds = 30 * second
)

// newLookout looks at what is below a command until it is closed. Agents make their arenas in a directory.
func newLookout(command int, arenas string) *lookout {
	l := &lookout{command: command, stop: make(chan struct{}), ended: make(chan struct{}), below: map[identity]bool{},
		addresses: map[string]int{}, watched: map[string]bool{}, found: map[identity]*unseen{}}
	if fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK); err == nil {
		l.opened = os.NewFile(uintptr(fd), "inotify")
		_, _ = unix.InotifyAddWatch(fd, arenas, unix.IN_CREATE) // else the first look at a runtime comes later
	}
	for _, path := range running.Installed() {
		l.watch(path)
	}
	openings := make(chan struct{}, 1)
	if l.opened != nil {
		go func() {
			for buffer := make([]byte, 4096); ; {
				if _, err := l.opened.Read(buffer); err != nil {
					return
				}
				tell(openings)
			}
		}()
	}
	go l.run(openings)
	return l
}

func (l *lookout) watch(path string) {
	const most = 100
	if path == "" || l.opened == nil || l.watched[path] || len(l.watched) >= most {
		return
	}
	l.watched[path] = true
	_, _ = unix.InotifyAddWatch(int(l.opened.Fd()), path, unix.IN_OPEN) // else a look now and then finds it
}

func (l *lookout) run(openings <-chan struct{}) {
	defer close(l.ended)
	var after []time.Duration
	for {
		l.look()
		wait := lookEvery
		if len(after) > 0 {
			wait, after = after[0], after[1:]
		}
		select {
		case <-l.stop:
			l.look()
			return
		case <-openings:
			after = looksAfterOpening[1:]
			select {
			case <-l.stop:
			case <-time.After(looksAfterOpening[0]):
			}
		case <-time.After(wait):
		}
	}
}

// look looks at all processes below the command.
func (l *lookout) look() {
	next := []int{l.command}
	for _, id := range slices.SortedFunc(maps.Keys(l.below), func(a, b identity) int { return a.pid - b.pid }) {
		if begin, alive := proc.StartedAt(id.pid); !alive || begin != id.begin {
			delete(l.below, id)
			continue
		}
		next = append(next, id.pid)
	}
	met := map[int]bool{}
	for len(next) > 0 {
		pid := next[0]
		next = next[1:]
		begin, alive := proc.StartedAt(pid)
		if !alive || met[pid] {
			continue
		}
		met[pid] = true
		id := identity{pid, begin}
		if !l.below[id] {
			l.below[id] = l.meet(id)
		}
		next = append(next, proc.Children(pid)...)
	}
	maps.DeleteFunc(l.addresses, func(_ string, pid int) bool { return !met[pid] })
}

// meet says whether it is known what a process is.
func (l *lookout) meet(id identity) bool {
	found, library := lookAt(id.pid, l.addresses)
	// A path of another user's can lead into a file system of their own, which need not answer.
	if found == nil || found.reason != session.LossOtherUser {
		l.watch(library)
	}
	if found == nil {
		return false
	}
	l.lock.Lock()
	defer l.lock.Unlock()
	if len(l.found) < mostUnseen {
		found.begin = id.begin
		l.found[id] = found
	}
	return found.reason != session.LossUnreadable // it may start another program yet, which can be read
}

// closePatience is how long a look may last that is under way when the looks end: what is read of a process, such as
// its arguments, can lie in memory that need not answer.
const closePatience = 5 * time.Second

// close ends the looks.
func (l *lookout) close() {
	if l == nil {
		return
	}
	close(l.stop)
	select {
	case <-l.ended:
	case <-time.After(closePatience):
	}
	if l.opened != nil {
		_ = l.opened.Close()
	}
}

// take returns the processes that are not recorded, once each; recorded says which are. Last: nothing follows.
func (l *lookout) take(recorded func(*unseen) bool, last bool) (out []*unseen) {
	if l == nil {
		return nil
	}
	l.lock.Lock()
	defer l.lock.Unlock()
	for id, u := range l.found {
		waits := u.reason == session.LossUnreadable ||
			u.reason != session.LossNoVariables && Monotonic() < u.met+agentPatience
		switch {
		case recorded(u):
			delete(l.found, id)
		case last || !waits:
			out = append(out, u)
			delete(l.found, id)
		}
	}
	slices.SortFunc(out, func(a, b *unseen) int {
		return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.pid, b.pid))
	})
	return out
}

// addUnseen adds the processes below the command that run .NET and are not recorded.
func (r *Recorder) addUnseen(last bool) error {
	for _, u := range r.lookout.take(r.hasProcess, last) {
		arguments, err := json.Marshal(r.arguments.Of(u.arguments))
		if err != nil {
			return fmt.Errorf("encode arguments: %w", err)
		}
		begin := max(0, u.begin-asleep()-clockOffset()-r.start)
		name := fmt.Sprintf("%d-%x (unseen)", u.pid, u.begin) // no file has it
		r.failed[name] = &failed{rec: r.rec.NewProcess(), reason: u.reason, row: session.Process{PID: int64(u.pid),
			Name: recording.ProgramName(u.exe, u.arguments), Path: u.exe, Arguments: string(arguments),
			Begin: begin, End: begin, EndState: session.EndRunning}}
		r.failures = append(r.failures, name)
	}
	return nil
}

// hasProcess says whether a process is in the session already.
func (r *Recorder) hasProcess(u *unseen) bool {
	for _, p := range r.processes {
		if p.pid == u.pid || p.inner() == uint32(u.inner) && u.reason != session.LossNoVariables {
			return true
		}
	}
	for _, f := range r.failed {
		if int(f.row.PID) == u.pid {
			return true
		}
	}
	return false
}
