package collect

import (
	"cmp"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/clrprof/clrprof/internal/arena"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/wire"
)

// folds is the inclusive time of folded calls that belongs to a row. Where paths have run out there are as many as timings.
type folds struct {
	row   int32
	waits int32  // index in waits; none
	open  uint64 // of the sum: ticks of which it is not known whether the thread had a processor

	sum     inclusiveTicks // of the whole run: room for one sync
	counted inclusive      // in earlier slices
}

// inclusiveTicks is wire.Inclusive without waits.
type inclusiveTicks struct {
	times, calls, elapsed, waited               uint64
	eachCalls, eachElapsed, eachWaited, eachOff uint64
}

// inclusive is session.TimingInclusive without waits.
type inclusive struct {
	times, calls, eachCalls                           quantity.Count
	elapsed, waited, eachElapsed, eachWaited, eachOff quantity.Nanoseconds
}

func (t *times) clearFolded() {
	for i := range t.folds.len() {
		f := t.folds.at(i)
		f.sum, f.open = inclusiveTicks{}, 0
	}
}

// findFolded gives those timings a row that have made folded calls for the first time: such calls have no paths, and what is
// known of their time is shown as that of one node below their caller.
func (t *times) findFolded(r *Recorder, p *process, rows []wire.Timing) error {
	for i := range t.taken.len() {
		n := t.taken.at(i)
		if n.below != none {
			continue
		}
		if n.folded {
			if callee := atomic.LoadUint32(&rows[i].Callee); callee != 0 && int64(callee) <= int64(t.taken.len()) {
				n.below = t.taken.at(int(callee - 1)).own
			}
			continue
		}
		if atomic.LoadUint32(&rows[i].Inclusive) == 0 {
			continue
		}
		function := p.names.pseudo(r, p.id, session.NameTruncated)
		node := p.tree.node(r, session.Node{Parent: session.NodeID(n.self), Process: p.id, Function: function})
		n.below = t.row(r, session.ThreadID(n.thread), node)
		if len(t.fresh) >= rowsAtOnce {
			if err := p.names.write(r); err != nil {
				return err
			}
			if err := t.writeFresh(r, p); err != nil {
				return err
			}
		}
	}
	return p.names.write(r)
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
	return t.addInclusive(row, &v, 0)
}

func (t *times) addInclusive(row int32, v *wire.Inclusive, open uint64) error {
	if err := bounded(v.Times, v.Calls, v.Elapsed, v.Waited, v.EachCalls, v.EachElapsed, v.EachWaited, v.EachOff); err != nil {
		return err
	}
	at := &t.rows.at(int(row)).folds
	if *at == none {
		*at = int32(t.folds.len())
		t.folds.add(folds{row: row, waits: none})
	}
	f := t.folds.at(int(*at))
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
		t.waits = append(t.waits, waits{})
	}
	if f.waits != none {
		if err := addWaits(&t.waits[f.waits].sum, &v.Waits); err != nil {
			return err
		}
	}
	return bounded(f.sum.calls, f.sum.elapsed, f.sum.eachCalls, f.sum.eachElapsed)
}

// runFolded adds what the calls of a thread that have not ended have passed up to now, as far as they are folded: once for each
// function, each pair of functions, and the innermost call that has a path. Of the intervals in which the operating system acted
// it is not known here how long the thread had no processor.
func (t *times) runFolded(c *wire.Clock, calls []wire.Activation, open uint64) error {
	functions, pairs := map[short]bool{}, map[[2]short]bool{}
	var caller *taken
	for i := range calls {
		a := arena.Activation(&calls[i])
		if a.Timing == 0 {
			break // that of a call that is not recorded
		}
		if int64(a.Timing) > int64(t.taken.len()) || a.Elapsed > c.Elapsed || a.Waited > c.Waited || a.Calls > c.Calls+1 {
			return fmt.Errorf("%w: a call of timing %d, of %d", wire.ErrCorrupt, a.Timing, t.taken.len())
		}
		n := t.taken.at(int(a.Timing - 1))
		pair := [2]short{0, n.function}
		if caller != nil {
			pair[0] = caller.function
		}
		if n.folded && caller != nil {
			if err := t.runOne(c, &a, n, caller, open, !functions[n.function], !pairs[pair]); err != nil {
				return err
			}
		}
		functions[n.function], pairs[pair], caller = true, true, n
	}
	return nil
}

func (t *times) runOne(c *wire.Clock, a *wire.Activation, n, caller *taken, open uint64, function, pair bool) error {
	waited := c.Waited - a.Waited
	v := wire.Inclusive{Times: 1, Calls: 1 + c.Calls - min(c.Calls, a.Calls), Elapsed: c.Elapsed - a.Elapsed + open, Waited: waited + open}
	each := wire.Inclusive{EachCalls: v.Calls, EachElapsed: v.Elapsed, EachWaited: v.Waited, EachOff: v.Waited}
	if err := t.addInclusive(n.own, &each, 0); err != nil {
		return err
	}
	for _, x := range []struct {
		row  int32
		adds bool
	}{{n.own, pair}, {n.below, function}, {caller.below, !caller.folded}} {
		if x.adds && x.row != none {
			if err := t.addInclusive(x.row, &v, v.Waited); err != nil {
				return err
			}
		}
	}
	return nil
}

// growFolded writes by how much the time of folded calls grew since the last sync, in the order of timing.
func (t *times) growFolded(r *Recorder, out *growth) error {
	var order []int32 // small, where rows are not
	for i := range t.folds.len() {
		_, grown, err := t.grownInclusive(t.folds.at(i))
		if err != nil {
			return err
		}
		if grown != (session.TimingInclusive{}) {
			order = append(order, int32(i))
		}
	}
	id := func(i int32) session.TimingID { return t.rows.at(int(t.folds.at(int(i)).row)).id }
	slices.SortFunc(order, func(a, b int32) int { return cmp.Compare(id(a), id(b)) })
	var rows []session.TimingInclusive
	for _, i := range order {
		f := t.folds.at(int(i))
		total, grown, err := t.grownInclusive(f)
		if err != nil {
			return err
		}
		t.setCountedInclusive(f, &total)
		grown.Slice, grown.Timing = r.lastSlice+1, id(i)
		rows = append(rows, grown)
		out.any = true
		if len(rows) >= rowsAtOnce {
			if err := r.w.InsertTimingInclusives(rows); err != nil {
				return err
			}
			rows = rows[:0]
		}
	}
	return r.w.InsertTimingInclusives(rows)
}

// grownInclusive returns the time of folded calls up to now, and by how much it grew since the last sync.
func (t *times) grownInclusive(f *folds) (total, grown session.TimingInclusive, err error) {
	if total, err = t.inclusive(f); err != nil {
		return total, grown, err
	}
	before := t.countedInclusive(f)
	grown, ok := inclusiveDifference(&total, &before)
	if !ok {
		err = fmt.Errorf("%w: folded calls of %+v after %+v", wire.ErrCorrupt, total, before)
	}
	return total, grown, err
}

// countedInclusive returns what earlier slices hold.
func (t *times) countedInclusive(f *folds) session.TimingInclusive {
	c := &f.counted
	v := session.TimingInclusive{Times: c.times, Calls: c.calls, Elapsed: c.elapsed, Waited: c.waited,
		EachCalls: c.eachCalls, EachElapsed: c.eachElapsed, EachWaited: c.eachWaited, EachOffCPU: c.eachOff}
	if f.waits != none {
		v.Waits = t.waits[f.waits].counted
	}
	return v
}

func (t *times) setCountedInclusive(f *folds, v *session.TimingInclusive) {
	f.counted = inclusive{v.Times, v.Calls, v.EachCalls, v.Elapsed, v.Waited, v.EachElapsed, v.EachWaited, v.EachOffCPU}
	if f.waits != none {
		t.waits[f.waits].counted = v.Waits
	}
}

// inclusive converts a sum.
func (t *times) inclusive(f *folds) (session.TimingInclusive, error) {
	v := session.TimingInclusive{Times: quantity.Count(f.sum.times), Calls: quantity.Count(f.sum.calls), EachCalls: quantity.Count(f.sum.eachCalls)}
	var w wire.Waits
	if f.waits != none {
		w = t.waits[f.waits].sum
	}
	var err error
	if v.Waits, err = t.clock.waits(&w, f.open); err != nil {
		return v, err
	}
	for _, x := range []struct {
		to    *quantity.Nanoseconds
		ticks uint64
	}{{&v.Elapsed, f.sum.elapsed}, {&v.Waited, f.sum.waited}, {&v.EachElapsed, f.sum.eachElapsed}, {&v.EachWaited, f.sum.eachWaited}, {&v.EachOffCPU, f.sum.eachOff}} {
		if *x.to, err = t.clock.nanoseconds(x.ticks); err != nil {
			return v, err
		}
	}
	return v, nil
}

// inclusiveDifference returns by how much it grew; false: something has shrunk.
func inclusiveDifference(now, before *session.TimingInclusive) (session.TimingInclusive, bool) {
	d := session.TimingInclusive{Times: now.Times - before.Times, Calls: now.Calls - before.Calls, Elapsed: now.Elapsed - before.Elapsed,
		Waited: now.Waited - before.Waited, Waits: now.Waits.Sub(before.Waits), EachCalls: now.EachCalls - before.EachCalls,
		EachElapsed: now.EachElapsed - before.EachElapsed, EachWaited: now.EachWaited - before.EachWaited, EachOffCPU: now.EachOffCPU - before.EachOffCPU}
	return d, min(d.Times, d.Calls, d.EachCalls, d.Intervals, d.Voluntary, d.Preempted, d.Faults, d.Reads) >= 0 &&
		min(d.Elapsed, d.Waited, d.OffCPU, d.Blocked, d.Ready, d.EachElapsed, d.EachWaited, d.EachOffCPU) >= 0
}
