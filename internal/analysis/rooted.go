package analysis

import (
	"github.com/clrprof/clrprof/internal/session"
)

// Rooted returns what is at and below functions, as the trees of these: a stack counts from the outermost of them on. The
// inclusive value of a root is that of its function: each allocation and each interval once. of is the tree to take it from; nil:
// the physical one.
func (v *Source) Rooted(of *LogicalTree, roots map[session.FunctionID]bool) (*LogicalTree, error) {
	if of == nil {
		var err error
		if of, err = v.physicalTree(); err != nil {
			return nil, err
		}
	}
	t := &asyncTree{functions: &asyncFunctions{}, at: map[logicalKey]int32{}}
	functions, err := v.session.Functions()
	if err != nil {
		return nil, err
	}
	t.functions.rows = functions
	t.functions.index = newIndex(functions, func(r *session.Function) session.FunctionID { return r.ID })
	type place struct {
		id   session.PathID
		node int32 // none: above the roots
	}
	stack := []place{{0, none}}
	for len(stack) > 0 {
		above := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		at := map[session.PathID]int32{}
		put := func(id session.PathID, process session.ProcessID, function session.FunctionID) *logicalNode {
			n, known := at[id]
			if !known {
				n = none
				if above.node != none || roots[function] {
					pos, _ := t.functions.index.find(function)
					n = t.node(above.node, &asyncPath{process: process}, pos, of.Role(id))
				}
				at[id] = n
				stack = append(stack, place{id, n})
			}
			if n == none {
				return &logicalNode{}
			}
			return &t.nodes[n]
		}
		for _, p := range of.Children(above.id) {
			n := put(p.ID, p.Process, p.Function)
			n.amounts.Exclusive = n.amounts.Exclusive.Add(p.Exclusive)
		}
		for _, p := range of.TimeChildren(above.id) {
			put(p.ID, p.Process, p.Function).addTime(&p)
		}
	}
	return t.sum().raised(), nil
}

// raised makes roots those of level 0.
func (t *LogicalTree) raised() *LogicalTree {
	for _, list := range t.below {
		for i := range list {
			list[i].Level--
		}
	}
	for _, list := range t.beneath {
		for i := range list {
			list[i].Level--
		}
	}
	return t
}

// physicalTree is the call tree as it was.
func (v *Source) physicalTree() (*LogicalTree, error) {
	if _, err := v.PathChildren(0); err != nil {
		return nil, err
	}
	if _, err := v.PathTimeChildren(0); err != nil {
		return nil, err
	}
	return &LogicalTree{below: v.below, beneath: v.beneath}, nil
}
