package analysis

import (
	"github.com/clrprof/clrprof/internal/calltree"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// treeRow is a row of a call tree while the tree is reshaped.
type treeRow struct {
	id       session.PathID
	level    int64
	process  session.ProcessID
	function int32 // position; none
	role     AsyncRole
	amounts  q.Amounts
	time     *session.PathTime // nil: none
}

// shaper makes a call tree of another one.
type shaper struct {
	asyncTree
	of      *LogicalTree // nil: the physical one
	below   *children[session.PathValue]
	beneath *children[session.PathTime]
	list    []treeRow // of rows
}

// newShaper prepares to reshape a tree; nil: the physical one.
func (v *Source) newShaper(of *LogicalTree) (*shaper, error) {
	functions, err := v.session.Functions()
	if err != nil {
		return nil, err
	}
	s := &shaper{asyncTree: asyncTree{functions: &asyncFunctions{rows: functions}, traced: v.traced}, of: of}
	if of != nil {
		s.below, s.beneath = of.below, of.beneath
	} else if s.below, s.beneath, err = v.physical(); err != nil {
		return nil, err
	}
	s.functions.index = newIndex(functions, func(r *session.Function) session.FunctionID { return r.ID })
	return s, nil
}

// physical returns what finds the rows of the call tree as it was.
func (v *Source) physical() (*children[session.PathValue], *children[session.PathTime], error) {
	if _, err := v.PathChildren(0); err != nil {
		return nil, nil, err
	}
	_, err := v.PathTimeChildren(0)
	return v.below, v.beneath, err
}

// expected is about how many rows eachRow visits: few of those of one kind are not among those of the other.
func (s *shaper) expected() int { return max(len(s.below.order), len(s.beneath.order)) }

// rows returns the rows below one, in the order of id. The next call overwrites them.
func (s *shaper) rows(below session.PathID) []treeRow {
	amounts, times := s.below.positions(below), s.beneath.of(below) // both in the order of id
	out := s.list[:0]
	for i, k := 0, 0; i < len(amounts) || k < len(times); {
		var r treeRow
		function := session.FunctionID(0)
		if i < len(amounts) {
			if p := s.below.row(amounts[i]); k == len(times) || p.ID <= times[k].ID {
				r, function = treeRow{id: p.ID, level: p.Level, process: p.Process, amounts: p.Amounts}, p.Function
				i++
			}
		}
		if k < len(times) && (r.id == 0 || r.id == times[k].ID) {
			p := &times[k]
			r.id, r.level, r.process, r.time, function = p.ID, p.Level, p.Process, p, p.Function
			k++
		}
		r.function, _ = s.functions.index.find(function)
		if s.of != nil {
			r.role = s.of.Role(r.id)
		}
		out = append(out, r)
	}
	s.list = out
	return out
}

// eachRow calls fn with each row, parents first, and what fn returned for the row above; none for a root.
func (s *shaper) eachRow(fn func(above int32, r *treeRow) int32) {
	type place struct {
		id session.PathID
		to int32
	}
	stack := []place{{0, none}}
	for len(stack) > 0 {
		above := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		rows := s.rows(above.id)
		for i := range rows {
			stack = append(stack, place{rows[i].id, fn(above.to, &rows[i])})
		}
	}
}

// shaped adds each row to the node that to chooses for it, given that of the row above; none: it is left out.
func (s *shaper) shaped(to func(above int32, r *treeRow) int32) *LogicalTree {
	step := s.traced.next()
	s.nodes = make([]logicalNode, 0, s.expected()) // what is not used of it is not touched
	s.at.expect(s.expected())
	s.eachRow(func(above int32, r *treeRow) int32 {
		n := to(above, r)
		s.traced.trace(step, r.id, n)
		if n != none {
			s.nodes[n].take(r)
		}
		return n
	})
	if s.traced != nil {
		s.traced.take(&s.asyncTree)
	}
	out := s.sum()
	if s.of != nil && s.of.raisedRoots {
		return out.raised()
	}
	return out
}

// nodeBelow returns the node of a row below another node.
func (s *shaper) nodeBelow(above int32, r *treeRow) int32 {
	return s.node(above, &asyncPath{process: r.process}, r.function, r.role)
}

// foldsRecursion reports whether a function is one that calls itself: what is called (truncated) is not.
func foldsRecursion(f *session.Function) bool { return f.Kind != session.FunctionPseudo }

// FoldRecursion returns a tree, nil: the physical one, in which no path has a function twice: a call of a function that
// is on the path already is part of the row of that function. Each value is at exactly one row.
func (v *Source) FoldRecursion(of *LogicalTree) (*LogicalTree, error) {
	s, err := v.newShaper(of)
	if err != nil {
		return nil, err
	}
	folds := make([]bool, len(s.functions.rows))
	for i := range folds {
		folds[i] = foldsRecursion(&s.functions.rows[i])
	}
	return s.shaped(func(above int32, r *treeRow) int32 {
		if r.function >= 0 && folds[r.function] {
			for n := above; n != none; n = s.nodes[n].parent {
				if s.nodes[n].function == r.function && s.nodes[n].role == r.role {
					return n
				}
			}
		}
		return s.nodeBelow(above, r)
	}), nil
}

// TooSmall reports whether a row of a level is trimmed, by its inclusive values.
type TooSmall func(level int, amount q.Amount, time q.Time) bool

// Trim returns a tree, nil: the physical one, in which the rows below one that are too small are one row, AsyncLeftOut,
// with all that is below them. Each value is at exactly one row.
func (v *Source) Trim(of *LogicalTree, small TooSmall) (*LogicalTree, error) {
	s, err := v.newShaper(of)
	if err != nil {
		return nil, err
	}
	return s.shaped(func(above int32, r *treeRow) int32 {
		if above != none && s.nodes[above].role == AsyncLeftOut {
			return above
		}
		time := q.Time{}
		if r.time != nil {
			time = r.time.Inclusive
		}
		if small(int(r.level), r.amounts.Inclusive, time) {
			return s.node(above, &asyncPath{process: r.process}, none, AsyncLeftOut)
		}
		return s.nodeBelow(above, r)
	}), nil
}

// foldRecursion takes out of stacks what lies between a call of a function and an earlier one: it counts as if that
// call had been made in place of the earlier one.
func (d *Data) foldRecursion() error {
	parents := make([]int32, len(d.Nodes))
	folded := d.foldedNodes()
	for i := range d.Nodes {
		parents[i] = d.tree.Parent[i]
		if folded != nil && folded[i] || !foldsRecursion(&d.Functions[d.nodeFunction[i]]) {
			continue
		}
		for n := parents[i]; n != calltree.None; n = parents[n] {
			if d.nodeFunction[n] == d.nodeFunction[i] {
				parents[i] = parents[n]
				break
			}
		}
	}
	return d.reparent(parents)
}
