package analysis

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/clrprof/clrprof/internal/analysis/calltree"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/session/pieces"
)

// timeTables are the recorded tables of times and, unexported, positions instead of their ids.
type timeTables struct {
	Times         []session.ProcessTime // of the processes whose calls were timed; empty: none
	CPUCounters   []session.CPUCounter
	Timings       []session.Timing
	TimingRunning []session.TimingRunning
	TimingBegan   []session.TimingBegan

	counted      Counted // what the next two add up to, which are not read then; nil: nobody knows
	values       timeValues
	inclusives   inclusiveValues // of folded calls
	counts       countValues     // of CPU counters
	timings      index[session.TimingID]
	timingThread []int32
	timingNode   []int32
	runningOf    []int32 // timing
	beganOf      []int32 // timing
}

func (t *timeTables) read(s *session.Session) error {
	for _, read := range []func() error{
		func() error { return into(&t.Times, s.ProcessTimes) },
		func() error { return into(&t.CPUCounters, s.CPUCounters) },
		func() error { return t.counts.read(s) },
		func() error { return into(&t.TimingRunning, s.TimingRunning) },
		func() error { return into(&t.TimingBegan, s.TimingBegan) },
	} {
		if err := read(); err != nil {
			return err
		}
	}
	return nil
}

// link replaces ids by positions.
func (t *timeTables) link(s *session.Session, threads index[session.ThreadID], nodes index[session.NodeID],
	times index[session.SliceID]) error {
	t.timings = newIndex(t.Timings, func(r *session.Timing) session.TimingID { return r.ID })
	err := atOnce(
		refer(&t.timingThread, threads, t.Timings, func(r *session.Timing) session.ThreadID { return r.Thread },
			"timing", "thread"),
		refer(&t.timingNode, nodes, t.Timings, func(r *session.Timing) session.NodeID { return r.Node },
			"timing", "node"),
		refer(&t.runningOf, t.timings, t.TimingRunning, func(r *session.TimingRunning) session.TimingID {
			return r.Timing
		}, "timing_running", "timing"),
		refer(&t.beganOf, t.timings, t.TimingBegan, func(r *session.TimingBegan) session.TimingID { return r.Timing },
			"timing_began", "timing"),
		func() error { return t.counts.link(t.timings, times) },
	)
	if err == nil && t.counted == nil {
		err = t.values.read(s, timed{t.timings, times})
	}
	if err == nil && t.counted == nil {
		err = t.inclusives.read(s, timed{t.timings, times})
	}
	if err == nil && t.counted != nil && t.counted.Timings() != len(t.Timings) {
		err = fmt.Errorf("%w: %d timings, and sums of %d", session.ErrCorrupt, len(t.Timings), t.counted.Timings())
	}
	if err != nil {
		return err
	}
	for i, r := range t.Timings {
		if t.timingThread[i] == none || t.timingNode[i] == none {
			return fmt.Errorf("%w: timing %d has no thread or node", session.ErrCorrupt, r.ID)
		}
	}
	if slices.Contains(t.runningOf, none) || slices.Contains(t.beganOf, none) {
		return fmt.Errorf("%w: a row of timing_running or timing_began has no timing", session.ErrCorrupt)
	}
	return nil
}

// dropTimings lets go of what each timing has, once all is added up that will be.
func (t *timeTables) dropTimings() {
	t.Timings, t.timingThread, t.timingNode = nil, nil, nil
	t.counted, t.values, t.inclusives, t.counts = nil, timeValues{}, inclusiveValues{}, countValues{}
}

// measured is what was measured of a timing, summed over slices.
type measured struct {
	calls, ended, made q.Count
	running            q.Count // calls that had not ended at the end of the last of the slices
	elapsed, waited    q.Nanoseconds
	q.Waits
	counters q.Counters
}

// measures are what was measured of each timing. There can be millions of timings, of most of which all numbers are
// small.
type measures struct {
	small    []smallMeasure
	large    pieces.List[measured]
	counters []q.Counters // what CPU counters counted; nil: there are none
}

// smallMeasure is what was measured of a timing where no number is negative or above 32 bits, and the operating system
// did nothing.
type smallMeasure struct {
	calls, ended, made, running, elapsed, waited uint32

	large int32 // 1 + position in measures.large of what has more, and is there as a whole; 0: it is small
}

// of returns what was measured of a timing.
func (m *measures) of(timing int) measured {
	r, out := &m.small[timing], measured{}
	if r.large > 0 {
		out = *m.large.At(int(r.large - 1))
	} else {
		out = measured{calls: q.Count(r.calls), ended: q.Count(r.ended), made: q.Count(r.made),
			running: q.Count(r.running), elapsed: q.Nanoseconds(r.elapsed), waited: q.Nanoseconds(r.waited)}
	}
	if m.counters != nil {
		out.counters = m.counters[timing]
	}
	return out
}

// smallSums is what a smallMeasure can hold, in numbers of any size.
type smallSums struct{ calls, ended, made, running, elapsed, waited int64 }

// noWaits is that the operating system did nothing. It is not to be changed.
var noWaits q.Waits

// add adds to what was measured of a timing: no counters.
func (m *measures) add(timing int32, v *smallSums, waits *q.Waits) {
	r := &m.small[timing]
	if r.large == 0 && waits.IsZero() {
		calls, ended, made := int64(r.calls)+v.calls, int64(r.ended)+v.ended, int64(r.made)+v.made
		running, elapsed, waited := int64(r.running)+v.running, int64(r.elapsed)+v.elapsed, int64(r.waited)+v.waited
		if uint64(calls|ended|made|running|elapsed|waited) <= math.MaxUint32 {
			*r = smallMeasure{uint32(calls), uint32(ended), uint32(made), uint32(running), uint32(elapsed),
				uint32(waited), 0}
			return
		}
	}
	if r.large == 0 {
		m.large.Add(measured{calls: q.Count(r.calls), ended: q.Count(r.ended), made: q.Count(r.made),
			running: q.Count(r.running), elapsed: q.Nanoseconds(r.elapsed), waited: q.Nanoseconds(r.waited)})
		*r = smallMeasure{large: int32(m.large.Len())}
	}
	l := m.large.At(int(r.large - 1))
	l.calls, l.ended, l.made = l.calls+q.Count(v.calls), l.ended+q.Count(v.ended), l.made+q.Count(v.made)
	l.running += q.Count(v.running)
	l.elapsed, l.waited = l.elapsed+q.Nanoseconds(v.elapsed), l.waited+q.Nanoseconds(v.waited)
	l.Waits = l.Waits.Add(*waits)
}

// all returns what was measured of all timings.
func (m *measures) all() []measured {
	out := make([]measured, len(m.small))
	for i := range out {
		out[i] = m.of(i)
	}
	return out
}

// measure sums what is selected, by timing; nil: it is counted already.
func (d *Data) measure() *measures {
	if d.counted != nil {
		return nil
	}
	out := &measures{small: make([]smallMeasure, d.timings.rows), counters: d.counts.measure(d.in, d.timings.rows)}
	d.values.rows.EachColumns(func(c *session.TimingValueColumns) {
		d.values.timed.each(c.Slices, c.Timings, func(row int, slice, timing int32) {
			if !lets(d.in.timings, timing) {
				return
			}
			var sum smallSums
			shown := d.in.moved == nil || !d.in.moved[timing]
			if shown && slice <= d.in.last {
				sum.running = c.Calls[row] - c.Ended[row]
			}
			waits := &noWaits
			if d.in.inSlice(slice) {
				if shown {
					sum.calls = c.Calls[row]
				}
				sum.ended, sum.made = c.Ended[row], c.Made[row]
				sum.elapsed, sum.waited = c.Elapsed[row], c.Waited[row]
				if c.Waits != nil {
					acted := c.Waits.At(row)
					waits = &acted
				}
			}
			if sum != (smallSums{}) || !waits.IsZero() {
				out.add(timing, &sum, waits)
			}
		})
	})
	return out
}

// probes is what the probes of a process add to intervals, in nanoseconds, and to CPU counters. From the minimum and
// the maximum of single calls the agent subtracts what it measured at the start; moved is how far that is from inside
// and outside.
type probes struct {
	inside, outside           float64
	movedInside, movedOutside float64
	counters                  [q.MaxCounters]struct{ inside, outside float64 }
}

// corrected is a time, and how far it may be from what the calls alone would give.
type corrected struct {
	q.Time
	clipped q.Nanoseconds // overhead that could not be taken out of Elapsed, since so much time was not measured
	loose   q.Nanoseconds // the same of Application, and the overhead of intervals that do not count there
}

// correct takes out what the probes added: inside for each interval that the end of a call ended, outside for each that
// a call ended. Docs: "Probe overhead" in docs/metrics.md.
func (m *measured) correct(p probes) corrected {
	inside, outside := scale(m.ended, p.inside), scale(m.made, p.outside)
	all := inside + outside
	c := corrected{Time: q.Time{Overhead: min(max(m.elapsed, 0), all), Waits: m.Waits}}
	c.clipped = all - c.Overhead
	c.Elapsed = m.elapsed - c.Overhead
	intervals := m.ended + m.made
	free := intervals - min(max(m.Intervals, 0), max(intervals, 0))
	own := share(c.Overhead, free, intervals)
	c.Application = min(c.Elapsed, max(0, m.elapsed-m.waited-own))
	c.CPU = min(c.Elapsed, max(c.Application, c.Elapsed-max(m.OffCPU, 0)))
	for i, n := range m.counters {
		each := &p.counters[i]
		c.Counters[i] = n - min(n, q.Count(scale(m.ended, each.inside)+scale(m.made, each.outside)))
	}
	c.loose = c.clipped + c.Overhead - own + max(0, own-(m.elapsed-m.waited))
	return c
}

// maxOverhead bounds the overhead of a timing, 73 years, so that sums of it in a damaged session cannot overflow.
const maxOverhead = math.MaxInt64 / 4

// scale returns n × each, rounded half away from zero.
func scale(n q.Count, each float64) q.Nanoseconds {
	x := float64(n) * each
	if !(x > 0) { // also NaN
		return 0
	}
	return q.Nanoseconds(math.Round(min(x, maxOverhead)))
}

// share returns whole × part / of, rounded half up, for 0 ≤ part ≤ of and whole ≥ 0; 0 if of is 0.
func share(whole q.Nanoseconds, part, of q.Count) q.Nanoseconds {
	if of <= 0 || part <= 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(whole), uint64(part))
	lo, carry := bits.Add64(lo, uint64(of)/2, 0)
	quotient, _ := bits.Div64(hi+carry, lo, uint64(of))
	return q.Nanoseconds(quotient)
}

// probesOf returns what the probes of each process add, by position; zero for one that was not timed.
func (d *Data) probesOf() []probes {
	at := newIndex(d.Processes, func(r *session.Process) session.ProcessID { return r.ID })
	out := make([]probes, len(d.Processes))
	for _, t := range d.Times {
		if i, ok := at.find(t.Process); ok && i >= 0 {
			out[i].inside, out[i].outside = t.Inside, t.Outside
			if t.FirstInside+t.FirstOutside > 0 {
				out[i].movedInside = math.Abs(t.Inside - t.FirstInside)
				out[i].movedOutside = math.Abs(t.Outside - t.FirstOutside)
			}
		}
	}
	for _, c := range d.CPUCounters {
		if i, ok := at.find(c.Process); ok && i >= 0 && c.Position > 0 && c.Position <= q.MaxCounters {
			out[i].counters[c.Position-1].inside, out[i].counters[c.Position-1].outside = c.Inside, c.Outside
		}
	}
	return out
}

// counts are calls, by node, path or group.
type counts struct {
	calls   q.Count // that began: of functions
	running q.Count // of these: had not ended
	made    q.Count // calls made from here
	pending q.Count // of these: had not ended
}

// Add returns the sum.
func (c counts) Add(o counts) counts {
	return counts{c.calls + o.calls, c.running + o.running, c.made + o.made, c.pending + o.pending}
}

// IsZero reports whether there are no calls.
func (c counts) IsZero() bool { return c == counts{} }

// nodeTimes is the exclusive time of each node, the calls there, and their extents.
type nodeTimes struct {
	own     *sums        // as paths show them: without folded calls, but with what stands for them; nil: no more
	threads []threadTime // by position
	merged  []int32      // the path of each node
	extents *extents     // by path; nil: those of single calls are not known
	folded  *foldedTimes // nil: there are none
}

type threadTime struct {
	q.Time
	counts
}

// nodeTimes sums the corrected times of what is selected, with the extents of calls; nil if there are none.
func (d *Data) nodeTimes() (*nodeTimes, error) {
	if d.timings.rows == 0 {
		return nil, nil
	}
	all := (*calltree.Merged)(nil)
	n, each := d.readTimes(func() error { all = d.merged(); return nil })
	n.merged = all.Of
	err := atOnce(func() error { d.addUp(n, each); return nil }, func() error {
		if !d.in.selection.singleCalls() { // extremes are those of the whole run, and of whole calls
			return nil
		}
		n.extents = &extents{small: make([]smallExtent, all.Len())}
		return d.addExtremes(n)
	})
	n.folded.takeOut(n)
	return n, err
}

// addExtremes sums the extents of calls.
func (d *Data) addExtremes(n *nodeTimes) error {
	return d.eachExtreme(func(timing int32, bounds *bounds, row int) {
		if !lets(d.in.timings, timing) {
			return
		}
		node := d.timingNode[timing]
		if n.folded != nil && n.folded.caller[node] >= 0 {
			sum := &n.folded.row(node).extent
			*sum = sum.Add(bounds.at(row))
			return
		}
		n.extents.addRow(n.merged[node], bounds, row)
	})
}

// eachExtreme calls fn for the rows of timing_extreme as they were written, with the positions of their timings.
func (d *Data) eachExtreme(fn func(timing int32, bounds *bounds, row int)) error {
	var missing error
	err := d.session.EachExtremeColumns(func(c *session.ExtremeColumns) {
		bounds := (*bounds)(c.Bounds)
		for row, id := range c.Timings {
			timing := int32(none)
			if uint64(id) <= math.MaxUint32 {
				timing, _ = d.timings.find(session.TimingID(id))
			}
			if timing != none {
				fn(timing, bounds, row)
			} else if missing == nil {
				missing = fmt.Errorf("session %s: %w: a row of timing_extreme refers to timing %d, which does not "+
					"exist", d.session.Path(), errNotThere, id)
			}
		}
	})
	return cmp.Or(err, missing)
}

// exclusiveTimes is nodeTimes without extents.
func (d *Data) exclusiveTimes() *nodeTimes {
	if d.timings.rows == 0 {
		return nil
	}
	n, each := d.readTimes(func() error { return nil })
	d.addUp(n, each)
	n.folded.takeOut(n)
	return n
}

// readTimes reads what was measured of timings, and sums folded calls, while something else is done that fails never.
func (d *Data) readTimes(meanwhile func() error) (*nodeTimes, *measures) {
	n, each := &nodeTimes{}, (*measures)(nil)
	_ = atOnce(meanwhile, // none has an error
		func() error { n.folded = d.foldedTimes(d.probesOf()); return nil },
		func() error { each = d.measure(); return nil })
	if d.addedUpOnce {
		d.values = timeValues{}
	}
	return n, each
}

// addUp sums the times of timings by node and by thread.
func (d *Data) addUp(n *nodeTimes, each *measures) {
	probes := d.probesOf()
	n.own, n.threads = newSums(d.tree.Len()), make([]threadTime, len(d.Threads))
	if d.counted != nil {
		d.addCounted(n, probes)
		return
	}
	for i := range each.small {
		if each.small[i] == (smallMeasure{}) && each.counters == nil {
			continue // most timings of a selection
		}
		m := each.of(i)
		d.addMeasured(n, int32(i), &m, probes)
	}
}

// addMeasured adds what was measured of a timing to its node and its thread.
func (d *Data) addMeasured(n *nodeTimes, timing int32, m *measured, probes []probes) {
	thread, node := d.timingThread[timing], d.timingNode[timing]
	t := m.correct(processOf(probes, d.threadProcess[thread])).Time
	c := counts{calls: m.calls, running: m.running, made: m.made}
	n.own.add(node, &t, c)
	n.threads[thread].Time = n.threads[thread].Time.Add(t)
	n.threads[thread].counts = n.threads[thread].counts.Add(c)
	if p := d.tree.Parent[node]; p >= 0 && m.running != 0 {
		n.own.add(p, &q.Time{}, counts{pending: m.running})
	}
}

// measured returns the exclusive time of a node with that of folded calls where it passed, in place of what stands for
// them.
func (n *nodeTimes) measured(node int32) q.Time {
	own := n.own.time(node)
	if n.folded != nil && n.folded.end[node] {
		own = own.Sub(n.folded.of(node).inclusive)
	}
	if n.folded != nil && n.folded.inside[node] {
		own = n.folded.of(node).own
	}
	return own
}

// addMeasured adds the time that measured returns.
func (n *nodeTimes) addMeasured(sum *q.Time, node int32) {
	if n.folded == nil || !n.folded.end[node] && !n.folded.inside[node] {
		n.own.addTo(sum, node)
		return
	}
	*sum = sum.Add(n.measured(node))
}

// hasMeasured reports whether measured returns any time.
func (n *nodeTimes) hasMeasured(node int32) bool {
	if n.folded != nil && (n.folded.inside[node] || n.folded.end[node]) {
		return n.measured(node) != q.Time{}
	}
	return n.own.hasTime(node)
}

func processOf(all []probes, process int32) probes {
	if process < 0 {
		return probes{}
	}
	return all[process]
}

// timePaths are times by path.
type timePaths struct {
	calltree.Tree
	own       *sums
	inclusive *sums    // nil until something needs it: belowAll
	extents   *extents // by merged path; nil: they are not known
	merged    []int32  // the merged path of each path
	ends      []bool   // paths that stand for folded calls, which have none; nil: none do
}

// onPaths sums times over the call sites of each path, and what is below it. of is the path of each node. Folded calls
// are not on paths: what is known of their time is that of a path below that of the innermost call that has one.
func (n *nodeTimes) onPaths(tree calltree.Tree, of []int32) *timePaths {
	ends := make([]bool, tree.Len())
	if n.folded != nil {
		for node, end := range n.folded.end {
			if path := of[node]; end && path >= 0 {
				ends[path] = true
			}
		}
	}
	p := &timePaths{Tree: tree, ends: ends, own: n.own.group(of, tree.Len())}
	if n.extents == nil {
		return p
	}
	p.extents, p.merged = n.extents, make([]int32, tree.Len())
	for i := range p.merged {
		p.merged[i] = none
	}
	for node, merged := range n.merged { // of a merged path all nodes are on one path of the tree, and alone there
		if path := of[node]; path >= 0 {
			p.merged[path] = merged
		}
	}
	return p
}

// belowAll returns the time of each path with all that is below it.
func (p *timePaths) belowAll() *sums {
	if p.inclusive == nil {
		p.inclusive = p.own.inclusive(p.Tree)
	}
	return p.inclusive
}

// extent returns that of a path.
func (p *timePaths) extent(path int32) extent {
	if p.extents == nil || p.merged[path] == none {
		return extent{}
	}
	return p.extents.at(p.merged[path])
}

// timeRow is a row of a derived table whose rows have calls of their own.
type timeRow struct {
	session.TimeValue
	session.SingleCalls
	ended bool // there are Extremes
}

// group returns the row of each group of paths, by the rules of inclusive and exclusive. group[i] is in [0, groups), or
// none. What stands for folded calls is in no group.
func (p *timePaths) group(group []int32, groups int) []timeRow {
	if slices.Contains(p.ends, true) {
		group = slices.Clone(group)
		for i, end := range p.ends {
			if end {
				group[i] = none
			}
		}
	}
	var below presence
	var exclusive []q.Time
	var calls []counts
	_ = atOnce(func() error {
		below = p.own.presence(p.Tree, true, grouping{group, groups})[0]
		return nil
	}, func() error {
		exclusive, calls = p.own.times(group, groups), p.own.calls(group, groups)
		return nil // none of these has an error
	})
	extents := make([]extent, groups)
	for path, to := range group {
		if to >= 0 {
			extents[to] = extents[to].Add(p.extent(int32(path)))
		}
	}
	out := make([]timeRow, groups)
	for i := range out {
		out[i] = timeRow{
			session.TimeValue{Calls: calls[i].calls, Running: calls[i].running,
				Times: q.Times{Inclusive: below.inclusive[i], Exclusive: exclusive[i]}},
			below.each[i].calls(extents[i].Extremes), extents[i].known,
		}
	}
	return out
}

// calls is the time with the extremes of the same calls.
func (t singleTime) calls(e session.Extremes) session.SingleCalls {
	return session.SingleCalls{NodesElapsed: t.elapsed, NodesApplication: t.application, NodesCPU: t.cpu, Extremes: e}
}

// path returns the row of one path.
func (p *timePaths) path(i int32) timeRow {
	e := p.extent(i)
	calls, inclusive := p.own.counts(i), p.belowAll().time(i)
	return timeRow{
		session.TimeValue{Calls: calls.calls, Running: calls.running,
			Times: q.Times{Inclusive: inclusive, Exclusive: p.own.time(i)}},
		singleTime{inclusive.Elapsed, inclusive.Application, inclusive.CPU}.calls(e.Extremes), e.known,
	}
}
