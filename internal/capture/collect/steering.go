package collect

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/clrprof/clrprof/internal/capture/recording"
	"github.com/clrprof/clrprof/internal/capture/steer"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/wire"
)

// Steering says when a recording begins and ends, and by whom it can be changed meanwhile.
type Steering struct {
	Paused   bool                 // nothing is recorded until somebody resumes
	Stopped  bool                 // nothing is recorded until somebody starts
	After    time.Duration        // nothing is recorded until so long after the start; 0: at once
	For      time.Duration        // nothing more is recorded when it has been for so long; 0: without limit
	StopWhen func(Totals) string  // says why nothing more is to be recorded, "": it is; may be nil
	Queue    *steer.Queue         // where others ask; nil: nobody can
	Toggle   <-chan os.Signal     // pauses and resumes all processes
	Mark     <-chan os.Signal     // marks the moment
	Say      func(message string) // tells the user
	Detach   bool                 // when nothing more is to be recorded the recording ends, and the target runs on
	letGo    func()               // with Detach: asks the agent to end it, in any goroutine
}

// Totals is what has been recorded so far.
type Totals struct {
	recording.Totals
	Age quantity.Nanoseconds // of the session
}

// Names of marks that Steering makes.
const (
	markAfter    = "after"
	markFor      = "for"
	markStopWhen = "stop-when"
	markSignal   = "signal"
	markFirst    = "record-first"
)

// controller is a Steering at work.
type controller struct {
	Steering
	calls  <-chan *steer.Call // nil: nobody can ask
	after  *time.Timer
	ends   *time.Timer
	slices int           // that were ended early
	over   chan struct{} // closed when the recording is to end
	left   []*steer.Call // who asked for that
	last   *steer.Report // how the recording was at its end

	deadline quantity.Nanoseconds // when --for is over; 0: it does not run
	letGo    *time.Timer          // asks the agent then, whatever this goroutine does; nil: nobody is to be asked
	asked    chan struct{}        // it has
}

// maxEarlySlices is how many slices end before their time because something was changed or marked, so that spans
// between marks are exact: as many as a day of recording has by itself.
const maxEarlySlices = 400

// first is the level of all processes at first.
func (s Steering) first() steer.Level {
	l := steer.Level{Stopped: s.Stopped}
	if s.Paused || s.After > 0 {
		l.Suspended = 1
	}
	return l
}

func newController(s Steering) *controller {
	h := &controller{Steering: s, after: stopped(), ends: stopped(), over: make(chan struct{})}
	if s.Queue != nil {
		h.calls = s.Queue.Calls()
	}
	switch {
	case s.After > 0:
		h.after.Reset(s.After)
	case s.For > 0 && !s.Paused && !s.Stopped:
		h.limit()
	}
	return h
}

// limit lets the recording end when it has been for as long as it should.
func (h *controller) limit() {
	if h.letGo != nil && !h.letGo.Stop() {
		return // it has just been over
	}
	h.ends.Reset(h.For)
	h.deadline = Monotonic() + quantity.Nanoseconds(h.For)
	if h.Steering.letGo == nil {
		return
	}
	asked := make(chan struct{})
	h.asked = asked
	h.letGo = time.AfterFunc(h.For, func() {
		defer close(asked)
		h.Steering.letGo()
	})
}

// stopped is a timer that does not run.
func stopped() *time.Timer {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return t
}

func (h *controller) close() {
	if h.Queue != nil {
		h.Queue.Close(h.last)
	}
	h.after.Stop()
	h.ends.Stop()
	if h.letGo != nil && !h.letGo.Stop() {
		<-h.asked // it uses the control file
	}
}

func (h *controller) say(format string, args ...any) {
	if h.Say != nil {
		h.Say(fmt.Sprintf(format, args...))
	}
}

// early says whether a slice may end before its time.
func (h *controller) early(r *Recorder) bool {
	h.slices++
	if h.slices == maxEarlySlices {
		r.cutting(false)
	}
	return h.slices <= maxEarlySlices
}

// begin resumes the recording after the time that it was not to record at first.
func (h *controller) begin(r *Recorder) {
	if err := r.Change(steer.Resume, 0, 0); err != nil {
		return // somebody was faster
	}
	r.Mark(markAfter, "", session.MarkRun)
	if h.For > 0 {
		h.limit()
	}
}

// finish stops the recording, for a reason.
func (h *controller) finish(r *Recorder, mark, why string) {
	if r.control.limited {
		return
	}
	r.control.limited = true
	at := Monotonic()
	if mark == markFor && h.Detach { // the agent was asked then
		at = min(at, h.deadline)
	}
	r.rec.Mark(session.Mark{Time: at - r.start, Name: mark, Text: why, Source: session.MarkRun})
	if h.Detach {
		close(h.over)
	} else if err := r.Change(steer.Stop, 0, 0); err == nil {
		h.say("%s: nothing more is recorded, and the command continues", why)
	}
}

// toggle pauses a recording that goes on, and resumes one that does not.
func (h *controller) toggle(r *Recorder) {
	op, word := steer.Suspend, "paused"
	if l := r.rec.Level(); !l.On() {
		op, word = steer.Resume, "recording"
		if l.Suspended <= 0 {
			op = steer.Start
		}
	}
	if err := r.Change(op, 0, 0); err == nil {
		h.say("%s", word)
	}
}

// look ends the recording if the condition is met.
func (h *controller) look(r *Recorder, age quantity.Nanoseconds) {
	if h.StopWhen == nil || r.control.limited {
		return
	}
	if why := h.StopWhen(Totals{r.rec.Totals(), age}); why != "" {
		h.finish(r, markStopWhen, why)
	}
}

// answer answers a call. flush: when what there is has been written; early: a slice is to end now.
func (h *controller) answer(r *Recorder, c *steer.Call) (flush *steer.Call, early bool) {
	var err error
	switch c.Command {
	case steer.Status:
	case steer.Flush:
		return c, true
	case steer.Detach:
		if err = h.detach(r, c); err == nil {
			return nil, false // it is answered at the end
		}
	case steer.Collect, steer.Snapshot:
		if err = r.askInTurn(c); err == nil {
			return nil, false // it is answered when it is done
		}
	case steer.Mark:
		if r.Mark(c.Name, c.Text, session.MarkCtl); h.early(r) {
			return c, true // who marks goes on when the slice has ended
		}
	case steer.NameThread:
		err = r.nameThread(c.PID, c.Thread, c.Name)
	default:
		if err = r.Change(steer.Op(c.Command), c.PID, c.Thread); err == nil {
			early = h.early(r)
			if h.For > 0 && !r.control.limited && r.rec.Level().On() && (h.Paused || h.Stopped) {
				h.limit() // what was to be limited begins now
			}
		}
	}
	c.Answer(h.response(r, err))
	return nil, early
}

// markDetach is the name of the mark of a recording that somebody else has ended.
const markDetach = "detach"

var errNotAttached = errors.New("detach is for clrprof attach: .NET does not release an agent that records from the " +
	"start; stop ends the recording, and the program continues")

// detach ends the recording because somebody asks for it.
func (h *controller) detach(r *Recorder, c *steer.Call) error {
	if !h.Detach {
		return errNotAttached
	}
	h.left = append(h.left, c)
	h.finish(r, markDetach, "clrprof ctl")
	return nil
}

// answerLast tells those who asked for the end that the target is free, and keeps the last status for those who ask
// while the session is being completed.
func (h *controller) answerLast(r *Recorder) {
	last := r.Report()
	h.last = &last
	for _, c := range h.left {
		c.Answer(h.response(r, nil))
	}
	h.left = nil
}

func (h *controller) response(r *Recorder, err error) steer.Response {
	out := steer.Response{Report: r.Report()}
	switch {
	case errors.Is(err, errNoProcess):
		out.Code = steer.CodeProcess
	case errors.Is(err, errNoThread), errors.Is(err, errThreads):
		out.Code = steer.CodeThread
	case err != nil:
		out.Code = steer.CodeRefused
	}
	if err != nil {
		out.Error = err.Error()
	}
	return out
}

// Report says how the recording is. Counters are those of the last sync.
func (r *Recorder) Report() steer.Report {
	r.meetNew()
	now := Monotonic() - r.start
	global := r.rec.Level()
	out := steer.Report{Session: r.rec.Path(), State: steer.StateRecording, PID: os.Getpid(), AgeNS: int64(now),
		PausedNS: int64(r.rec.PausedWithin(0, now)), Global: global,
		Recording: global.On(), Modes: r.Mode(), Slices: r.rec.Slices(), Marks: r.rec.Marks(), Pauses: r.rec.Pauses(),
		Processes: []steer.Process{}, Trace: r.tracer.status()}
	for _, name := range r.names {
		p := r.processes[name]
		h, err := p.arena.Header()
		if err != nil || p.failure != "" {
			continue
		}
		row := steer.Process{PID: p.outer(int(h.PID)), Name: p.name(), Runtime: p.runtimeVersion(h),
			State: "recording", Level: p.rec.Level(),
			PausedNS: int64(p.rec.PausedWithin(0, now)), Threads: p.rec.Threads(),
			Used: int64(h.SharedBytes + h.PrivateBytes), Limit: int64(h.MemoryLimit), ProbesOut: int64(h.ProbesOut),
			Buffers: p.buffers(h)}
		switch {
		case p.over || wire.State(h.State).Over():
			row.State = "ended"
		case p.rec.Paused():
			row.State = "paused"
		}
		counted := p.rec.AllAllocated()
		row.Allocations, row.Bytes = int64(counted.Allocations), int64(counted.Bytes)
		for _, l := range h.Losses {
			row.Lost += int64(l.Events)
		}
		row.Running = p.runningThreads()
		out.Processes = append(out.Processes, row)
	}
	return out
}

// meetNew reads processes of which nothing was read yet: a report in the first tenths of a second would not know what
// they are called, and what they record.
func (r *Recorder) meetNew() {
	if r.findArenas() != nil {
		return // the next slice finds that, too, and says it
	}
	for _, name := range r.names {
		if p := r.processes[name]; p.exe == "" && r.meet(p, Monotonic()) != nil {
			return
		}
	}
}

// runningThreads are the threads that have not ended, for a report.
func (p *process) runningThreads() []steer.Thread {
	out := []steer.Thread{}
	if p.over {
		return out
	}
	for _, t := range p.threads.running() {
		out = append(out, steer.Thread{ID: t.osID, Name: t.row.Name(), Level: p.rec.ThreadLevel(t.number)})
	}
	return out
}
