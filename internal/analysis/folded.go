package analysis

import (
	"github.com/clrprof/clrprof/internal/calltree"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// foldedTimes is what is known of calls that have no paths. Their exclusive times and calls are at nodes below a root of
// their own: there is one for each function, and below it one for each function that it called. Inclusive times are
// measured: see timing_inclusive in docs/session.md.
type foldedTimes struct {
	inside    []bool   // by node: below that root, or one
	end       []bool   // by node: it stands for the folded calls that its parent made
	inclusive []q.Time // by node: of folded calls
	each      []q.Time // by node of a pair: of each call by itself
	calls     []q.Count
	function  []int32 // by node inside: its function
	caller    []int32 // the same of a pair, else none
}

// isPseudo reports whether a node is of the pseudo function with a name.
func (d *Data) isPseudo(node int32, name string) bool {
	f := &d.Functions[d.nodeFunction[node]]
	return f.Kind == session.FunctionPseudo && f.RawName == name
}

// foldedNodes reports which nodes are those of folded calls, or their root; nil: there are none.
func (d *Data) foldedNodes() []bool {
	var out []bool
	for i, p := range d.tree.Parent {
		root := p == calltree.None && d.isPseudo(int32(i), session.NameFolded)
		if root && out == nil {
			out = make([]bool, len(d.Nodes))
		}
		if out != nil {
			out[i] = root || p >= 0 && out[p]
		}
	}
	return out
}

// foldedTimes sums what is selected; nil: there is nothing.
func (d *Data) foldedTimes(probes []probes) *foldedTimes {
	inside := d.foldedNodes()
	if inside == nil && len(d.TimingInclusives) == 0 {
		return nil
	}
	n := len(d.Nodes)
	out := &foldedTimes{inside: inside, end: make([]bool, n), inclusive: make([]q.Time, n), each: make([]q.Time, n), calls: make([]q.Count, n),
		function: make([]int32, n), caller: make([]int32, n)}
	if inside == nil {
		out.inside = make([]bool, n)
	}
	for i := range d.Nodes {
		out.function[i], out.caller[i] = none, none
		if p := d.tree.Parent[i]; p >= 0 && out.inside[i] {
			out.function[i] = d.nodeFunction[i]
			if d.tree.Parent[p] >= 0 {
				out.caller[i] = d.nodeFunction[p]
			}
		}
	}
	whole, each := d.measureInclusive()
	for i, m := range whole {
		if m == (measured{}) && each[i] == (measured{}) {
			continue
		}
		thread, node := d.timingThread[i], d.timingNode[i]
		probe := processOf(probes, d.threadProcess[thread])
		out.end[node] = !out.inside[node]
		out.inclusive[node] = out.inclusive[node].Add(m.correct(probe).Time)
		out.each[node] = out.each[node].Add(each[i].correct(probe).Time)
		out.calls[node] += m.ended
	}
	return out
}

// measureInclusive sums the time of folded calls that are selected, by timing; and that of each call by itself.
func (d *Data) measureInclusive() (whole, each []measured) {
	whole, each = make([]measured, len(d.Timings)), make([]measured, len(d.Timings))
	for i, r := range d.TimingInclusives {
		timing := d.inclusiveOf[i]
		if !d.in.inSlice(d.inclusiveAt[i]) || !lets(d.in.timings, timing) {
			continue
		}
		m := &whole[timing]
		m.ended += r.Calls
		m.made += r.Calls - r.Times
		m.elapsed += r.Elapsed
		m.waited += r.Waited
		m.Waits = m.Waits.Add(r.Waits)
		e := &each[timing]
		e.ended += r.EachCalls
		e.made += r.EachCalls
		e.elapsed += r.EachElapsed
		e.waited += r.EachWaited
		e.OffCPU += r.EachOffCPU
	}
	return whole, each
}

// onNodes returns the times and calls of nodes as paths show them: without those of folded calls, but with what stands for them.
func (t *foldedTimes) onNodes(n *nodeTimes) ([]q.Time, []counts) {
	own, calls := make([]q.Time, len(n.own)), make([]counts, len(n.own))
	for i := range own {
		if !t.inside[i] {
			own[i], calls[i] = n.own[i], n.counts[i]
		}
		if t.end[i] {
			own[i] = own[i].Add(t.inclusive[i])
			calls[i].calls += t.calls[i]
		}
	}
	return own, calls
}

// addTo adds folded calls to rows. row gives the row of a function called by another one (none: of the function alone), or none.
// Inclusive times are exact for functions and pairs. Of a group of functions only that is known which is on the stack longest:
// the sum of more would count what they called from one another twice.
func (t *foldedTimes) addTo(n *nodeTimes, rows []timeRow, ofPair bool, row func(caller, function int32) int32) {
	longest := make([]q.Time, len(rows))
	for i, function := range t.function {
		if function < 0 {
			continue
		}
		pair := t.caller[i] >= 0
		to := int32(none)
		if pair || !ofPair {
			to = row(t.caller[i], function)
		}
		if to < 0 {
			continue
		}
		if pair {
			r := &rows[to]
			r.Exclusive = r.Exclusive.Add(n.own[i])
			r.Calls += n.counts[i].calls
			r.Running += n.counts[i].running
			r.NodesElapsed += t.each[i].Elapsed
			r.NodesApplication += t.each[i].Application
			r.NodesCPU += t.each[i].CPU
		}
		if pair == ofPair && t.inclusive[i].Elapsed > longest[to].Elapsed {
			longest[to] = t.inclusive[i]
		}
	}
	for i := range rows {
		rows[i].Inclusive = atLeast(rows[i].Inclusive.Add(longest[i]), rows[i].Exclusive)
	}
	t.addExtents(n, rows, row)
}

func (t *foldedTimes) addExtents(n *nodeTimes, rows []timeRow, row func(caller, function int32) int32) {
	for _, e := range n.extents {
		if t.caller[e.node] < 0 {
			continue
		}
		to := row(t.caller[e.node], t.function[e.node])
		if to < 0 {
			continue
		}
		r := &rows[to]
		r.Extremes, r.ended = extent{r.Extremes, r.ended}.Add(e.extent).Extremes, true
	}
}

// addCalls adds the pairs of functions that are only found in folded calls, and the folded calls of all.
func (t *foldedTimes) addCalls(n *nodeTimes, calls []calltree.Call, rows []timeRow) ([]calltree.Call, []timeRow) {
	at := make(map[calltree.Call]int32, len(calls))
	for i, c := range calls {
		at[c] = int32(i)
	}
	for i, caller := range t.caller {
		if c := (calltree.Call{Caller: caller, Callee: t.function[i]}); caller >= 0 {
			if _, ok := at[c]; !ok {
				at[c] = int32(len(calls))
				calls, rows = append(calls, c), append(rows, timeRow{})
			}
		}
	}
	t.addTo(n, rows, true, func(caller, function int32) int32 { return at[calltree.Call{Caller: caller, Callee: function}] })
	return calls, rows
}

// atLeast returns a time of which no part is less than that of another one.
func atLeast(t, least q.Time) q.Time {
	t.Elapsed, t.Application, t.CPU = max(t.Elapsed, least.Elapsed), max(t.Application, least.Application), max(t.CPU, least.CPU)
	t.Overhead, t.OffCPU = max(t.Overhead, least.Overhead), max(t.OffCPU, least.OffCPU)
	t.Blocked, t.Ready = max(t.Blocked, least.Blocked), max(t.Ready, least.Ready)
	t.Intervals, t.Voluntary, t.Preempted = max(t.Intervals, least.Intervals), max(t.Voluntary, least.Voluntary), max(t.Preempted, least.Preempted)
	t.Faults, t.Reads = max(t.Faults, least.Faults), max(t.Reads, least.Reads)
	t.Application = min(t.Application, t.CPU)
	return t
}
