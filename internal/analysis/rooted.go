package analysis

import (
	"github.com/clrprof/clrprof/internal/session"
)

// Rooted returns what is at and below functions, as the trees of these: a stack counts from the outermost of them on.
// The inclusive value of a root is that of its function: each allocation and each interval once. of is the tree to take
// it from; nil: the physical one.
func (v *Source) Rooted(of *LogicalTree, roots map[session.FunctionID]bool) (*LogicalTree, error) {
	s, err := v.newShaper(of)
	if err != nil {
		return nil, err
	}
	return s.shaped(func(above int32, r *treeRow) int32 {
		if above == none && (r.function < 0 || !roots[s.functions.rows[r.function].ID]) {
			return none
		}
		return s.nodeBelow(above, r)
	}).raised(), nil
}

// raised makes roots those of level 0.
func (t *LogicalTree) raised() *LogicalTree {
	t.raisedRoots = true
	for i := range t.below.rows {
		t.below.rows[i].Level--
	}
	for i := range t.beneath.rows {
		t.beneath.rows[i].Level--
	}
	return t
}
