package collect

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/capture/arena"
	"github.com/clrprof/clrprof/internal/capture/instrument"
	"github.com/clrprof/clrprof/internal/capture/launch"
	"github.com/clrprof/clrprof/internal/capture/live"
	"github.com/clrprof/clrprof/internal/capture/recording"
	"github.com/clrprof/clrprof/internal/capture/steer"
	"github.com/clrprof/clrprof/internal/files/safefs"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/session/calltrace"
	"github.com/clrprof/clrprof/internal/session/secrets"
	"github.com/clrprof/clrprof/internal/wire"
)

// ErrNoAgent means that no .NET runtime loaded the agent, so there is nothing to report.
var ErrNoAgent = errors.New("no .NET runtime loaded the agent")

// ErrWrite means that the session could not be written. The arenas are kept: see Result.Kept.
var ErrWrite = errors.New("cannot write the session")

// Options tell how to record a command.
type Options struct {
	Launch launch.Options // Directory is filled in
	Output string         // pattern of the session's path: %p process id, %t time, %e name
	Name   string         // for %e
	Force  bool           // replace an existing session
	Filter Filter
	Group  func(memory int64) int64 // the agent's limit where a control group allows so much; nil: it stays what it is
	Facts  map[string]string        // info rows of the session
	// what is kept of the arguments of processes; "": all but secrets
	Arguments  secrets.Keep
	Started    func(pid int)        // the target runs; may be nil
	OnPrepared func(n, of int)      // attached: so many functions of so many were looked at; may be nil
	OnRestored func(n, of int)      // attached: so many functions of so many have their own code again; may be nil
	Opened     func(path string)    // the session is there, and is being recorded; may be nil
	Stop       <-chan struct{}      // closed: stop waiting for the target, which runs on
	Begin      time.Time            // for %t
	OnSlice    func(Progress)       // after each slice; may be nil
	OnEnd      func(percent int)    // the target ended, and so much of what it left is written; may be nil
	Live       *live.Feed           // of the recording; nil: it cannot be watched
	Sample     quantity.Nanoseconds // between samples of what the operating system counts; 0: none
	MarkAt     []instrument.MarkAt  // functions whose calls or returns agents mark, as Launch tells them
	Limits     []instrument.Limit   // functions on which it depends what is recorded, as Launch tells them
	Meters     []string             // names of event sources whose counters are sampled as often
	Steer      Steering             // when something is recorded
	Trace      Trace                // a call trace, as Launch tells agents
	OnBusy     func()               // another process reads the session and keeps it from being written; may be nil
	// the process to attach to does not let objects be followed, and is recorded without; nil: then it is not recorded
	WithoutLifetime func()
	// others do not find the recording of a process that is attached to by its id, and why; may be nil
	OnHidden func(error)
	// the target ended, and the session, which can be read until this returns, has all that names and lines are made
	// from: see Result.Named; may be nil
	OnNamed func(*session.Session)
}

// Progress is how far a recording is.
type Progress struct {
	Age       quantity.Nanoseconds
	Processes int
}

// Result is what came of a recording.
type Result struct {
	Path     string              // of the session
	ExitCode int                 // of the target
	Running  bool                // the target was left running
	coded    bool                // ExitCode is the target's
	Kept     string              // directory of the arenas, if the session could not be written
	Session  *session.Writer     // to be completed, in state Recorded; the caller closes it; nil: there is none
	Unmarked []instrument.MarkAt // of Options.MarkAt: nothing was marked there
	Requests quantity.Count      // that were marked
	Cases    quantity.Count      // of tests that were told apart
	Sums     *recording.Sums     // of what the session has of times; nil: it could not be written
	Named    bool                // after Options.OnNamed nothing came that names and lines are made from
	Unmet    []instrument.Limit  // of Options.Limits: no function was met that is meant
	// functions that have no probes, and processes that can have none: Options.Limits does not limit what they do
	Unlimited quantity.Count
	// events of calls, in a file that is the caller's from now on; nil: there is none
	Trace    *calltrace.Recorded
	TraceErr error // what was wrong with taking them: more may be missing than is counted
	// what was wrong with removing the arenas, of which the session has everything
	Unremoved error
	// what the dynamic loader says, if no runtime loaded the agent because that is impossible
	Loader string
}

// Run starts the command, records it until it ends and hands over its session in state Recorded. The result is valid
// with an error too, as far as it goes: ExitCode is the target's whenever it was started.
func Run(o Options) (Result, error) {
	if err := launch.Check(o.Launch); err != nil {
		return Result{}, err // before anything is made
	}
	directory, err := launch.NewDirectory(launch.Bases())
	if err != nil {
		return Result{}, err
	}
	o.Launch.Directory = directory.Path
	loaded := launch.Load(o.Launch) // while the session's file is tried, which takes as long
	start := Monotonic()
	out, err := prepare(o, o.Begin)
	o.Launch = loaded()
	if err != nil {
		return Result{}, errors.Join(err, directory.Remove())
	}
	traced, err := createTracer(directory, o.Trace)
	if err != nil {
		return Result{}, errors.Join(err, out.discard(), directory.Remove())
	}
	defer traced.close()
	file, err := createControl(directory, o.Steer.first())
	if err != nil {
		return Result{}, errors.Join(err, out.discard(), traced.discard(), directory.Remove())
	}
	defer file.Close()
	target, err := launch.Start(o.Launch)
	if err != nil {
		return Result{}, errors.Join(err, out.discard(), traced.discard(), directory.Remove())
	}
	defer target.Release()
	if o.Started != nil {
		o.Started(target.PID())
	}
	res := Result{}
	if o.Live != nil {
		defer o.Live.Close()
	}
	w, err := out.open(target.PID())
	if err == nil {
		res.Path = w.Path()
		if o.Opened != nil {
			o.Opened(res.Path)
		}
		_ = directory.SetSession(res.Path) // without it others must know the path
		err = record(o, w, directory.Files(), start, file, command{target, directory.Path}, traced, &res)
	} else {
		err = fmt.Errorf("%w: %w", ErrWrite, err)
	}
	if err != nil {
		res.wait(target, o.Stop) // the target is not ours to break
	}
	if errors.Is(err, ErrNoAgent) { // before the directory is removed, where the agent may be
		res.Loader = launch.LoaderSays(o.Launch.Command, target.Agent())
	}
	err = finish(err, w, directory, traced, &res)
	return res, err
}

// subject is what is recorded.
type subject interface {
	Done() <-chan struct{}            // closed when it has ended
	ExitCode() (code int, known bool) // after that
	LetGo(file *arena.Control) error  // the recording ends before it does
	Prepare(r *Recorder)              // before anything is read
}

// command is a target that clrprof has started.
type command struct {
	*launch.Target
	arenas string // the directory in which the agents below it make their arenas
}

// ExitCode is that of the command.
func (c command) ExitCode() (int, bool) { return c.Target.ExitCode(), true }

// LetGo does nothing: the agent learns that nobody reads any more by itself.
func (command) LetGo(*arena.Control) error { return nil }

// Prepare has the recorder look for processes below the command.
func (c command) Prepare(r *Recorder) { r.lookout = newLookout(c.PID(), c.arenas) }

// wait waits for the target to end or for the user not to want to wait any more.
func (res *Result) wait(t *launch.Target, stop <-chan struct{}) {
	select {
	case <-t.Done():
		res.ExitCode = t.ExitCode()
	case <-stop:
		res.Running = true
	}
}

// record records until the target has ended, or the recording has.
func record(o Options, w *session.Writer, files *safefs.Dir, start quantity.Nanoseconds, file *arena.Control,
	t subject, traced *tracer, res *Result) error {
	err := arena.Guard(func() error { return recordFiles(o, w, files, start, file, t, traced, res) })
	if errors.Is(err, arena.ErrShortened) && !errors.Is(err, ErrWrite) {
		err = fmt.Errorf("%w: %w", ErrWrite, err)
	}
	return err
}

func recordFiles(o Options, w *session.Writer, files *safefs.Dir, start quantity.Nanoseconds, file *arena.Control,
	t subject, traced *tracer, res *Result) error {
	w.OnBusy = o.OnBusy
	if err := w.SetInfo(o.Facts); err != nil {
		return fmt.Errorf("%w: %w", ErrWrite, err)
	}
	r := newRecorder(w, files, start, o.Filter)
	t.Prepare(r)
	r.trace(traced)
	r.take(o)
	defer r.Close()
	r.steer(file, o.Steer.first())
	h := newController(o.Steer)
	defer h.close()
	r.samples.endWith(h)
	slept := asleep()
	ended := endOf(t)
	arenas := newWatch(files)
	defer arenas.close()
	r.cutting(arenas.file != nil)
	for age, spent := quantity.Nanoseconds(0), quantity.Nanoseconds(0); ; {
		// only what is synced after the target's end is all there is
		last, done, flush, err := r.next(o, start+recording.Schedule(age, spent), arenas, h, t, res)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrWrite, err)
		}
		now := Monotonic()
		if last {
			now = r.detachedAt(res.end(t, file, h, ended), start+age)
			r.OnEnd(o.OnEnd)
			r.OnNamed(o.OnNamed)
			traced.drainLast()
		}
		spent, err = r.writeSlice(now, last, done || flush != nil)
		if err == nil && last {
			err = r.lastLook(now)
		}
		if err != nil {
			return fmt.Errorf("%w: %w", ErrWrite, err)
		}
		age = now - start
		r.wasCut(now)
		if flush != nil {
			flush.Answer(h.response(r, nil))
		}
		if done {
			r.asked.finish(h, r)
		}
		if last {
			r.cutting(false)
			h.answerLast(r)
		}
		h.look(r, age)
		if o.OnSlice != nil {
			o.OnSlice(Progress{age, r.Processes()})
		}
		if last {
			err := w.SetInfo(suspension(asleep() - slept))
			if err != nil {
				return fmt.Errorf("%w: %w", ErrWrite, err)
			}
			res.Unmarked, res.Unmet, res.Unlimited = r.unmarked(), r.unmet(), r.unlimited()
			res.Requests = r.control.requests
			res.Cases = r.cases
			res.Trace, res.TraceErr = r.traced()
			return closeRecording(w, r, age, res)
		}
	}
}

// followsGroups says whether it matters in which control group a process is, or whether it has meters.
func (o *Options) followsGroups() bool { return o.Group != nil || len(o.Meters) != 0 }

// endOf is when the target ends: what is read and written after that is none of its time.
func endOf(t subject) <-chan quantity.Nanoseconds {
	ended := make(chan quantity.Nanoseconds, 1)
	go func() {
		<-t.Done()
		ended <- Monotonic()
	}()
	return ended
}

// take learns what is wanted beside the arenas.
func (r *Recorder) take(o Options) {
	r.group, r.arguments = o.Group, o.Arguments
	r.watch(o.Live)
	r.sampleEvery(o.Sample)
	r.sampleMeters(o.Meters, o.Sample, len(o.Launch.Meters) > 0)
	r.markAt(o.MarkAt)
	r.control.limits = o.Limits
}

// end returns when the target ended. One that runs on is let go of, and is recorded up to then; it may end meanwhile.
func (res *Result) end(t subject, file *arena.Control, h *controller,
	ended <-chan quantity.Nanoseconds) quantity.Nanoseconds {
	if res.Running {
		if err := t.LetGo(file); err != nil {
			h.say("%v", err)
		}
		select {
		case <-t.Done():
			res.Running = false
			res.ExitCode, res.coded = t.ExitCode()
		default:
			return Monotonic()
		}
	}
	return <-ended
}

// letsGo ends the recording of a process that runs on, if that is what a limit means. What is written before the end is
// then part of the last slice.
func (res *Result) letsGo(h *controller) bool {
	res.Running = res.Running || h.Detach
	return h.Detach
}

// detachedAt is when the recording of a process that runs on has ended, if its agent says so, and otherwise now. It is
// later than what has been written before.
func (r *Recorder) detachedAt(now, written quantity.Nanoseconds) quantity.Nanoseconds {
	for _, name := range r.names {
		h, err := r.processes[name].arena.Header()
		if err == nil && wire.State(h.State) == wire.StateDetached && len(r.names) == 1 {
			return min(now, max(quantity.Nanoseconds(h.EndNS), written+1, r.samples.last+1))
		}
	}
	return now
}

// next is rest, but if the time of the recording ended while a slice was written, nothing else comes first:
// what is written next is the last slice.
func (r *Recorder) next(o Options, end quantity.Nanoseconds, arenas *watch, h *controller, t subject,
	res *Result) (last, done bool, flush *steer.Call, err error) {
	select {
	case <-h.ends.C:
		h.finish(r, markFor, "--for is over")
		return res.letsGo(h), false, nil, nil
	default:
		return r.rest(o, end, arenas, h, t, res)
	}
}

// rest waits until the slice ends or, with it, the recording: the target has ended, or nobody wants to wait for it any
// more. Between slices it only looks at the control groups of processes that appear. done: what agents were asked for
// is done.
func (r *Recorder) rest(o Options, end quantity.Nanoseconds, arenas *watch, h *controller, t subject,
	res *Result) (last, done bool, flush *steer.Call, err error) {
	for l := (looks{}); ; {
		next, look := r.watched.before(l.before(end))
		next, ask := r.meters.before(next)
		next, asked := r.asked.before(next)
		select {
		case <-t.Done():
			res.ExitCode, res.coded = t.ExitCode()
			return true, false, nil, nil
		case <-o.Stop:
			res.Running = true
			return true, false, nil, nil
		case <-h.over:
			res.Running = true
			return true, false, nil, nil
		case <-time.After(time.Duration(next - Monotonic())):
			if asked || ask || look {
				if done, err := r.due(asked, ask); done || err != nil {
					return false, done, nil, err
				}
				continue
			}
			if next == end {
				return false, false, nil, nil
			}
			l.looked(Monotonic())
		case <-r.samples.sampler.arrival():
			if err := r.findArenas(); err != nil {
				return false, false, nil, err
			}
			r.takeSamples(Monotonic(), true, false)
			continue
		case <-r.watched.wake():
			if err := r.look(Monotonic(), true); err != nil {
				return false, false, nil, err
			}
			continue
		case <-arenas.marked:
			if r.wantsCut(h) {
				return false, false, nil, nil
			}
			continue
		case <-arenas.appeared:
			if o.followsGroups() {
				l.appeared(Monotonic())
			}
		case call := <-h.calls:
			if flush, early := h.answer(r, call); early {
				return false, false, flush, nil
			}
			continue
		case <-h.after.C:
			h.begin(r)
			return false, false, nil, nil
		case <-h.ends.C:
			h.finish(r, markFor, "--for is over")
			return res.letsGo(h), false, nil, nil
		case <-h.Toggle:
			h.toggle(r)
			return false, false, nil, nil
		case <-h.Mark:
			r.Mark(markSignal, "", session.MarkSignal)
			return false, false, nil, nil
		}
		if err := r.followGroups(); err != nil {
			return false, false, nil, err
		}
	}
}

// due does what was to be done at a time between two slices: it looks at what agents were asked for, at processes that
// start, or for those who watch. Done: what agents were asked for is done.
func (r *Recorder) due(asked, starts bool) (done bool, err error) {
	switch {
	case asked:
		return r.asked.look(r), nil
	case starts:
		r.meters.look()
		return false, nil
	}
	return false, r.look(Monotonic(), false)
}

// processorTime is what this process has used.
func processorTime() quantity.Nanoseconds { return clockTime(unix.CLOCK_PROCESS_CPUTIME_ID) }

// asleep is for how long the machine has been suspended since its start: CLOCK_BOOTTIME counts that, CLOCK_MONOTONIC
// does not.
func asleep() quantity.Nanoseconds {
	before := clockTime(unix.CLOCK_MONOTONIC)
	boot := clockTime(unix.CLOCK_BOOTTIME)
	return boot - (before + (clockTime(unix.CLOCK_MONOTONIC)-before)/2)
}

// shortestSuspension is more than what two clocks, read one after the other, differ by.
const shortestSuspension quantity.Nanoseconds = 1_000_000

// suspension is the fact that says for how long the machine was suspended during the recording, if it was.
func suspension(slept quantity.Nanoseconds) map[string]string {
	if slept <= shortestSuspension {
		return nil
	}
	return map[string]string{session.KeySuspended: strconv.FormatInt(int64(slept), 10)}
}

func closeRecording(w *session.Writer, r *Recorder, age quantity.Nanoseconds, res *Result) error {
	if why := r.notRecorded(); r.Processes() == 0 && why != "" {
		return fmt.Errorf("%w: %s", ErrNotRecorded, why)
	}
	if r.Processes() == 0 {
		return ErrNoAgent
	}
	if err := r.Snapshots(); err != nil {
		return fmt.Errorf("%w: %w", ErrWrite, err)
	}
	facts := map[string]string{session.KeyDuration: strconv.FormatInt(int64(age), 10)}
	if res.coded {
		facts[session.KeyExitCode] = strconv.Itoa(res.ExitCode)
	}
	err := w.SetInfo(facts)
	if err == nil {
		err = w.SetState(session.Recorded)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrWrite, err)
	}
	res.Sums, res.Named = r.Sums(), r.isStillNamed()
	return nil
}

// finish hands over the session, or closes it; without data there is none, and data that could not be written stays
// where it is. What is written is removed.
func finish(err error, w *session.Writer, d *launch.Directory, traced *tracer, res *Result) error {
	if w != nil && err != nil {
		_ = w.Close() // what is wrong is known
	} else {
		res.Session = w
	}
	switch {
	case errors.Is(err, ErrNoAgent), errors.Is(err, ErrNotRecorded), errors.Is(err, ErrNoAnswer):
		res.Trace = nil
		return errors.Join(err, os.Remove(res.Path), traced.discard(), d.Remove())
	case errors.Is(err, ErrWrite):
		res.Kept = d.Path
		return errors.Join(err, d.Keep())
	}
	if err != nil {
		return errors.Join(err, d.Remove())
	}
	// At once: Ctrl-C ends clrprof from now on. To give back the memory takes as long as to write the names.
	release, err := d.Unlink()
	res.Unremoved = err
	go release()
	return nil
}

// Recovered is what Recover found.
type Recovered struct {
	Running  bool                // a process still runs, which may write to its arena: the directory is kept
	Damaged  int                 // processes whose arenas are damaged: the directory is kept
	Session  *session.Writer     // to be completed, in state Recorded; the caller closes it
	Sums     *recording.Sums     // of what the session has of times
	Trace    *calltrace.Recorded // events of calls, in a file that is the caller's from now on; nil: there is none
	TraceErr error               // why there is none, or what was wrong
}

// Recover writes the session of a run whose own could not be written, from the arenas that it kept. These are removed
// then, unless a process still runs.
//
// Of an arena that is damaged the session has what can be read, and its losses say what cannot; such a directory is
// kept. Check says whether such a session does not contradict itself: of one that does more is left out. Nil: nobody
// asks.
func Recover(directory, output string, force bool, facts map[string]string,
	check func(*session.Session) (bool, error)) (Recovered, error) {
	d, err := launch.OpenDirectory(directory)
	if err != nil {
		return Recovered{}, err
	}
	defer d.Close()
	v := &recovery{directory: d, output: output, facts: facts, check: check, damages: newDamages()}
	out := Recovered{TraceErr: v.openTrace(d.Trace())}
	defer v.tracer.close()
	var r *Recorder
	var w *session.Writer
	for again := true; again; {
		if r, w, again, err = v.try(force); r == nil && err != nil {
			return Recovered{}, err
		}
	}
	out.Damaged = len(v.damages.of)
	if err == nil && out.TraceErr == nil {
		out.Trace, out.TraceErr = r.traced()
	}
	out.Running, out.Sums, out.Session = r.Running(), r.Sums(), w
	if err = errors.Join(err, r.Close()); err != nil {
		return Recovered{}, errors.Join(err, w.Close(), os.Remove(output))
	}
	_ = d.RemoveSocket() // the recording is written; who makes one of that name replaces it
	launch.RemoveAnnounced(launch.Bases())
	if out.Running || out.Damaged > 0 {
		return out, nil
	}
	return out, d.Discard()
}

// firstStart is when the first process of the directory began.
func firstStart(files *safefs.Dir) quantity.Nanoseconds {
	names, _ := files.Names() // the recorder says what is wrong
	first := Monotonic()
	for _, name := range names {
		if s := quantity.Nanoseconds(startOf(name)); s > 0 && strings.HasSuffix(name, launch.ArenaSuffix) {
			first = min(first, s)
		}
	}
	return first
}

// output is where the session goes. Whether it can be written is to be known before the target starts, and its name
// can hold the target's process id, which is known after that; a session that it replaces must not be lost for a
// target that does not start. So the file is made at once, or only tried.
type output struct {
	pattern string          // with only %p left
	made    *session.Writer // nil: it was only tried
	force   bool
}

func prepare(o Options, now time.Time) (output, error) {
	out := output{pattern: expand(o.Output, map[byte]string{'t': now.Format("20060102-150405"), 'e': o.Name}),
		force: o.Force}
	if strings.HasSuffix(out.pattern, "/") {
		return output{}, fmt.Errorf("%w: %s names a directory: name a file, such as %sapp.clrprof", ErrWrite,
			out.pattern, out.pattern)
	}
	if !o.Force && !strings.Contains(out.pattern, "%p") {
		var err error
		if out.made, err = session.Create(out.pattern, false); err != nil {
			return output{}, fmt.Errorf("%w: %w", ErrWrite, err)
		}
		return out, nil
	}
	if err := session.Replaceable(out.pattern); err != nil {
		return output{}, fmt.Errorf("%w: %s: %w", ErrWrite, out.pattern, err)
	}
	folder, err := filepath.Abs(filepath.Dir(out.pattern))
	if err != nil {
		return output{}, fmt.Errorf("%w: %w", ErrWrite, err)
	}
	trial := filepath.Join(folder, fmt.Sprintf(".clrprof-%d-%d.trial", os.Getpid(), now.UnixNano()))
	if err := session.TryCreate(trial); err != nil {
		if why := unix.Errno(0); errors.As(err, &why) { // without the name, which nobody has chosen
			err = why
		}
		return output{}, fmt.Errorf("%w: no file can be made in the directory %s: %w", ErrWrite, folder, err)
	}
	return out, nil
}

func (o output) open(pid int) (*session.Writer, error) {
	path := expand(o.pattern, map[byte]string{'p': strconv.Itoa(pid)})
	if o.made != nil {
		return o.made, nil
	}
	return session.Create(path, o.force)
}

// discard removes the session of a target that was not started.
func (o output) discard() error {
	if o.made == nil {
		return nil
	}
	return errors.Join(o.made.Close(), os.Remove(o.pattern))
}

// expand replaces %x by values[x]; other letters and %% stay for later.
func expand(pattern string, values map[byte]string) string {
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		if pattern[i] == '%' && i+1 < len(pattern) {
			if v, ok := values[pattern[i+1]]; ok {
				b.WriteString(v)
				i++
				continue
			}
		}
		b.WriteByte(pattern[i])
	}
	return b.String()
}
