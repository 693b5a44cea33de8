package collect

import (
	"fmt"
	"slices"

	"github.com/clrprof/clrprof/internal/capture/agentbin"
	"github.com/clrprof/clrprof/internal/capture/recording"
	"github.com/clrprof/clrprof/internal/capture/systemevent"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/wire"
)

// acted is what the operating system did, as far as it is written.
type acted struct {
	listed int // events
	called int // rows of system calls
	names  map[uint32]bool
	calls  []session.SystemEventCall // of the events that are about to be written
	fresh  []session.SystemCall
}

// writeSystemEvents writes the system events that are new, after sync: their timings are known. The rows are those that
// were there before the timings were read, and so are what they refer to of the calls.
func (t *times) writeSystemEvents(r *Recorder, p *process, h *wire.Header, found *found) error {
	rows := found.acted
	if h.Data&wire.DataTime == 0 || t.clock.perSecond == 0 || len(rows) == t.acted.listed {
		return nil
	}
	if len(rows) < t.acted.listed {
		return fmt.Errorf("%w: %d system events after %d", wire.ErrCorrupt, len(rows), t.acted.listed)
	}
	out := make([]session.SystemEvent, 0, min(len(rows)-t.acted.listed, recording.RowsAtOnce))
	for ; t.acted.listed < len(rows); t.acted.listed++ {
		called, calls := t.acted.called, len(t.acted.calls)
		row, err := t.systemEvent(r, p, rows[t.acted.listed])
		if err == nil {
			err = t.acted.addCalls(len(out), rows[t.acted.listed], found.calls)
		}
		if p.skips(err) {
			t.acted.calls = t.acted.calls[:calls]
			t.acted.called = called + min(int(rows[t.acted.listed].Named), len(found.calls)-called)
			continue
		}
		if err != nil {
			return fmt.Errorf("system event %d: %w", t.acted.listed, err)
		}
		if out = append(out, row); len(out) == recording.RowsAtOnce {
			if err := t.acted.write(p, out); err != nil {
				return err
			}
			out = out[:0]
		}
	}
	return t.acted.write(p, out)
}

// write writes events with their system calls.
func (a *acted) write(p *process, rows []session.SystemEvent) error {
	if err := p.rec.NameSystemCalls(a.fresh); err != nil {
		return err
	}
	err := p.rec.AddSystemEvents(rows, a.calls)
	a.calls, a.fresh = a.calls[:0], a.fresh[:0]
	return err
}

// addCalls takes the system calls of an event, which is the row with the index.
func (a *acted) addCalls(row int, e wire.SystemEvent, called []wire.SystemCall) error {
	if int64(e.Named) > int64(len(called)-a.called) {
		return fmt.Errorf("%w: system calls %d to %d of %d", wire.ErrCorrupt, a.called, a.called+int(e.Named),
			len(called))
	}
	of, sum := called[a.called:a.called+int(e.Named)], uint64(0)
	a.called += len(of)
	for i, c := range of {
		sum += uint64(c.Count)
		if c.Count == 0 || sum > uint64(e.Calls) ||
			slices.ContainsFunc(of[:i], func(o wire.SystemCall) bool { return o.Number == c.Number }) {
			return fmt.Errorf("%w: %d system calls, of number %d %d", wire.ErrCorrupt, e.Calls, c.Number, c.Count)
		}
		a.calls = append(a.calls, session.SystemEventCall{Event: session.SystemEventID(row), Number: int64(c.Number),
			Calls: quantity.Count(c.Count)})
		if a.names == nil {
			a.names = map[uint32]bool{}
		}
		if !a.names[c.Number] {
			a.names[c.Number] = true
			name := systemevent.CallName(agentbin.MachineHere(), c.Number)
			a.fresh = append(a.fresh, session.SystemCall{Number: int64(c.Number), Name: name})
		}
	}
	return nil
}

// systemEvent returns a row. Its interval is that of the timing itself, or that of the place from which it was called.
func (t *times) systemEvent(r *Recorder, p *process, e wire.SystemEvent) (session.SystemEvent, error) {
	if e.Timing == 0 || int64(e.Timing) > int64(t.taken.Len()) {
		return session.SystemEvent{}, fmt.Errorf("%w: timing %d of %d", wire.ErrCorrupt, e.Timing, t.taken.Len())
	}
	n := t.taken.At(int(e.Timing - 1))
	at := n.own()
	if e.Lead != 0 {
		at = n.lead
	}
	if at == none {
		return session.SystemEvent{}, fmt.Errorf("%w: before a root", wire.ErrCorrupt)
	}
	out := session.SystemEvent{Timing: p.rec.TimingID(int(at)), Voluntary: quantity.Count(e.Voluntary),
		Preempted: quantity.Count(e.Preempted), MinorFaults: quantity.Count(e.MinorFaults),
		MajorFaults: quantity.Count(e.MajorFaults), Reads: quantity.Count(e.Reads), Writes: quantity.Count(e.Writes),
		Calls: quantity.Count(e.Calls), Migrations: quantity.Count(e.Migrations)}
	end, err := t.clock.monotonic(e.End)
	if err != nil {
		return out, err
	}
	out.End = max(0, end-r.start)
	for _, l := range []struct {
		ticks uint64
		to    *quantity.Nanoseconds
	}{{e.Length, &out.Length}, {e.Blocked, &out.Blocked}, {e.Ready, &out.Ready}} {
		if *l.to, err = t.clock.nanoseconds(l.ticks); err != nil {
			return out, err
		}
	}
	return out, nil
}
