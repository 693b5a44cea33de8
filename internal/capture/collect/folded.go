package collect

import (
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/clrprof/clrprof/internal/capture/arena"
	"github.com/clrprof/clrprof/internal/capture/recording"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/wire"
)

// inclusiveSum is the inclusive time of folded calls that belongs to a row, of the whole run. Where paths have run out
// there are as many as timings, nearly all of them small.
type inclusiveSum struct {
	times, calls, elapsed, waited               uint64
	eachCalls, eachElapsed, eachWaited, eachOff uint64

	open  uint64 // of the sum: ticks of which it is not known whether the thread had a processor
	waits wire.Waits
}

// findFolded gives those timings a row that have made folded calls for the first time: such calls have no paths, and
// what is known of their time is shown as that of one node below their caller.
func (t *times) findFolded(p *process, h *wire.Header, rows []wire.Timing) error {
	if t.over(h, rows) {
		return nil
	}
	for i := range t.taken.Len() {
		if t.below.at(i) != none {
			continue
		}
		n := t.taken.At(i)
		if n.folded() {
			if callee := atomic.LoadUint32(&rows[i].Callee); callee != 0 && int64(callee) <= int64(t.taken.Len()) {
				t.below.set(i, t.taken.At(int(callee-1)).own())
			}
			continue
		}
		if atomic.LoadUint32(&rows[i].Inclusive) == 0 {
			continue
		}
		at := n.place(p)
		row, err := p.rec.Timing(at.thread, p.rec.Node(at.self, p.rec.Pseudo(session.NameTruncated), 0))
		if err != nil {
			return err
		}
		t.below.set(i, row)
		if p.rec.WaitingTimings() >= recording.RowsAtOnce {
			if err := p.rec.WriteTimings(); err != nil {
				return err
			}
		}
	}
	return p.rec.WriteNames()
}

// foldedRow returns the row to which the folded calls that a timing refers to belong, none if there is none yet.
func (t *times) foldedRow(i int) int32 {
	if n := t.taken.At(i); n.folded() {
		return n.own()
	}
	return t.below.at(i)
}

// foldsOf returns the index in folds of the folded calls that a timing refers to, none if there is none yet.
func (t *times) foldsOf(i int) int32 {
	if row := t.foldedRow(i); row != none {
		return t.folded.at(int(row))
	}
	return none
}

// addFolded adds the time of folded calls with the given number, which a timing refers to.
func (t *times) addFolded(p *process, i int, number uint32) error {
	row := t.foldedRow(i)
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
	at := t.folded.at(int(row))
	if at == none {
		at = int32(t.folds.Len())
		t.folded.set(int(row), at)
		p.rec.AddInclusive(int(row))
		t.folds.Add(recording.SmallInclusive{})
	}
	sum := t.foldedSum(int(at))
	sum.times += min(v.Times, v.Calls)
	sum.calls += v.Calls
	sum.elapsed += v.Elapsed
	sum.waited += min(v.Waited, v.Elapsed)
	sum.eachCalls += v.EachCalls
	sum.eachElapsed += v.EachElapsed
	sum.eachWaited += min(v.EachWaited, v.EachElapsed)
	sum.eachOff += min(v.EachOff, v.EachElapsed)
	sum.open += open
	if err := addWaits(&sum.waits, &v.Waits); err != nil {
		return err
	}
	t.setFoldedSum(int(at), &sum)
	return bounded(sum.calls, sum.elapsed, sum.eachCalls, sum.eachElapsed)
}

// foldedSum returns the sum with an index in folds.
func (t *times) foldedSum(i int) (sum inclusiveSum) {
	small, large := t.folds.At(i)
	if large != nil {
		return *large
	}
	sum.times, sum.calls, sum.elapsed, sum.eachCalls, sum.eachElapsed = small.Sums()
	return sum
}

func (t *times) setFoldedSum(i int, sum *inclusiveSum) {
	row, large := t.folds.At(i)
	if large == nil && sum.waited|sum.eachWaited|sum.eachOff|sum.open == 0 && sum.waits == (wire.Waits{}) {
		small, ok := recording.NewSmallInclusive(sum.times, sum.calls, sum.elapsed, sum.eachCalls, sum.eachElapsed)
		if ok {
			*row = small
			return
		}
	}
	t.folds.SetLarge(i, *sum)
}

// runFolded adds what the calls of a thread that have not ended have passed up to now, as far as they are folded: once
// for each function, each pair of functions, and the innermost call that has a path. Of the intervals in which the
// operating system acted it is not known here how long the thread had no processor.
func (t *times) runFolded(p *process, c *wire.Clock, calls []wire.Activation, open uint64) error {
	functions, pairs := map[session.FunctionID]bool{}, map[[2]session.FunctionID]bool{}
	caller := -1 // index in the arena
	for i := range calls {
		a := arena.Activation(&calls[i])
		if a.Timing == 0 {
			break // that of a call that is not recorded
		}
		if int64(a.Timing) > int64(t.taken.Len()) || a.Elapsed > c.Elapsed || a.Waited > c.Waited || a.Calls > c.Calls+
			1 {
			return fmt.Errorf("%w: a call of timing %d, of %d", wire.ErrCorrupt, a.Timing, t.taken.Len())
		}
		n := int(a.Timing - 1)
		function := t.taken.At(n).place(p).function
		pair := [2]session.FunctionID{0, function}
		if caller >= 0 {
			pair[0] = t.taken.At(caller).place(p).function
			if t.taken.At(n).folded() {
				if err := t.runOne(p, c, &a, n, caller, open, !functions[function], !pairs[pair]); err != nil {
					return err
				}
			}
		}
		functions[function], pairs[pair], caller = true, true, n
	}
	return nil
}

func (t *times) runOne(p *process, c *wire.Clock, a *wire.Activation, timing, caller int, open uint64, function,
	pair bool) error {
	waited := c.Waited - a.Waited
	v := wire.Inclusive{Times: 1, Calls: 1 + c.Calls - min(c.Calls, a.Calls), Elapsed: c.Elapsed - a.Elapsed + open,
		Waited: waited + open}
	each := wire.Inclusive{EachCalls: v.Calls, EachElapsed: v.Elapsed, EachWaited: v.Waited, EachOff: v.Waited}
	own := t.taken.At(timing).own()
	if err := t.addInclusive(p, own, &each, 0); err != nil {
		return err
	}
	for _, x := range []struct {
		row  int32
		adds bool
	}{{own, pair}, {t.below.at(timing), function}, {t.below.at(caller), !t.taken.At(caller).folded()}} {
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
		total, err := t.inclusive(i)
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
			total, err := t.inclusive(int(i))
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
func (t *times) inclusive(i int) (session.TimingInclusive, error) {
	sum := t.foldedSum(i)
	v := session.TimingInclusive{Times: quantity.Count(sum.times), Calls: quantity.Count(sum.calls),
		EachCalls: quantity.Count(sum.eachCalls)}
	var err error
	if v.Waits, err = t.clock.waits(&sum.waits, sum.open); err != nil {
		return v, err
	}
	for _, x := range []struct {
		to    *quantity.Nanoseconds
		ticks uint64
	}{{&v.Elapsed, sum.elapsed}, {&v.Waited, sum.waited}, {&v.EachElapsed, sum.eachElapsed},
		{&v.EachWaited, sum.eachWaited}, {&v.EachOffCPU, sum.eachOff}} {
		if *x.to, err = t.clock.nanoseconds(x.ticks); err != nil {
			return v, err
		}
	}
	return v, nil
}
