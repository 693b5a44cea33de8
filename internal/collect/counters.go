package collect

import (
	"fmt"

	"github.com/clrprof/clrprof/internal/arena"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/wire"
)

// counters of a timing; times in ticks.
type counters struct {
	calls, ended, made uint64
	elapsed, waited    uint64
	waits              wire.Waits
}

// count adds up the counters of the arena by the session's timings, and notes the extremes of those whose calls ended
// since the last sync, or in the last one of all.
func (t *times) count(p *process, rows []wire.Timing, last bool) error {
	clear(t.sums)
	if n := len(t.rows) - len(t.sums); n > 0 {
		t.sums = append(t.sums, make([]counters, n)...)
	}
	t.singles = map[int]*session.Extremes{}
	waits := waitsOf{arena: p.arena, rows: p.arena.Waits()}
	for i := range t.taken {
		x := arena.Timing(&rows[i])
		n := &t.taken[i]
		tail, lead, err := waits.counters(&x, n.folded)
		if err == nil {
			err = t.sums[n.own].add(&tail)
		}
		if err == nil && n.lead >= 0 {
			err = t.sums[n.lead].add(&lead)
		}
		if err != nil {
			return fmt.Errorf("timing %d: %w", i+1, err)
		}
	}
	for i := range t.taken {
		own := int(t.taken[i].own)
		if last || t.sums[own].ended != uint64(t.rows[own].counted.Ended) {
			x := arena.Timing(&rows[i])
			if err := t.widen(own, &x); err != nil {
				return fmt.Errorf("timing %d: %w", i+1, err)
			}
		}
	}
	return nil
}

// waitsOf reads the waits of timings, which can be newer than the part of the table that was seen.
type waitsOf struct {
	arena *arena.Arena
	rows  []wire.Waits
}

func (w *waitsOf) read(number uint32) (wire.Waits, error) {
	if number == 0 {
		return wire.Waits{}, nil
	}
	if int64(number) > int64(len(w.rows)) {
		w.rows = w.arena.Waits()
	}
	if int64(number) > int64(len(w.rows)) {
		return wire.Waits{}, fmt.Errorf("%w: waits %d of %d", wire.ErrCorrupt, number, len(w.rows))
	}
	return arena.Waits(&w.rows[number-1]), nil
}

// counters returns what a timing counts for its function itself and what for the call site. A thread may be between the
// additions to two counters, or have been killed there: what is part of another is cut to it.
// Folded calls are those of a function below (truncated).
func (w *waitsOf) counters(x *wire.Timing, folded bool) (tail, lead counters, err error) {
	tail = counters{calls: x.Calls, ended: min(x.Ended, x.Calls), made: x.Folded, elapsed: x.TailElapsed, waited: min(x.TailWaited, x.TailElapsed)}
	lead = counters{elapsed: x.LeadElapsed, waited: min(x.LeadWaited, x.LeadElapsed)}
	if !folded { // else the caller's Folded counts it
		lead.made = x.Calls
	}
	if x.Parent == 0 && x.LeadElapsed != 0 {
		return tail, lead, fmt.Errorf("%w: time before a root", wire.ErrCorrupt)
	}
	if tail.waits, err = w.read(x.TailWaits); err == nil {
		lead.waits, err = w.read(x.LeadWaits)
	}
	tail.waits.Intervals = min(tail.waits.Intervals, tail.ended+tail.made)
	lead.waits.Intervals = min(lead.waits.Intervals, lead.made)
	return tail, lead, err
}

// add adds counters, all of which are bounded.
func (c *counters) add(o *counters) error {
	for _, x := range [...]uint64{o.calls, o.made, o.elapsed, o.waits.Voluntary, o.waits.Preempted, o.waits.Faults, o.waits.Reads, o.waits.OffNS} {
		if x > maxCounter {
			return fmt.Errorf("%w: a counter of %d", wire.ErrCorrupt, x)
		}
	}
	c.calls += o.calls
	c.ended += o.ended
	c.made += o.made
	c.elapsed += o.elapsed
	c.waited += o.waited
	w := &c.waits
	w.Intervals += o.waits.Intervals
	w.Voluntary += o.waits.Voluntary
	w.Preempted += o.waits.Preempted
	w.Faults += o.waits.Faults
	w.Reads += o.waits.Reads
	w.OffNS += o.waits.OffNS
	if max(c.calls, c.made, c.elapsed, w.Voluntary, w.Preempted, w.Faults, w.Reads, w.OffNS) > maxCounter {
		return fmt.Errorf("%w: counters of %d calls, %d ticks", wire.ErrCorrupt, max(c.calls, c.made), c.elapsed)
	}
	return nil
}

// widen notes the extremes of a timing's calls. Those of the first call to end are noted after it is counted.
func (t *times) widen(row int, x *wire.Timing) error {
	if x.Ended == 0 {
		return nil
	}
	for i := range x.Min {
		if x.Min[i] > x.Max[i] {
			return nil
		}
	}
	var e session.Extremes
	have := t.singles[row]
	for i, to := range ranges(&e) {
		low, err := t.clock.nanoseconds(x.Min[i])
		if err != nil {
			return err
		}
		high, err := t.clock.nanoseconds(x.Max[i])
		if err != nil {
			return err
		}
		*to = session.Range{Min: low, Max: high}
	}
	if have == nil {
		t.singles[row] = &e
		return nil
	}
	more := ranges(&e)
	for i, to := range ranges(have) {
		to.Min, to.Max = min(to.Min, more[i].Min), max(to.Max, more[i].Max)
	}
	return nil
}

// ranges are in the order of wire.Timing.Min.
func ranges(e *session.Extremes) [4]*session.Range {
	return [4]*session.Range{&e.ElapsedInclusive, &e.ElapsedExclusive, &e.ApplicationInclusive, &e.ApplicationExclusive}
}

// value converts counters.
func (t *times) value(c *counters) (session.TimingValue, error) {
	elapsed, err := t.clock.nanoseconds(c.elapsed)
	if err != nil {
		return session.TimingValue{}, err
	}
	waited, err := t.clock.nanoseconds(c.waited)
	if err != nil {
		return session.TimingValue{}, err
	}
	return session.TimingValue{Calls: quantity.Count(c.calls), Ended: quantity.Count(c.ended), Made: quantity.Count(c.made),
		Elapsed: elapsed, Waited: waited, Waits: quantity.Waits{Intervals: quantity.Count(c.waits.Intervals),
			Voluntary: quantity.Count(c.waits.Voluntary), Preempted: quantity.Count(c.waits.Preempted), Faults: quantity.Count(c.waits.Faults),
			Reads: quantity.Count(c.waits.Reads), OffCPU: quantity.Nanoseconds(c.waits.OffNS)}}, nil
}

func (t *times) writeExtremes(r *Recorder) error {
	var rows []session.TimingExtreme
	for i := range t.rows {
		if e := t.singles[i]; e != nil {
			rows = append(rows, session.TimingExtreme{Timing: t.rows[i].id, Extremes: *e})
		}
	}
	t.singles = nil
	return r.w.ReplaceTimingExtremes(rows)
}
