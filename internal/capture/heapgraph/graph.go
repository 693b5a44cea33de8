package heapgraph

import "slices"

// State says what holds an object.
type State uint8

// States of objects.
const (
	Reachable   State = iota // from a root that is not weak
	Finalizable              // only from the queue of objects to be finalized
	Frozen                   // from no root: on the frozen heap, where nothing dies
	Unreachable              // from no root that the runtime reported: weak references at most
	States                   // how many there are
)

// Graph is a heap with what its objects retain.
type Graph struct {
	*Heap
	State    []State  // by object
	Retained []uint64 // by object: bytes; 0 if it is neither Reachable nor Finalizable
	tree     *dominators
	near     *nearness // made when it is first asked for
}

// New computes what the objects of a heap retain.
func New(h *Heap) *Graph {
	g := &Graph{Heap: h, State: make([]State, len(h.Address)), Retained: make([]uint64, len(h.Address))}
	top := h.hold(func(r Root) bool { return r.Flags&flagWeak == 0 })
	g.tree = findDominators(h, top, h.inTables(top))
	g.setStates()
	for v := len(g.tree.object) - 1; v > 0; v-- {
		i := g.tree.object[v]
		g.Retained[i] += h.Size[i]
		if d := g.tree.idom[v]; d != 0 {
			g.Retained[g.tree.object[d]] += g.Retained[i]
		}
	}
	return g
}

// setStates searches again without the finalizer's queue.
func (g *Graph) setStates() {
	for i := range g.State {
		switch {
		case g.tree.vertex[i] >= 0:
			g.State[i] = Finalizable
		case g.Site[i] == 0:
			g.State[i] = Frozen
		default:
			g.State[i] = Unreachable
		}
	}
	queue := g.hold(func(r Root) bool { return r.Flags&flagWeak == 0 && r.Kind != kindFinalizer })
	for _, i := range queue {
		g.State[i] = Reachable
	}
	for next := 0; next < len(queue); next++ {
		for _, to := range g.References(queue[next]) {
			if g.State[to] != Reachable {
				g.State[to] = Reachable
				queue = append(queue, to)
			}
		}
	}
}

// Dominator returns the object that dominates object i directly: without it, i would be unreachable. -1: there is none.
func (g *Graph) Dominator(i int32) int32 {
	if v := g.tree.vertex[i]; v > 0 {
		return g.tree.object[g.tree.idom[v]]
	}
	return -1
}

// Group is what the objects of one key (a type, a site) are together.
type Group struct {
	Key      uint32
	Objects  int64
	Bytes    int64
	By       [States]int64 // objects by state
	Retained int64         // bytes that only objects of the group hold, their own included
	Example  int32         // the object that retains most; of equal ones the nearest to a root, then the first
}

// Types returns the groups of the objects of equal type, in its order.
func (g *Graph) Types() []Group { return g.group(g.Type) }

// Sites returns the groups of the objects of equal allocation site, in its order.
func (g *Graph) Sites() []Group { return g.group(g.Site) }

func (g *Graph) group(key []uint32) []Group {
	distinct := slices.Compact(slices.Sorted(slices.Values(key)))
	groups := make([]Group, len(distinct))
	index := make([]int32, len(key))
	depth := g.nearness().depth
	for i, k := range key {
		at, _ := slices.BinarySearch(distinct, k)
		index[i] = int32(at)
		group := &groups[at]
		if group.Objects == 0 {
			group.Key, group.Example = k, int32(i)
		}
		group.Objects++
		group.Bytes += int64(g.Size[i])
		group.By[g.State[i]]++
		e := group.Example
		if g.Retained[i] > g.Retained[e] || g.Retained[i] == g.Retained[e] && depth[i] < depth[e] {
			group.Example = int32(i)
		}
	}
	g.retainTogether(groups, index)
	return groups
}

// retainTogether sums, for each group, over its objects that have no dominator of the same group: it goes through the
// dominator tree and counts how many objects of each group are on the way from the root.
func (g *Graph) retainTogether(groups []Group, index []int32) {
	n := len(g.tree.object)
	child, sibling := make([]int32, n), make([]int32, n) // 0: none, as vertex 0 is neither
	for v := n - 1; v > 0; v-- {
		sibling[v] = child[g.tree.idom[v]]
		child[g.tree.idom[v]] = int32(v)
	}
	above := make([]int32, len(groups))
	for v := child[0]; v != 0; {
		i := g.tree.object[v]
		if above[index[i]] == 0 {
			groups[index[i]].Retained += int64(g.Retained[i])
		}
		above[index[i]]++
		if child[v] != 0 {
			v = child[v]
			continue
		}
		for v != 0 {
			above[index[g.tree.object[v]]]--
			if sibling[v] != 0 {
				v = sibling[v]
				break
			}
			v = g.tree.idom[v]
		}
	}
}
