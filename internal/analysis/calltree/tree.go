package calltree

import (
	"fmt"
	"math"
	"math/bits"
)

// None is the parent of a root, and the group of a node that belongs to none.
const None = -1

// Value is what nodes have: an amount of memory, a time, a number of calls. Its zero value is nothing.
type Value[V any] interface {
	Add(V) V
	IsZero() bool
}

// Tree is the shape of a forest: node i's parent is Parent[i], which is None or less than i.
type Tree struct {
	Parent []int32
}

// New checks that parents come before their children.
func New(parent []int32) (Tree, error) {
	if len(parent) > math.MaxInt32 {
		return Tree{}, fmt.Errorf("a tree of %d nodes is too large", len(parent))
	}
	for i, p := range parent {
		if p < None || int(p) >= i {
			return Tree{}, fmt.Errorf("node %d has parent %d, which does not come before it", i, p)
		}
	}
	return Tree{Parent: parent}, nil
}

// Len returns the number of nodes.
func (t Tree) Len() int { return len(t.Parent) }

// Inclusive returns, for each node of t, its exclusive value and those of all nodes below it.
func Inclusive[V Value[V]](t Tree, exclusive []V) []V {
	sum := append([]V(nil), exclusive...)
	for i := len(t.Parent) - 1; i >= 0; i-- {
		if p := t.Parent[i]; p >= 0 {
			sum[p] = sum[p].Add(sum[i])
		}
	}
	return sum
}

// Levels returns the distance of each node from its root, which has level 0.
func (t Tree) Levels() []int32 {
	level := make([]int32, t.Len())
	for i, p := range t.Parent {
		if p >= 0 {
			level[i] = level[p] + 1
		}
	}
	return level
}

// Children is a tree's downward links: the first child of each node and the next
// sibling of each node, both in ascending order, None at the end.
type Children struct {
	FirstRoot int32
	First     []int32
	Next      []int32
}

// Children computes the downward links.
func (t Tree) Children() Children {
	c := Children{FirstRoot: None, First: make([]int32, t.Len()), Next: make([]int32, t.Len())}
	for i := range c.First {
		c.First[i] = None
	}
	for i := t.Len() - 1; i >= 0; i-- {
		if p := t.Parent[i]; p >= 0 {
			c.Next[i], c.First[p] = c.First[p], int32(i)
		} else {
			c.Next[i], c.FirstRoot = c.FirstRoot, int32(i)
		}
	}
	return c
}

// Walk visits the nodes depth first, in ascending order among siblings: enter
// before a node's children, leave after them.
func (t Tree) Walk(c Children, enter, leave func(node int32)) {
	node := c.FirstRoot
	for node >= 0 {
		enter(node)
		if c.First[node] >= 0 {
			node = c.First[node]
			continue
		}
		for node >= 0 {
			leave(node)
			if c.Next[node] >= 0 {
				node = c.Next[node]
				break
			}
			node = t.Parent[node]
		}
	}
}

// Sum returns the sum of the values of each group's nodes. group[i] is in
// [0, groups), or None.
func Sum[V Value[V]](values []V, group []int32, groups int) []V {
	sum := make([]V, groups)
	for i, g := range group {
		if g >= 0 {
			sum[g] = sum[g].Add(values[i])
		}
	}
	return sum
}

// Presence returns the inclusive value of each group: what was allocated, or the time that passed, while
// at least one node of the group was on the stack, each allocation and each interval once.
// inclusive is by node; group[i] is in [0, groups), or None.
func Presence[V Value[V]](t Tree, inclusive []V, group []int32, groups int) []V {
	sum := make([]V, groups)
	for i, top := range t.Topmost(group, groups) {
		if top {
			g := group[i]
			sum[g] = sum[g].Add(inclusive[i])
		}
	}
	return sum
}

// Turns returns the turn of each node where they are visited depth first, and how many nodes are below it, whose turns
// follow its own. Turns follow from these numbers, so there is no walk from link to link.
func (t Tree) Turns() (turn, below []int32) {
	below = make([]int32, t.Len())
	for i := len(below) - 1; i >= 0; i-- {
		if p := t.Parent[i]; p >= 0 {
			below[p] += below[i] + 1
		}
	}
	turn = make([]int32, len(below))
	roots, next := int32(0), make([]int32, len(below)) // next: the turn of a node's next child
	for i, p := range t.Parent {
		at := &roots
		if p >= 0 {
			at = &next[p]
		}
		turn[i] = *at
		*at += below[i] + 1
		next[i] = turn[i] + 1
	}
	return turn, below
}

// Topmost reports which nodes are in a group of which no node is above them. It visits the nodes depth first.
func (t Tree) Topmost(group []int32, groups int) []bool {
	turn, below := t.Turns()
	type visit struct{ group, below int32 }
	visits := make([]visit, len(below)) // by turn
	for i, at := range turn {
		visits[at] = visit{group[i], below[i]}
	}
	top, end := make([]bool, len(below)), make([]int32, groups) // end: the first turn that is below no node of a group
	for at, v := range visits {
		if v.group >= 0 && int32(at) >= end[v.group] {
			top[at], end[v.group] = true, int32(at)+v.below+1
		}
	}
	out := make([]bool, len(below))
	for i, at := range turn {
		out[i] = top[at]
	}
	return out
}

// Call is a pair of functions, one of which called the other. Caller is None where
// the callee was a root.
type Call struct {
	Caller, Callee int32
}

// CallValue is what a call has: Inclusive while the callee, called by this
// caller, was anywhere on the stack, each allocation and each interval once; Exclusive while it was
// the top of the stack and this caller had called it there.
type CallValue[V any] struct {
	Call
	Inclusive, Exclusive V
}

// GroupCalls finds the pairs of functions that follow each other on some stack, in the order of their first node, and
// the pair that each node ends. function is by node.
func (t Tree) GroupCalls(function []int32) (calls []Call, group []int32) {
	index := map[Call]int32{}
	group = make([]int32, t.Len())
	for i, p := range t.Parent {
		call := Call{None, function[i]}
		if p >= 0 {
			call.Caller = function[p]
		}
		g, ok := index[call]
		if !ok {
			g = int32(len(calls))
			index[call] = g
			calls = append(calls, call)
		}
		group[i] = g
	}
	return calls, group
}

// Calls returns the value of each pair of functions that follow each other on some
// stack, in the order of their first node. function is by node.
func Calls[V Value[V]](t Tree, exclusive, inclusive []V, function []int32) []CallValue[V] {
	calls, group := t.GroupCalls(function)
	of, own := Presence(t, inclusive, group, len(calls)), Sum(exclusive, group, len(calls))
	out := make([]CallValue[V], len(calls))
	for g, call := range calls {
		out[g] = CallValue[V]{call, of[g], own[g]}
	}
	return out
}

// Merged is a tree in which siblings of the same group have become one node.
type Merged struct {
	Tree
	Group []int32 // of each merged node
	Of    []int32 // the merged node of each original node
}

// Merge makes one node of all siblings (and of all roots) of the same group, from the
// roots down: a node of the result is a path of groups from the root. Its nodes are in
// the order of their first original node.
func (t Tree) Merge(group []int32) Merged {
	n := t.Len() // as many as there can be: what is not used of it is not touched
	m := Merged{Of: make([]int32, n), Tree: Tree{make([]int32, 0, n)}, Group: make([]int32, 0, n)}
	index := newMergeIndex(n)
	for i, p := range t.Parent {
		parent := int32(None)
		if p >= 0 {
			parent = m.Of[p]
		}
		node, isNew := index.find(&m, parent, group[i])
		if isNew {
			m.Parent, m.Group = append(m.Parent, parent), append(m.Group, group[i])
		}
		m.Of[i] = node
	}
	return m
}

// mergeIndex finds the merged node of a parent and a group. There can be millions, so it is a table of a size that is
// known beforehand, in which one look is one place in memory: a map takes three times as long.
type mergeIndex struct {
	slots []mergeSlot // twice to four times as many as nodes, a power of two
	shift int
}

// mergeSlot has a part of the hash, so that it is nearly always known without another look whose slot it is.
type mergeSlot struct {
	next int32 // the merged node after that of the slot; 0: it is free
	hash uint32
}

func newMergeIndex(nodes int) mergeIndex {
	width := bits.Len(uint(nodes)) + 1
	return mergeIndex{make([]mergeSlot, 1<<width), 64 - width}
}

// find returns the node of a parent and a group in m, and whether it is a new one, which is to be added.
func (x *mergeIndex) find(m *Merged, parent, group int32) (node int32, isNew bool) {
	const golden = 0x9e3779b97f4a7c15 // 2⁶⁴ divided by the golden ratio: products of it are all over the place
	hash := (uint64(uint32(parent))<<32 | uint64(uint32(group))) * golden
	hash = (hash ^ hash>>32) * golden
	for at := hash >> x.shift; ; at = (at + 1) & uint64(len(x.slots)-1) {
		s := &x.slots[at]
		if s.next == 0 {
			*s = mergeSlot{int32(len(m.Parent)) + 1, uint32(hash)}
			return int32(len(m.Parent)), true
		}
		if n := s.next - 1; s.hash == uint32(hash) && m.Parent[n] == parent && m.Group[n] == group {
			return n, false
		}
	}
}

// Keep returns the tree without the nodes for which keep is false, and for each
// new node the old one. A kept node's parent must be kept.
func (t Tree) Keep(keep []bool) (Tree, []int32) {
	kept := 0
	for _, k := range keep {
		if k {
			kept++
		}
	}
	renumbered := make([]int32, t.Len())
	parent, old := make([]int32, 0, kept), make([]int32, 0, kept)
	for i, p := range t.Parent {
		if !keep[i] {
			continue
		}
		if p >= 0 {
			p = renumbered[p]
		}
		renumbered[i] = int32(len(parent))
		parent = append(parent, p)
		old = append(old, int32(i))
	}
	return Tree{Parent: parent}, old
}

// Weighted is a node with its weight in the metric that HotPath follows: bytes, allocations or nanoseconds.
type Weighted[N any] struct {
	Node                 N
	Inclusive, Exclusive int64
}

// HotPath follows the heaviest child. From root, whose own share is exclusive, it
// steps to the child with the largest inclusive weight, the first of equals, until there is no
// child with a weight above 0 or the node's own share is at least that of its
// heaviest child: then most is done here. It returns the nodes on the way, without
// root. children must come from a tree, or it would not end.
func HotPath[N any](root N, exclusive int64, children func(parent N) ([]Weighted[N], error)) ([]N, error) {
	var path []N
	for {
		below, err := children(root)
		if err != nil {
			return nil, err
		}
		best := -1
		for i, c := range below {
			if c.Inclusive > 0 && (best < 0 || c.Inclusive > below[best].Inclusive) {
				best = i
			}
		}
		if best < 0 || exclusive >= below[best].Inclusive {
			return path, nil
		}
		root, exclusive = below[best].Node, below[best].Exclusive
		path = append(path, root)
	}
}
