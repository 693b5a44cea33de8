package collect

import (
	"fmt"
	"math"

	"github.com/clrprof/clrprof/internal/arena"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/wire"
)

// times is what one process said of its calls.
//
// A timing of the arena is a function, called from one place of its caller, in one thread. In the session it is part of
// two: its tail and its calls belong to the node of the function itself, its lead to the node of the call site in the
// caller, which is exclusive time of the caller there. Several of the arena's can be part of one of the session's.
//
// A process can have some million timings, and the collector may have to live with it in one container. So what is kept of
// each is small, and what is written goes to the session in parts, not when all of it is there.
type times struct {
	written session.ProcessTime
	clock   clock
	closed  bool // the process is over, or the recording is: what is written is all there is

	taken pieces[taken]  // by index in the arena
	rows  pieces[timing] // the session's
	known map[key]int32  // index in rows
	fresh []session.Timing
	sums  []counters     // by index in rows, of the whole run: room for one sync
	waits []waits        // of the few rows in which the operating system acted
	ended []ended        // since the last sync
	noted pieces[uint64] // by index in the arena: the digest of the extremes that are written
	folds pieces[folds]  // inclusive times of folded calls
	grown []session.TimingValue
}

// rowsAtOnce is how many rows are gathered before they are written: some megabytes.
const rowsAtOnce = 1 << 14

// taken is what a timing of the arena is in the session, as it was when it was new: the target can overwrite its arena.
type taken struct {
	thread    short // ids, as the fields of key
	function  short
	self      short // node of the function itself
	above     short // the parent of self and of the function's call sites
	own, lead int32 // index in rows; lead -1: a root
	below     int32 // the same of the folded calls that it made, none: there were none yet; if it is folded itself, of its function
	folded    bool  // it is the root of folded calls, or below it: the intervals before its calls are in their callers' tails
}

// short is an id of the session, all of which are counted from 1: Recorder.room sees to it that they fit.
type short uint32

// key is a thread and a node.
type key struct{ thread, node short }

// timing is a timing of the session and what earlier slices hold of it.
type timing struct {
	id                 session.TimingID
	waits              int32 // index in waits; none
	calls, ended, made quantity.Count
	elapsed, waited    quantity.Nanoseconds
	folds              int32 // index in folds; none
}

// waits is what the operating system did in the intervals of a timing.
type waits struct {
	sum     wire.Waits     // of the whole run: room for one sync
	counted quantity.Waits // in earlier slices
}

// none is no index.
const none = -1

func newTimes() times { return times{known: map[key]int32{}} }

// sync reads what is new of the arena's timings. The rows are those that were there before the log was read, so that the
// log has what they refer to. In the last one of a process nothing is left for later.
func (t *times) sync(r *Recorder, p *process, h *wire.Header, rows []wire.Timing, last bool, out *growth) error {
	if h.Data&wire.DataTime == 0 || t.closed || (len(rows) == 0 && h.TicksPerSec == 0) {
		return nil
	}
	if len(rows) < t.taken.len() {
		return fmt.Errorf("%w: %d timings after %d", wire.ErrCorrupt, len(rows), t.taken.len())
	}
	if err := t.writeProcess(r, p, h); err != nil {
		return err
	}
	for i := t.taken.len(); i < len(rows); i++ {
		r.report(partTimings, i, len(rows))
		if err := t.take(r, p, rows); err != nil {
			return fmt.Errorf("timing %d: %w", i+1, err)
		}
		if len(t.fresh) >= rowsAtOnce {
			if err := t.writeFresh(r, p); err != nil {
				return err
			}
		}
	}
	if err := t.findFolded(r, p, rows); err != nil {
		return err
	}
	if err := t.count(r, p, rows, last); err != nil {
		return err
	}
	var running []session.TimingRunning
	if last {
		var err error
		if running, err = t.stop(r, p, h); err != nil {
			return err
		}
		t.closed = true
	}
	if err := t.writeFresh(r, p); err != nil {
		return err
	}
	if err := t.grow(r, last, out); err != nil {
		return err
	}
	if err := t.growFolded(r, out); err != nil {
		return err
	}
	if err := t.writeExtremes(r, p, rows); err != nil {
		return err
	}
	if last {
		if err := t.writeBegan(r, p, h, rows); err != nil {
			return err
		}
	}
	return r.w.ReplaceTimingRunning(running)
}

// writeFresh writes the rows that are new, and what they refer to.
func (t *times) writeFresh(r *Recorder, p *process) error {
	if err := p.tree.write(r, p); err != nil {
		return err
	}
	if err := r.w.InsertTimings(t.fresh); err != nil {
		return err
	}
	t.fresh = t.fresh[:0]
	return nil
}

// take adds the first timing of the arena that is new. Its function and its caller are described before it.
func (t *times) take(r *Recorder, p *process, rows []wire.Timing) error {
	i := t.taken.len()
	x := arena.Timing(&rows[i])
	thread, ok := p.threads.id(x.Thread)
	if !ok {
		return fmt.Errorf("%w: thread %d was never described", wire.ErrCorrupt, x.Thread)
	}
	f, ok := p.names.functions[x.Function]
	switch {
	case x.Function == 0:
		f.id = p.names.pseudo(r, p.id, session.NameFolded)
	case !ok:
		return fmt.Errorf("%w: function %d was never described", wire.ErrCorrupt, x.Function)
	}
	if t.rows.len() > math.MaxInt32-2 {
		return fmt.Errorf("%w: more than %d timings", wire.ErrCorrupt, math.MaxInt32)
	}
	n := taken{thread: short(thread), function: short(f.id), lead: none, below: none, folded: x.Function == 0}
	if x.Parent != 0 {
		if int64(x.Parent) > int64(i) || t.taken.at(int(x.Parent-1)).thread != n.thread {
			return fmt.Errorf("%w: parent %d of a timing of thread %d", wire.ErrCorrupt, x.Parent, x.Thread)
		}
		caller := *t.taken.at(int(x.Parent - 1))
		above, err := t.callSite(r, p, caller, &x)
		if err != nil {
			return err
		}
		n.above = short(above)
		n.lead = t.row(r, thread, above)
		n.folded = n.folded || caller.folded
	}
	self := p.tree.node(r, session.Node{Parent: session.NodeID(n.above), Process: p.id, Function: f.id})
	n.self, n.own = short(self), t.row(r, thread, self)
	t.taken.add(n)
	return nil
}

// callSite returns the node of the place in a caller from which a timing was called, or that of the caller itself if the
// place is not known, or is in code between the two that is not recorded.
func (t *times) callSite(r *Recorder, p *process, caller taken, x *wire.Timing) (session.NodeID, error) {
	if x.ReturnAddress == 0 {
		return session.NodeID(caller.self), nil
	}
	function := session.FunctionID(caller.function)
	at, err := p.tree.instructionAt(r, p, function, x)
	if err != nil || at == 0 {
		return session.NodeID(caller.self), err
	}
	return p.tree.node(r, session.Node{Parent: session.NodeID(caller.above), Process: p.id, Function: function, Instruction: at}), nil
}

// row returns the index of the timing of a thread at a node.
func (t *times) row(r *Recorder, thread session.ThreadID, node session.NodeID) int32 {
	k := key{short(thread), short(node)}
	i, ok := t.known[k]
	if !ok {
		r.next.timing++
		i = int32(t.rows.len())
		t.known[k] = i
		t.rows.add(timing{id: r.next.timing, waits: none, folds: none})
		t.fresh = append(t.fresh, session.Timing{ID: r.next.timing, Thread: thread, Node: node})
	}
	return i
}

// grow writes by how much each timing grew since the last sync. Counters are converted as they are in sum, so that the
// slices add up to the conversion of the sum.
func (t *times) grow(r *Recorder, last bool, out *growth) error {
	for i := range t.rows.len() {
		r.report(partGrowth, i, t.rows.len())
		total, err := t.value(i)
		if err != nil {
			return err
		}
		before := t.counted(i)
		total.Waited = waited(total.Waited, &total, &before, last)
		grown, ok := difference(&total, &before)
		if !ok {
			return fmt.Errorf("%w: a timing of %+v after %+v", wire.ErrCorrupt, total, before)
		}
		if grown == (session.TimingValue{}) {
			continue
		}
		r.elapsed += grown.Elapsed
		r.calls += grown.Calls + grown.Made
		if r.elapsed > maxCounter || r.calls > maxCounter {
			return fmt.Errorf("%w: %d calls, %d ns in sum", wire.ErrCorrupt, r.calls, r.elapsed)
		}
		t.setCounted(i, &total)
		grown.Slice, grown.Timing = r.lastSlice+1, t.rows.at(i).id
		t.grown = append(t.grown, grown)
		out.any = true
		if len(t.grown) >= rowsAtOnce {
			if err := t.writeGrown(r); err != nil {
				return err
			}
		}
	}
	return t.writeGrown(r)
}

func (t *times) writeGrown(r *Recorder) error {
	err := r.w.InsertTimingValues(t.grown)
	t.grown = t.grown[:0]
	return err
}

// counted returns what earlier slices hold of a timing.
func (t *times) counted(i int) session.TimingValue {
	row := t.rows.at(i)
	v := session.TimingValue{Calls: row.calls, Ended: row.ended, Made: row.made, Elapsed: row.elapsed, Waited: row.waited}
	if row.waits != none {
		v.Waits = t.waits[row.waits].counted
	}
	return v
}

func (t *times) setCounted(i int, v *session.TimingValue) {
	row := t.rows.at(i)
	row.calls, row.ended, row.made, row.elapsed, row.waited = v.Calls, v.Ended, v.Made, v.Elapsed, v.Waited
	if row.waits != none {
		t.waits[row.waits].counted = v.Waits
	}
}

// waited keeps what was waited within a slice from being more than what passed in it: an interval can be known to have
// been waited only after it was counted, and the two are rounded. What is more waits for the next slice.
func waited(sum quantity.Nanoseconds, total, before *session.TimingValue, last bool) quantity.Nanoseconds {
	most := before.Waited + total.Elapsed - before.Elapsed
	if last && sum > most+1 { // nothing comes after this
		return sum
	}
	return min(sum, max(most, before.Waited))
}

// difference returns by how much a timing grew; false: a counter has shrunk.
func difference(now, before *session.TimingValue) (session.TimingValue, bool) {
	d := session.TimingValue{Calls: now.Calls - before.Calls, Ended: now.Ended - before.Ended, Made: now.Made - before.Made,
		Elapsed: now.Elapsed - before.Elapsed, Waited: now.Waited - before.Waited, Waits: now.Waits.Sub(before.Waits)}
	return d, min(d.Calls, d.Ended, d.Made, d.Intervals, d.Voluntary, d.Preempted, d.Faults, d.Reads) >= 0 &&
		min(d.Elapsed, d.Waited, d.OffCPU, d.Blocked, d.Ready) >= 0
}
