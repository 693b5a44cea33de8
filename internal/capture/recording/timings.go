package recording

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/session/pieces"
)

// timings are those of one process. It can have some million, and the collector may have to live with it in one
// container. So what is kept of each is small, and what is written goes to the session in parts, not when all of it
// is there.
type timings struct {
	written session.ProcessTime
	keys    pieces.List[key]
	ids     numbering
	index   pieces.Index // of keys
	node    short        // the greatest that has a timing: what is above it has none
	rows    pieces.Packed[SmallTiming, counted]
	fresh   []session.Timing
	grown   []session.TimingValue

	// of folded calls
	inclusive pieces.Packed[SmallInclusive, countedInclusive]
	of        pieces.List[int32] // the row that an inclusive time is of
}

// key is a thread and a node.
type key struct{ thread, node short }

func (k key) hash() uint64 { return mixed(uint64(k.thread)<<32 | uint64(k.node)) }

// counted is what slices hold of a timing.
type counted struct {
	calls, ended, made quantity.Count
	elapsed, waited    quantity.Nanoseconds
	quantity.Waits
}

// countedInclusive is session.TimingInclusive as far as slices hold it.
type countedInclusive struct {
	times, calls, eachCalls                           quantity.Count
	elapsed, waited, eachElapsed, eachWaited, eachOff quantity.Nanoseconds
	quantity.Waits
}

// WriteTime writes how the process is timed, when it has changed.
func (p *Process) WriteTime(row session.ProcessTime) error {
	if row.Process = p.id; row == p.timings.written {
		return nil
	}
	p.timings.written = row
	return p.recording.w.ReplaceProcessTimes([]session.ProcessTime{row})
}

// Timing returns the index of the timing of a thread at a node.
func (p *Process) Timing(thread session.ThreadID, node session.NodeID) (int32, error) {
	t, k := &p.timings, key{short(thread), short(node)}
	if k.node <= t.node {
		if row, ok := t.index.Find(k.hash(), func(row uint32) bool { return *t.keys.At(int(row)) == k }); ok {
			return int32(row), nil
		}
	}
	row := t.keys.Len()
	if row >= math.MaxInt32 {
		return 0, fmt.Errorf("%w: more than %d timings", ErrInconsistent, math.MaxInt32)
	}
	next := &p.recording.next.timing
	*next++
	t.ids.add(row, short(*next))
	t.keys.Add(k)
	t.node = max(t.node, k.node)
	t.index.Add(k.hash(), uint32(row), func(row uint32) uint64 { return t.keys.At(int(row)).hash() })
	t.rows.Add(SmallTiming{})
	t.fresh = append(t.fresh, session.Timing{ID: *next, Thread: thread, Node: node})
	return int32(row), nil
}

// TimingParts returns the thread and the node of a timing.
func (p *Process) TimingParts(i int) (session.ThreadID, session.NodeID) {
	k := p.timings.keys.At(i)
	return session.ThreadID(k.thread), session.NodeID(k.node)
}

// AddSystemEvents writes intervals in which the operating system acted. Their ids are given here; the calls have the
// index of their row in place of it.
func (p *Process) AddSystemEvents(rows []session.SystemEvent, calls []session.SystemEventCall) error {
	next := &p.recording.next.systemEvent
	for i := range calls {
		calls[i].Event += *next + 1
	}
	for i := range rows {
		*next++
		rows[i].ID = *next
	}
	if err := p.recording.w.InsertSystemEvents(rows); err != nil {
		return err
	}
	return p.recording.w.InsertSystemEventCalls(calls)
}

// NameSystemCalls writes the names of system calls.
func (p *Process) NameSystemCalls(rows []session.SystemCall) error {
	return p.recording.w.ReplaceSystemCalls(rows)
}

// Timings is how many timings there are.
func (p *Process) Timings() int { return p.timings.rows.Len() }

// TimingID is the id of a timing.
func (p *Process) TimingID(i int) session.TimingID { return session.TimingID(p.timings.ids.id(i)) }

// Calls is how many calls of a timing slices hold, and how many of them ended.
func (p *Process) Calls(i int) (began, ended quantity.Count) {
	v := p.timings.counted(i)
	return v.Calls, v.Ended
}

// Ended is how many calls of a timing that ended slices hold.
func (p *Process) Ended(i int) quantity.Count {
	small, large := p.timings.rows.At(i)
	if large != nil {
		return large.ended
	}
	calls, _, _ := small.Counters()
	return quantity.Count(calls)
}

// WaitingTimings is how many timings are not written.
func (p *Process) WaitingTimings() int { return len(p.timings.fresh) }

// WriteTimings writes the timings that are new, and what they refer to.
func (p *Process) WriteTimings() error {
	if err := p.WriteTree(); err != nil {
		return err
	}
	err := p.recording.w.InsertTimings(p.timings.fresh)
	p.timings.fresh = p.timings.fresh[:0]
	return err
}

// GrowTimings takes what the timings with these indexes have counted up to now; last: nothing comes after this. Totals
// need neither slice nor id.
func (p *Process) GrowTimings(rows []int32, totals []session.TimingValue, last bool) error {
	t, r := &p.timings, p.recording
	for k := range totals {
		total, i := &totals[k], int(rows[k])
		if t.isCounted(i, total) {
			continue
		}
		before := t.counted(i)
		total.Waited = waited(total.Waited, total, &before, last)
		grown, ok := difference(total, &before)
		if !ok {
			return fmt.Errorf("%w: a timing of %+v after %+v", ErrInconsistent, *total, before)
		}
		if grown == (session.TimingValue{}) {
			continue
		}
		r.totals.Elapsed += grown.Elapsed
		r.totals.Calls += grown.Calls + grown.Made
		if r.totals.Elapsed > MaxCounter || r.totals.Calls > MaxCounter {
			return fmt.Errorf("%w: %d calls, %d ns in sum", ErrInconsistent, r.totals.Calls, r.totals.Elapsed)
		}
		t.setCounted(i, total)
		grown.Slice, grown.Timing = r.slice(), p.TimingID(i)
		t.grown = append(t.grown, grown)
		r.grown.any = true
		if len(t.grown) >= RowsAtOnce {
			if err := p.WriteGrown(); err != nil {
				return err
			}
		}
	}
	return nil
}

// WriteGrown writes by how much timings grew, as far as it is not written.
func (p *Process) WriteGrown() error {
	err := p.recording.w.InsertTimingValues(p.timings.grown)
	p.timings.grown = p.timings.grown[:0]
	return err
}

// counted returns what slices hold of a timing.
func (t *timings) counted(i int) session.TimingValue {
	small, c := t.rows.At(i)
	if c != nil {
		return session.TimingValue{Calls: c.calls, Ended: c.ended, Made: c.made, Elapsed: c.elapsed, Waited: c.waited,
			Waits: c.Waits}
	}
	calls, made, elapsed := small.Counters()
	return session.TimingValue{Calls: quantity.Count(calls), Ended: quantity.Count(calls), Made: quantity.Count(made),
		Elapsed: quantity.Nanoseconds(elapsed)}
}

// isCounted reports whether a timing has counted what slices hold of it; false, too, where that takes long to say.
func (t *timings) isCounted(i int, total *session.TimingValue) bool {
	if row, large := t.rows.At(i); large == nil && total.Waited == 0 && total.Waits.IsZero() {
		small, ok := NewSmallTiming(uint64(total.Calls), uint64(total.Ended), uint64(total.Made), uint64(total.Elapsed))
		return ok && small == *row
	}
	return false
}

// setCounted keeps it. No number is negative: they only grow, from zero.
func (t *timings) setCounted(i int, v *session.TimingValue) {
	row, large := t.rows.At(i)
	if large == nil && v.Waited == 0 && v.Waits.IsZero() {
		small, ok := NewSmallTiming(uint64(v.Calls), uint64(v.Ended), uint64(v.Made), uint64(v.Elapsed))
		if ok {
			*row = small
			return
		}
	}
	t.rows.SetLarge(i, counted{v.Calls, v.Ended, v.Made, v.Elapsed, v.Waited, v.Waits})
}

// waited keeps what was waited within a slice from being more than what passed in it: what was waited of an interval is
// counted before the interval, and the two are rounded. What is more waits for the next slice. If there is none, the
// process was killed between the two, and it counts for nothing.
func waited(sum quantity.Nanoseconds, total, before *session.TimingValue, last bool) quantity.Nanoseconds {
	most := before.Waited + total.Elapsed - before.Elapsed
	if last && sum > most+1 && sum <= total.Elapsed { // nothing comes after this
		return sum
	}
	return min(sum, max(most, before.Waited))
}

// difference returns by how much a timing grew; false: a counter has shrunk.
func difference(now, before *session.TimingValue) (session.TimingValue, bool) {
	d := session.TimingValue{Calls: now.Calls - before.Calls, Ended: now.Ended - before.Ended,
		Made:    now.Made - before.Made,
		Elapsed: now.Elapsed - before.Elapsed, Waited: now.Waited - before.Waited, Waits: now.Waits.Sub(before.Waits)}
	return d, min(d.Calls, d.Ended, d.Made, d.Intervals, d.Voluntary, d.Preempted, d.Faults, d.Reads) >= 0 &&
		min(d.Elapsed, d.Waited, d.OffCPU, d.Blocked, d.Ready) >= 0
}

// AddInclusive adds the inclusive time of folded calls to a timing. Its index is the number of those that there were.
func (p *Process) AddInclusive(timing int) {
	p.timings.inclusive.Add(SmallInclusive{})
	p.timings.of.Add(int32(timing))
}

// GrownInclusives adds the indexes of those that grew to a list: totals are what they have counted up to now, from
// the one with the index first on.
func (p *Process) GrownInclusives(first int, totals []session.TimingInclusive, grown []int32) ([]int32, error) {
	for k := range totals {
		d, err := p.timings.growth(first+k, &totals[k])
		if err != nil {
			return grown, err
		}
		if d != (session.TimingInclusive{}) {
			grown = append(grown, int32(first+k))
		}
	}
	return grown, nil
}

// SortInclusives sorts indexes in the order in which GrowInclusives gets them: that of the timings.
func (p *Process) SortInclusives(indexes []int32) {
	list := &p.timings.of
	slices.SortFunc(indexes, func(a, b int32) int { return cmp.Compare(*list.At(int(a)), *list.At(int(b))) })
}

// GrowInclusives takes what the inclusive times with some indexes have counted up to now, and leaves their growth in
// totals.
func (p *Process) GrowInclusives(indexes []int32, totals []session.TimingInclusive) error {
	t := &p.timings
	for k, i := range indexes {
		total := totals[k]
		grown, err := t.growth(int(i), &total)
		if err != nil {
			return err
		}
		t.setInclusive(int(i), &total)
		grown.Slice, grown.Timing = p.recording.slice(), p.inclusiveID(int(i))
		totals[k] = grown
		p.recording.grown.any = true
	}
	return p.recording.w.InsertTimingInclusives(totals)
}

// inclusiveID is the id of the timing that an inclusive time is of.
func (p *Process) inclusiveID(i int) session.TimingID { return p.TimingID(int(*p.timings.of.At(i))) }

// growth returns by how much inclusive time grew.
func (t *timings) growth(i int, now *session.TimingInclusive) (session.TimingInclusive, error) {
	c := t.countedInclusive(i)
	d := session.TimingInclusive{Times: now.Times - c.times, Calls: now.Calls - c.calls,
		Elapsed: now.Elapsed - c.elapsed,
		Waited:  now.Waited - c.waited, Waits: now.Waits.Sub(c.Waits), EachCalls: now.EachCalls - c.eachCalls,
		EachElapsed: now.EachElapsed - c.eachElapsed, EachWaited: now.EachWaited - c.eachWaited,
		EachOffCPU: now.EachOffCPU - c.eachOff}
	if min(d.Times, d.Calls, d.EachCalls, d.Intervals, d.Voluntary, d.Preempted, d.Faults, d.Reads) < 0 ||
		min(d.Elapsed, d.Waited, d.OffCPU, d.Blocked, d.Ready, d.EachElapsed, d.EachWaited, d.EachOffCPU) < 0 {
		return d, fmt.Errorf("%w: folded calls of %+v, grown by %+v", ErrInconsistent, *now, d)
	}
	return d, nil
}

func (t *timings) setInclusive(i int, v *session.TimingInclusive) {
	row, large := t.inclusive.At(i)
	if large == nil && v.Waited == 0 && v.EachWaited == 0 && v.EachOffCPU == 0 && v.Waits.IsZero() {
		small, ok := NewSmallInclusive(uint64(v.Times), uint64(v.Calls), uint64(v.Elapsed), uint64(v.EachCalls),
			uint64(v.EachElapsed))
		if ok {
			*row = small
			return
		}
	}
	t.inclusive.SetLarge(i, countedInclusive{v.Times, v.Calls, v.EachCalls, v.Elapsed, v.Waited, v.EachElapsed,
		v.EachWaited, v.EachOffCPU, v.Waits})
}

// ReplaceExtremes writes the extremes of calls.
func (p *Process) ReplaceExtremes(rows []session.TimingExtreme) error {
	return p.recording.w.ReplaceTimingExtremes(rows)
}

// WriteRunning writes the calls that have not ended. It is the end of the process, or of the recording.
func (p *Process) WriteRunning(rows []session.TimingRunning) error {
	return p.recording.w.ReplaceTimingRunning(rows)
}

// AddBegan writes when calls began, as WriteRunning.
func (p *Process) AddBegan(rows []session.TimingBegan) error {
	return p.recording.w.InsertTimingBegan(rows)
}
