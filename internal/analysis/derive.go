package analysis

import (
	"cmp"
	"slices"

	"github.com/clrprof/clrprof/internal/analysis/calltree"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// Derive computes all derived tables of what is selected.
func (d *Data) Derive() (*session.Derived, error) {
	x, err := d.deriveAll()
	if err != nil {
		return nil, err
	}
	return x.Derived, nil
}

func (d *Data) deriveAll() (*derivation, error) {
	x, err := d.derive(true)
	if err != nil {
		return nil, err
	}
	return x, d.deriveParts(x)
}

// deriveParts makes all parts of the tables.
func (d *Data) deriveParts(x *derivation) error {
	for part := range derivedParts {
		if x.need(part); part == lastOfTimes { // some hundred bytes for each node
			x.times = derivedTimes{}
		}
	}
	return d.deriveWhole(x.Derived)
}

// derivedPart is a part of the derived tables that takes long, and that not every view needs.
type derivedPart int

const (
	derivedUserTimes derivedPart = iota // first, these two: the others can do without the times of nodes
	derivedTimePlaces
	derivedTimePaths
	derivedTimeCalls
	derivedTimeFunctions
	derivedTimeModules
	derivedPaths // the first of memory
	derivedCalls
	derivedFunctions
	derivedModules
	derivedPlaces
	derivedParts // how many there are

	lastOfTimes = derivedPaths - 1
)

// derivation makes derived tables: their parts when they are needed.
type derivation struct {
	*session.Derived
	data  *Data
	tree  *callTree  // nil until something needs it
	own   []q.Amount // by node
	times derivedTimes
	made  [derivedParts]bool

	// all tables are made, to be stored, and nothing else is asked for: the rows of the call tree of times are made
	// when they are written
	toStore  bool
	pathRows *pathTimes
}

// need makes a part of the tables.
func (x *derivation) need(part derivedPart) {
	if x.made[part] {
		return
	}
	if x.made[part] = true; part <= lastOfTimes {
		x.data.deriveTimePart(x, part)
	} else {
		x.data.derivePart(x, part)
	}
}

// hasMemory reports whether something was allocated of what is selected.
func (x *derivation) hasMemory() bool {
	return slices.ContainsFunc(x.own, func(a q.Amount) bool { return !a.IsZero() })
}

// callTree returns the tree of paths.
func (x *derivation) callTree() *callTree {
	if x.tree == nil {
		x.tree = x.data.callTree(x.own, x.times.nodes)
	}
	return x.tree
}

// derive computes what all views need, and prepares the rest; with what is stored of groups, if that is wanted.
func (d *Data) derive(groups bool) (*derivation, error) {
	bySite, err := d.SiteAmounts()
	if err != nil {
		return nil, err
	}
	var own []q.Amount // stays so where nothing was allocated
	if len(d.Sites) > 0 {
		own = make([]q.Amount, len(d.Nodes))
	}
	byType := make([]q.Amount, len(d.Types))
	byThread := make([]q.Amount, len(d.Threads))
	for i, a := range bySite {
		addTo(own, d.siteNode[i], a)
		addTo(byType, d.siteType[i], a)
		addTo(byThread, d.siteThread[i], a)
	}
	times, err := d.nodeTimes()
	if err != nil {
		return nil, err
	}
	out := &session.Derived{}
	x := &derivation{Derived: out, data: d, own: own, times: derivedTimes{nodes: times}}
	if d.in.selection.IsZero() && len(d.Followed) > 0 {
		if err := d.deriveLifetimes(out, bySite, groups); err != nil {
			return nil, err
		}
	} else if d.in.selection.IsZero() && groups && len(bySite) > 0 {
		d.newTopSites(bySite).addTo(out)
	}
	for i, a := range byType {
		if !a.IsZero() {
			out.Types = append(out.Types, session.TypeValue{Type: d.Types[i].ID, Amount: a})
		}
	}
	for i, a := range byThread {
		if !a.IsZero() {
			out.Threads = append(out.Threads, session.ThreadValue{Thread: d.Threads[i].ID, Amount: a})
		}
	}
	for i, a := range calltree.Sum(byThread, d.threadProcess, len(d.Processes)) {
		if !a.IsZero() {
			out.Processes = append(out.Processes, session.ProcessValue{Process: d.Processes[i].ID, Amount: a})
		}
	}
	if times != nil {
		d.deriveTimes(out, times)
		if out.Awaits, err = d.awaits(times); err != nil {
			return nil, err
		}
	}
	return x, nil
}

func addTo(sums []q.Amount, at int32, a q.Amount) {
	if at >= 0 {
		sums[at] = sums[at].Add(a)
	}
}

// callTree is the tree of the paths of a part of a session that have anything, in memory or in time: one
// tree, so that a path has the same id in both.
type callTree struct {
	calltree.Tree
	merged   []int32 // the merged node of each path
	of       []int32 // the path of each merged node, or none
	function []int32 // of each path
	memory   memoryPaths
	time     []bool // merged nodes that have a row in tables of times; nil: none
}

// memoryPaths are amounts by merged node.
type memoryPaths struct {
	own, inclusive []q.Amount // nil: nothing was allocated
	keep           []bool     // has a row in tables of amounts
}

// onMemoryPaths sums what nodes have of their own; nil: nothing was allocated.
func onMemoryPaths(own []q.Amount, all *calltree.Merged) memoryPaths {
	m := memoryPaths{keep: make([]bool, all.Len())}
	if own == nil {
		return m
	}
	m.own = calltree.Sum(own, all.Of, all.Len())
	m.inclusive = calltree.Inclusive(all.Tree, m.own)
	for i, v := range m.inclusive {
		m.keep[i] = !v.IsZero() || !m.own[i].IsZero()
	}
	keepParents(all.Tree, m.keep)
	return m
}

// callTree makes the tree of what nodes have of their own; both may be nil.
func (d *Data) callTree(own []q.Amount, times *nodeTimes) *callTree {
	all := d.merged()
	t := &callTree{memory: onMemoryPaths(own, all)}
	keep := t.memory.keep
	if times != nil {
		t.time = times.kept(all)
		keep = slices.Clone(keep)
		for i, k := range t.time {
			keep[i] = keep[i] || k
		}
	}
	t.Tree, t.merged = all.Keep(keep)
	t.function = make([]int32, t.Len())
	t.of = make([]int32, all.Len())
	for i := range t.of {
		t.of[i] = none
	}
	for i, m := range t.merged {
		t.of[m] = int32(i)
		t.function[i] = all.Group[m]
	}
	return t
}

// moduleGroup returns the position of a function's module. Those without one have len(Modules), so that modules add up
// to the total too.
func (d *Data) moduleGroup(function int32) int32 {
	if m := d.functionModule[function]; m != none {
		return m
	}
	return int32(len(d.Modules))
}

// modulesOf returns the modules of functions.
func (d *Data) modulesOf(functions []int32) []int32 {
	out := make([]int32, len(functions))
	for i, f := range functions {
		out[i] = d.moduleGroup(f)
	}
	return out
}

// derivePart computes a part of the tables. All but derivedPlaces depends on who is on the stack, and not on where in a
// function.
func (d *Data) derivePart(x *derivation, part derivedPart) {
	if !x.hasMemory() {
		return
	}
	switch part {
	case derivedPlaces:
		d.derivePlaces(x.Derived, x.own)
	case derivedFunctions, derivedModules:
		d.deriveGroups(x, part)
	default:
		tree := x.callTree()
		if part == derivedPaths {
			x.Paths = d.pathAmounts(tree).list()
			return
		}
		own, inclusive := tree.amounts()
		d.deriveCalls(x.Derived, calltree.Calls(tree.Tree, own, inclusive, tree.function))
	}
}

// amounts returns what was allocated by path.
func (t *callTree) amounts() (own, inclusive []q.Amount) {
	if t.Len() == len(t.memory.own) { // each merged node is a path
		return t.memory.own, t.memory.inclusive
	}
	own, inclusive = make([]q.Amount, t.Len()), make([]q.Amount, t.Len())
	for i, m := range t.merged {
		own[i], inclusive[i] = t.memory.own[m], t.memory.inclusive[m]
	}
	return own, inclusive
}

// deriveGroups computes the rows of functions, or of modules. On the stacks of nodes are the same functions as on those
// of paths, of which there are fewer, but which take longer to make than to do without.
func (d *Data) deriveGroups(x *derivation, part derivedPart) {
	tree, function := d.tree, d.nodeFunction
	own, inclusive := x.own, []q.Amount(nil)
	if x.tree != nil {
		tree, function = x.tree.Tree, x.tree.function
		own, inclusive = x.tree.amounts()
	} else {
		inclusive = calltree.Inclusive(tree, own)
	}
	if part == derivedFunctions {
		for i, v := range groupAmounts(tree, own, inclusive, function, len(d.Functions)) {
			if !v.IsZero() {
				x.Functions = append(x.Functions, session.FunctionValue{Function: d.Functions[i].ID, Amounts: v})
			}
		}
		return
	}
	sums := groupAmounts(tree, own, inclusive, d.modulesOf(function), len(d.Modules)+1)
	d.eachModule(func(i int, id session.ModuleID) {
		if v := sums[i]; !v.IsZero() {
			x.Modules = append(x.Modules, session.ModuleValue{Module: id, Amounts: v})
		}
	})
}

// groupAmounts returns the amounts of each group.
func groupAmounts(tree calltree.Tree, own, inclusive []q.Amount, group []int32, groups int) []q.Amounts {
	return combine(calltree.Presence(tree, inclusive, group, groups), calltree.Sum(own, group, groups))
}

// link returns where a path is, by its id.
func (t *callTree) link(path int32) session.PathLink {
	return session.PathLink{ID: session.PathID(path + 1), Parent: session.PathID(t.Parent[path] + 1)}
}

// pathAmounts are the rows of the call tree, each made when it is asked for: there can be a million.
type pathAmounts struct {
	data           *Data
	tree           *callTree
	own, inclusive []q.Amount // by path
	levels         []int32
	of             []int32 // the path of each row
}

func (d *Data) pathAmounts(tree *callTree) *pathAmounts {
	out := &pathAmounts{data: d, tree: tree, levels: tree.Levels(), of: make([]int32, 0, tree.Len())}
	out.own, out.inclusive = tree.amounts()
	for i, m := range tree.merged {
		if tree.memory.keep[m] {
			out.of = append(out.of, int32(i))
		}
	}
	return out
}

// link returns where a row is in the tree.
func (p *pathAmounts) link(row int) session.PathLink { return p.tree.link(p.of[row]) }

// at returns a row.
func (p *pathAmounts) at(row int) session.PathValue {
	i := p.of[row]
	function := &p.data.Functions[p.tree.function[i]]
	return session.PathValue{
		ID: session.PathID(i + 1), Parent: session.PathID(p.tree.Parent[i] + 1), Level: int64(p.levels[i]) + 1,
		Process: function.Process, Function: function.ID,
		Amounts: q.Amounts{Inclusive: p.inclusive[i], Exclusive: p.own[i]},
	}
}

// list makes all rows.
func (p *pathAmounts) list() []session.PathValue {
	out := make([]session.PathValue, len(p.of))
	for row := range out {
		out[row] = p.at(row)
	}
	return out
}

// eachModule calls fn with the groups of modulesOf, in the order of id: 0 is that of the functions without a
// module.
func (d *Data) eachModule(fn func(group int, id session.ModuleID)) {
	fn(len(d.Modules), 0)
	for i := range d.Modules {
		fn(i, d.Modules[i].ID)
	}
}

// keepParents makes sure that a kept node's parent is kept. It changes nothing for
// amounts that are not negative; a damaged session may have others.
func keepParents(t calltree.Tree, keep []bool) {
	for i := t.Len() - 1; i >= 0; i-- {
		if p := t.Parent[i]; p >= 0 && keep[i] {
			keep[p] = true
		}
	}
}

func combine(inclusive, exclusive []q.Amount) []q.Amounts {
	out := make([]q.Amounts, len(inclusive))
	for i := range out {
		out[i] = q.Amounts{Inclusive: inclusive[i], Exclusive: exclusive[i]}
	}
	return out
}

func (d *Data) deriveCalls(out *session.Derived, calls []calltree.CallValue[q.Amount]) {
	for _, c := range calls {
		row := session.CallValue{Callee: d.Functions[c.Callee].ID,
			Amounts: q.Amounts{Inclusive: c.Inclusive, Exclusive: c.Exclusive}}
		if c.Caller >= 0 {
			row.Caller = d.Functions[c.Caller].ID
		}
		if !row.IsZero() {
			out.Calls = append(out.Calls, row)
		}
	}
	slices.SortFunc(out.Calls, func(a, b session.CallValue) int {
		return cmp.Or(cmp.Compare(a.Caller, b.Caller), cmp.Compare(a.Callee, b.Callee))
	})
}

// derivePlaces computes where in a function: instructions and lines.
func (d *Data) derivePlaces(out *session.Derived, own []q.Amount) {
	byInstruction := calltree.Sum(own, d.nodeInstruction, len(d.Instructions))
	for i, a := range byInstruction {
		if !a.IsZero() {
			out.Instructions = append(out.Instructions, session.InstructionValue{Instruction: d.Instructions[i].ID,
				Amount: a})
		}
	}
	for i, a := range calltree.Sum(byInstruction, d.instructionLine, len(d.Lines)) {
		if !a.IsZero() {
			out.Lines = append(out.Lines, session.LineValue{Line: d.Lines[i].ID, Amount: a})
		}
	}
}
