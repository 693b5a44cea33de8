package analysis

import (
	"slices"

	"github.com/clrprof/clrprof/internal/analysis/calltree"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/session/pieces"
)

// foldedTimes is what is known of calls that have no paths. Their exclusive times and calls are at nodes below a root
// of their own: there is one for each function, and below it one for each function that it called. Inclusive times are
// measured: see timing_inclusive in docs/session.md.
type foldedTimes struct {
	inside   []bool  // by node: below that root, or one
	end      []bool  // by node: it stands for the folded calls that its parent made
	at       []int32 // by node: 1 + the position of its row; 0: it has none
	rows     pieces.List[foldedRow]
	function []int32 // by node inside: its function
	caller   []int32 // the same of a pair, else none
}

// foldedRow is what a node has of folded calls.
type foldedRow struct {
	own       q.Time // inside
	counts    counts
	inclusive q.Time
	each      q.Time // of a pair: of each call by itself
	calls     q.Count
	extent    extent // of a pair
}

// row returns the row of a node, a new one if it has none. It is good until the next one is made.
func (t *foldedTimes) row(node int32) *foldedRow {
	if t.at[node] == 0 {
		t.rows.Add(foldedRow{})
		t.at[node] = int32(t.rows.Len())
	}
	return t.rows.At(int(t.at[node] - 1))
}

// of returns the row of a node, an empty one if it has none.
func (t *foldedTimes) of(node int32) foldedRow {
	if at := t.at[node]; at != 0 {
		return *t.rows.At(int(at - 1))
	}
	return foldedRow{}
}

// clone returns one whose rows can be changed; nil of nil.
func (t *foldedTimes) clone() *foldedTimes {
	if t == nil {
		return nil
	}
	out := *t
	out.at, out.rows = slices.Clone(t.at), pieces.List[foldedRow]{}
	for i := range t.rows.Len() {
		out.rows.Add(*t.rows.At(i))
	}
	return &out
}

// takeOut makes times and calls of nodes what paths show: without those of folded calls, but with what stands for them.
// Of nil it does nothing.
func (t *foldedTimes) takeOut(n *nodeTimes) {
	if t == nil {
		return
	}
	for i, inside := range t.inside {
		if inside && !n.own.isZero(int32(i)) {
			r := t.row(int32(i))
			r.own, r.counts = n.own.time(int32(i)), n.own.counts(int32(i))
			n.own.clear(int32(i))
		}
		if t.end[i] {
			r := t.of(int32(i))
			n.own.add(int32(i), &r.inclusive, counts{calls: r.calls})
		}
	}
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
			out = make([]bool, d.tree.Len())
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
	if inside == nil && !d.hasInclusives() {
		return nil
	}
	n := d.tree.Len()
	out := &foldedTimes{inside: inside, end: make([]bool, n), at: make([]int32, n), function: make([]int32, n),
		caller: make([]int32, n)}
	if inside == nil {
		out.inside = make([]bool, n)
	}
	for i := range n {
		out.function[i], out.caller[i] = none, none
		if p := d.tree.Parent[i]; p >= 0 && out.inside[i] {
			out.function[i] = d.nodeFunction[i]
			if d.tree.Parent[p] >= 0 {
				out.caller[i] = d.nodeFunction[p]
			}
		}
	}
	if d.counted != nil {
		d.addCountedInclusives(out, probes)
	} else {
		d.eachMeasuredInclusive(func(timing int32, whole, each *measured) {
			d.addFolded(out, timing, whole, each, probes)
		})
	}
	return out
}

// addFolded adds the folded calls of a timing.
func (d *Data) addFolded(t *foldedTimes, timing int32, whole, each *measured, probes []probes) {
	if *whole == (measured{}) && *each == (measured{}) {
		return
	}
	thread, node := d.timingThread[timing], d.timingNode[timing]
	probe := processOf(probes, d.threadProcess[thread])
	t.end[node] = !t.inside[node]
	r := t.row(node)
	r.inclusive = r.inclusive.Add(whole.correct(probe).Time)
	r.each = r.each.Add(each.correct(probe).Time)
	r.calls += whole.ended
}

// inclusiveCalls is the time of folded calls of a timing, without what the operating system did: of all of them, and of
// each by itself.
type inclusiveCalls struct {
	ended, made, eachEnded                            q.Count
	elapsed, waited, eachElapsed, eachWaited, eachOff q.Nanoseconds

	acted int32 // 1 + position of what the operating system did; 0: nothing
}

// add adds a row, without what the operating system did.
func (s *inclusiveCalls) add(c *session.TimingInclusiveColumns, row int) {
	s.ended += q.Count(c.Calls[row])
	s.made += q.Count(c.Calls[row] - c.Times[row])
	s.elapsed += q.Nanoseconds(c.Elapsed[row])
	s.waited += q.Nanoseconds(c.Waited[row])
	s.eachEnded += q.Count(c.EachCalls[row])
	s.eachElapsed += q.Nanoseconds(c.EachElapsed[row])
	s.eachWaited += q.Nanoseconds(c.EachWaited[row])
	s.eachOff += q.Nanoseconds(c.EachOffCPU[row])
}

// eachMeasuredInclusive sums the time of folded calls that are selected, and calls fn for each timing that has some:
// whole is that of all of its calls, each that of each call by itself.
func (d *Data) eachMeasuredInclusive(fn func(timing int32, whole, each *measured)) {
	at := make([]int32, d.timings.rows) // 1 + position
	var sums pieces.List[inclusiveCalls]
	var waits pieces.List[q.Waits]
	counters := d.counts.measureFolds(d.in)
	d.inclusives.rows.EachColumns(func(c *session.TimingInclusiveColumns) {
		d.inclusives.timed.each(c.Slices, c.Timings, func(row int, slice, timing int32) {
			if !d.in.inSlice(slice) || !lets(d.in.timings, timing) {
				return
			}
			if at[timing] == 0 {
				sums.Add(inclusiveCalls{})
				at[timing] = int32(sums.Len())
			}
			s := sums.At(int(at[timing] - 1))
			s.add(c, row)
			if c.Waits == nil {
				return
			}
			of := c.Waits.At(row)
			if of.IsZero() {
				return
			}
			if s.acted == 0 {
				waits.Add(q.Waits{})
				s.acted = int32(waits.Len())
			}
			w := waits.At(int(s.acted - 1))
			*w = w.Add(of)
		})
	})
	var whole, each measured
	for i, n := range at {
		if n == 0 {
			continue
		}
		s := sums.At(int(n - 1))
		whole = measured{ended: s.ended, made: s.made, elapsed: s.elapsed, waited: s.waited}
		if s.acted != 0 {
			whole.Waits = *waits.At(int(s.acted - 1))
		}
		each = measured{ended: s.eachEnded, made: s.eachEnded, elapsed: s.eachElapsed, waited: s.eachWaited,
			Waits: q.Waits{OffCPU: s.eachOff}}
		whole.counters, each.counters = counters[int32(i)].Counters, counters[int32(i)].Each
		fn(int32(i), &whole, &each)
	}
}

// addTo adds folded calls to rows. row gives the row of a function called by another one (none: of the function alone),
// or none. Inclusive times are exact for functions and pairs. Of a group of functions only that is known which is on
// the stack longest: the sum of more would count what they called from one another twice.
func (t *foldedTimes) addTo(rows []timeRow, ofPair bool, row func(caller, function int32) int32) {
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
		has := t.of(int32(i))
		if pair {
			r := &rows[to]
			r.Exclusive = r.Exclusive.Add(has.own)
			r.Calls += has.counts.calls
			r.Running += has.counts.running
			r.NodesElapsed += has.each.Elapsed
			r.NodesApplication += has.each.Application
			r.NodesCPU += has.each.CPU
			if has.extent.known {
				r.Extremes, r.ended = extent{r.Extremes, r.ended}.Add(has.extent).Extremes, true
			}
		}
		if pair == ofPair && has.inclusive.Elapsed > longest[to].Elapsed {
			longest[to] = has.inclusive
		}
	}
	for i := range rows {
		rows[i].Inclusive = atLeast(rows[i].Inclusive.Add(longest[i]), rows[i].Exclusive)
	}
}

// addCalls adds the pairs of functions that are only found in folded calls, and the folded calls of all.
func (t *foldedTimes) addCalls(calls []calltree.Call, rows []timeRow) ([]calltree.Call, []timeRow) {
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
	t.addTo(rows, true, func(caller, function int32) int32 {
		return at[calltree.Call{Caller: caller, Callee: function}]
	})
	return calls, rows
}

// atLeast returns a time of which no part is less than that of another one. Elapsed time and overhead together are what
// was measured: if the other one has more overhead, elapsed time is less, as far as it may be.
func atLeast(t, least q.Time) q.Time {
	all := max(t.Elapsed+t.Overhead, least.Elapsed+least.Overhead)
	t.Overhead, t.OffCPU = max(t.Overhead, least.Overhead), max(t.OffCPU, least.OffCPU)
	t.Elapsed = max(all-t.Overhead, least.Elapsed)
	t.Application, t.CPU = max(t.Application, least.Application), max(t.CPU, least.CPU)
	t.Application, t.CPU = min(t.Application, t.Elapsed), min(t.CPU, t.Elapsed)
	t.Blocked, t.Ready = max(t.Blocked, least.Blocked), max(t.Ready, least.Ready)
	t.Intervals, t.Voluntary, t.Preempted = max(t.Intervals, least.Intervals), max(t.Voluntary,
		least.Voluntary), max(t.Preempted, least.Preempted)
	t.Faults, t.Reads = max(t.Faults, least.Faults), max(t.Reads, least.Reads)
	t.Application = min(t.Application, t.CPU)
	for i, n := range least.Counters { // of folded calls that have not ended nothing is known
		t.Counters[i] = max(t.Counters[i], n)
	}
	return t
}
