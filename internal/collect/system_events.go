package collect

import (
	"fmt"

	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/recording"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/wire"
)

// writeSystemEvents writes the system events that are new, after sync: their timings are known. The rows are those that
// were there before the timings were read.
func (t *times) writeSystemEvents(r *Recorder, p *process, h *wire.Header, rows []wire.SystemEvent) error {
	if h.Data&wire.DataTime == 0 || t.clock.perSecond == 0 || len(rows) == t.listed {
		return nil
	}
	if len(rows) < t.listed {
		return fmt.Errorf("%w: %d system events after %d", wire.ErrCorrupt, len(rows), t.listed)
	}
	out := make([]session.SystemEvent, 0, min(len(rows)-t.listed, recording.RowsAtOnce))
	for ; t.listed < len(rows); t.listed++ {
		row, err := t.systemEvent(r, p, rows[t.listed])
		if err != nil {
			return fmt.Errorf("system event %d: %w", t.listed, err)
		}
		if out = append(out, row); len(out) == recording.RowsAtOnce {
			if err := p.rec.AddSystemEvents(out); err != nil {
				return err
			}
			out = out[:0]
		}
	}
	return p.rec.AddSystemEvents(out)
}

// systemEvent returns a row. Its interval is that of the timing itself, or that of the place from which it was called.
func (t *times) systemEvent(r *Recorder, p *process, e wire.SystemEvent) (session.SystemEvent, error) {
	if e.Timing == 0 || int64(e.Timing) > int64(t.taken.Len()) {
		return session.SystemEvent{}, fmt.Errorf("%w: timing %d of %d", wire.ErrCorrupt, e.Timing, t.taken.Len())
	}
	n := t.taken.At(int(e.Timing - 1))
	at := n.own
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
