package heapgraph

import (
	"math"
	"slices"
)

// far is the depth of objects that no root holds.
const far = math.MaxInt32

// nearness is a breadth-first search from the roots.
type nearness struct {
	depth []int32 // by object: references from a root; far: unreachable
	from  []int32 // by object: the one before on a shortest path, -1: a root refers to it
}

// nearness prefers roots that are not the finalizer's queue.
func (g *Graph) nearness() *nearness {
	if g.near != nil {
		return g.near
	}
	n := &nearness{make([]int32, len(g.Address)), make([]int32, len(g.Address))}
	g.near = n
	for i := range n.depth {
		n.depth[i], n.from[i] = far, -1
	}
	queue := slices.Clone(g.tree.top)
	for _, i := range queue {
		n.depth[i] = 0
	}
	for next := 0; next < len(queue); next++ {
		i := queue[next]
		for _, to := range g.References(i) {
			if n.depth[to] == far {
				n.depth[to], n.from[to] = n.depth[i]+1, i
				queue = append(queue, to)
			}
		}
	}
	return n
}

// Path returns a root and the objects on a shortest path from it to object i, i being the last. There is none (nil) if
// i is neither Reachable nor Finalizable. Of several roots of the first object it is the first that is not the
// finalizer's.
func (g *Graph) Path(i int32) (Root, []int32) {
	n := g.nearness()
	if n.depth[i] == far {
		return Root{}, nil
	}
	path := make([]int32, 0, n.depth[i]+1)
	for at := i; at >= 0; at = n.from[at] {
		path = append(path, at)
	}
	slices.Reverse(path)
	root := Root{Object: -1}
	for _, r := range g.Roots {
		if r.Object == path[0] && r.Flags&flagWeak == 0 &&
			(root.Object < 0 || root.Kind == kindFinalizer && r.Kind != kindFinalizer) {
			root = r
		}
	}
	return root, path
}
