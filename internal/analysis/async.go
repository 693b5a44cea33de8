package analysis

import (
	"slices"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// AsyncRole says what a row of the logical call tree stands for.
type AsyncRole string

// Roles.
const (
	AsyncNone AsyncRole = ""
	// what an async method did after it had waited, for calls made at several places below the row's parent
	AsyncResumed AsyncRole = "resumed"
	AsyncRuntime AsyncRole = "runtime"  // framework code that starts, suspends and resumes async methods
	AsyncLeftOut AsyncRole = "left out" // rows that are too small to be shown, with all that is below them
	AsyncGroup   AsyncRole = "group"    // the module or the namespace of the row's function, not that alone
)

// asyncRoles are the roles by their codes: a tree by module has a million rows with one.
var asyncRoles = [...]AsyncRole{AsyncNone, AsyncResumed, AsyncRuntime, AsyncLeftOut, AsyncGroup}

// roleCodes are the codes of the roles of some rows, by id from 1 on.
type roleCodes []uint8

// set notes the role of a row, of the next ids in turn.
func (c *roleCodes) set(id session.PathID, role AsyncRole) {
	code := uint8(slices.Index(asyncRoles[:], role))
	if code == 0 {
		return
	}
	if missing := int(id) - len(*c); missing > 0 {
		*c = append(*c, make([]uint8, missing)...)
	}
	(*c)[id-1] = code
}

// of returns the role of a row.
func (c roleCodes) of(id session.PathID) AsyncRole {
	if id <= 0 || int64(id) > int64(len(c)) {
		return AsyncNone
	}
	return asyncRoles[c[id-1]]
}

// asyncPath is a path of the physical tree.
type asyncPath struct {
	id       session.PathID
	parent   int32 // position; none
	process  session.ProcessID
	function int32 // position; none
	own      q.Amount
	hasTime  bool
	time     session.PathTime
}

// logicalNode is a row of the logical tree.
type logicalNode struct {
	parent   int32
	process  session.ProcessID
	function int32
	role     AsyncRole
	amounts  q.Amounts
	time     *logicalTime // nil: it has none
}

// logicalTime is the time of a logicalNode, which is large.
type logicalTime struct {
	session.TimeValue
	single session.SingleCalls
	extent extent
}

type logicalKey struct {
	parent, function int32
	process          session.ProcessID
	role             AsyncRole
}

// functionNode is what a node is of a function, in its own process and with one role.
type functionNode struct {
	process session.ProcessID
	name    int32 // and one more; 0: it is not known yet
}

// asyncTree makes the logical tree of the physical one.
type asyncTree struct {
	functions *asyncFunctions
	paths     []asyncPath
	isPart    bool              // paths that are not selected are among them: without an id and without values
	anchors   map[int32][]int32 // by MoveNext: the paths on which its calls were made
	start     []int32           // by path, of a first run: its anchor; else none
	continued
	logical []int32 // by path: its node; none: not placed yet
	state   []uint8
	nodes   []logicalNode
	at      pairNumbering         // nodes, by the one above and the number of their names
	names   numbering[logicalKey] // of nodes, below none
	nameOf  []functionNode        // by function, of its own process and no role
	groupOf []functionNode        // likewise of the role of a group
	async   map[int32]bool        // nodes of async methods
	awaits  []session.FunctionAwait
	traced  *shapedRows // nil: nobody asks where rows went
}

// LogicalTree is the call tree with async methods below those who called them.
type LogicalTree struct {
	below   *children[session.PathValue]
	beneath *children[session.PathTime]
	roles   roleCodes
	awaits  map[session.PathID]session.FunctionAwait
	methods map[session.FunctionID]session.FunctionID // by state machine: the function that starts it
	// raisedRoots says that roots have level 0: there are no processes above them.
	raisedRoots bool
}

// Role returns what a row stands for.
func (t *LogicalTree) Role(id session.PathID) AsyncRole { return t.roles.of(id) }

// Await returns how often and for how long the async method of a row waited; nil if that is not known, or not of this
// row alone.
func (t *LogicalTree) Await(id session.PathID) *session.FunctionAwait {
	if a, ok := t.awaits[id]; ok {
		return &a
	}
	return nil
}

// Children returns the values of the children of a path (0: the roots), which has an id of this tree alone.
func (t *LogicalTree) Children(id session.PathID) []session.PathValue { return t.below.of(id) }

// TimeChildren returns the times of the children of a path.
func (t *LogicalTree) TimeChildren(id session.PathID) []session.PathTime { return t.beneath.of(id) }

// Below returns the values and the times of the children of a path.
func (t *LogicalTree) Below(id session.PathID) ([]session.PathValue, []session.PathTime) {
	return t.below.of(id), t.beneath.of(id)
}

// HasAsync reports whether a session has an async method, so that the logical call tree may differ from the physical
// one.
func HasAsync(s *session.Session) (bool, error) {
	functions, err := s.Functions()
	if err != nil {
		return false, err
	}
	return slices.Contains(newAsyncFunctions(functions).machine, true), nil
}

// LogicalTree computes the logical call tree of what is selected; nil if no async method is on it. Each value is at
// exactly one row, so all sums are those of the physical tree.
func (v *Source) LogicalTree() (*LogicalTree, error) {
	functions, err := v.session.Functions()
	if err != nil {
		return nil, err
	}
	t := &asyncTree{functions: newAsyncFunctions(functions), async: map[int32]bool{},
		traced: v.traced}
	if !slices.Contains(t.functions.machine, true) {
		return nil, nil
	}
	if err := t.readSelected(v); err != nil {
		return nil, err
	}
	if t.awaits, err = v.FunctionAwaits(); err != nil {
		return nil, err
	}
	t.findAnchors()
	for i := range t.paths {
		t.place(int32(i))
	}
	return t.tree(), nil
}

// read joins the paths of memory and of time, which share their ids.
func (t *asyncTree) read(v *Source) error {
	paths, err := v.Paths()
	if err != nil {
		return err
	}
	times, err := v.PathTimes()
	if err != nil {
		return err
	}
	at := map[session.PathID]int32{}
	add := func(id, parent session.PathID, process session.ProcessID, function session.FunctionID) *asyncPath {
		n := int32(len(t.paths))
		at[id] = n
		p := asyncPath{id: id, parent: none, process: process}
		if above, ok := at[parent]; ok && parent != 0 {
			p.parent = above
		}
		p.function, _ = t.functions.index.find(function)
		t.paths = append(t.paths, p)
		return &t.paths[n]
	}
	for i, k := 0, 0; i < len(paths) || k < len(times); {
		switch {
		case k == len(times) || i < len(paths) && paths[i].ID < times[k].ID:
			p := &paths[i]
			add(p.ID, p.Parent, p.Process, p.Function).own = p.Exclusive
			i++
		default:
			x := &times[k]
			p := add(x.ID, x.Parent, x.Process, x.Function)
			p.hasTime, p.time = true, *x
			if i < len(paths) && paths[i].ID == x.ID {
				p.own = paths[i].Exclusive
				i++
			}
			k++
		}
	}
	return nil
}

func (t *asyncTree) isMachine(path int32) bool {
	f := t.paths[path].function
	return f >= 0 && t.functions.machine[f]
}

// findAnchors finds on which paths async methods were called: those of the functions that start them or, where these
// are on no stack, of the first run itself.
func (t *asyncTree) findAnchors() {
	t.anchors, t.start = map[int32][]int32{}, make([]int32, len(t.paths))
	t.logical, t.state = make([]int32, len(t.paths)), make([]uint8, len(t.paths))
	t.continued = newContinued(len(t.paths))
	for i := range int32(len(t.paths)) {
		t.start[i], t.logical[i] = none, none
		if t.isMachine(i) {
			machine := t.paths[i].function
			t.start[i] = t.functions.startOf(t, i)
			if anchor := t.start[i]; anchor >= 0 && !slices.Contains(t.anchors[machine], anchor) {
				t.anchors[machine] = append(t.anchors[machine], anchor)
			}
		}
		t.find(t.functions, t, i, t.hasWaited)
	}
}

// frame makes the paths stacks.
func (t *asyncTree) frame(i int32) (above, function int32) {
	return t.paths[i].parent, t.paths[i].function
}

// States of a path while it is placed.
const (
	unseen uint8 = iota
	begun
	placed
)

// place finds the node of a path, and before that those of the paths that it depends on: of a resumed method those on
// which it was called, of others the one above. A method that is called within what a call of its own resumed depends
// on itself.
func (t *asyncTree) place(path int32) {
	stack := []int32{path}
	for len(stack) > 0 {
		top := stack[len(stack)-1]
		switch t.state[top] {
		case placed:
			stack = stack[:len(stack)-1]
			continue
		case begun:
			t.put(top)
			stack = stack[:len(stack)-1]
			continue
		}
		t.state[top] = begun
		for _, on := range t.depends(top) {
			if t.state[on] == unseen {
				stack = append(stack, on)
			}
		}
	}
}

// depends returns the paths whose nodes must be known before that of a path.
func (t *asyncTree) depends(path int32) []int32 {
	if t.isResumed(path) {
		return t.anchors[t.paths[path].function]
	}
	if above := t.caller(path, t.paths[path].parent); above >= 0 {
		return []int32{above}
	}
	return nil
}

// isResumed reports whether a path is that of an async method after it had waited, and it is known where it was called.
func (t *asyncTree) isResumed(path int32) bool {
	return t.hasWaited(path) && len(t.anchors[t.paths[path].function]) > 0
}

// hasWaited reports whether a path is that of an async method after it had waited.
func (t *asyncTree) hasWaited(path int32) bool { return t.isMachine(path) && t.start[path] == none }

// put places a path whose dependencies are placed, but for those on itself.
func (t *asyncTree) put(path int32) int32 {
	if t.state[path] == placed {
		return t.logical[path]
	}
	t.state[path] = placed // before anything that could come back here
	p := &t.paths[path]
	switch {
	case t.isResumed(path):
		t.logical[path] = t.resumed(path)
		return t.logical[path]
	case t.start[path] >= 0 && t.start[path] != path:
		t.logical[path] = t.put(t.start[path])
		t.async[t.logical[path]] = true
		return t.logical[path]
	}
	above := int32(none)
	if caller := t.caller(path, p.parent); caller >= 0 {
		above = t.put(caller)
	}
	if t.isMachine(path) { // its stub is on no stack
		for above >= 0 && t.nodes[above].role == AsyncRuntime {
			above = t.nodes[above].parent
		}
	}
	if p.function >= 0 && (t.functions.runtime[p.function] || t.functions.awaiter[p.function] && p.parent >= 0 &&
		t.isMachine(p.parent)) {
		if above < 0 || t.nodes[above].role != AsyncRuntime {
			above = t.node(above, p.process, none, AsyncRuntime)
		}
		t.logical[path] = above
		return above
	}
	function := p.function
	if stub, ok := t.functions.stub[function]; ok && t.start[path] == path { // it was inlined
		function = stub
	}
	t.logical[path] = t.node(above, p.process, function, AsyncNone)
	t.async[t.logical[path]] = t.async[t.logical[path]] || t.isMachine(path)
	return t.logical[path]
}

// resumed returns the node of what an async method did after it had waited: that of its calls if they were made on one
// path, else one of its own, below the innermost path on which all of them were made.
func (t *asyncTree) resumed(path int32) int32 {
	p := &t.paths[path]
	function, common, first, exact := p.function, int32(none), true, true
	for _, anchor := range t.anchors[p.function] {
		if t.state[anchor] != placed || t.logical[anchor] == none {
			exact = false // it was called within what it did after it had waited
			continue
		}
		if function = t.paths[anchor].function; first {
			common, first = t.logical[anchor], false
			continue
		}
		exact = exact && common == t.logical[anchor]
		common = t.common(common, t.logical[anchor])
	}
	if exact && !first {
		return common
	}
	if common >= 0 && t.nodes[common].role == AsyncRuntime {
		common = t.nodes[common].parent
	}
	return t.node(common, p.process, function, AsyncResumed)
}

// common returns the innermost node that is at or above two others; none: they are of different roots.
func (t *asyncTree) common(a, b int32) int32 {
	for a != b && a >= 0 && b >= 0 {
		if a > b { // a parent comes before its children
			a = t.nodes[a].parent
		} else {
			b = t.nodes[b].parent
		}
	}
	if a != b {
		return none
	}
	return a
}

func (t *asyncTree) node(parent int32, process session.ProcessID, function int32, role AsyncRole) int32 {
	n := t.at.number(pair{parent, t.nameOfNode(process, function, role)})
	if int(n) == len(t.nodes) { // it is new
		t.nodes = append(t.nodes, logicalNode{parent: parent, process: process, function: function, role: role})
	}
	return n
}

// nameOfNode returns the number of what a node is, but for the one above it.
func (t *asyncTree) nameOfNode(process session.ProcessID, function int32, role AsyncRole) int32 {
	key, known := logicalKey{none, function, process, role}, &t.nameOf
	if role == AsyncGroup {
		known = &t.groupOf
	}
	if function < 0 || role != AsyncNone && role != AsyncGroup {
		return t.names.number(key)
	}
	if *known == nil {
		*known = make([]functionNode, len(t.functions.rows))
	}
	of := &(*known)[function]
	if of.name == 0 && t.functions.rows[function].Process == process {
		*of = functionNode{process, t.names.number(key) + 1}
	}
	if of.name == 0 || of.process != process {
		return t.names.number(key)
	}
	return of.name - 1
}

// tree adds up the paths of each node.
func (t *asyncTree) tree() *LogicalTree {
	step := t.traced.next()
	for i := range t.paths {
		p := &t.paths[i]
		if p.id == 0 {
			continue
		}
		n := &t.nodes[t.logical[i]]
		t.traced.trace(step, p.id, t.logical[i])
		n.amounts.Exclusive = n.amounts.Exclusive.Add(p.own)
		if !p.hasTime {
			continue
		}
		if t.isMachine(int32(i)) && t.start[i] != int32(i) { // who calls the method calls the function that starts it
			p.time.Calls, p.time.Running, p.time.SingleCalls = 0, 0, session.SingleCalls{}
		}
		n.addTime(&p.time)
	}
	if t.traced != nil {
		t.traced.take(t)
	}
	return t.sum()
}

// addTime adds the calls and the exclusive time of a path.
func (n *logicalNode) addTime(p *session.PathTime) {
	if n.time == nil {
		n.time = &logicalTime{}
	}
	t := n.time
	t.Exclusive = t.Exclusive.Add(p.Exclusive)
	t.Calls, t.Running = t.Calls+p.Calls, t.Running+p.Running
	t.single.NodesElapsed += p.NodesElapsed
	t.single.NodesApplication += p.NodesApplication
	t.single.NodesCPU += p.NodesCPU
	t.extent = t.extent.Add(extent{p.Extremes, p.Calls > p.Running})
}

// addBelow adds the inclusive values of a node below.
func (n *logicalNode) addBelow(o *logicalNode) {
	n.amounts.Inclusive = n.amounts.Inclusive.Add(o.amounts.Inclusive)
	if o.time == nil {
		return
	}
	if n.time == nil {
		n.time = &logicalTime{}
	}
	n.time.Inclusive = n.time.Inclusive.Add(o.time.Inclusive)
}

// sum makes the tables of the nodes, with their inclusive values.
func (t *asyncTree) sum() *LogicalTree {
	out := &LogicalTree{awaits: t.awaitsOfNodes(), methods: t.functions.methods()}
	levels := make([]int64, len(t.nodes))
	for i := range t.nodes {
		levels[i] = 1
		if p := t.nodes[i].parent; p >= 0 {
			levels[i] = levels[p] + 1
		}
	}
	timed := 0
	for i := len(t.nodes) - 1; i >= 0; i-- { // a parent comes before its children
		n := &t.nodes[i]
		n.amounts.Inclusive = n.amounts.Inclusive.Add(n.amounts.Exclusive)
		if n.time != nil {
			n.time.Inclusive = n.time.Inclusive.Add(n.time.Exclusive)
			timed++
		}
		if n.parent >= 0 {
			t.nodes[n.parent].addBelow(n)
		}
	}
	amounts, times := make([]session.PathValue, 0, len(t.nodes)), make([]session.PathTime, 0, timed)
	for i := range t.nodes {
		n := &t.nodes[i]
		if t.isPart && n.time == nil && n.amounts.IsZero() {
			continue
		}
		id, parent := session.PathID(i+1), session.PathID(n.parent+1)
		function := session.FunctionID(0)
		if n.function >= 0 {
			function = t.functions.rows[n.function].ID
		}
		out.roles.set(id, n.role)
		amounts = append(amounts, session.PathValue{ID: id, Parent: parent, Level: levels[i], Process: n.process,
			Function: function, Amounts: n.amounts})
		if n.time != nil {
			n.time.single.Extremes = n.time.extent.Extremes
			times = append(times, session.PathTime{ID: id, Parent: parent, Level: levels[i], Process: n.process,
				Function: function, TimeValue: n.time.TimeValue, SingleCalls: n.time.single})
		}
	}
	out.below, out.beneath = newChildren(rowsOfValues(amounts)), newChildren(rowsOfTimes(times))
	return out
}
