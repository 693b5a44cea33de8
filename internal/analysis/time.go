package analysis

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/clrprof/clrprof/internal/calltree"
	"github.com/clrprof/clrprof/internal/pieces"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// timeTables are the recorded tables of times and, unexported, positions instead of their ids.
type timeTables struct {
	Times         []session.ProcessTime // of the processes whose calls were timed; empty: none
	CPUCounters   []session.CPUCounter
	Timings       []session.Timing
	TimingRunning []session.TimingRunning
	TimingBegan   []session.TimingBegan

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
		func() error { return into(&t.Timings, s.Timings) },
		func() error { return t.values.read(s) },
		func() error { return t.inclusives.read(s) },
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
func (t *timeTables) link(threads index[session.ThreadID], nodes index[session.NodeID],
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
		func() error { return t.values.link(t.timings, times) },
		func() error { return t.inclusives.link(t.timings, times) },
		func() error { return t.counts.link(t.timings, times) },
	)
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

// measured is what was measured of a timing, summed over slices.
type measured struct {
	calls, ended, made q.Count
	running            q.Count // calls that had not ended at the end of the last of the slices
	elapsed, waited    q.Nanoseconds
	q.Waits
	counters q.Counters
}

// measures are what was measured of each timing. There can be millions of timings, in few of which the operating system
// acted.
type measures struct {
	rows     []measuredCalls
	acted    []int32 // 1 + position in waits of what the operating system did; 0: nothing
	waits    pieces.List[q.Waits]
	counters []q.Counters // what CPU counters counted; nil: there are none
}

// measuredCalls is measured without what the operating system did.
type measuredCalls struct {
	calls, ended, made, running q.Count
	elapsed, waited             q.Nanoseconds
}

// of returns what was measured of a timing.
func (m *measures) of(timing int) measured {
	r := &m.rows[timing]
	out := measured{r.calls, r.ended, r.made, r.running, r.elapsed, r.waited, q.Waits{}, q.Counters{}}
	if at := m.acted[timing]; at > 0 {
		out.Waits = *m.waits.At(int(at - 1))
	}
	if m.counters != nil {
		out.counters = m.counters[timing]
	}
	return out
}

// all returns what was measured of all timings.
func (m *measures) all() []measured {
	out := make([]measured, len(m.rows))
	for i := range out {
		out[i] = m.of(i)
	}
	return out
}

// measure sums what is selected, by timing.
func (d *Data) measure() *measures {
	out := &measures{rows: make([]measuredCalls, len(d.Timings)), acted: make([]int32, len(d.Timings)),
		counters: d.counts.measure(d.in, len(d.Timings))}
	d.values.each(func(slice, timing int32, v *session.TimingValue) {
		m := &out.rows[timing]
		if !lets(d.in.timings, timing) {
			return
		}
		shown := d.in.moved == nil || !d.in.moved[timing]
		if shown && slice <= d.in.last {
			m.running += v.Calls - v.Ended
		}
		if !d.in.inSlice(slice) {
			return
		}
		if shown {
			m.calls += v.Calls
		}
		m.ended += v.Ended
		m.made += v.Made
		m.elapsed += v.Elapsed
		m.waited += v.Waited
		if v.Waits.IsZero() {
			return
		}
		if out.acted[timing] == 0 {
			out.waits.Add(q.Waits{})
			out.acted[timing] = int32(out.waits.Len())
		}
		waits := out.waits.At(int(out.acted[timing] - 1))
		*waits = waits.Add(v.Waits)
	})
	return out
}

// probes is what the probes of a process add to intervals, in nanoseconds, and to CPU counters.
type probes struct {
	inside, outside float64
	counters        [q.MaxCounters]struct{ inside, outside float64 }
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

// extent is the range of single calls; the zero extent is that of no call.
type extent struct {
	session.Extremes
	known bool
}

// Add returns the extent of the calls of both.
func (e extent) Add(o extent) extent {
	if !e.known || !o.known {
		if o.known {
			return o
		}
		return e
	}
	widen := func(a, b session.Range) session.Range {
		return session.Range{Min: min(a.Min, b.Min), Max: max(a.Max, b.Max)}
	}
	return extent{session.Extremes{
		ElapsedInclusive:     widen(e.ElapsedInclusive, o.ElapsedInclusive),
		ElapsedExclusive:     widen(e.ElapsedExclusive, o.ElapsedExclusive),
		ApplicationInclusive: widen(e.ApplicationInclusive, o.ApplicationInclusive),
		ApplicationExclusive: widen(e.ApplicationExclusive, o.ApplicationExclusive),
		CPUInclusive:         widen(e.CPUInclusive, o.CPUInclusive),
		CPUExclusive:         widen(e.CPUExclusive, o.CPUExclusive),
	}, true}
}

// IsZero reports whether there was no call.
func (e extent) IsZero() bool { return !e.known }

// nodeTimes is the exclusive time of each node, the calls there, and their extents.
type nodeTimes struct {
	own     *timeList    // as paths show them: without folded calls, but with what stands for them; nil: no more
	counts  []counts     // likewise
	threads []threadTime // by position
	merged  []int32      // the path of each node
	extents []extent     // by path; nil: those of single calls are not known
	folded  *foldedTimes // nil: there are none
}

type threadTime struct {
	q.Time
	counts
}

// nodeTimes sums the corrected times of what is selected, with the extents of calls; nil if there are none.
func (d *Data) nodeTimes() (*nodeTimes, error) {
	if len(d.Timings) == 0 {
		return nil, nil
	}
	n, all := (*nodeTimes)(nil), (*calltree.Merged)(nil)
	if err := atOnce(func() error { n = d.exclusiveTimes(); return nil },
		func() error { all = d.merged(); return nil }); err != nil {
		return nil, err
	}
	n.merged = all.Of
	if !d.in.selection.singleCalls() { // extremes are those of the whole run, and of whole calls
		return n, nil
	}
	n.extents = make([]extent, all.Len())
	return n, d.eachExtreme(func(timing int32, e *session.Extremes) {
		if !lets(d.in.timings, timing) {
			return
		}
		node := d.timingNode[timing]
		sum := &n.extents[n.merged[node]]
		if n.folded != nil && n.folded.caller[node] >= 0 {
			sum = &n.folded.row(node).extent
		}
		*sum = sum.Add(extent{*e, true})
	})
}

// eachExtreme calls fn for the rows of timing_extreme as they were written, with the positions of their timings.
func (d *Data) eachExtreme(fn func(timing int32, e *session.Extremes)) error {
	var missing error
	err := d.session.EachTimingExtreme(func(r *session.TimingExtreme) {
		if timing, _ := d.timings.find(r.Timing); timing != none {
			fn(timing, &r.Extremes)
		} else if missing == nil {
			missing = fmt.Errorf("session %s: %w: a row of timing_extreme refers to timing %d, which does not exist",
				d.session.Path(), errNotThere, r.Timing)
		}
	})
	return cmp.Or(err, missing)
}

// exclusiveTimes is nodeTimes without extents.
func (d *Data) exclusiveTimes() *nodeTimes {
	if len(d.Timings) == 0 {
		return nil
	}
	n := &nodeTimes{own: newTimeList(len(d.Nodes)), counts: make([]counts, len(d.Nodes)),
		threads: make([]threadTime, len(d.Threads))}
	probes := d.probesOf()
	for i, all := 0, d.measure(); i < len(all.rows); i++ {
		if all.rows[i] == (measuredCalls{}) && all.acted[i] == 0 && all.counters == nil {
			continue // most timings of a selection
		}
		m := all.of(i)
		thread, node := d.timingThread[i], d.timingNode[i]
		t, c := m.correct(processOf(probes, d.threadProcess[thread])).Time, counts{m.calls, m.running, m.made, 0}
		n.own.add(node, &t)
		n.counts[node] = n.counts[node].Add(c)
		of := &n.threads[thread]
		of.Time, of.counts = of.Time.Add(t), of.counts.Add(c)
		if p := d.tree.Parent[node]; p >= 0 {
			n.counts[p].pending += m.running
		}
	}
	if n.folded = d.foldedTimes(probes); n.folded != nil {
		n.folded.takeOut(n)
	}
	return n
}

// measured returns the exclusive time of a node with that of folded calls where it passed, in place of what stands for
// them.
func (n *nodeTimes) measured(node int32) q.Time {
	own := n.own.at(node)
	if n.folded != nil && n.folded.end[node] {
		own = own.Sub(n.folded.of(node).inclusive)
	}
	if n.folded != nil && n.folded.inside[node] {
		own = n.folded.of(node).own
	}
	return own
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
	own, inclusive *timeList
	counts         []counts
	extents        []extent // nil: they are not known
	ends           []bool   // paths that stand for folded calls, which have none; nil: none do
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
	p := &timePaths{Tree: tree, ends: ends}
	p.own, p.counts = n.own.sumList(of, tree.Len()), calltree.Sum(n.counts, of, tree.Len())
	p.inclusive = p.own.inclusive(tree)
	if n.extents == nil {
		return p
	}
	p.extents = make([]extent, tree.Len())
	taken := make([]bool, len(n.extents))
	for node, merged := range n.merged { // of a merged path all nodes are on the same path of the tree
		if path := of[node]; path >= 0 && !taken[merged] {
			taken[merged] = true
			p.extents[path] = p.extents[path].Add(n.extents[merged])
		}
	}
	return p
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
	inclusive := p.inclusive.sumOf(p.Topmost(group, groups), group, groups)
	exclusive := p.own.sum(group, groups)
	each := p.inclusive.sum(group, groups) // a path is in a group by itself, also within another of the group
	calls := calltree.Sum(p.counts, group, groups)
	extents := make([]extent, groups)
	if p.extents != nil {
		extents = calltree.Sum(p.extents, group, groups)
	}
	out := make([]timeRow, groups)
	for i := range out {
		out[i] = timeRow{
			session.TimeValue{Calls: calls[i].calls, Running: calls[i].running,
				Times: q.Times{Inclusive: inclusive[i], Exclusive: exclusive[i]}},
			singleCalls(each[i], extents[i].Extremes), extents[i].known,
		}
	}
	return out
}

func singleCalls(each q.Time, e session.Extremes) session.SingleCalls {
	return session.SingleCalls{NodesElapsed: each.Elapsed, NodesApplication: each.Application, NodesCPU: each.CPU,
		Extremes: e}
}

// path returns the row of one path.
func (p *timePaths) path(i int32) timeRow {
	var e extent
	if p.extents != nil {
		e = p.extents[i]
	}
	inclusive := p.inclusive.at(i)
	return timeRow{
		session.TimeValue{Calls: p.counts[i].calls, Running: p.counts[i].running,
			Times: q.Times{Inclusive: inclusive, Exclusive: p.own.at(i)}},
		singleCalls(inclusive, e.Extremes), e.known,
	}
}
