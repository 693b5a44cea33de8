package analysis

import (
	"cmp"
	"fmt"
	"slices"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// SampleShape says how the stacks of samples are put together. It changes no sum: each sample is on one stack, but that
// with Roots only what is at and below these is left. What is shaped in several ways is so in the order of the fields.
type SampleShape struct {
	Logical bool                        // async methods are below those who called them
	Roots   map[session.FunctionID]bool // only what is at and below these functions, as the roots; nil: everything
	Fold    bool                        // no stack has a function twice
	By      By                          // ByModule, ByNamespace: these are in place of functions; "": functions
	Small   TooSmall                    // rows of the call tree that are one, called [left out]; nil: none
	Notes   []string                    // what all that is, in sentences
	// MergeThreads has the threads of a process with one name be the first of them.
	MergeThreads bool
}

// changesStacks reports whether stacks are others than those that were recorded.
func (s *SampleShape) changesStacks() bool {
	return s.Logical || s.Roots != nil || s.Fold || s.By != "" || s.Small != nil
}

// isZero reports whether samples are as they were recorded.
func (s *SampleShape) isZero() bool { return !s.changesStacks() && !s.MergeThreads }

// shape puts the stacks of samples together.
func (x *SampleSet) shape(s *session.Session, sel Selection) error {
	shape := sel.Shape
	x.Notes = append(slices.Clip(x.Notes), shape.Notes...)
	if shape.changesStacks() {
		if err := x.shapeStacks(s, sel); err != nil {
			return fmt.Errorf("session %s: %w", s.Path(), err)
		}
	}
	if shape.MergeThreads {
		x.mergeThreads()
	}
	return nil
}

// mergeThreads has the first thread of a name stand for all of its process that have it.
func (x *SampleSet) mergeThreads() {
	type key struct {
		process session.ProcessID
		name    string
	}
	first := map[key]int32{}
	to := make([]int32, len(x.data.Threads))
	for i := range x.data.Threads {
		t := &x.data.Threads[i]
		k := key{t.Process, t.Name}
		if at, known := first[k]; known && t.Name != "" {
			to[i] = at
		} else {
			first[k], to[i] = int32(i), int32(i)
		}
	}
	d := *x.data
	d.siteThread, d.timingThread = slices.Clone(d.siteThread), slices.Clone(d.timingThread)
	for _, list := range [][]int32{d.siteThread, d.timingThread} {
		for i, t := range list {
			if t >= 0 {
				list[i] = to[t]
			}
		}
	}
	x.data = &d
}

// shapedStacks makes the nodes of shaped stacks. Those of rows of the shaped tree have no instruction; below the row
// above, each has one more node for each instruction at which something was done, so that this is still known.
type shapedStacks struct {
	from   *Data
	tree   *shapedRows
	paths  []session.PathID // by merged node: its row in the tree as it was; 0: it has none
	nodes  []session.Node
	parent []int32
	// functions and their modules, by position: those of the session, and then what stands in their place
	functions []session.Function
	modules   []int32
	replaced  map[shapedFunction]int32
	rowNode   map[session.PathID]int32
	asIs      map[int32]int32 // of merged nodes that the tree has not
	leaf      map[shapedLeaf]int32
	lost      []bool // by node of from: it is at or below no root
}

type shapedFunction struct {
	function session.FunctionID
	role     AsyncRole
	process  session.ProcessID
}

type shapedLeaf struct {
	row         int32 // its node
	instruction session.InstructionID
}

// shapeStacks replaces the stacks.
func (x *SampleSet) shapeStacks(s *session.Session, sel Selection) error {
	v := &Source{session: s, selection: sel, data: x.data, traced: &shapedRows{}}
	var err error
	if v.derived, err = x.data.derive(false); err != nil {
		return err
	}
	if err := v.shapedRows(sel.Shape); err != nil {
		return err
	}
	if len(v.traced.steps) == 0 {
		return nil // no async method is on the stacks
	}
	w := &shapedStacks{from: x.data, tree: v.traced, functions: slices.Clone(x.data.Functions),
		modules: slices.Clone(x.data.functionModule), replaced: map[shapedFunction]int32{},
		rowNode: map[session.PathID]int32{}, asIs: map[int32]int32{}, leaf: map[shapedLeaf]int32{},
		lost: make([]bool, len(x.data.Nodes))}
	if w.paths, err = v.pathIDs(); err != nil {
		return err
	}
	to := make([]int32, len(x.data.Nodes))
	for i := range to {
		to[i] = none
	}
	place := func(nodes []int32, has func(int) bool, drop func(int)) []int32 {
		out := slices.Clone(nodes)
		for i, n := range nodes {
			if n < 0 || !has(i) {
				if out[i] = none; sel.Shape.Roots != nil {
					drop(i)
				}
				continue
			}
			if to[n] == none && !w.lost[n] {
				to[n] = w.place(n, sel.Shape.Roots != nil)
			}
			if out[i] = to[n]; w.lost[n] {
				drop(i)
			}
		}
		return out
	}
	d := *x.data
	d.siteNode = place(d.siteNode, func(i int) bool { return i < x.amounts.len() && !x.amounts.isZero(i) },
		func(i int) { x.amounts.clear(i) })
	d.timingNode = place(d.timingNode, func(i int) bool { return i < len(x.times) && x.times[i] != TimingTime{} },
		func(i int) { x.times[i] = TimingTime{} })
	return x.take(&d, w)
}

// take replaces the data by that with other nodes.
func (x *SampleSet) take(d *Data, w *shapedStacks) error {
	d.Nodes, d.Functions, d.functionModule = w.nodes, w.functions, w.modules
	d.nodeFunction, d.nodeInstruction = make([]int32, len(w.nodes)), make([]int32, len(w.nodes))
	functions := newIndex(d.Functions, func(f *session.Function) session.FunctionID { return f.ID })
	instructions := newIndex(d.Instructions, func(i *session.Instruction) session.InstructionID { return i.ID })
	for i := range w.nodes {
		d.nodeFunction[i], _ = functions.find(w.nodes[i].Function)
		d.nodeInstruction[i], _ = instructions.find(w.nodes[i].Instruction)
	}
	x.data, x.nodeFrame = d, make([]int32, len(w.nodes))
	return d.reparent(w.parent)
}

// place returns the node that stands for one of the session's.
func (w *shapedStacks) place(node int32, rooted bool) int32 {
	merged := w.from.merged().Of[node]
	row := w.tree.last(w.paths[merged])
	var at int32
	switch {
	case row != 0:
		at = w.row(row)
	case rooted:
		w.lost[node] = true
		return none
	default:
		at = w.asItWas(merged)
	}
	instruction := w.from.Nodes[node].Instruction
	if instruction == 0 || !w.sameSource(w.nodes[at].Function, w.from.Nodes[node].Function) {
		return at
	}
	key := shapedLeaf{at, instruction}
	n, known := w.leaf[key]
	if !known {
		n = w.add(w.parent[at], w.nodes[at].Function, instruction)
		w.leaf[key] = n
	}
	return n
}

// sameSource reports whether a line of one function is one of another: that, or the async method for which it stands.
func (w *shapedStacks) sameSource(shown, own session.FunctionID) bool {
	a, b := w.function(shown), w.function(own)
	return a != nil && b != nil && a.Kind != session.FunctionPseudo && (shown == own || a.File != 0 && a.File == b.File)
}

// function returns a function, also a new one; nil: there is none.
func (w *shapedStacks) function(id session.FunctionID) *session.Function {
	at, found := slices.BinarySearchFunc(w.functions, id, func(f session.Function, id session.FunctionID) int {
		return cmp.Compare(f.ID, id)
	})
	if !found {
		return nil
	}
	return &w.functions[at]
}

func (w *shapedStacks) add(parent int32, function session.FunctionID, instruction session.InstructionID) int32 {
	n := int32(len(w.nodes))
	id := session.NodeID(0)
	if parent >= 0 {
		id = w.nodes[parent].ID
	}
	w.nodes = append(w.nodes, session.Node{ID: session.NodeID(n + 1), Parent: id, Function: function,
		Instruction: instruction})
	w.parent = append(w.parent, parent)
	return n
}

// row returns the node of a row of the shaped tree, and makes those above it first.
func (w *shapedStacks) row(id session.PathID) int32 {
	var missing []session.PathID
	above := int32(none)
	for ; id != 0; id = w.tree.rows[id-1].parent {
		if n, known := w.rowNode[id]; known {
			above = n
			break
		}
		missing = append(missing, id)
	}
	for _, id := range slices.Backward(missing) {
		above = w.add(above, w.functionOf(w.tree.rows[id-1]), 0)
		w.rowNode[id] = above
	}
	return above
}

// asItWas returns the node of a path that the tree has not: nothing is known below which it would be.
func (w *shapedStacks) asItWas(merged int32) int32 {
	var missing []int32
	all, above := w.from.merged(), int32(none)
	for m := merged; m >= 0; m = all.Parent[m] {
		if n, known := w.asIs[m]; known {
			above = n
			break
		}
		missing = append(missing, m)
	}
	for _, m := range slices.Backward(missing) {
		above = w.add(above, w.from.Functions[all.Group[m]].ID, 0)
		w.asIs[m] = above
	}
	return above
}

// functionOf returns the function of a row: one of the session, or a new one with the name that stands in its place.
func (w *shapedStacks) functionOf(r shapedRow) session.FunctionID {
	if r.role == AsyncNone {
		return r.function
	}
	key := shapedFunction{r.function, r.role, r.process}
	at, known := w.replaced[key]
	if !known {
		at = int32(len(w.functions))
		f, module := session.Function{Process: r.process, Kind: session.FunctionPseudo}, int32(none)
		switch r.role {
		case AsyncResumed:
			from, _ := w.tree.functions.index.find(r.function)
			f, module = w.functions[from], w.modules[from]
			f.Name, f.RawName = f.DisplayName()+" [resumed]", cmp.Or(f.RawName, f.Name)
		case AsyncGroup:
			from, _ := w.tree.functions.index.find(r.function)
			if module = w.modules[from]; w.tree.by == ByNamespace {
				module = none
			}
			f.RawName = w.groupName(from)
		case AsyncRuntime:
			f.RawName = NameAsyncRuntime
		default:
			f.RawName = NameLeftOut
		}
		f.ID = w.functions[at-1].ID + 1
		w.functions, w.modules = append(w.functions, f), append(w.modules, module)
		w.replaced[key] = at
	}
	return w.functions[at].ID
}

// groupName is the name of the module or of the namespace of a function.
func (w *shapedStacks) groupName(function int32) string {
	if w.tree.by == ByNamespace {
		return cmp.Or(FunctionNamespace(&w.functions[function]), NoNamespace)
	}
	if m := w.modules[function]; m >= 0 {
		return w.from.Modules[m].Name
	}
	return noModule
}

// Names of rows that are no functions.
const (
	NameAsyncRuntime = "[async runtime]"
	NameLeftOut      = "[left out]"
	NoNamespace      = "(no namespace)"
)

// pathIDs returns the ids of the rows of the call tree, by merged node; 0: it has no row.
func (v *Source) pathIDs() ([]session.PathID, error) {
	bySite, err := v.data.SiteAmounts()
	if err != nil {
		return nil, err
	}
	own := make([]q.Amount, len(v.data.Nodes))
	for i, a := range bySite {
		addTo(own, v.data.siteNode[i], a)
	}
	times, err := v.data.nodeTimes()
	if err != nil {
		return nil, err
	}
	tree := v.data.callTree(own, times)
	out := make([]session.PathID, len(tree.of))
	for m, at := range tree.of {
		out[m] = session.PathID(at + 1)
	}
	return out, nil
}

// shapedRow is a row of the last tree.
type shapedRow struct {
	parent   session.PathID
	function session.FunctionID
	process  session.ProcessID
	role     AsyncRole
}

// shapedRows say what became of the rows of a call tree while it was shaped.
type shapedRows struct {
	steps     [][]session.PathID // of each tree: the row in it, by that of the one before; 0: none
	rows      []shapedRow        // of the last tree
	functions *asyncFunctions
	by        By
}

// last returns the row of the last tree for one of the first; 0: none.
func (r *shapedRows) last(id session.PathID) session.PathID {
	for _, step := range r.steps {
		if id <= 0 || int64(id) >= int64(len(step)) {
			return 0
		}
		id = step[id]
	}
	return id
}

// next begins with another tree.
func (r *shapedRows) next() int {
	if r == nil {
		return 0
	}
	r.steps = append(r.steps, nil)
	return len(r.steps) - 1
}

// trace notes that a row is part of one of the tree that is being made; none: it is left out.
func (r *shapedRows) trace(step int, from session.PathID, node int32) {
	if r == nil {
		return
	}
	to := r.steps[step]
	for int64(len(to)) <= int64(from) {
		to = append(to, 0)
	}
	to[from] = session.PathID(node + 1)
	r.steps[step] = to
}

// take keeps the rows of a tree.
func (r *shapedRows) take(t *asyncTree) {
	r.functions, r.rows = t.functions, r.rows[:0]
	for i := range t.nodes {
		n := &t.nodes[i]
		row := shapedRow{session.PathID(n.parent + 1), 0, n.process, n.role}
		if n.function >= 0 {
			row.function = t.functions.rows[n.function].ID
		}
		r.rows = append(r.rows, row)
	}
}

// shapedRows makes the shaped call tree, and notes what becomes of each row.
func (v *Source) shapedRows(shape *SampleShape) error {
	var tree *LogicalTree
	var err error
	v.traced.by = shape.By
	if shape.Logical {
		if tree, err = v.LogicalTree(); err != nil {
			return err
		}
	}
	for _, make := range []struct {
		wanted bool
		of     func() (*LogicalTree, error)
	}{
		{shape.Roots != nil, func() (*LogicalTree, error) { return v.Rooted(tree, shape.Roots) }},
		{shape.Fold, func() (*LogicalTree, error) { return v.FoldRecursion(tree) }},
		{shape.By != "", func() (*LogicalTree, error) { return v.GroupFunctions(tree, shape.By) }},
		{shape.Small != nil, func() (*LogicalTree, error) { return v.Trim(tree, shape.Small) }},
	} {
		if !make.wanted {
			continue
		}
		if tree, err = make.of(); err != nil {
			return err
		}
	}
	return nil
}
