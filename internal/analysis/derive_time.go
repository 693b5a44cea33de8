package analysis

import (
	"cmp"
	"slices"

	"github.com/clrprof/clrprof/internal/analysis/calltree"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// derivedTimes is what the derived tables of times are made of: their parts when they are needed.
type derivedTimes struct {
	nodes  *nodeTimes // nil: there are none
	paths  *timePaths // nil until something needs them
	byNode *timePaths // likewise: nodes in place of paths
	placed bool       // what is derived of places is made, so that the times of nodes are of no more use
}

// deriveTimes computes the derived tables of times that all views need.
func (d *Data) deriveTimes(out *session.Derived, times *nodeTimes) {
	totals := make([]session.TimeValue, len(d.Processes))
	for i, t := range times.threads {
		v := session.TimeValue{Calls: t.calls, Running: t.running, Times: q.Times{Inclusive: t.Time, Exclusive: t.Time}}
		if v == (session.TimeValue{}) {
			continue
		}
		out.ThreadTimes = append(out.ThreadTimes, session.ThreadTime{Thread: d.Threads[i].ID, TimeValue: v})
		if p := d.threadProcess[i]; p >= 0 {
			totals[p] = addTimes(totals[p], v)
		}
	}
	for i, v := range totals {
		if v != (session.TimeValue{}) {
			out.ProcessTimes = append(out.ProcessTimes, session.ProcessTimeValue{Process: d.Processes[i].ID,
				TimeValue: v})
		}
	}
}

// onPaths returns the times by path.
func (x *derivation) onPaths() *timePaths {
	t := &x.times
	if t.paths == nil {
		t.paths = t.nodes.onPaths(x.callTree().Tree, x.data.pathOf(x.callTree()))
	}
	if t.placed {
		t.nodes.own, t.nodes.extents = nil, nil // a hundred bytes for each node
	}
	return t.paths
}

// exclusiveTimes returns the times of nodes.
func (x *derivation) exclusiveTimes() *nodeTimes {
	if n := x.times.nodes; n != nil && n.own != nil {
		return n
	}
	return x.data.exclusiveTimes()
}

// deriveTimePart computes a part of the tables. All but derivedUserTimes and
// derivedTimePlaces depends on who is on the stack.
func (d *Data) deriveTimePart(x *derivation, part derivedPart) {
	if x.times.nodes == nil {
		return
	}
	if part == derivedUserTimes {
		for _, t := range x.data.userTimes(x.exclusiveTimes()) {
			x.UserTimes = append(x.UserTimes, session.UserTime{Function: t.Function, FromFunction: t.From.Function,
				FromLine: t.From.Line, Time: t.Time})
		}
		return
	}
	if part == derivedTimePlaces {
		d.deriveTimePlaces(x.Derived, x.times.nodes)
		x.times.placed = true
		return
	}
	folded := x.times.nodes.folded
	switch part {
	case derivedTimePaths:
		x.pathRows = d.pathTimes(x.callTree(), x.onPaths())
		if x.pathRows.paths.belowAll(); !x.toStore { // several goroutines make the rows that are stored
			x.PathTimes = x.pathRows.list()
		}
	case derivedTimeCalls:
		d.deriveTimeCalls(x.Derived, x.callTree(), x.onPaths(), folded)
	case derivedTimeFunctions:
		times, function := x.onStacks()
		d.deriveTimeFunctions(x.Derived, function, times, folded)
	case derivedTimeModules:
		times, function := x.onStacks()
		d.deriveTimeModules(x.Derived, d.modulesOf(function), times, folded)
	}
}

// onStacks returns the times by stack, and the function at the top of each: by path, or by node, if that is known with
// less. On the stacks of nodes are the same functions, and of each path its nodes have the time.
func (x *derivation) onStacks() (*timePaths, []int32) {
	n, d := x.times.nodes, x.data
	if x.tree != nil || n.folded != nil || n.extents != nil {
		return x.onPaths(), x.callTree().function
	}
	if x.times.byNode == nil {
		x.times.byNode = &timePaths{Tree: d.tree, own: n.own}
	}
	return x.times.byNode, d.nodeFunction
}

func addTimes(a, b session.TimeValue) session.TimeValue {
	return session.TimeValue{Calls: a.Calls + b.Calls, Running: a.Running + b.Running, Times: a.Times.Add(b.Times)}
}

// pathOf returns the path of each node, or none.
func (d *Data) pathOf(tree *callTree) []int32 {
	out := make([]int32, d.tree.Len())
	for i, m := range d.merged().Of {
		out[i] = tree.of[m]
	}
	return out
}

// pathTimes are the rows of the call tree, each made when it is asked for: there can be a million.
type pathTimes struct {
	data   *Data
	tree   *callTree
	paths  *timePaths
	levels []int32
	of     []int32 // the path of each row
}

func (d *Data) pathTimes(tree *callTree, paths *timePaths) *pathTimes {
	out := &pathTimes{data: d, tree: tree, paths: paths, levels: tree.Levels(), of: make([]int32, 0, count(tree.time))}
	for i, m := range tree.merged {
		if tree.time[m] {
			out.of = append(out.of, int32(i))
		}
	}
	return out
}

// link returns where a row is in the tree.
func (p *pathTimes) link(row int) session.PathLink { return p.tree.link(p.of[row]) }

// at returns a row.
func (p *pathTimes) at(row int) session.PathTime {
	i := p.of[row]
	r, function := p.paths.path(i), &p.data.Functions[p.tree.function[i]]
	return session.PathTime{
		ID: session.PathID(i + 1), Parent: session.PathID(p.tree.Parent[i] + 1), Level: int64(p.levels[i]) + 1,
		Process: function.Process, Function: function.ID, TimeValue: r.TimeValue, SingleCalls: r.SingleCalls,
	}
}

// unmadePaths are the rows of the call tree while they are not in a list, which is 400 bytes for each; nil: they are,
// or there are none.
func (x *derivation) unmadePaths() *pathTimes {
	if x == nil || x.times.nodes == nil || x.made[derivedTimePaths] {
		return nil
	}
	return x.data.pathTimes(x.callTree(), x.onPaths())
}

// each makes the rows one by one.
func (p *pathTimes) each(yield func(session.PathTime) bool) {
	for row := range p.of {
		if !yield(p.at(row)) {
			return
		}
	}
}

// list makes all rows.
func (p *pathTimes) list() []session.PathTime {
	out := make([]session.PathTime, 0, len(p.of)) // growing would take as much again, several times over
	for row := range p.of {
		out = append(out, p.at(row))
	}
	return out
}

// deriveTimeCalls computes the rows of pairs of caller and callee.
func (d *Data) deriveTimeCalls(out *session.Derived, tree *callTree, paths *timePaths, folded *foldedTimes) {
	calls, group := tree.GroupCalls(tree.function)
	rows := paths.group(group, len(calls))
	if folded != nil {
		calls, rows = folded.addCalls(calls, rows)
	}
	for i, r := range rows {
		row := session.CallTime{Callee: d.Functions[calls[i].Callee].ID, TimeValue: r.TimeValue,
			SingleCalls: r.SingleCalls}
		if caller := calls[i].Caller; caller >= 0 {
			row.Caller = d.Functions[caller].ID
		}
		if !r.empty() {
			out.CallTimes = append(out.CallTimes, row)
		}
	}
	slices.SortFunc(out.CallTimes, func(a, b session.CallTime) int {
		return cmp.Or(cmp.Compare(a.Caller, b.Caller), cmp.Compare(a.Callee, b.Callee))
	})
}

// deriveTimeFunctions computes the rows of functions, deriveTimeModules those of modules.
func (d *Data) deriveTimeFunctions(out *session.Derived, function []int32, times *timePaths, folded *foldedTimes) {
	functions := times.group(function, len(d.Functions))
	if folded != nil {
		folded.addTo(functions, false, func(_, function int32) int32 { return function })
	}
	for i, r := range functions {
		if !r.empty() {
			out.FunctionTimes = append(out.FunctionTimes,
				session.FunctionTime{Function: d.Functions[i].ID, TimeValue: r.TimeValue, SingleCalls: r.SingleCalls})
		}
	}
}

func (d *Data) deriveTimeModules(out *session.Derived, module []int32, times *timePaths, folded *foldedTimes) {
	modules := times.group(module, len(d.Modules)+1)
	if folded != nil {
		folded.addTo(modules, false, func(_, function int32) int32 { return d.moduleGroup(function) })
	}
	d.eachModule(func(i int, id session.ModuleID) {
		if r := modules[i]; !r.empty() {
			out.ModuleTimes = append(out.ModuleTimes, session.ModuleTime{Module: id, TimeValue: r.TimeValue,
				SingleCalls: r.SingleCalls})
		}
	})
}

func count(set []bool) int {
	n := 0
	for _, in := range set {
		if in {
			n++
		}
	}
	return n
}

// deriveTimePlaces computes where in a function: instructions, and lines with the bodies that are on none.
func (d *Data) deriveTimePlaces(out *session.Derived, times *nodeTimes) {
	place := make([]int32, d.tree.Len()) // lines first, then bodies by function
	for i, in := range d.nodeInstruction {
		place[i] = int32(len(d.Lines)) + d.nodeFunction[i]
		if in >= 0 && d.instructionLine[in] >= 0 {
			place[i] = d.instructionLine[in]
		}
		if times.folded != nil && times.folded.end[i] {
			place[i] = none
		}
	}
	instructions := timedPlaces{place: d.nodeInstruction, called: d.nodeInstruction, places: len(d.Instructions)}
	lines := timedPlaces{place: place, called: place, places: len(d.Lines) + len(d.Functions)}
	d.addPlaces(times, &instructions, &lines)
	for i, v := range instructions.times() {
		if v.times != (session.TimeValue{}) {
			out.InstructionTimes = append(out.InstructionTimes,
				session.InstructionTime{Instruction: d.Instructions[i].ID, TimeValue: v.times})
		}
	}
	for i, v := range lines.times() {
		row := session.LineTime{TimeValue: v.times}
		if function := i - len(d.Lines); function >= 0 {
			row.Function = d.Functions[function].ID
			row.Calls, row.Running = v.calls, v.running
		} else {
			row.Function, row.Line = d.Lines[i].Function, d.Lines[i].ID
		}
		if row.TimeValue != (session.TimeValue{}) {
			out.LineTimes = append(out.LineTimes, row)
		}
	}
	slices.SortFunc(out.LineTimes, func(a, b session.LineTime) int {
		return cmp.Or(cmp.Compare(a.Function, b.Function), cmp.Compare(a.Line, b.Line))
	})
}

// placeTime is the time of a place in a function. The calls of times are those made there, the others those of
// the function.
type placeTime struct {
	times session.TimeValue
	counts
}

// timedPlaces are places with their times: inclusive while the place was on the stack, each interval once.
type timedPlaces struct {
	place  []int32 // of each node
	called []int32 // of nodes whose calls count there
	places int

	inclusive, own []q.Time
	calls          []counts
}

// addPlaces adds up the times of places.
func (d *Data) addPlaces(times *nodeTimes, all ...*timedPlaces) {
	_ = atOnce(func() error { // none has an error
		groupings := make([]grouping, len(all))
		for i, p := range all {
			groupings[i] = grouping{p.place, p.places}
		}
		for i, of := range times.own.presence(d.tree, false, groupings...) {
			all[i].inclusive = of.inclusive
		}
		return nil
	}, func() error {
		for _, p := range all {
			p.own, p.calls = times.own.times(p.place, p.places), times.own.calls(p.called, p.places)
		}
		return nil
	})
	f := times.folded
	if f == nil {
		return
	}
	for i, inside := range f.inside { // of folded calls it is only known what passed in the function itself
		for _, p := range all {
			if to := p.place[i]; inside && to >= 0 {
				has := f.of(int32(i))
				p.inclusive[to], p.own[to] = p.inclusive[to].Add(has.own), p.own[to].Add(has.own)
				p.calls[to] = p.calls[to].Add(has.counts)
			}
		}
	}
}

// times returns the time of each place.
func (p *timedPlaces) times() []placeTime {
	out := make([]placeTime, p.places)
	for i, c := range p.calls {
		out[i] = placeTime{session.TimeValue{Calls: c.made, Running: c.pending,
			Times: q.Times{Inclusive: p.inclusive[i], Exclusive: p.own[i]}}, c}
	}
	return out
}

// empty reports whether a row is all zero.
func (r *timeRow) empty() bool { return r.TimeValue == session.TimeValue{} }

// kept reports which merged nodes have time or calls, or are above one that has.
func (n *nodeTimes) kept(all *calltree.Merged) []bool {
	keep := make([]bool, all.Len())
	for i, m := range all.Of {
		keep[m] = keep[m] || !n.own.isZero(int32(i))
	}
	keepParents(all.Tree, keep)
	return keep
}
