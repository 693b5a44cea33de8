package heapgraph

import "slices"

// HolderKind says what a holder is.
type HolderKind uint8

// Kinds of holders.
const (
	HeldByNone      HolderKind = iota // no root holds it, directly or not
	HeldByStatic                      // a static field
	HeldByRoot                        // another root
	HeldByDependent                   // a dependent handle alone: as long as its key is alive
	HeldBySeveral                     // several of these together, and none of them alone
)

// Holder is what holds an object: what the nearest of its dominators is held by, the object itself included.
type Holder struct {
	Kind    HolderKind
	Field   int // index in Statics, of HeldByStatic; else -1
	Root    Root
	Through uint32 // type of that dominator; of HeldByDependent: of the key, 0 if there are several
}

// Holders returns the different holders, and which of them each object has.
func (g *Graph) Holders() (distinct []Holder, of []int32) {
	index := map[Holder]int32{}
	add := func(h Holder) int32 {
		at, ok := index[h]
		if !ok {
			at = int32(len(distinct))
			index[h], distinct = at, append(distinct, h)
		}
		return at
	}
	nobody := add(Holder{Field: -1})
	of = slices.Repeat([]int32{nobody}, len(g.Address))
	fields, roots, keys := g.fields(), g.strongRoots(), g.dependentKeys()
	for v := 1; v < len(g.tree.object); v++ {
		i := g.tree.object[v]
		_, isValue := keys[i]
		switch {
		case g.heldByField(fields, v):
			of[i] = add(Holder{Kind: HeldByStatic, Field: int(fields[v])})
		case roots[i].Object >= 0:
			root := roots[i]
			root.Object = 0
			of[i] = add(Holder{Kind: HeldByRoot, Field: -1, Root: root, Through: g.Type[i]})
		case isValue:
			of[i] = add(Holder{Kind: HeldByDependent, Field: -1, Through: keys[i]})
		case g.tree.idom[v] == 0:
			of[i] = add(Holder{Kind: HeldBySeveral, Field: -1, Through: g.Type[i]})
		default:
			of[i] = of[g.tree.object[g.tree.idom[v]]]
		}
	}
	return distinct, of
}

// heldByField reports whether a static field holds the object of vertex v itself.
func (g *Graph) heldByField(fields []int32, v int) bool {
	return fields[v] >= 0 && g.Statics[fields[v]].Object == g.tree.object[v]
}

// rootOrder is the order in which one of several roots of an object counts: what lives longest before a frame, and the
// finalizer's queue last.
func rootOrder(kind uint32) int {
	switch kind {
	case kindFinalizer:
		return 2
	case kindStack:
		return 1
	}
	return 0
}

// strongRoots returns for each object the root that holds it; its Object is -1 if none does. What a table of static
// fields refers to is held by the root of the table, as far as its fields are not known.
func (g *Graph) strongRoots() []Root {
	out := slices.Repeat([]Root{{Object: -1}}, len(g.Address))
	for _, r := range g.Roots {
		if r.Object < 0 || r.Flags&flagWeak != 0 {
			continue
		}
		if have := out[r.Object]; have.Object < 0 || rootOrder(r.Kind) < rootOrder(have.Kind) {
			out[r.Object] = r
		}
	}
	for _, table := range g.tree.top {
		for _, to := range g.References(table) {
			if g.tree.isTop[to] && out[to].Object < 0 {
				out[to] = out[table]
				out[to].Object = to
			}
		}
	}
	return out
}

// dependentKeys returns the objects that only dependent handles refer to, each with the type of its keys: 0, if there
// are several types.
func (g *Graph) dependentKeys() map[int32]uint32 {
	out := map[int32]uint32{}
	for _, d := range g.dependents {
		if t, ok := out[d[1]]; !ok {
			out[d[1]] = g.Type[d[0]]
		} else if t != g.Type[d[0]] {
			out[d[1]] = 0
		}
	}
	if len(out) == 0 {
		return out
	}
	values := map[int32]int{} // by key: how many of its references, the last ones, are dependent handles
	for _, d := range g.dependents {
		values[d[0]]++
	}
	for i := range g.Address {
		refers := g.References(int32(i))
		for _, to := range refers[:len(refers)-values[int32(i)]] {
			delete(out, to)
		}
	}
	return out
}
