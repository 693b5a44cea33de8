package collect

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/clrprof/clrprof/internal/capture/steer"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/wire"
)

// Limits of what agents are asked for.
const (
	requestLook quantity.Nanoseconds = 2_000_000      // between two looks at whether it was done
	requestTime quantity.Nanoseconds = 60_000_000_000 // then it is given up: a process that is stopped does nothing
)

// request is something that agents were asked for and have not all done.
type request struct {
	call    *steer.Call // nil: nothing was asked for
	command uint32
	number  uint32
	until   quantity.Nanoseconds
	asked   []requested
}

// requested is a process that was asked, with its counters as they were before.
type requested struct {
	process           *process
	forced, snapshots uint32
	done, ended       bool
}

var (
	errNobody     = errors.New("no process is recorded now")
	errNoLifetime = errors.New("a snapshot needs a recording with --lifetime")
)

// askInTurn asks for a collection or a snapshot when the earlier ones are done: agents do one at a time.
func (r *Recorder) askInTurn(call *steer.Call) error {
	if r.asked.call != nil {
		r.line = append(r.line, call)
		return nil
	}
	return r.ask(call)
}

// askNext asks for what was asked for next. Who does not wait any more is passed over.
func (r *Recorder) askNext(h *controller) {
	for r.asked.call == nil && len(r.line) > 0 {
		call := r.line[0]
		r.line = r.line[1:]
		if call.Gone() {
			continue
		}
		if err := r.ask(call); err != nil {
			call.Answer(h.response(r, err))
		}
	}
}

// ask asks the process with an id, or with 0 all, for a collection or a snapshot.
func (r *Recorder) ask(call *steer.Call) error {
	a := &r.asked
	if err := r.findArenas(); err != nil {
		return err
	}
	if call.PID != 0 && r.running(call.PID) == nil {
		return errNoProcess
	}
	next := request{call: call, command: wire.RequestCollect, until: Monotonic() + requestTime}
	if call.Command == steer.Snapshot {
		next.command = wire.RequestSnapshot
	}
	for _, name := range r.names {
		p := r.processes[name]
		h, err := p.arena.Header()
		if err != nil || !r.alive(int(h.PID)) || wire.State(h.State) != wire.StateRecording ||
			call.PID != 0 && call.PID != p.outer(int(h.PID)) {
			continue // what is wrong with an arena is said when it is read
		}
		if next.command == wire.RequestSnapshot && h.Data&wire.DataLifetime == 0 {
			return errNoLifetime
		}
		next.asked = append(next.asked, requested{process: p, forced: h.Forced, snapshots: h.Snapshots})
	}
	if len(next.asked) == 0 || r.control.file == nil {
		return errNobody
	}
	only := uint32(0)
	if call.PID != 0 {
		only = next.asked[0].process.inner()
	}
	next.number = r.control.file.Ask(next.command, only)
	*a = next
	return nil
}

// before is when to look whether what was asked for is done, if that is before the given time.
func (a *request) before(other quantity.Nanoseconds) (at quantity.Nanoseconds, look bool) {
	if at = Monotonic() + requestLook; a.call == nil || at >= other {
		return other, false
	}
	return at, true
}

// look says whether all processes have done what they were asked for, or ended, or it is given up.
func (a *request) look(r *Recorder) bool {
	waits := false
	for i := range a.asked {
		x := &a.asked[i]
		h, err := x.process.arena.Header()
		switch {
		case x.done || x.ended:
		case err != nil || !r.alive(int(h.PID)) || wire.State(h.State) != wire.StateRecording:
			x.ended = true
		case int32(h.Answered-a.number) >= 0:
			if h, err = x.process.arena.Header(); err == nil { // what was written before the answer is there now
				x.done = h.Forced != x.forced && (a.command == wire.RequestCollect || h.Snapshots != x.snapshots)
			}
			x.ended = !x.done
		default:
			waits = true
		}
	}
	return !waits || Monotonic() >= a.until
}

// finish answers who asked, after what the processes did has been written.
func (a *request) finish(h *controller, r *Recorder) {
	out := h.response(r, a.failure())
	for _, x := range a.asked {
		if x.done {
			out.Report.Done = append(out.Report.Done, x.process.pid)
		}
	}
	slices.Sort(out.Report.Done)
	a.call.Answer(out)
	*a = request{}
	r.askNext(h)
}

// failure says which processes did not do it.
func (a *request) failure() error {
	for _, x := range a.asked {
		switch {
		case x.ended:
			return fmt.Errorf("process %d ended meanwhile, or could not do it", x.process.pid)
		case !x.done:
			return fmt.Errorf("process %d has not done it in %s", x.process.pid, time.Duration(requestTime))
		}
	}
	return nil
}
