package analysis

import (
	"github.com/clrprof/clrprof/internal/analysis/calltree"
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
func (s *shaper) expected() int { return max(s.below.len(), s.beneath.len()) }

// eachRow calls fn with each row, in the order of id, which has parents first, and with what fn returned for the row
// above; none for a root. The next row overwrites one, and its time.
func (s *shaper) eachRow(fn func(above int32, r *treeRow) int32) {
	amounts, times := newShapedList(s.below), newShapedList(s.beneath)
	var r treeRow
	for amounts.more() || times.more() {
		r = treeRow{}
		function, parent := session.FunctionID(0), session.PathID(0)
		hasAmount := amounts.more() && (!times.more() || amounts.row().ID <= times.row().ID)
		hasTime := times.more() && (!hasAmount || times.row().ID == amounts.row().ID)
		if hasAmount {
			p := amounts.row()
			r = treeRow{id: p.ID, level: p.Level, process: p.Process, amounts: p.Amounts}
			function, parent = p.Function, p.Parent
		}
		if hasTime {
			p := times.row()
			r.id, r.level, r.process, r.time, function, parent = p.ID, p.Level, p.Process, p, p.Function, p.Parent
		}
		r.function, _ = s.functions.index.find(function)
		if s.of != nil {
			r.role = s.of.Role(r.id)
		}
		above := amounts.to(parent)
		if above == none {
			above = times.to(parent)
		}
		to := fn(above, &r)
		if hasAmount {
			amounts.next(to)
		}
		if hasTime {
			times.next(to)
		}
	}
}

// shapedList goes through the rows of a tree in the order of id, and keeps where they went.
type shapedList[T any] struct {
	tree *children[T]
	at   int
	made *T      // the row there, if it is not one of a list
	went []int32 // by position, of the rows before
}

func newShapedList[T any](tree *children[T]) *shapedList[T] {
	l := &shapedList[T]{tree: tree, went: make([]int32, 0, tree.len())}
	l.fetch()
	return l
}

// fetch makes the row where the list is, unless it is there.
func (l *shapedList[T]) fetch() {
	if l.tree.rows != nil || !l.more() {
		return
	}
	if l.made == nil {
		l.made = new(T)
	}
	*l.made = l.tree.row(int32(l.at))
}

func (l *shapedList[T]) more() bool { return l.at < l.tree.len() }

// row returns the row where the list is. The next one may overwrite it.
func (l *shapedList[T]) row() *T {
	if l.tree.rows != nil {
		return &l.tree.rows[l.at]
	}
	return l.made
}

// next goes on to the next row: to is where this one went.
func (l *shapedList[T]) next(to int32) {
	l.went = append(l.went, to)
	l.at++
	l.fetch()
}

// to is where a row went, none if it went nowhere or is not in the list.
func (l *shapedList[T]) to(id session.PathID) int32 {
	if at, known := l.tree.at.find(id); known && at >= 0 {
		return l.went[at]
	}
	return none
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
	return s.node(above, r.process, r.function, r.role)
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
	on := make([]uint64, 0, s.expected()) // of a node: a bit for the name of each node on its path, which several share
	return s.shaped(func(above int32, r *treeRow) int32 {
		bit, has := uint64(1)<<(uint32(r.function)%64), uint64(0)
		if above != none {
			has = on[above]
		}
		if r.function >= 0 && folds[r.function] && has&bit != 0 {
			name := s.nameOfNode(r.process, r.function, r.role)
			for n := above; n != none; n = s.at.list[n].above { // which is a tenth of a node
				if s.at.list[n].name == name {
					return n
				}
			}
		}
		n := s.nodeBelow(above, r)
		if int(n) == len(on) { // it is new
			on = append(on, has|bit)
		}
		return n
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
			return s.node(above, r.process, none, AsyncLeftOut)
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
