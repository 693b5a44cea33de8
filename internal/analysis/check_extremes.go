package analysis

import (
	"slices"

	"github.com/clrprof/clrprof/internal/analysis/calltree"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// slack is by how much a total may differ from the sum of its single calls, of which the smallest and the largest are
// recorded. The agent takes the whole overhead out of each call as far as it goes; a timing's is taken out of the
// timing's sum, and of application time only that of intervals which count there. For sums it is what was measured
// while the program ran; for single calls, before. The rest is rounding.
type slack struct {
	clipped q.Nanoseconds // overhead that did not go out of elapsed time, or that sums and single calls differ by
	loose   q.Nanoseconds // the same of application time, and what is spared there
	timings q.Count       // each is rounded by up to 1 ns
	// each of the agent's timings, which may be as many, loses up to 1 ns when ticks become nanoseconds
	intervals q.Count
}

// Add returns the sum.
func (s slack) Add(o slack) slack {
	return slack{s.clipped + o.clipped, s.loose + o.loose, s.timings + o.timings, s.intervals + o.intervals}
}

// IsZero reports whether there is none.
func (s slack) IsZero() bool { return s == slack{} }

// extremes checks minimum ≤ average ≤ maximum wherever all calls have ended.
func (c *checker) extremes(d *Data, whole []measured) error {
	rows, err := d.session.TimingExtremes()
	if err != nil {
		return err
	}
	times, err := d.nodeTimes()
	if err != nil {
		return err
	}
	for _, e := range rows {
		for _, r := range []session.Range{e.ElapsedInclusive, e.ElapsedExclusive, e.ApplicationInclusive,
			e.ApplicationExclusive, e.CPUInclusive, e.CPUExclusive} {
			if r.Min < 0 || r.Min > r.Max {
				c.add("extremes", "timing %d: from %d to %d", e.Timing, r.Min, r.Max)
			}
		}
		above := func(a, b session.Range) bool { return a.Min > b.Min || a.Max > b.Max }
		if above(e.CPUInclusive, e.ElapsedInclusive) || above(e.CPUExclusive, e.ElapsedExclusive) ||
			above(e.ApplicationInclusive, e.CPUInclusive) || above(e.ApplicationExclusive, e.CPUExclusive) {
			c.add("extremes", "timing %d: application above CPU, or that above elapsed: %+v", e.Timing, e.Extremes)
		}
	}
	all, probes, folded := d.merged(), d.probesOf(), d.folded()
	own := make([]slack, all.Len())
	for i := range whole {
		m, path := &whole[i], all.Of[d.timingNode[i]]
		p := processOf(probes, d.threadProcess[d.timingThread[i]])
		t, moved := m.correct(p), scale(m.ended, p.movedInside)+scale(m.made, p.movedOutside)
		own[path] = own[path].Add(slack{t.clipped + moved, t.loose + moved, 1, m.ended + m.made})
	}
	inclusive := calltree.Inclusive(all.Tree, own)
	paths := times.onPaths(all.Tree, all.Of)
	check := func(what string, group []int32, groups int, process func(int) int32) {
		around, at := calltree.Sum(inclusive, group, groups), calltree.Sum(own, group, groups)
		for i, r := range paths.group(group, groups) {
			if r.Calls > 0 && r.Running == 0 && d.exited(process(i)) {
				c.averages(what, i, &r, around[i], at[i], d.tick(process(i)), folded[process(i)],
					slices.Contains(c.waits, process(i)))
			}
		}
	}
	each := make([]int32, all.Len())
	for i := range each {
		each[i] = int32(i)
	}
	functionProcess := d.functionProcess()
	check("path", each, all.Len(), func(i int) int32 { return functionProcess[all.Group[i]] })
	check("function", all.Group, len(d.Functions), func(i int) int32 { return functionProcess[i] })
	calls, group := all.GroupCalls(all.Group)
	check("call", group, len(calls), func(i int) int32 { return functionProcess[calls[i].Callee] })
	return nil
}

// folded reports of each process, by position, whether it has folded calls, which have no paths.
func (d *Data) folded() []bool {
	out := make([]bool, len(d.Processes))
	for i, inside := range d.foldedNodes() {
		if p := d.nodeProcess[i]; p >= 0 && inside {
			out[p] = true
		}
	}
	return out
}

// averages checks one row: the total over calls is between calls × minimum and calls × maximum. With folded calls that
// cannot be said of inclusive totals, and where waits were lost not of CPU time.
func (c *checker) averages(what string, i int, r *timeRow, around, at slack, tick q.Nanoseconds, folded, waits bool) {
	for _, v := range []struct {
		name  string
		total q.Nanoseconds
		of    session.Range
		slack slack
		free  q.Nanoseconds
		bound bool // of the calls below only those that are not folded are in the total
	}{
		{"elapsed inclusive", r.NodesElapsed, r.ElapsedInclusive, around, around.clipped, folded},
		{"elapsed exclusive", r.Exclusive.Elapsed, r.ElapsedExclusive, at, at.clipped, false},
		{"application inclusive", r.NodesApplication, r.ApplicationInclusive, around, around.loose, folded},
		{"application exclusive", r.Exclusive.Application, r.ApplicationExclusive, at, at.loose, false},
		{"CPU inclusive", r.NodesCPU, r.CPUInclusive, around, around.clipped + around.loose, folded || waits},
		{"CPU exclusive", r.Exclusive.CPU, r.CPUExclusive, at, at.clipped + at.loose, waits},
	} {
		n := q.Nanoseconds(r.Calls)
		high := n*(v.of.Max+1) + v.free + q.Nanoseconds(v.slack.timings)
		low := n*(v.of.Min-tick) - v.free - q.Nanoseconds(v.slack.timings+v.slack.intervals)
		if !v.bound && (v.total > high || v.total < low) {
			c.add("extremes", "%s %d: %s is %d ns in %d calls, of %d to %d ns each", what, i+1, v.name, v.total,
				r.Calls, v.of.Min, v.of.Max)
		}
	}
}

// exited reports whether a process, by position, ended by itself: then all that it recorded is there.
func (d *Data) exited(process int32) bool {
	return process >= 0 && d.Processes[process].EndState == session.EndExited
}

// tick returns the length of a tick of a process's clock, rounded up: so much is lost of each call.
func (d *Data) tick(process int32) q.Nanoseconds {
	for _, t := range d.Times {
		if t.Process == d.Processes[process].ID && t.TicksPerSec > 0 {
			return q.Nanoseconds(1e9/t.TicksPerSec) + 1
		}
	}
	return 1
}

// functionProcess returns the process of each function, both by position.
func (d *Data) functionProcess() []int32 {
	at := newIndex(d.Processes, func(r *session.Process) session.ProcessID { return r.ID })
	out := make([]int32, len(d.Functions))
	for i, f := range d.Functions {
		out[i], _ = at.find(f.Process)
	}
	return out
}
