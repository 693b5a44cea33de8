package timing

import (
	"cmp"
	"slices"

	"github.com/clrprof/clrprof/internal/wire"
)

// The values of time, in the order of wire.Acted's Min and Max.
const (
	ElapsedInclusive = iota
	ElapsedExclusive
	ApplicationInclusive
	ApplicationExclusive
	CPUInclusive
	CPUExclusive

	ValueCount
)

// Values are the values, in ticks.
type Values [ValueCount]uint64

// Result is what a thread's events say of its time. Two results are of the same events if they are equal.
type Result struct {
	// callers before callees; siblings by function and return address; without those of folded calls
	Nodes     []Node
	Sites     []Site     // by caller and return address
	Functions []Function // by id
	Edges     []Edge     // by caller and function
}

// Node is a function, called from one place in its caller: a timing.
type Node struct {
	Parent        int // index of the caller's node; -1: a root
	Function      uint32
	ReturnAddress uint64
	Calls, Ended  uint64
	Unmatched     uint64 // of Ended: calls whose end was only seen by a later event
	Total         Values // with the probes' overhead
	Min, Max      Values // of one call that ended, without the probes' overhead
	Lead, Tail    wire.Waits
}

// Site is a place in a function from which calls were made.
type Site struct {
	Node          int // index of the function's node
	ReturnAddress uint64
	Made          uint64 // calls
	Total         Values // inclusive: with what was called there
}

// Function is the sum over the nodes of a function. Total has each interval once, however often the function was on the
// stack; Min and Max are of all calls.
type Function struct {
	Function     uint32
	Calls, Ended uint64
	Total        Values
	Min, Max     Values
}

// Edge is a function as far as another one called it; Total has each interval once, however often the two were on the
// stack next to each other.
type Edge struct {
	Caller uint32 // 0: it was a root
	Function
}

// extremes widens a minimum and a maximum by those of others, of which there are so many.
func extremes(low, high *Values, n uint64, otherLow, otherHigh Values, others uint64) {
	if others == 0 {
		return
	}
	for i := range low {
		if n == 0 {
			low[i], high[i] = otherLow[i], otherHigh[i]
		}
		low[i], high[i] = min(low[i], otherLow[i]), max(high[i], otherHigh[i])
	}
}

func (f *Function) add(more Function) {
	extremes(&f.Min, &f.Max, f.Ended, more.Min, more.Max, more.Ended)
	f.Calls += more.Calls
	f.Ended += more.Ended
	for i := range f.Total {
		f.Total[i] += more.Total[i]
	}
}

func sorted(m map[uint32]*Function) []Function {
	list := make([]Function, 0, len(m))
	for _, f := range m {
		list = append(list, *f)
	}
	slices.SortFunc(list, func(a, b Function) int { return cmp.Compare(a.Function, b.Function) })
	return list
}

func sortedEdges(m map[pair]*Edge) []Edge {
	list := make([]Edge, 0, len(m))
	for _, e := range m {
		list = append(list, *e)
	}
	slices.SortFunc(list, func(a, b Edge) int {
		return cmp.Or(cmp.Compare(a.Caller, b.Caller), cmp.Compare(a.Function.Function, b.Function.Function))
	})
	return list
}

// Equal says whether two results are the same; it is faster than a comparison that could say where they differ.
func (r Result) Equal(other Result) bool {
	return slices.Equal(r.Nodes, other.Nodes) && slices.Equal(r.Sites, other.Sites) &&
		slices.Equal(r.Functions, other.Functions) && slices.Equal(r.Edges, other.Edges)
}
