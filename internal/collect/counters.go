package collect

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/clrprof/clrprof/internal/arena"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/recording"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/wire"
)

// ended is a timing of the arena of which calls ended, and its row.
type ended struct{ own, taken int32 }

// count adds up the counters of the arena by the session's timings, and notes those whose calls ended since the last
// sync, or in the last one all.
func (t *times) count(r *Recorder, p *process, rows []wire.Timing, last bool) error {
	t.sums.reset(t.rows.Len())
	for i := range t.waits {
		t.waits[i] = wire.Waits{}
	}
	t.clearFolded()
	read := waitsOf{arena: p.arena, rows: p.arena.Waits()}
	for i := range t.taken.Len() {
		r.report(partCount, i, t.taken.Len())
		x := arena.Timing(&rows[i])
		n := t.taken.At(i)
		err := t.addTail(&read, int(n.own), &x)
		if err == nil && n.lead != none {
			err = t.addLead(&read, int(n.lead), &x, n.folded)
		}
		if err == nil && x.Parent == 0 && x.LeadElapsed != 0 {
			err = fmt.Errorf("%w: time before a root", wire.ErrCorrupt)
		}
		if err == nil {
			err = t.addFolded(p, n, x.Inclusive)
		}
		if err != nil {
			return fmt.Errorf("timing %d: %w", i+1, err)
		}
	}
	return t.findEnded(p, rows, last)
}

// findEnded notes the timings of those rows of which calls ended since the last sync. In the last one also of those of
// which other extremes were written than there are: they are noted after the call is counted.
func (t *times) findEnded(p *process, rows []wire.Timing, last bool) error {
	for t.noted.Len() < t.taken.Len() {
		t.noted.Add(0)
	}
	changed := make([]bool, t.rows.Len())
	for i := range t.taken.Len() {
		own := t.taken.At(i).own
		_, ended := p.rec.Calls(int(own))
		changed[own] = changed[own] || t.sums.of(int(own)).ended != uint64(ended)
		if last && !changed[own] && t.sums.of(int(own)).ended != 0 {
			x := arena.Timing(&rows[i])
			acted, err := actedOf(p, &x)
			if err != nil {
				return fmt.Errorf("timing %d: %w", i+1, err)
			}
			changed[own] = digest(&x, &acted) != *t.noted.At(i)
		}
	}
	for i := range t.taken.Len() {
		if own := t.taken.At(i).own; changed[own] {
			t.ended = append(t.ended, ended{own, int32(i)})
		}
	}
	return nil
}

// digest is a number that is another one when one of the extremes of a timing is, and hardly ever the same when several
// are.
func digest(x *wire.Timing, acted *wire.Acted) uint64 {
	const prime = 1099511628211 // that of FNV-1a; each step is reversible
	h := uint64(14695981039346656037)
	for _, list := range [][]uint64{x.Min[:], x.Max[:], acted.Min[:], acted.Max[:], {min(x.Ended, 1)}} {
		for _, v := range list {
			h = (h ^ v) * prime
		}
	}
	return h
}

// actedOf returns the extremes of a timing's calls in which the operating system acted, if there are any.
func actedOf(p *process, x *wire.Timing) (wire.Acted, error) {
	if x.Acted == 0 {
		return wire.Acted{}, nil
	}
	rows := p.arena.Acted()
	if int64(x.Acted) > int64(len(rows)) {
		return wire.Acted{}, fmt.Errorf("%w: acted %d of %d", wire.ErrCorrupt, x.Acted, len(rows))
	}
	return arena.Acted(&rows[x.Acted-1]), nil
}

// addTail adds what a timing counts for its function itself. A thread may be between the additions to two counters, or
// have been killed there: what is part of another is cut to it.
func (t *times) addTail(read *waitsOf, row int, x *wire.Timing) error {
	c := counters{calls: x.Calls, ended: min(x.Ended, x.Calls), made: x.Folded, elapsed: x.TailElapsed,
		waited: min(x.TailWaited, x.TailElapsed)}
	if err := t.sums.add(row, &c); err != nil {
		return err
	}
	return t.addWaits(read, row, x.TailWaits, c.ended+c.made)
}

// addLead adds what a timing counts for the call site. Folded calls are those of a function below (truncated).
func (t *times) addLead(read *waitsOf, row int, x *wire.Timing, folded bool) error {
	c := counters{elapsed: x.LeadElapsed, waited: min(x.LeadWaited, x.LeadElapsed)}
	if !folded { // else the caller's Folded counts it
		c.made = x.Calls
	}
	if err := t.sums.add(row, &c); err != nil {
		return err
	}
	return t.addWaits(read, row, x.LeadWaits, c.made)
}

// addWaits adds the waits with the given number, which are in so many intervals at most.
func (t *times) addWaits(read *waitsOf, row int, number uint32, intervals uint64) error {
	if number == 0 {
		return nil
	}
	w, err := read.at(number)
	if err != nil {
		return err
	}
	w.Intervals = min(w.Intervals, intervals)
	at := &t.rows.At(row).waits
	if *at == none {
		*at = int32(len(t.waits))
		t.waits = append(t.waits, wire.Waits{})
	}
	return addWaits(&t.waits[*at], &w)
}

// waitsOf reads the waits of timings, which can be newer than the part of the table that was seen.
type waitsOf struct {
	arena *arena.Arena
	rows  []wire.Waits
}

func (w *waitsOf) at(number uint32) (wire.Waits, error) {
	if int64(number) > int64(len(w.rows)) {
		w.rows = w.arena.Waits()
	}
	if int64(number) > int64(len(w.rows)) {
		return wire.Waits{}, fmt.Errorf("%w: waits %d of %d", wire.ErrCorrupt, number, len(w.rows))
	}
	return arena.Waits(&w.rows[number-1]), nil
}

// addWaits adds waits, all of which are bounded.
func addWaits(w, o *wire.Waits) error {
	if err := bounded(o.Intervals, o.Voluntary, o.Preempted, o.Faults, o.Reads, o.Blocked, o.Ready); err != nil {
		return err
	}
	w.Intervals += o.Intervals
	w.Voluntary += o.Voluntary
	w.Preempted += o.Preempted
	w.Faults += o.Faults
	w.Reads += o.Reads
	w.Blocked += o.Blocked
	w.Ready += o.Ready
	return bounded(w.Intervals, w.Voluntary, w.Preempted, w.Faults, w.Reads, w.Blocked, w.Ready)
}

func bounded(counters ...uint64) error {
	if n := slices.Max(counters); n > recording.MaxCounter {
		return fmt.Errorf("%w: a counter of %d", wire.ErrCorrupt, n)
	}
	return nil
}

// value converts the sums of a timing.
func (t *times) value(i int, v *session.TimingValue) error {
	c := t.sums.of(i)
	elapsed, err := t.clock.nanoseconds(c.elapsed)
	if err != nil {
		return err
	}
	waited, err := t.clock.nanoseconds(c.waited)
	if err != nil {
		return err
	}
	*v = session.TimingValue{Calls: quantity.Count(c.calls), Ended: quantity.Count(c.ended),
		Made: quantity.Count(c.made), Elapsed: elapsed, Waited: waited}
	var w wire.Waits
	if at := t.rows.At(i).waits; at != none {
		w = t.waits[at]
	}
	v.Waits, err = t.clock.waits(&w, c.open)
	return err
}

// waits converts what the operating system did. Open is what passed in an interval that did not end.
func (c *clock) waits(w *wire.Waits, open uint64) (quantity.Waits, error) {
	out := quantity.Waits{Intervals: quantity.Count(w.Intervals), Voluntary: quantity.Count(w.Voluntary),
		Preempted: quantity.Count(w.Preempted),
		Faults:    quantity.Count(w.Faults), Reads: quantity.Count(w.Reads)}
	for _, x := range []struct {
		to    *quantity.Nanoseconds
		ticks uint64
	}{{&out.OffCPU, w.Blocked + w.Ready + open}, {&out.Blocked, w.Blocked}, {&out.Ready, w.Ready}} {
		var err error
		if *x.to, err = c.nanoseconds(x.ticks); err != nil {
			return out, err
		}
	}
	return out, nil
}

// writeExtremes writes those of the rows of which calls ended. They are read after the calls are counted: those of a
// call that ends meanwhile may be among them.
func (t *times) writeExtremes(r *Recorder, p *process, rows []wire.Timing) error {
	slices.SortFunc(t.ended, func(a, b ended) int {
		return cmp.Or(cmp.Compare(a.own, b.own), cmp.Compare(a.taken, b.taken))
	})
	var out []session.TimingExtreme
	for i, n := range t.ended {
		r.report(partExtremes, i, len(t.ended))
		x := arena.Timing(&rows[n.taken])
		acted, err := actedOf(p, &x)
		if err != nil {
			return fmt.Errorf("timing %d: %w", n.taken+1, err)
		}
		*t.noted.At(int(n.taken)) = digest(&x, &acted)
		e, ok, err := t.extremes(&x, &acted)
		switch id := p.rec.TimingID(int(n.own)); {
		case err != nil:
			return fmt.Errorf("timing %d: %w", n.taken+1, err)
		case !ok:
		case len(out) > 0 && out[len(out)-1].Timing == id:
			widen(&out[len(out)-1].Extremes, &e)
		default:
			out = append(out, session.TimingExtreme{Timing: id, Extremes: e})
		}
		done := i+1 == len(t.ended) || t.ended[i+1].own != n.own // the next one is of another row
		if done && len(out) >= recording.RowsAtOnce {
			if err := p.rec.ReplaceExtremes(out); err != nil {
				return err
			}
			out = out[:0]
		}
	}
	t.ended = t.ended[:0]
	return p.rec.ReplaceExtremes(out)
}

// extremes converts those of a timing's calls; false: there are none yet. Those of the first call to end are noted
// after it is counted. They are kept apart for calls in which the operating system acted, and for others, of which all
// values of time are one.
func (t *times) extremes(x *wire.Timing, acted *wire.Acted) (session.Extremes, bool, error) {
	var e, more session.Extremes
	if x.Ended == 0 {
		return e, false, nil
	}
	ok, err := t.convert(&e, func(i int) (low, high uint64) { return x.Min[i%2], x.Max[i%2] })
	if err != nil || x.Acted == 0 {
		return e, ok, err
	}
	other, err := t.convert(&more, func(i int) (low, high uint64) { return acted.Min[i], acted.Max[i] })
	switch {
	case !other:
	case ok:
		widen(&e, &more)
	default:
		e, ok = more, true
	}
	return e, ok, err
}

// convert fills in extremes from ticks; false: there are none.
func (t *times) convert(e *session.Extremes, of func(i int) (low, high uint64)) (bool, error) {
	for i, to := range ranges(e) {
		low, high := of(i)
		if low > high {
			*e = session.Extremes{}
			return false, nil
		}
		var err error
		if to.Min, err = t.clock.nanoseconds(low); err != nil {
			return false, err
		}
		if to.Max, err = t.clock.nanoseconds(high); err != nil {
			return false, err
		}
	}
	return true, nil
}

func widen(e, by *session.Extremes) {
	more := ranges(by)
	for i, to := range ranges(e) {
		to.Min, to.Max = min(to.Min, more[i].Min), max(to.Max, more[i].Max)
	}
}

// ranges are in the order of wire.Acted.Min.
func ranges(e *session.Extremes) [6]*session.Range {
	return [6]*session.Range{&e.ElapsedInclusive, &e.ElapsedExclusive, &e.ApplicationInclusive, &e.ApplicationExclusive,
		&e.CPUInclusive, &e.CPUExclusive}
}
