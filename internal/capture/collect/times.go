package collect

import (
	"fmt"

	"github.com/clrprof/clrprof/internal/capture/arena"
	"github.com/clrprof/clrprof/internal/capture/recording"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/session/pieces"
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
	seen  pieces.List[uint32] // by index in the arena: arena.Counted as of the last sync
	below sparse              // by index in the arena, of those with folded calls: see findFolded
	noted pieces.List[uint64] // by index in the arena: the digest of the extremes that are written
	ended []int32             // of which calls ended since the last sync: indexes in the arena, in the order of rows
	grown []bool              // by index in the recording: of which something may have been counted since the last sync

	sums   counterSums // by index in the recording, of those that may have grown, of the whole run: room for one sync
	folded sparse      // index in folds, by index in the recording
	// inclusive times of folded calls, of the whole run: room for one sync
	folds pieces.Packed[recording.SmallInclusive, inclusiveSum]

	counts counts // of CPU counters
	acted  acted
}

// timingsAtOnce is how many timings are added up before the recording gets them: what was added up stays in the
// processor's cache.
const timingsAtOnce = 256

// taken is where a timing of the arena is in the session. What it is there was found when it was new: the target can
// overwrite its arena.
type taken struct {
	row  int32 // index in the recording; -1 less that if the timing is folded: see newTaken
	lead int32 // that of its call site; none: it is a root
}

// newTaken returns where a timing is. Folded is the root of folded calls, and what is below it: the intervals before
// its calls are in their callers' tails.
func newTaken(own, lead int32, folded bool) taken {
	if folded {
		own = ^own
	}
	return taken{own, lead}
}

func (n taken) folded() bool { return n.row < 0 }

// own is the index in the recording of what counts for the function itself.
func (n taken) own() int32 {
	if n.row < 0 {
		return ^n.row
	}
	return n.row
}

// place is what a timing is in the session.
type place struct {
	thread session.ThreadID
	self   session.NodeID // node of the function itself
	above  session.NodeID // the parent of self and of the function's call sites

	function session.FunctionID
}

// place returns what a timing is.
func (n taken) place(p *process) (out place) {
	out.thread, out.self = p.rec.TimingParts(int(n.own()))
	out.above, out.function = p.rec.NodeParts(out.self)
	return out
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

// sync reads what the arena's timings have counted, after add and findFolded. In the last one of a process nothing is
// left for later.
func (t *times) sync(r *Recorder, p *process, h *wire.Header, rows []wire.Timing, last bool) error {
	if t.over(h, rows) {
		return nil
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
	case x.Function == wire.FunctionCollection:
		f.id = p.rec.Pseudo(session.NameCollection)
	case !ok:
		return fmt.Errorf("%w: function %d was never described", wire.ErrCorrupt, x.Function)
	}
	above, lead, folded := session.NodeID(0), int32(none), x.Function == 0
	if x.Parent != 0 {
		if int64(x.Parent) > int64(i) {
			return fmt.Errorf("%w: parent %d of timing %d", wire.ErrCorrupt, x.Parent, i+1)
		}
		n := t.taken.At(int(x.Parent - 1))
		caller := n.place(p)
		if caller.thread != thread {
			return fmt.Errorf("%w: parent %d of a timing of thread %d", wire.ErrCorrupt, x.Parent, x.Thread)
		}
		var err error
		if above, err = t.callSite(p, caller, &x); err != nil {
			return err
		}
		if lead, err = p.rec.Timing(thread, above); err != nil {
			return err
		}
		folded = folded || n.folded()
	}
	own, err := p.rec.Timing(thread, p.rec.Node(above, f.id, 0))
	t.taken.Add(newTaken(own, lead, folded))
	p.places.addCall(&x, f)
	return err
}

// callSite returns the node of the place in a caller from which a timing was called, or that of the caller itself if
// the place is not known, or is in code between the two that is not recorded.
func (t *times) callSite(p *process, caller place, x *wire.Timing) (session.NodeID, error) {
	if x.ReturnAddress == 0 {
		return caller.self, nil
	}
	at, err := p.tree.instructionAt(p, caller.function, x)
	if err != nil || at == 0 {
		return caller.self, err
	}
	return p.rec.Node(caller.above, caller.function, at), nil
}

// grow tells what timings have counted. Counters are converted as they are in sum, so that the slices add up to the
// conversion of the sum.
func (t *times) grow(r *Recorder, p *process, last bool) error {
	rows, totals := make([]int32, 0, timingsAtOnce), [timingsAtOnce]session.TimingValue{}
	for i, grown := range t.grown {
		if grown {
			if err := t.value(i, &totals[len(rows)]); err != nil {
				return err
			}
			rows = append(rows, int32(i))
		}
		if len(rows) < timingsAtOnce && i+1 < len(t.grown) {
			continue
		}
		r.report(partGrowth, i, len(t.grown))
		if err := p.rec.GrowTimings(rows, totals[:len(rows)], last); err != nil {
			return err
		}
		rows = rows[:0]
	}
	t.grown = nil
	return p.rec.WriteGrown()
}
