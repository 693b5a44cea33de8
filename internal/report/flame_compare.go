package report

import (
	"fmt"

	"github.com/clrprof/clrprof/internal/session"
)

// comparedTree puts the paths of another session beside those of a tree: what has the same functions from the root, by
// their keys, in a process of the same name, is one path, with the sum of its values in each session. Where both have
// one process alone, that is the same whatever its name.
func (r *Reader) comparedTree(t *flameTree, metric FlameMetric, shape FlameShape, with *Reader) (*flameTree, error) {
	there, c, err := with.flameTree(metric, "", shape)
	if err != nil {
		return nil, fmt.Errorf("session %s: %w", with.context.source.Session().Path(), err)
	}
	out := &comparedTree{
		flameTree: flameTree{names: []FlameFunction{}, other: []int64{}, notes: t.notes},
		keys:      map[string]int64{},
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
	keys   map[string]int64 // of functions and processes: position in names, from 1 on
	nodes  map[comparedNode]int32
	single bool // each session has one process
}

type comparedNode struct {
	parent int32
	key    int64
}

// add adds the values of a tree to those that value names.
func (c *comparedTree) add(of *context, t *flameTree, value func(int32) *int64) error {
	keys, err := of.source.FunctionKeys()
	if err != nil {
		return err
	}
	at, known := make([]int32, len(t.parent)), map[int64]int64{}
	for i, p := range t.parent {
		key, ok := known[t.key[i]]
		if !ok {
			key = c.key(of, keys, t.key[i])
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
			c.parent, c.flameTree.key = append(c.parent, node.parent), append(c.flameTree.key, key)
			c.value, c.other = append(c.value, 0), append(c.other, 0)
		}
		*value(n) += t.value[i]
		at[i] = n
	}
	return nil
}

// key is the name of a function or a process: below 0, as in one tree.
func (c *comparedTree) key(of *context, keys map[session.FunctionID]string, key int64) int64 {
	name, sign := "process "+of.flameFunction(key).Full, int64(-1)
	switch {
	case key >= 0:
		function, role := frameOf(key)
		name, sign = keys[function]+" "+string(role), 1
	case c.single:
		name = "process"
	}
	n, ok := c.keys[name]
	if !ok {
		c.names = append(c.names, of.flameFunction(key))
		n = int64(len(c.names))
		c.keys[name] = n
	}
	return sign * n
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
