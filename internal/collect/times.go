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
type times struct {
	written session.ProcessTime
	clock   clock
	closed  bool // the process is over, or the recording is: what is written is all there is

	taken   []taken                   // by index in the arena
	rows    []timing                  // the session's
	known   map[session.Timing]int    // index in rows, by thread and node
	fresh   []session.Timing          // rows that are not written yet
	sums    []counters                // by index in rows, of the whole run: room for one sync
	singles map[int]*session.Extremes // by index in rows: of those whose calls ended since the last sync
}

// taken is what a timing of the arena is in the session, as it was when it was new: the target can overwrite its arena.
type taken struct {
	thread    session.ThreadID
	function  session.FunctionID
	self      session.NodeID // the function itself
	above     session.NodeID // the parent of self and of the function's call sites
	own, lead int32          // index in rows; lead -1: a root
	truncated bool           // it stands for calls that have no place of their own
	folded    bool           // it is below one that does, or is one: the intervals before its calls are in their callers' tails
}

// timing is a timing of the session and what earlier slices hold of it.
type timing struct {
	id      session.TimingID
	counted session.TimingValue
}

func newTimes() times { return times{known: map[session.Timing]int{}} }

// sync reads what is new of the arena's timings. The rows are those that were there before the log was read, so that the
// log has what they refer to. In the last one of a process nothing is left for later.
func (t *times) sync(r *Recorder, p *process, h *wire.Header, rows []wire.Timing, last bool, out *growth) error {
	if h.Data&wire.DataTime == 0 || t.closed || (len(rows) == 0 && h.TicksPerSec == 0) {
		return nil
	}
	if len(rows) < len(t.taken) {
		return fmt.Errorf("%w: %d timings after %d", wire.ErrCorrupt, len(rows), len(t.taken))
	}
	if err := t.writeProcess(r, p, h); err != nil {
		return err
	}
	for i := len(t.taken); i < len(rows); i++ {
		if err := t.take(r, p, rows); err != nil {
			return fmt.Errorf("timing %d: %w", i+1, err)
		}
	}
	if err := t.count(p, rows, last); err != nil {
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
	if err := t.grow(r, last, out); err != nil {
		return err
	}
	if err := p.tree.write(r, p); err != nil {
		return err
	}
	if err := r.w.InsertTimings(t.fresh); err != nil {
		return err
	}
	t.fresh = nil
	if err := t.writeExtremes(r); err != nil {
		return err
	}
	return r.w.ReplaceTimingRunning(running)
}

// take adds the first timing of the arena that is new. Its function and its caller are described before it.
func (t *times) take(r *Recorder, p *process, rows []wire.Timing) error {
	i := len(t.taken)
	x := arena.Timing(&rows[i])
	thread, ok := p.threads.id(x.Thread)
	if !ok {
		return fmt.Errorf("%w: thread %d was never described", wire.ErrCorrupt, x.Thread)
	}
	f, ok := p.names.functions[x.Function]
	switch {
	case x.Function == 0:
		f.id = p.names.pseudo(r, p.id, session.NameTruncated)
	case !ok:
		return fmt.Errorf("%w: function %d was never described", wire.ErrCorrupt, x.Function)
	}
	if len(t.rows) > math.MaxInt32-2 {
		return fmt.Errorf("%w: more than %d timings", wire.ErrCorrupt, math.MaxInt32)
	}
	n := taken{thread: thread, function: f.id, lead: -1, truncated: x.Function == 0, folded: x.Function == 0}
	if x.Parent != 0 {
		if int64(x.Parent) > int64(i) || t.taken[x.Parent-1].thread != thread {
			return fmt.Errorf("%w: parent %d of a timing of thread %d", wire.ErrCorrupt, x.Parent, x.Thread)
		}
		var err error
		if n.above, err = t.callSite(r, p, t.taken[x.Parent-1], &x); err != nil {
			return err
		}
		n.lead = t.row(r, thread, n.above)
		n.folded = n.truncated || t.taken[x.Parent-1].truncated
	}
	n.self = p.tree.node(r, session.Node{Parent: n.above, Process: p.id, Function: f.id})
	n.own = t.row(r, thread, n.self)
	t.taken = append(t.taken, n)
	return nil
}

// callSite returns the node of the place in a caller from which a timing was called, or that of the caller itself if the
// place is not known, or is in code between the two that is not recorded.
func (t *times) callSite(r *Recorder, p *process, caller taken, x *wire.Timing) (session.NodeID, error) {
	if x.ReturnAddress == 0 {
		return caller.self, nil
	}
	at, err := p.tree.instructionAt(r, p, caller.function, x)
	if err != nil || at == 0 {
		return caller.self, err
	}
	return p.tree.node(r, session.Node{Parent: caller.above, Process: p.id, Function: caller.function, Instruction: at}), nil
}

// row returns the index of the timing of a thread at a node.
func (t *times) row(r *Recorder, thread session.ThreadID, node session.NodeID) int32 {
	key := session.Timing{Thread: thread, Node: node}
	i, ok := t.known[key]
	if !ok {
		r.next.timing++
		i = len(t.rows)
		t.known[key] = i
		t.rows = append(t.rows, timing{id: r.next.timing})
		t.fresh = append(t.fresh, session.Timing{ID: r.next.timing, Thread: thread, Node: node})
	}
	return int32(i)
}

// grow adds by how much each timing grew since the last sync. Counters are converted as they are in sum, so that the
// slices add up to the conversion of the sum.
func (t *times) grow(r *Recorder, last bool, out *growth) error {
	for i := range t.rows {
		row := &t.rows[i]
		total, err := t.value(&t.sums[i])
		if err != nil {
			return err
		}
		total.Waited = waited(total.Waited, &total, &row.counted, last)
		grown, ok := difference(&total, &row.counted)
		if !ok {
			return fmt.Errorf("%w: a timing of %+v after %+v", wire.ErrCorrupt, total, row.counted)
		}
		if grown == (session.TimingValue{}) {
			continue
		}
		r.elapsed += grown.Elapsed
		r.calls += grown.Calls + grown.Made
		if r.elapsed > maxCounter || r.calls > maxCounter {
			return fmt.Errorf("%w: %d calls, %d ns in sum", wire.ErrCorrupt, r.calls, r.elapsed)
		}
		row.counted = total
		grown.Timing = row.id
		out.timings = append(out.timings, grown)
	}
	return nil
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
		min(d.Elapsed, d.Waited, d.OffCPU) >= 0
}
