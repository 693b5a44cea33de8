package report

import (
	"fmt"

	"github.com/clrprof/clrprof/internal/session"
)

// comparedTree puts the paths of another session beside those of a tree: what has the same functions from the root, by
// their keys, in a process of the same name, is one path, with the sum of its values in each session. Where both have
// one process alone, that is the same whatever its name.
func (r *Reader) comparedTree(t *flameTree, metric FlameMetric, shape FlameShape, with *Reader) (*flameTree, error) {
	there, c, err := with.flameTree(metric, shape)
	if err != nil {
		return nil, fmt.Errorf("session %s: %w", with.context.source.Session().Path(), err)
	}
	out := &comparedTree{
		flameTree: flameTree{names: []flameFunction{}, other: []int64{}, notes: t.notes},
		named:     map[string]int32{},
		nodes:     map[comparedNode]int32{},
		single:    len(t.roots()) == 1 && len(there.roots()) == 1,
	}
	if err := out.add(r.context, t, func(i int32) *int64 { return &out.value[i] }); err != nil {
		return nil, err
	}
	if err := out.add(c, there, func(i int32) *int64 { return &out.other[i] }); err != nil {
		return nil, err
	}
	return &out.flameTree, nil
}

// comparedTree is a tree of the paths of two sessions.
type comparedTree struct {
	flameTree
	named  map[string]int32 // of functions and processes: position in names
	nodes  map[comparedNode]int32
	single bool // each session has one process
}

type comparedNode struct{ parent, key int32 }

// add adds the values of a tree to those that value names.
func (c *comparedTree) add(of *context, t *flameTree, value func(int32) *int64) error {
	keys, err := of.source.FunctionKeys()
	if err != nil {
		return err
	}
	at, known := make([]int32, len(t.parent)), map[int32]int32{}
	for i, p := range t.parent {
		key, ok := known[t.key[i]]
		if !ok {
			key = c.position(of, keys, t.keys[t.key[i]])
			known[t.key[i]] = key
		}
		node := comparedNode{-1, key}
		if p >= 0 {
			node.parent = at[p]
		}
		n, ok := c.nodes[node]
		if !ok {
			n = int32(len(c.parent))
			c.nodes[node] = n
			c.parent, c.flameTree.key = append(c.parent, node.parent), append(c.key, key)
			c.value, c.other = append(c.value, 0), append(c.other, 0)
		}
		*value(n) += t.value[i]
		at[i] = n
	}
	return nil
}

// position is where the name of a function or a process is. Its key is its number from 1 on: below 0 of a process, as
// in one tree.
func (c *comparedTree) position(of *context, keys map[session.FunctionID]string, key int64) int32 {
	name, sign := "process "+of.flameFunction(key).Full, int64(-1)
	switch {
	case key >= 0:
		function, role := frameOf(key)
		name, sign = "function "+keys[function]+" "+string(role), 1
	case c.single:
		name = "process"
	}
	n, ok := c.named[name]
	if !ok {
		n = int32(len(c.names))
		c.names = append(c.names, of.flameFunction(key))
		c.keys = append(c.keys, sign*int64(len(c.names)))
		c.named[name] = n
	}
	return n
}

// otherOf is the value of a node in the other session.
func (t *flameTree) otherOf(node int32) int64 {
	if t.other == nil {
		return 0
	}
	return t.other[node]
}

// gone is what only the other session has.
func (t *flameTree) gone() Gone {
	var g Gone
	for i, n := range t.other {
		p := t.parent[i]
		if p < 0 {
			g.Total += n
		}
		if n == 0 || t.value[i] > 0 {
			continue
		}
		if g.Frames++; p < 0 || t.value[p] > 0 {
			g.Value += n
		}
	}
	return g
}
