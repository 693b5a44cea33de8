package collect

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/clrprof/clrprof/internal/capture/arena"
	"github.com/clrprof/clrprof/internal/capture/launch"
	"github.com/clrprof/clrprof/internal/capture/proc"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/wire"
)

// How long an agent may take. It does it at once unless the process is stopped or the machine is very busy.
const (
	attachTime = 10 * time.Second // for a step of what is to be done to begin,
	attachMost = 6                // so many times, if the process is not stopped: others can have the processors
	detachTime = 60 * time.Second // for a step of what is to be done to end: it waits for threads that are in the agent
	giveUpTime = 10 * time.Second // to take back what was prepared
	attachPoll = time.Millisecond
)

// ErrNoAnswer means that a dormant agent does not do what it was asked for.
var ErrNoAnswer = errors.New("the agent does not answer")

var errTooLong = errors.New("it took too long")

// attached is a process that runs without us, with a dormant agent.
type attached struct {
	*launch.Dormant
	stop       <-chan struct{}
	onRestored func(n, of int)
}

// ExitCode is unknown: only who starts a process learns it.
func (attached) ExitCode() (int, bool) { return 0, false }

// Prepare tells the recorder which process it is.
func (a attached) Prepare(r *Recorder) {
	r.alive = func(int) bool { return a.Alive() }
	r.outer = func(int) int { return a.PID }
	if a.Inner == a.PID { // else its threads have other ids here, too
		r.earlierName = threadNames(a.PID)
	}
}

// threadNames tells the names that the kernel has for threads of a process: the first 15 bytes of what .NET calls
// them. A thread that nobody has named has the name of who started it, in the end that of the process: that is none.
func threadNames(pid int) func(osID uint32) string {
	read := func(task int) string {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/comm", pid, task))
		if err != nil {
			return "" // it has ended
		}
		return strings.TrimSuffix(string(text), "\n")
	}
	own := read(pid)
	return func(osID uint32) string {
		name := read(int(osID))
		if name == own {
			return ""
		}
		return name
	}
}

// LetGo waits until the agent is dormant again, as long as it goes on.
func (a attached) LetGo(file *arena.Control) error {
	file.Ask(wire.RequestDetach, 0)
	p := preparation{Dormant: a.Dormant, tell: a.onRestored}
	for {
		err := a.await(detachTime, nil, func() bool {
			p.look()
			return a.IsWaiting() || a.IsGone()
		})
		if !errors.Is(err, errTooLong) {
			return err
		}
		if !p.goesOn() {
			return fmt.Errorf("process %d has not let go of the recording within %s: %s; it goes on with that, and can be "+
				"recorded again afterwards", a.PID, detachTime, whyLeaving(a.Leaving(), a.isStopped()))
		}
	}
}

// whyLeaving says what the end of a recording waits for.
func whyLeaving(leaving uint32, stopped bool) string {
	switch {
	case stopped:
		return "it is stopped"
	case leaving == wire.LeavingCollection:
		return "a last garbage collection runs in it (--final-gc=false does without)"
	case leaving == wire.LeavingThreads:
		return "its runtime does not stop its threads, as if a debugger did"
	case leaving == wire.LeavingVisits:
		return "a thread of it is in the agent, or waits there for the runtime"
	case leaving == wire.LeavingCode:
		return "its runtime takes back code with probes"
	}
	return "its agent has not begun to"
}

// isStopped says whether the process does nothing, by a signal or a debugger.
func (a attached) isStopped() bool {
	fields := proc.Stat(a.PID)
	return len(fields) > 0 && strings.EqualFold(fields[proc.FieldState], "T")
}

// await waits until something is so, or the process has ended.
func (a attached) await(longest time.Duration, stop <-chan struct{}, is func() bool) error {
	limit, tick := time.NewTimer(longest), time.NewTicker(attachPoll)
	defer limit.Stop()
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-a.Done():
			return nil
		case <-stop:
			return fmt.Errorf("%w: interrupted before process %d had begun", ErrNoAnswer, a.PID)
		case <-limit.C:
			return errTooLong
		}
	}
	return nil
}

// Attach records a process with a dormant agent until it ends or the recording does, and hands over its session in
// state Recorded. Of Options.Launch only what limits the agent, and lifetimes, count.
func Attach(o Options, d *launch.Dormant) (Result, error) {
	o.Steer.Detach = true
	a := attached{d, o.Stop, o.OnRestored}
	directory, err := d.NewDirectory()
	if err != nil {
		return Result{}, err
	}
	out, err := prepare(o, o.Begin)
	if err != nil {
		return Result{}, errors.Join(err, directory.Remove())
	}
	file, err := createControl(directory, o.Steer.first())
	if err != nil {
		return Result{}, errors.Join(err, out.discard(), directory.Remove())
	}
	defer file.Close()
	if o.Live != nil {
		defer o.Live.Close()
	}
	res := Result{}
	w, err := out.open(d.PID)
	if err != nil {
		return res, errors.Join(fmt.Errorf("%w: %w", ErrWrite, err), directory.Remove())
	}
	res.Path = w.Path()
	known, err := launch.Announce(d.PID, res.Path)
	if err == nil {
		defer known.Remove()
	} else if o.OnHidden != nil {
		o.OnHidden(err)
	}
	start := Monotonic()
	if err := a.begin(&o, directory, file); err != nil {
		err = finish(err, w, directory, nil, &res)
		return res, err
	}
	if o.Launch.Time { // what was before was prepared, and not recorded
		start = Monotonic()
	}
	if o.Opened != nil {
		o.Opened(res.Path)
	}
	o.Steer.letGo = func() {
		_ = arena.Guard(func() error { file.Ask(wire.RequestDetach, 0); return nil }) // else LetGo says it
	}
	err = record(o, w, directory.Files(), start, file, a, nil, &res)
	err = finish(err, w, directory, nil, &res)
	return res, err
}

// begin waits until the agent records. If it cannot, the error wraps ErrNotRecorded or ErrNoAnswer. Where it cannot
// follow objects, and need not, the options say so afterwards.
func (a attached) begin(o *Options, directory *launch.Directory, file *arena.Control) error {
	failure, err := a.ask(o, directory, file)
	if err == nil && failure == wire.FailureBackground && o.WithoutLifetime != nil {
		o.WithoutLifetime()
		o.Launch.Lifetime, o.Facts[session.KeyMode] = false, session.ModeMemory
		failure, err = a.ask(o, directory, file)
	}
	if err == nil && failure != wire.FailureNone {
		return a.failed(directory, failure)
	}
	return err
}

// ask asks the agent, and waits for its answer. Who waits in vain gives up, and the agent takes back what it has done.
func (a attached) ask(o *Options, directory *launch.Directory, file *arena.Control) (wire.Failure, error) {
	request, err := a.Ask(directory, o.Launch)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrNotRecorded, err)
	}
	var done bool
	var failure wire.Failure
	p := preparation{Dormant: a.Dormant, tell: o.OnPrepared}
	for waited := 1; ; waited++ {
		err = a.await(attachTime, a.stop, func() bool {
			done, failure = a.Answer(request)
			p.look()
			return done
		})
		if !errors.Is(err, errTooLong) {
			break
		}
		if p.goesOn() {
			waited = 0
		} else if stopped := a.isStopped(); stopped || waited == attachMost {
			err = tooLong(a.PID, stopped)
			break
		}
	}
	if err != nil {
		return failure, a.giveUp(err, file, request, p.now != p.first)
	}
	if err == nil && !done {
		err = fmt.Errorf("%w: process %d has ended", ErrNotRecorded, a.PID)
	}
	return failure, err
}

// tooLong says that an agent did nothing for too long.
func tooLong(pid int, stopped bool) error {
	if stopped {
		return fmt.Errorf("%w: process %d is stopped: it answers when it continues (kill -CONT %d)", ErrNoAnswer, pid, pid)
	}
	return fmt.Errorf("%w: process %d has done nothing that it was asked for within %s: is the machine too busy?",
		ErrNoAnswer, pid, attachMost*attachTime)
}

// preparation follows how an agent prepares a recording, or takes back what it has prepared.
type preparation struct {
	*launch.Dormant
	tell             func(n, of int) // may be nil
	begun            bool
	first, now, seen uint32 // steps
}

// look looks how far it is.
func (p *preparation) look() {
	n, of, steps := p.Prepared()
	if !p.begun {
		p.begun, p.first, p.now, p.seen = true, steps, steps, steps
	}
	if steps != p.now && of != 0 && p.tell != nil {
		p.tell(int(n), int(of))
	}
	p.now = steps
}

// goesOn says whether there was a step since it was asked last.
func (p *preparation) goesOn() bool {
	goesOn := p.now != p.seen
	p.seen = p.now
	return goesOn
}

// giveUp has the agent take back what it has prepared, and waits for that if it has begun. A process that is stopped
// does it when it continues: then nobody has the lock. The error is why, with what is not taken back.
func (a attached) giveUp(why error, file *arena.Control, request uint32, begun bool) error {
	file.Ask(wire.RequestDetach, 0)
	if !begun {
		return why
	}
	err := a.await(giveUpTime, nil, func() bool {
		done, failure := a.Answer(request)
		return done && (failure != wire.FailureNone || a.IsWaiting())
	})
	if err != nil {
		return fmt.Errorf("%w; after %s it has not yet taken back what it had prepared, and goes on with that",
			why, giveUpTime)
	}
	return why
}

// failed says why the agent does not record: by what it left in the directory, or by what it answers.
func (a attached) failed(directory *launch.Directory, failure wire.Failure) error {
	switch failure {
	case wire.FailureNoCollector:
		return fmt.Errorf("%w: process %d cannot see the lock of %s: both must have the same directory", ErrNotRecorded,
			a.PID, directory.Path)
	case wire.FailureBackground:
		return fmt.Errorf("%w: process %d has background garbage collection, and .NET does not report which "+
			"objects survive it: start the process with what clrprof env --lifetime prints, or record with --memory", ErrNotRecorded, a.PID)
	case wire.FailureNoProbes:
		return fmt.Errorf("%w: probes cannot be put into the code of process %d while it runs: that needs .NET 5 "+
			"or later, and hot reload off (no DOTNET_MODIFIABLE_ASSEMBLIES in its environment)",
			ErrNotRecorded, a.PID)
	case wire.FailureVersions:
		return fmt.Errorf("%w: the recordings of calls have left as much code in the memory of process %d as they "+
			"may, a quarter of --memory-limit: restart it, or choose fewer functions by --include", ErrNotRecorded, a.PID)
	case wire.FailureNoSamples:
		return fmt.Errorf("%w: the runtime of process %d does not give the events of sampled allocations: record "+
			"only its large objects, with --sampled=false", ErrNotRecorded, a.PID)
	case wire.FailureNoArena:
		names, _ := directory.Files().Names() // without them the answer says something, too
		slices.Sort(names)
		for _, name := range names {
			if strings.HasSuffix(name, launch.FailedSuffix) {
				return fmt.Errorf("%w: %s", ErrNotRecorded, meaning(failedReason(name)))
			}
		}
	}
	return fmt.Errorf("%w: %s", ErrNotRecorded, meaning(failureReason(failure)))
}
