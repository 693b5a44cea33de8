package collect

import (
	"cmp"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/clrprof/clrprof/internal/capture/arena"
	"github.com/clrprof/clrprof/internal/capture/recording"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/session/pieces"
	"github.com/clrprof/clrprof/internal/wire"
)

// count adds up the counters of the arena by the session's timings, and notes those whose calls ended since the last
// sync, or in the last one all.
func (t *times) count(r *Recorder, p *process, rows []wire.Timing, last bool) error {
	t.findGrown(p, rows, last)
	t.sums.reset(p.rec.Timings())
	t.folds.Reset(t.folds.Len())
	read := waitsOf{arena: p.arena, rows: p.arena.Waits()}
	for i := range t.taken.Len() {
		r.report(partCount, i, t.taken.Len())
		err := t.addOne(&read, i, &rows[i])
		if err == nil {
			err = t.addFolded(p, i, atomic.LoadUint32(&rows[i].Inclusive))
		}
		if err != nil {
			return fmt.Errorf("timing %d: %w", i+1, err)
		}
	}
	return t.findEnded(p, rows, last)
}

// findGrown finds the rows of which something may have been counted since the last sync. Most programs call the same
// few functions for a while, so these are few of millions. In the last sync it is all of them: then nothing is left out
// even if two numbers of arena.Counted should be the same.
func (t *times) findGrown(p *process, rows []wire.Timing, last bool) {
	if last {
		t.seen, t.grown = pieces.List[uint32]{}, slices.Repeat([]bool{true}, p.rec.Timings())
		return
	}
	t.grown = make([]bool, p.rec.Timings())
	for t.seen.Len() < t.taken.Len() {
		t.seen.Add(0)
	}
	for i := range t.taken.Len() {
		number, waits := arena.Counted(&rows[i])
		seen := t.seen.At(i)
		if number == *seen && !waits {
			continue
		}
		*seen = number
		n := t.taken.At(i)
		t.grown[n.own()] = true
		if n.lead != none {
			t.grown[n.lead] = true
		}
	}
}

// addOne adds up the counters of a timing for those of its rows that may have grown.
func (t *times) addOne(read *waitsOf, i int, row *wire.Timing) error {
	n := t.taken.At(i)
	own, lead := t.grown[n.own()], n.lead != none && t.grown[n.lead]
	if !own && !lead {
		return nil
	}
	x := arena.Timing(row)
	if x.Parent == 0 && x.LeadElapsed != 0 {
		return fmt.Errorf("%w: time before a root", wire.ErrCorrupt)
	}
	if own {
		if err := t.addTail(read, int(n.own()), &x); err != nil {
			return err
		}
	}
	if lead {
		return t.addLead(read, int(n.lead), &x, n.folded())
	}
	return nil
}

// findEnded notes the timings of those rows of which calls ended since the last sync. In the last one also of those of
// which other extremes were written than there are: they are noted after the call is counted.
func (t *times) findEnded(p *process, rows []wire.Timing, last bool) error {
	for t.noted.Len() < t.taken.Len() {
		t.noted.Add(0)
	}
	changed, count := make([]bool, p.rec.Timings()), 0
	for i := range t.taken.Len() {
		own := t.taken.At(i).own()
		if !t.grown[own] {
			continue
		}
		before := p.rec.Ended(int(own))
		ended := t.sums.ended(int(own))
		changed[own] = changed[own] || ended != uint64(before)
		if last && !changed[own] && ended != 0 {
			x := arena.Timing(&rows[i])
			acted, err := actedOf(p, &x)
			if err != nil {
				return fmt.Errorf("timing %d: %w", i+1, err)
			}
			changed[own] = digest(&x, &acted) != *t.noted.At(i)
		}
	}
	for i := range t.taken.Len() {
		if changed[t.taken.At(i).own()] {
			count++
		}
	}
	t.ended = make([]int32, 0, count)
	for i := range t.taken.Len() {
		if changed[t.taken.At(i).own()] {
			t.ended = append(t.ended, int32(i))
		}
	}
	slices.SortFunc(t.ended, func(a, b int32) int {
		return cmp.Or(cmp.Compare(t.taken.At(int(a)).own(), t.taken.At(int(b)).own()), cmp.Compare(a, b))
	})
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
	if err := read.add(&c, x.TailWaits, c.ended+c.made); err != nil {
		return err
	}
	return t.sums.add(row, &c)
}

// addLead adds what a timing counts for the call site. Folded calls are those of a function below (truncated).
func (t *times) addLead(read *waitsOf, row int, x *wire.Timing, folded bool) error {
	c := counters{elapsed: x.LeadElapsed, waited: min(x.LeadWaited, x.LeadElapsed)}
	if !folded { // else the caller's Folded counts it
		c.made = x.Calls
	}
	if err := read.add(&c, x.LeadWaits, c.made); err != nil {
		return err
	}
	return t.sums.add(row, &c)
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

// add adds the waits with the given number, which are in so many intervals at most.
func (w *waitsOf) add(c *counters, number uint32, intervals uint64) error {
	if number == 0 {
		return nil
	}
	waits, err := w.at(number)
	if err != nil {
		return err
	}
	waits.Intervals = min(waits.Intervals, intervals)
	return addWaits(&c.waits, &waits)
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
	all := uint64(0)
	for _, n := range counters {
		all |= n
	}
	if all <= recording.MaxCounter {
		return nil
	}
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
	v.Waits, err = t.clock.waits(&c.waits, c.open)
	return err
}

// waits converts what the operating system did. Open is what passed in an interval that did not end.
func (c *clock) waits(w *wire.Waits, open uint64) (quantity.Waits, error) {
	if open == 0 && *w == (wire.Waits{}) { // in nearly all
		return quantity.Waits{}, nil
	}
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
	var out []session.TimingExtreme
	for i, n := range t.ended {
		r.report(partExtremes, i, len(t.ended))
		own, x := t.taken.At(int(n)).own(), arena.Timing(&rows[n])
		acted, err := actedOf(p, &x)
		if err != nil {
			return fmt.Errorf("timing %d: %w", n+1, err)
		}
		*t.noted.At(int(n)) = digest(&x, &acted)
		e, ok, err := t.extremes(&x, &acted)
		switch id := p.rec.TimingID(int(own)); {
		case err != nil:
			return fmt.Errorf("timing %d: %w", n+1, err)
		case !ok:
		case len(out) > 0 && out[len(out)-1].Timing == id:
			widen(&out[len(out)-1].Extremes, &e)
		default:
			out = append(out, session.TimingExtreme{Timing: id, Extremes: e})
		}
		done := i+1 == len(t.ended) || t.taken.At(int(t.ended[i+1])).own() != own // the next one is of another row
		if done && len(out) >= recording.RowsAtOnce {
			if err := p.rec.ReplaceExtremes(out); err != nil {
				return err
			}
			out = out[:0]
		}
	}
	t.ended = nil
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
