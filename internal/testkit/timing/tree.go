package timing

import (
	"cmp"
	"slices"

	"github.com/clrprof/clrprof/internal/wire"
)

// Result turns the counters into the values.
func (c *Counters) Result() Result {
	d := *c
	d.Timings, d.Inclusives = slices.Clone(c.Timings), slices.Clone(c.Inclusives)
	d.running()
	t := tree{timings: d.Timings, waits: d.Waits, acted: d.Acted, inclusives: d.Inclusives,
		off: make([]uint64, len(d.Timings))}
	if n := len(d.Activations); n > 0 { // of the open interval it is not known whether the operating system acted in it
		number := d.Activations[n-1].Timing
		t.timings[number-1].TailElapsed += d.open
		t.timings[number-1].TailWaited += d.open
		t.off[number-1] = d.open
	}
	return t.compute()
}

type tree struct {
	timings    []wire.Timing
	waits      []wire.Waits
	acted      []wire.Acted
	inclusives []wire.Inclusive
	off        []uint64 // ticks without a processor in Tail, beside those of waits
	children   [][]int  // indexes, by number of the parent
	total      []Values
	functions  map[uint32]*Function
	edges      map[pair]*Edge
	on         map[uint32]int // how often a function is on the path
	onEdges    map[pair]int
	result     Result
}

// compute turns the timings of one thread, and what they refer to, into the values. Exclusive time of a timing is its
// Tail and the Lead of those that it called; inclusive time is that, the inclusive time of those, and that of the
// folded calls that it made. The number of a timing is its index plus one; a parent comes before those that it called.
func (t *tree) compute() Result {
	t.children, t.total = make([][]int, len(t.timings)+1), make([]Values, len(t.timings))
	t.functions, t.edges = map[uint32]*Function{}, map[pair]*Edge{}
	t.on, t.onEdges = map[uint32]int{}, map[pair]int{}
	for i, x := range t.timings {
		t.children[x.Parent] = append(t.children[x.Parent], i)
	}
	for i := len(t.timings) - 1; i >= 0; i-- {
		t.sum(i)
	}
	t.walk(0, -1, 0)
	t.result.Functions, t.result.Edges = sorted(t.functions), sortedEdges(t.edges)
	return t.result
}

// sum computes the values of a timing from its own counters and those of its children, which have theirs.
func (t *tree) sum(i int) {
	own, v := t.timings[i], &t.total[i]
	v[ElapsedExclusive], v[ApplicationExclusive] = own.TailElapsed, own.TailElapsed-own.TailWaited
	v[CPUExclusive] = own.TailElapsed - off(t.waitsOf(own.TailWaits)) - t.off[i]
	for _, child := range t.children[i+1] {
		x := t.timings[child]
		v[ElapsedExclusive] += x.LeadElapsed
		v[ApplicationExclusive] += x.LeadElapsed - x.LeadWaited
		v[CPUExclusive] += x.LeadElapsed - off(t.waitsOf(x.LeadWaits))
		for _, inclusive := range []int{ElapsedInclusive, ApplicationInclusive, CPUInclusive} {
			v[inclusive] += t.total[child][inclusive]
		}
	}
	v[ElapsedInclusive] += v[ElapsedExclusive]
	v[ApplicationInclusive] += v[ApplicationExclusive]
	v[CPUInclusive] += v[CPUExclusive]
	folded := t.folded(i)
	for k := range v {
		v[k] += folded[k]
	}
}

// folded is the inclusive time of folded calls that a timing refers to.
func (t *tree) folded(i int) Values {
	n := t.timings[i].Inclusive
	if n == 0 {
		return Values{}
	}
	x := t.inclusives[n-1]
	return Values{ElapsedInclusive: x.Elapsed, ApplicationInclusive: x.Elapsed - x.Waited,
		CPUInclusive: x.Elapsed - off(x.Waits)}
}

// walk adds the children of a timing, which is of a function, to the result.
func (t *tree) walk(number uint32, parent int, function uint32) {
	children := t.children[number]
	slices.SortFunc(children, func(i, j int) int {
		a, b := &t.timings[i], &t.timings[j]
		return cmp.Or(cmp.Compare(a.Function, b.Function), cmp.Compare(a.ReturnAddress, b.ReturnAddress))
	})
	for _, i := range children {
		x := &t.timings[i]
		if x.Function == 0 {
			t.walkFolded(uint32(i + 1))
			continue
		}
		index := len(t.result.Nodes)
		low, high := t.extremes(x)
		t.result.Nodes = append(t.result.Nodes,
			Node{Parent: parent, Function: x.Function, ReturnAddress: x.ReturnAddress,
				Calls: x.Calls, Ended: x.Ended, Unmatched: x.Unmatched, Total: t.total[i], Min: low, Max: high,
				Lead: t.waitsOf(x.LeadWaits), Tail: t.waitsOf(x.TailWaits)})
		t.sites(i, index)
		k := pair{function, x.Function}
		t.add(i, k, t.total[i], t.on[x.Function] == 0, t.onEdges[k] == 0)
		t.on[x.Function]++
		t.onEdges[k]++
		t.walk(uint32(i+1), index, x.Function)
		t.on[x.Function]--
		t.onEdges[k]--
	}
}

// walkFolded adds the timings of folded calls.
func (t *tree) walkFolded(root uint32) {
	for _, i := range t.children[root] {
		function := t.timings[i].Function
		if v := t.folded(i); v != (Values{}) {
			t.function(function).add(Function{Total: v})
		}
		for _, j := range t.children[i+1] {
			if x := &t.timings[j]; x.Calls > 0 {
				total := t.folded(j)
				total[ElapsedExclusive] = x.TailElapsed
				total[ApplicationExclusive] = x.TailElapsed - x.TailWaited
				total[CPUExclusive] = x.TailElapsed - off(t.waitsOf(x.TailWaits)) - t.off[j]
				t.add(j, pair{function, x.Function}, total, false, true)
			}
		}
	}
}

// extremes are those of all calls: 0 if none ended.
func (t *tree) extremes(x *wire.Timing) (low, high Values) {
	plain := x.Ended
	if x.Acted != 0 {
		a := t.acted[x.Acted-1]
		low, high = a.Min, a.Max
		if x.Min[0] > x.Max[0] { // there was no other
			return low, high
		}
	}
	if plain == 0 {
		return low, high
	}
	var a, b Values
	for i := range a {
		a[i], b[i] = x.Min[i%2], x.Max[i%2]
	}
	n := uint64(0)
	if x.Acted != 0 {
		n = 1
	}
	extremes(&low, &high, n, a, b, 1)
	return low, high
}

func (t *tree) waitsOf(number uint32) wire.Waits {
	if number == 0 {
		return wire.Waits{}
	}
	return t.waits[number-1]
}

func (t *tree) function(id uint32) *Function {
	if t.functions[id] == nil {
		t.functions[id] = &Function{Function: id}
	}
	return t.functions[id]
}

// add adds a timing to its function and its edge; to their inclusive times only if these are not on the path already.
func (t *tree) add(i int, k pair, total Values, function, edge bool) {
	x := &t.timings[i]
	if t.edges[k] == nil {
		t.edges[k] = &Edge{Caller: k.caller, Function: Function{Function: k.callee}}
	}
	low, high := t.extremes(x)
	one := func(inclusive bool) Function {
		f := Function{Calls: x.Calls, Ended: x.Ended, Total: total, Min: low, Max: high}
		if !inclusive {
			f.Total[ElapsedInclusive], f.Total[ApplicationInclusive], f.Total[CPUInclusive] = 0, 0, 0
		}
		return f
	}
	t.function(k.callee).add(one(function))
	t.edges[k].Function.add(one(edge))
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
		cpu := x.LeadElapsed - off(t.waitsOf(x.LeadWaits))
		s.Total[CPUInclusive] += cpu + t.total[child][CPUInclusive]
		s.Total[CPUExclusive] += cpu
	}
	slices.Sort(addresses)
	for _, a := range addresses {
		t.result.Sites = append(t.result.Sites, *sites[a])
	}
}
