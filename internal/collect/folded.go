package collect

import (
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/clrprof/clrprof/internal/arena"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/recording"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/wire"
)

// folds is the inclusive time of folded calls that belongs to a row. Where paths have run out there are as many as
// timings.
type folds struct {
	row   int32
	waits int32          // index in waits; none
	open  uint64         // of the sum: ticks of which it is not known whether the thread had a processor
	sum   inclusiveTicks // of the whole run: room for one sync
}

// inclusiveTicks is wire.Inclusive without waits.
type inclusiveTicks struct {
	times, calls, elapsed, waited               uint64
	eachCalls, eachElapsed, eachWaited, eachOff uint64
}

func (t *times) clearFolded() {
	for i := range t.folds.Len() {
		f := t.folds.At(i)
		f.sum, f.open = inclusiveTicks{}, 0
	}
}

// findFolded gives those timings a row that have made folded calls for the first time: such calls have no paths, and
// what is known of their time is shown as that of one node below their caller.
func (t *times) findFolded(p *process, rows []wire.Timing) error {
	for i := range t.taken.Len() {
		n := t.taken.At(i)
		if n.below != none {
			continue
		}
		if n.folded {
			if callee := atomic.LoadUint32(&rows[i].Callee); callee != 0 && int64(callee) <= int64(t.taken.Len()) {
				n.below = t.taken.At(int(callee - 1)).own
			}
			continue
		}
		if atomic.LoadUint32(&rows[i].Inclusive) == 0 {
			continue
		}
		node := p.rec.Node(session.NodeID(n.self), p.rec.Pseudo(session.NameTruncated), 0)
		var err error
		if n.below, err = t.row(p, session.ThreadID(n.thread), node); err != nil {
			return err
		}
		if p.rec.WaitingTimings() >= recording.RowsAtOnce {
			if err := p.rec.WriteTimings(); err != nil {
				return err
			}
		}
	}
	return p.rec.WriteNames()
}

// addFolded adds the time of folded calls with the given number, which a timing refers to.
func (t *times) addFolded(p *process, n *taken, number uint32) error {
	row := n.below
	if n.folded {
		row = n.own
	}
	if number == 0 || row == none {
		return nil
	}
	rows := p.arena.Inclusives()
	if int64(number) > int64(len(rows)) {
		return fmt.Errorf("%w: inclusive %d of %d", wire.ErrCorrupt, number, len(rows))
	}
	v := arena.Inclusive(&rows[number-1])
	return t.addInclusive(p, row, &v, 0)
}

func (t *times) addInclusive(p *process, row int32, v *wire.Inclusive, open uint64) error {
	if err := bounded(v.Times, v.Calls, v.Elapsed, v.Waited, v.EachCalls, v.EachElapsed, v.EachWaited,
		v.EachOff); err != nil {
		return err
	}
	at := &t.rows.At(int(row)).folds
	if *at == none {
		*at = int32(t.folds.Len())
		p.rec.AddInclusive(int(row))
		t.folds.Add(folds{row: row, waits: none})
	}
	f := t.folds.At(int(*at))
	f.sum.times += min(v.Times, v.Calls)
	f.sum.calls += v.Calls
	f.sum.elapsed += v.Elapsed
	f.sum.waited += min(v.Waited, v.Elapsed)
	f.sum.eachCalls += v.EachCalls
	f.sum.eachElapsed += v.EachElapsed
	f.sum.eachWaited += min(v.EachWaited, v.EachElapsed)
	f.sum.eachOff += min(v.EachOff, v.EachElapsed)
	f.open += open
	if f.waits == none && (v.Waits != wire.Waits{} || open != 0) {
		f.waits = int32(len(t.waits))
		t.waits = append(t.waits, wire.Waits{})
	}
	if f.waits != none {
		if err := addWaits(&t.waits[f.waits], &v.Waits); err != nil {
			return err
		}
	}
	return bounded(f.sum.calls, f.sum.elapsed, f.sum.eachCalls, f.sum.eachElapsed)
}

// runFolded adds what the calls of a thread that have not ended have passed up to now, as far as they are folded: once
// for each function, each pair of functions, and the innermost call that has a path. Of the intervals in which the
// operating system acted it is not known here how long the thread had no processor.
func (t *times) runFolded(p *process, c *wire.Clock, calls []wire.Activation, open uint64) error {
	functions, pairs := map[short]bool{}, map[[2]short]bool{}
	var caller *taken
	for i := range calls {
		a := arena.Activation(&calls[i])
		if a.Timing == 0 {
			break // that of a call that is not recorded
		}
		if int64(a.Timing) > int64(t.taken.Len()) || a.Elapsed > c.Elapsed || a.Waited > c.Waited || a.Calls > c.Calls+
			1 {
			return fmt.Errorf("%w: a call of timing %d, of %d", wire.ErrCorrupt, a.Timing, t.taken.Len())
		}
		n := t.taken.At(int(a.Timing - 1))
		pair := [2]short{0, n.function}
		if caller != nil {
			pair[0] = caller.function
		}
		if n.folded && caller != nil {
			if err := t.runOne(p, c, &a, n, caller, open, !functions[n.function], !pairs[pair]); err != nil {
				return err
			}
		}
		functions[n.function], pairs[pair], caller = true, true, n
	}
	return nil
}

func (t *times) runOne(p *process, c *wire.Clock, a *wire.Activation, n, caller *taken, open uint64, function,
	pair bool) error {
	waited := c.Waited - a.Waited
	v := wire.Inclusive{Times: 1, Calls: 1 + c.Calls - min(c.Calls, a.Calls), Elapsed: c.Elapsed - a.Elapsed + open,
		Waited: waited + open}
	each := wire.Inclusive{EachCalls: v.Calls, EachElapsed: v.Elapsed, EachWaited: v.Waited, EachOff: v.Waited}
	if err := t.addInclusive(p, n.own, &each, 0); err != nil {
		return err
	}
	for _, x := range []struct {
		row  int32
		adds bool
	}{{n.own, pair}, {n.below, function}, {caller.below, !caller.folded}} {
		if x.adds && x.row != none {
			if err := t.addInclusive(p, x.row, &v, v.Waited); err != nil {
				return err
			}
		}
	}
	return nil
}

// growFolded tells what the folded calls have counted, and writes it in the order of timing: first which have grown, of
// which there are few, as rows are large.
func (t *times) growFolded(p *process) error {
	var order []int32
	totals := make([]session.TimingInclusive, 0, min(recording.RowsAtOnce, t.folds.Len()))
	for i := range t.folds.Len() {
		total, err := t.inclusive(t.folds.At(i))
		if err != nil {
			return err
		}
		if totals = append(totals, total); len(totals) < cap(totals) && i+1 < t.folds.Len() {
			continue
		}
		if order, err = p.rec.GrownInclusives(i+1-len(totals), totals, order); err != nil {
			return err
		}
		totals = totals[:0]
	}
	p.rec.SortInclusives(order)
	for some := range slices.Chunk(order, recording.RowsAtOnce) {
		totals = totals[:0]
		for _, i := range some {
			total, err := t.inclusive(t.folds.At(int(i)))
			if err != nil {
				return err
			}
			totals = append(totals, total)
		}
		if err := p.rec.GrowInclusives(some, totals); err != nil {
			return err
		}
	}
	return nil
}

// inclusive converts a sum.
func (t *times) inclusive(f *folds) (session.TimingInclusive, error) {
	v := session.TimingInclusive{Times: quantity.Count(f.sum.times), Calls: quantity.Count(f.sum.calls),
		EachCalls: quantity.Count(f.sum.eachCalls)}
	var w wire.Waits
	if f.waits != none {
		w = t.waits[f.waits]
	}
	var err error
	if v.Waits, err = t.clock.waits(&w, f.open); err != nil {
		return v, err
	}
	for _, x := range []struct {
		to    *quantity.Nanoseconds
		ticks uint64
	}{{&v.Elapsed, f.sum.elapsed}, {&v.Waited, f.sum.waited}, {&v.EachElapsed, f.sum.eachElapsed},
		{&v.EachWaited, f.sum.eachWaited}, {&v.EachOffCPU, f.sum.eachOff}} {
		if *x.to, err = t.clock.nanoseconds(x.ticks); err != nil {
			return v, err
		}
	}
	return v, nil
}
