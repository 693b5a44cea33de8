package heapgraph

import "slices"

// dominators is the dominator tree of the objects that roots hold. Vertices are numbered from 0, the root above all, in
// the order of a depth-first search; a vertex's dominator has a smaller number.
type dominators struct {
	object []int32 // of a vertex; -1 for vertex 0
	vertex []int32 // of an object; -1: not reachable
	idom   []int32
	parent []int32 // in the search
	top    []int32 // objects that roots hold, in order
	isTop  []bool  // by object: of top, or in a table
}

// hold returns the objects that the roots hold directly, without those that hold says no to.
func (h *Heap) hold(holds func(Root) bool) []int32 {
	seen := make([]bool, len(h.Address))
	var out []int32
	for _, r := range h.Roots {
		if r.Object >= 0 && !seen[r.Object] && holds(r) {
			seen[r.Object] = true
			out = append(out, r.Object)
		}
	}
	return out
}

// findDominators makes the dominator tree below the objects of top. Those of tables have nothing above them either.
func findDominators(h *Heap, top, tables []int32) *dominators {
	d := &dominators{top: top, isTop: make([]bool, len(h.Address))}
	for _, i := range slices.Concat(top, tables) {
		d.isTop[i] = true
	}
	d.search(h)
	d.lengauerTarjan(h)
	return d
}

// search numbers the vertices. The stack is the parents' chain; next remembers how far each has come.
func (d *dominators) search(h *Heap) {
	d.vertex = make([]int32, len(h.Address))
	for i := range d.vertex {
		d.vertex[i] = -1
	}
	d.object, d.parent = append(d.object, -1), append(d.parent, -1)
	next := make([]uint32, 1, 1024) // by vertex: the next of its references
	enter := func(object, parent int32) {
		d.vertex[object] = int32(len(d.object))
		d.object, d.parent = append(d.object, object), append(d.parent, parent)
		next = append(next, h.first[object])
	}
	for _, object := range d.top {
		if d.vertex[object] >= 0 {
			continue
		}
		enter(object, 0)
		for at := d.vertex[object]; at != 0; {
			end := h.first[d.object[at]+1]
			for next[at] < end && d.vertex[h.target[next[at]]] >= 0 {
				next[at]++
			}
			if next[at] == end {
				at = d.parent[at]
				continue
			}
			enter(h.target[next[at]], at)
			at = int32(len(d.object)) - 1
		}
	}
}

// predecessors returns, for each vertex v, those that refer to it: from[first[v]:first[v+1]].
func (d *dominators) predecessors(h *Heap) (first []uint32, from []int32) {
	n := len(d.object)
	first = make([]uint32, n+2) // shifted by one while they are filled
	for v := 1; v < n; v++ {
		for _, to := range h.References(d.object[v]) {
			first[d.vertex[to]+2]++
		}
	}
	for v := range n {
		first[v+2] += first[v+1]
	}
	from = make([]int32, first[n+1])
	for v := 1; v < n; v++ {
		for _, to := range h.References(d.object[v]) {
			w := d.vertex[to]
			from[first[w+1]] = int32(v)
			first[w+1]++
		}
	}
	return first[:n+1], from
}

// lengauerTarjan computes idom. The names are those of the paper; a bucket is a list by bucket and nextIn.
func (d *dominators) lengauerTarjan(h *Heap) {
	n := len(d.object)
	first, from := d.predecessors(h)
	semi, bucket, nextIn := make([]int32, n), make([]int32, n), make([]int32, n)
	f := forest{ancestor: make([]int32, n), label: make([]int32, n), semi: semi}
	d.idom = make([]int32, n)
	for v := range n {
		semi[v], f.label[v], f.ancestor[v], bucket[v] = int32(v), int32(v), -1, -1
	}
	for w := int32(n) - 1; w > 0; w-- {
		for _, v := range from[first[w]:first[w+1]] {
			semi[w] = min(semi[w], semi[f.eval(v)])
		}
		if d.isTop[d.object[w]] {
			semi[w] = 0
		}
		nextIn[w] = bucket[semi[w]]
		bucket[semi[w]] = w
		p := d.parent[w]
		f.ancestor[w] = p
		for v := bucket[p]; v >= 0; v = nextIn[v] {
			if u := f.eval(v); semi[u] < semi[v] {
				d.idom[v] = u
			} else {
				d.idom[v] = p
			}
		}
		bucket[p] = -1
	}
	for w := 1; w < n; w++ {
		if d.idom[w] != semi[w] {
			d.idom[w] = d.idom[d.idom[w]]
		}
	}
}

// forest is the part of the search tree that was gone through, with paths compressed.
type forest struct {
	ancestor, label, semi []int32
	path                  []int32 // of one compress
}

// eval returns the vertex of least semi on the way from v up to, and without, the root of its tree.
func (f *forest) eval(v int32) int32 {
	if f.ancestor[v] < 0 {
		return f.label[v]
	}
	f.path = f.path[:0]
	for at := v; f.ancestor[f.ancestor[at]] >= 0; at = f.ancestor[at] {
		f.path = append(f.path, at)
	}
	for i := len(f.path) - 1; i >= 0; i-- {
		at := f.path[i]
		up := f.ancestor[at]
		if f.semi[f.label[up]] < f.semi[f.label[at]] {
			f.label[at] = f.label[up]
		}
		f.ancestor[at] = f.ancestor[up]
	}
	return f.label[v]
}
