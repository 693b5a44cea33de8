package recording

import (
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/session/pieces"
)

// Sums are what the slices of a recording hold of its timings, in sum: what the tables timing_value and
// timing_inclusive add up to by timing, and which timings and nodes these are. They are good once the recording is
// written, and need 8 to 30 bytes for each timing, as many again until Rows is called; the recording itself is not kept
// by them.
type Sums struct {
	processes []*timings
	trees     []keptTree // nil: the nodes of some process are not known, or they were handed over
}

// keptTree is the nodes of a process, and the keys of its timings.
type keptTree struct {
	process   session.ProcessID
	nodes     pieces.List[branch]
	nodeIDs   numbering
	timings   pieces.List[key]
	timingIDs numbering
}

// Sums returns the sums of what is written.
func (r *Recording) Sums() *Sums {
	out := &Sums{}
	nodes := session.NodeID(0)
	for _, p := range r.processes {
		t := &p.timings
		out.trees = append(out.trees, keptTree{p.id, p.tree.nodes, p.tree.ids, t.keys, t.ids})
		nodes += session.NodeID(p.tree.nodes.Len())
		if t.rows.Len() > 0 {
			out.processes = append(out.processes, &timings{ids: t.ids, rows: t.rows, inclusive: t.inclusive, of: t.of})
		}
	}
	if nodes != r.next.node { // of a process whose source has the tree itself
		out.trees = nil
	}
	return out
}

// Rows hands over the rows of the tables node and timing, in the order of id, once; nil: the recording does not know
// all of them.
func (s *Sums) Rows() ([]session.Node, []session.Timing) {
	var nodes []session.Node
	var timings []session.Timing
	count := [2]int{}
	for _, t := range s.trees {
		count[0], count[1] = count[0]+t.nodes.Len(), count[1]+t.timings.Len()
	}
	if s.trees != nil {
		nodes, timings = make([]session.Node, count[0]), make([]session.Timing, count[1])
	}
	for _, t := range s.trees { // ids are those from 1 on, whatever process they are of
		for i := range t.nodes.Len() {
			id, b := t.nodeIDs.id(i), t.nodes.At(i)
			nodes[id-1] = session.Node{ID: session.NodeID(id), Parent: session.NodeID(b.parent), Process: t.process,
				Function: session.FunctionID(b.function), Instruction: session.InstructionID(b.instruction)}
		}
		for i := range t.timings.Len() {
			id, k := t.timingIDs.id(i), t.timings.At(i)
			timings[id-1] = session.Timing{ID: session.TimingID(id), Thread: session.ThreadID(k.thread),
				Node: session.NodeID(k.node)}
		}
	}
	s.trees = nil
	return nodes, timings
}

// Timings is how many timings there are.
func (s *Sums) Timings() int {
	n := 0
	for _, t := range s.processes {
		n += t.rows.Len()
	}
	return n
}

// Release lets go of the sums, whoever else refers to them: there are none then.
func (s *Sums) Release() { s.processes, s.trees = nil, nil }

// EachTiming calls one of two functions with the sum of each timing of which something was counted: plain if all of
// its calls ended and nothing was waited, which is so for most, and full, with a row of no slice that the next one
// overwrites, for the others.
func (s *Sums) EachTiming(plain func(id session.TimingID, calls, made quantity.Count, elapsed quantity.Nanoseconds),
	full func(*session.TimingValue)) {
	var sum session.TimingValue
	for _, t := range s.processes {
		for i := range t.rows.Len() {
			id := session.TimingID(t.ids.id(i))
			small, large := t.rows.At(i)
			if large != nil {
				sum = t.counted(i)
				sum.Timing = id
				full(&sum)
			} else if *small != (SmallTiming{}) {
				calls, made, elapsed := small.Counters()
				plain(id, quantity.Count(calls), quantity.Count(made), quantity.Nanoseconds(elapsed))
			}
		}
	}
}

// EachInclusive calls one of two functions with the sum of the folded calls of each timing that has some: plain if
// nothing was waited, and what is known of each call by itself is the same or nothing, which is so for most; full, with
// a row of no slice that the next one overwrites, for the others.
func (s *Sums) EachInclusive(plain func(id session.TimingID, times, calls quantity.Count, elapsed quantity.Nanoseconds,
	each bool), full func(*session.TimingInclusive)) {
	var sum session.TimingInclusive
	for _, t := range s.processes {
		for i := range t.inclusive.Len() {
			small, c := t.inclusive.At(i)
			if c == nil && *small == (SmallInclusive{}) {
				continue
			}
			id := session.TimingID(t.ids.id(int(*t.of.At(i))))
			if c == nil {
				times, calls, elapsed, eachCalls, eachElapsed := small.Sums()
				plain(id, quantity.Count(times), quantity.Count(calls), quantity.Nanoseconds(elapsed),
					eachCalls|eachElapsed != 0)
				continue
			}
			sum = session.TimingInclusive{Timing: id, Times: c.times, Calls: c.calls, Elapsed: c.elapsed,
				Waited: c.waited, Waits: c.Waits, EachCalls: c.eachCalls, EachElapsed: c.eachElapsed,
				EachWaited: c.eachWaited, EachOffCPU: c.eachOff}
			full(&sum)
		}
	}
}

// countedInclusive returns what slices hold of the inclusive time with an index.
func (t *timings) countedInclusive(i int) countedInclusive {
	small, c := t.inclusive.At(i)
	if c != nil {
		return *c
	}
	times, calls, elapsed, eachCalls, eachElapsed := small.Sums()
	return countedInclusive{times: quantity.Count(times), calls: quantity.Count(calls),
		elapsed: quantity.Nanoseconds(elapsed), eachCalls: quantity.Count(eachCalls),
		eachElapsed: quantity.Nanoseconds(eachElapsed)}
}
