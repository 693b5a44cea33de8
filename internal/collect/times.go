package collect

import (
	"fmt"

	"github.com/clrprof/clrprof/internal/arena"
	"github.com/clrprof/clrprof/internal/pieces"
	"github.com/clrprof/clrprof/internal/recording"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/wire"
)

// times is what one process said of its calls.
//
// A timing of the arena is a function, called from one place of its caller, in one thread. In the session it is part of
// two: its tail and its calls belong to the node of the function itself, its lead to the node of the call site in the
// caller, which is exclusive time of the caller there. Several of the arena's can be part of one of the session's.
//
// A process can have some million timings, and the collector may have to live with it in one container. So what is kept
// of each is small, and what is written goes to the session in parts, not when all of it is there.
type times struct {
	clock  clock
	closed bool // the process is over, or the recording is: what is written is all there is

	taken pieces.List[taken]  // by index in the arena
	rows  pieces.List[timing] // by index in the recording
	sums  counterSums         // by index in rows, of the whole run: room for one sync
	// of the few rows in which the operating system acted: of the whole run, room for one sync
	waits []wire.Waits
	ended []ended             // since the last sync
	noted pieces.List[uint64] // by index in the arena: the digest of the extremes that are written
	folds pieces.List[folds]  // inclusive times of folded calls, by index in the recording

	counts counts // of CPU counters
	acted  acted
}

// timingsAtOnce is how many timings are added up before the recording is told: what was added up stays in the
// processor's cache.
const timingsAtOnce = 256

// taken is what a timing of the arena is in the session, as it was when it was new: the target can overwrite its arena.
type taken struct {
	thread    short // ids, as the fields of key
	function  short
	self      short // node of the function itself
	above     short // the parent of self and of the function's call sites
	own, lead int32 // index in rows; lead -1: a root
	// the same of the folded calls that it made, none: there were none yet; if it is folded itself, of its function
	below int32
	// it is the root of folded calls, or below it: the intervals before its calls are in their callers' tails
	folded bool
}

// timing is where the sums of a timing of the session are.
type timing struct {
	waits int32 // index in waits; none
	folds int32 // index in folds; none
}

// none is no index.
const none = -1

// over says whether there is nothing to read of timings.
func (t *times) over(h *wire.Header, rows []wire.Timing) bool {
	return h.Data&wire.DataTime == 0 || t.closed || (len(rows) == 0 && h.TicksPerSec == 0)
}

// add reads what timings there are. The rows are those that were there before the log was read, so that the log has
// what they refer to.
func (t *times) add(r *Recorder, p *process, h *wire.Header, rows []wire.Timing) error {
	if t.over(h, rows) {
		return nil
	}
	if len(rows) < t.taken.Len() {
		return fmt.Errorf("%w: %d timings after %d", wire.ErrCorrupt, len(rows), t.taken.Len())
	}
	if err := t.writeProcess(p, h); err != nil {
		return err
	}
	for i := t.taken.Len(); i < len(rows); i++ {
		r.report(partTimings, i, len(rows))
		if err := t.take(p, rows); err != nil {
			return fmt.Errorf("timing %d: %w", i+1, err)
		}
		if p.rec.WaitingTimings() >= recording.RowsAtOnce {
			if err := p.rec.WriteTimings(); err != nil {
				return err
			}
		}
	}
	return nil
}

// sync reads what the arena's timings have counted, after add. In the last one of a process nothing is left for later.
func (t *times) sync(r *Recorder, p *process, h *wire.Header, rows []wire.Timing, last bool) error {
	if t.over(h, rows) {
		return nil
	}
	if err := t.findFolded(p, rows); err != nil {
		return err
	}
	if err := t.count(r, p, rows, last); err != nil {
		return err
	}
	if err := t.countCounters(p); err != nil {
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
	if err := p.rec.WriteTimings(); err != nil {
		return err
	}
	if err := t.grow(r, p, last); err != nil {
		return err
	}
	if err := t.growFolded(p); err != nil {
		return err
	}
	if err := t.growCounters(p); err != nil {
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
	return p.rec.WriteRunning(running)
}

// take adds the first timing of the arena that is new. Its function and its caller are described before it.
func (t *times) take(p *process, rows []wire.Timing) error {
	i := t.taken.Len()
	x := arena.Timing(&rows[i])
	thread, ok := p.threads.id(x.Thread)
	if !ok {
		return fmt.Errorf("%w: thread %d was never described", wire.ErrCorrupt, x.Thread)
	}
	f, ok := p.names.functions[x.Function]
	switch {
	case x.Function == 0:
		f.id = p.rec.Pseudo(session.NameFolded)
	case !ok:
		return fmt.Errorf("%w: function %d was never described", wire.ErrCorrupt, x.Function)
	}
	n := taken{thread: short(thread), function: short(f.id), lead: none, below: none, folded: x.Function == 0}
	if x.Parent != 0 {
		if int64(x.Parent) > int64(i) || t.taken.At(int(x.Parent-1)).thread != n.thread {
			return fmt.Errorf("%w: parent %d of a timing of thread %d", wire.ErrCorrupt, x.Parent, x.Thread)
		}
		caller := *t.taken.At(int(x.Parent - 1))
		above, err := t.callSite(p, caller, &x)
		if err != nil {
			return err
		}
		n.above = short(above)
		if n.lead, err = t.row(p, thread, above); err != nil {
			return err
		}
		n.folded = n.folded || caller.folded
	}
	self := p.rec.Node(session.NodeID(n.above), f.id, 0)
	own, err := t.row(p, thread, self)
	n.self, n.own = short(self), own
	t.taken.Add(n)
	p.places.addCall(&x, n, f.class)
	return err
}

// callSite returns the node of the place in a caller from which a timing was called, or that of the caller itself if
// the place is not known, or is in code between the two that is not recorded.
func (t *times) callSite(p *process, caller taken, x *wire.Timing) (session.NodeID, error) {
	if x.ReturnAddress == 0 {
		return session.NodeID(caller.self), nil
	}
	function := session.FunctionID(caller.function)
	at, err := p.tree.instructionAt(p, function, x)
	if err != nil || at == 0 {
		return session.NodeID(caller.self), err
	}
	return p.rec.Node(session.NodeID(caller.above), function, at), nil
}

// row returns the index of the timing of a thread at a node.
func (t *times) row(p *process, thread session.ThreadID, node session.NodeID) (int32, error) {
	i, err := p.rec.Timing(thread, node)
	if err == nil && int(i) == t.rows.Len() {
		t.rows.Add(timing{waits: none, folds: none})
	}
	return i, err
}

// grow tells what timings have counted. Counters are converted as they are in sum, so that the slices add up to the
// conversion of the sum.
func (t *times) grow(r *Recorder, p *process, last bool) error {
	totals := make([]session.TimingValue, min(timingsAtOnce, t.rows.Len()))
	for first := 0; first < t.rows.Len(); first += timingsAtOnce {
		r.report(partGrowth, first, t.rows.Len())
		some := totals[:min(timingsAtOnce, t.rows.Len()-first)]
		for i := range some {
			if err := t.value(first+i, &some[i]); err != nil {
				return err
			}
		}
		if err := p.rec.GrowTimings(first, some, last); err != nil {
			return err
		}
	}
	return p.rec.WriteGrown()
}
