package timing

import (
	"cmp"
	"slices"

	"github.com/clrprof/clrprof/internal/wire"
)

// Result turns the counters into the four values.
func (c *Counters) Result() Result {
	timings := slices.Clone(c.Timings)
	if n := len(c.Activations); n > 0 { // of the open interval it is not known whether the operating system acted in it
		t := &timings[c.Activations[n-1].Timing-1]
		t.TailElapsed += c.open
		t.TailWaited += c.open
	}
	return Tree(timings, c.Waits)
}

// Tree turns the timings of one thread, and the waits to which they refer, into the four values. Exclusive time of a
// timing is its Tail and the Lead of those that it called; inclusive time is that and the inclusive time of those. The
// number of a timing is its index plus one; a parent comes before those that it called.
func Tree(timings []wire.Timing, waits []wire.Waits) Result {
	t := tree{timings: timings, waits: waits, children: make([][]int, len(timings)+1), total: make([]Values, len(timings)),
		on: map[uint32]int{}, functions: map[uint32]*Function{}}
	for i, x := range timings {
		t.children[x.Parent] = append(t.children[x.Parent], i)
	}
	for i := len(timings) - 1; i >= 0; i-- {
		t.sum(i)
	}
	t.walk(0, -1)
	t.result.Functions = sorted(t.functions)
	return t.result
}

type tree struct {
	timings   []wire.Timing
	waits     []wire.Waits
	children  [][]int // indexes, by number of the parent
	total     []Values
	on        map[uint32]int // how often a function is on the path
	functions map[uint32]*Function
	result    Result
}

// sum computes the values of a timing from its own counters and those of its children, which have theirs.
func (t *tree) sum(i int) {
	own, v := t.timings[i], &t.total[i]
	v[ElapsedExclusive], v[ApplicationExclusive] = own.TailElapsed, own.TailElapsed-own.TailWaited
	for _, child := range t.children[i+1] {
		x := t.timings[child]
		v[ElapsedExclusive] += x.LeadElapsed
		v[ApplicationExclusive] += x.LeadElapsed - x.LeadWaited
		v[ElapsedInclusive] += t.total[child][ElapsedInclusive]
		v[ApplicationInclusive] += t.total[child][ApplicationInclusive]
	}
	v[ElapsedInclusive] += v[ElapsedExclusive]
	v[ApplicationInclusive] += v[ApplicationExclusive]
}

// walk adds the children of a timing to the result.
func (t *tree) walk(number uint32, parent int) {
	children := t.children[number]
	slices.SortFunc(children, func(i, j int) int {
		a, b := &t.timings[i], &t.timings[j]
		return cmp.Or(cmp.Compare(a.Function, b.Function), cmp.Compare(a.ReturnAddress, b.ReturnAddress))
	})
	for _, i := range children {
		x := &t.timings[i]
		index := len(t.result.Nodes)
		t.result.Nodes = append(t.result.Nodes, Node{Parent: parent, Function: x.Function, ReturnAddress: x.ReturnAddress,
			Calls: x.Calls, Ended: x.Ended, Unmatched: x.Unmatched, Total: t.total[i], Min: least(x), Max: x.Max,
			Lead: t.waitsOf(x.LeadWaits), Tail: t.waitsOf(x.TailWaits)})
		t.sites(i, index)
		t.function(i)
		t.on[x.Function]++
		t.walk(uint32(i+1), index)
		t.on[x.Function]--
	}
}

// least is the minimum of one call: 0 if none ended.
func least(x *wire.Timing) Values {
	if x.Ended == 0 {
		return Values{}
	}
	return x.Min
}

func (t *tree) waitsOf(number uint32) wire.Waits {
	if number == 0 {
		return wire.Waits{}
	}
	return t.waits[number-1]
}

func (t *tree) function(i int) {
	x := &t.timings[i]
	f := t.functions[x.Function]
	if f == nil {
		f = &Function{Function: x.Function}
		t.functions[x.Function] = f
	}
	one := Function{Calls: x.Calls, Ended: x.Ended, Total: t.total[i], Min: least(x), Max: x.Max}
	if t.on[x.Function] > 0 {
		one.Total[ElapsedInclusive], one.Total[ApplicationInclusive] = 0, 0
	}
	f.add(one)
}

// sites adds the call sites of a timing, which is at an index of the result.
func (t *tree) sites(i, index int) {
	sites := map[uint64]*Site{}
	var addresses []uint64
	for _, child := range t.children[i+1] {
		x := &t.timings[child]
		s := sites[x.ReturnAddress]
		if s == nil {
			s = &Site{Node: index, ReturnAddress: x.ReturnAddress}
			sites[x.ReturnAddress] = s
			addresses = append(addresses, x.ReturnAddress)
		}
		application := x.LeadElapsed - x.LeadWaited
		s.Made += x.Calls
		s.Total[ElapsedInclusive] += x.LeadElapsed + t.total[child][ElapsedInclusive]
		s.Total[ElapsedExclusive] += x.LeadElapsed
		s.Total[ApplicationInclusive] += application + t.total[child][ApplicationInclusive]
		s.Total[ApplicationExclusive] += application
	}
	slices.Sort(addresses)
	for _, a := range addresses {
		t.result.Sites = append(t.result.Sites, *sites[a])
	}
}
