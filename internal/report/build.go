package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/calltree"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/report/names"
	"github.com/clrprof/clrprof/internal/session"
)

// functionRow makes a row about a function.
func (c *context) functionRow(id session.FunctionID, v q.Amounts) Row {
	f := c.functions.get(id)
	return Row{kind: rowFunction, function: id, module: f.Module, process: f.Process, values: v}
}

func both(a q.Amount) q.Amounts { return q.Amounts{Inclusive: a, Exclusive: a} }

func buildFunctions(b *builder) error {
	list, err := b.functionRows()
	if err != nil {
		return err
	}
	var all []Row
	if b.options.Range != "" {
		if all, list, err = b.inRange(list); err != nil {
			return err
		}
	}
	if b.options.By != "" {
		return b.inGroups(list)
	}
	b.table.Rows = append(all, b.limit(list, exclusiveCost)...)
	return nil
}

// HasBy reports whether the view can be told what its rows are about, or are grouped by.
func (v View) HasBy() bool { return len(v.Groups()) > 0 }

// Groups returns what the view's rows can be about, the first unless another is asked for, or be grouped by.
func (v View) Groups() []string {
	if v.Grouped {
		return []string{string(analysis.ByType), string(analysis.BySite), string(analysis.ByFunction), string(analysis.ByLine)}
	}
	return slices.Clone(v.groups)
}

// IsTree reports whether the view's rows have levels.
func (v View) IsTree() bool { return v.isTree }

// inGroups returns the view with groups above its rows.
func (v View) inGroups(by analysis.By) (View, error) {
	if !slices.Contains(v.groups, string(by)) {
		return v, Unknown("grouping", string(by), v.groups)
	}
	v.columns = slices.Clone(v.columns)
	if name := slices.Index(v.columns, "name"); !v.isTree {
		v.columns = slices.Insert(v.columns, name+1, "kind", "level")
	}
	v.isTree = true
	return v, nil
}

// inGroups adds functions below the modules or namespaces that they are in.
func (b *builder) inGroups(functions []Row) error {
	groups, err := b.groupsOf(b.options.By)
	if err != nil {
		return err
	}
	at := map[session.FunctionID]int{}
	for i := range groups {
		for _, id := range groups[i].of {
			at[id] = i
		}
		groups[i].row.rest = i
	}
	below, roots := make([][]Row, len(groups)), make([]Row, 0, len(groups))
	for _, r := range functions {
		if n, ok := at[r.function]; ok {
			r.level = 1
			below[n] = append(below[n], r)
		}
	}
	for i := range groups {
		if len(below[i]) > 0 {
			roots = append(roots, groups[i].row)
		}
	}
	b.table.Notes = append(b.table.Notes, fmt.Sprintf("By %s; the inclusive value of a %[1]s is what was done while one of its functions was on the stack, once.", b.options.By))
	return b.tree(roots, exclusiveCost, func(r *Row) ([]Row, error) {
		if r.kind == rowFunction {
			return nil, nil
		}
		return below[r.rest], nil
	})
}

// functionGroup is the row of a module or namespace, with the functions that are in it.
type functionGroup struct {
	row Row
	of  []session.FunctionID
}

// groupsOf returns the modules or namespaces.
func (b *builder) groupsOf(by analysis.By) ([]functionGroup, error) {
	var out []functionGroup
	if by == analysis.ByModule {
		modules, err := b.moduleRows()
		of := map[session.ModuleID][]session.FunctionID{}
		for i := range b.functions.list {
			f := &b.functions.list[i]
			of[f.Module] = append(of[f.Module], f.ID)
		}
		for _, r := range modules {
			out = append(out, functionGroup{r, of[r.module]})
		}
		return out, err
	}
	namespaces, err := b.source.Namespaces()
	for _, n := range namespaces {
		row := Row{kind: rowNamespace, process: n.Process, text: cmp.Or(n.Name, noNamespace), values: n.Memory}
		if b.hasTime() {
			row.time = single(n.Time, n.Single)
		}
		row.time = b.orNone(row.time, row.process)
		out = append(out, functionGroup{row, n.Functions})
	}
	return out, err
}

// inRange leaves the functions that the range names, and makes a row for all of them.
func (b *builder) inRange(list []Row) (all, in []Row, err error) {
	r, err := b.source.Range(b.options.Range)
	if err != nil {
		return nil, nil, err
	}
	if len(r.Functions) == 0 {
		return nil, nil, &UnknownError{What: "range of functions", Name: b.options.Range}
	}
	wanted := map[session.FunctionID]bool{}
	for _, f := range r.Functions {
		wanted[f] = true
	}
	in = slices.DeleteFunc(list, func(r Row) bool { return !wanted[r.function] })
	row := Row{kind: rowRange, text: "(range " + b.options.Range + ")", values: r.Memory}
	if b.hasTime() {
		row.time = single(r.Time, r.Single)
	}
	return []Row{row}, in, nil
}

func buildCallTree(b *builder) error {
	roots, err := b.processRows()
	if err != nil {
		return err
	}
	for i := range roots {
		asRoot(&roots[i])
	}
	if roots, err = b.shape(roots); err != nil {
		return err
	}
	if b.options.Hot {
		return b.onlyHot(roots)
	}
	if b.options.BottomUp {
		return b.bottomUp(roots)
	}
	return b.tree(roots, inclusiveCost, b.pathsBelow)
}

// asRoot makes the row of a process the root of its call tree: itself it allocates nothing, takes no time and is not called.
func asRoot(r *Row) {
	r.values.Exclusive = q.Amount{}
	if r.time != nil {
		t := *r.time
		t.Exclusive, t.Calls, t.Running = q.Time{}, 0, 0
		r.time = &t
	}
}

func (c *context) pathRow(p session.PathValue) Row {
	row := c.functionRow(p.Function, p.Amounts)
	row.path, row.level, row.process = p.ID, int(max(p.Level, 0)), p.Process // a damaged session may have any level
	if c.logical != nil {
		row.async, row.await = c.logical.Role(p.ID), c.logical.Await(p.ID)
	}
	return row
}

// hotPath returns the hot path from a row of the call tree, without it: by what weighs, bytes or time.
func (c *context) hotPath(from Row, weight func(cost) int64) ([]Row, error) {
	return calltree.HotPath(from, weight(exclusiveCost(&from)), func(r Row) ([]calltree.Weighted[Row], error) {
		below, err := c.pathsBelow(&r)
		var out []calltree.Weighted[Row]
		for _, b := range below {
			out = append(out, calltree.Weighted[Row]{Node: b, Inclusive: weight(inclusiveCost(&b)), Exclusive: weight(exclusiveCost(&b))})
		}
		return out, err
	})
}

func byBytes(w cost) int64 { return int64(w.amount.Bytes) }
func byTime(w cost) int64  { return int64(w.time.Elapsed) }

// heavier is what most rows are ordered by: time where there is any.
func (c *context) heavier() func(cost) int64 {
	if c.hasTime() {
		return byTime
	}
	return byBytes
}

// find returns the ids whose names match: exactly, else as the last parts of a name (Append, AuditTrail.Append of
// Ns.AuditTrail.Append(int)), else as any part of it without regard to case. Several ids of one name (in several
// processes) are one match. weight orders the candidates of an ambiguous name.
func find[ID ~int64 | ~uint32](what, wanted string, ids []ID, name func(ID) string, weight func(ID) int64) ([]ID, error) {
	var exact, part []ID
	for _, id := range ids {
		n := name(id)
		if !strings.Contains(n, wanted) { // nearly all, of tens of thousands
			continue
		}
		head, _ := names.CutParameters(n)
		switch {
		case n == wanted:
			exact = append(exact, id)
		case head == wanted, strings.HasSuffix(head, "."+wanted), strings.HasSuffix(n, "."+wanted):
			part = append(part, id)
		}
	}
	if len(exact) > 0 {
		return exact, nil
	}
	if len(part) == 0 {
		lower := strings.ToLower(wanted)
		for _, id := range ids {
			if strings.Contains(strings.ToLower(name(id)), lower) {
				part = append(part, id)
			}
		}
	}
	slices.SortStableFunc(part, func(x, y ID) int { return cmp.Compare(weight(y), weight(x)) })
	var names []string
	for _, id := range part {
		if n := name(id); !slices.Contains(names, n) {
			names = append(names, n)
		}
		if len(names) > maxCandidates {
			break
		}
	}
	switch {
	case len(names) == 1:
		return part, nil
	case len(names) > maxCandidates:
		names[maxCandidates] = "…"
	case len(names) == 0:
		all := make([]string, 0, len(ids))
		for _, id := range ids {
			all = append(all, name(id))
		}
		return nil, Unknown(what, wanted, all)
	}
	return nil, &UnknownError{What: what, Name: wanted, Candidates: names, Ambiguous: true}
}

// Roles of the rows of the callers view, as in the reference's reports.
const (
	roleCaller  = "caller"
	roleCurrent = "current"
	roleCallee  = "callee"
)

// AllFunctions is the argument of the view callers that means each function, not one.
const AllFunctions = "*"

// callersOfAll makes the rows of each function, its callers before and its callees after it.
func (b *builder) callersOfAll() error {
	functions, err := b.functionRows()
	if err != nil {
		return err
	}
	return b.eachCurrent(b.sorted(functions), b.callersOf)
}

// callRows makes the rows of a call: of the caller below the callee, and of the callee below the caller.
func (c *context) callRows(call *call) (caller, callee Row) {
	caller = c.functionRow(call.caller, call.amounts)
	caller.role, caller.root, caller.level, caller.time = roleCaller, call.callee, 1, call.time
	caller.process = c.functions.get(call.callee).Process
	callee = c.functionRow(call.callee, call.amounts)
	callee.role, callee.root, callee.level, callee.time = roleCallee, call.caller, 1, call.time
	return caller, callee
}

// callersOf adds the rows of a function.
func (b *builder) callersOf(current Row, callers, callees []Row) {
	b.table.Rows = append(b.table.Rows, b.limit(callers, exclusiveCost)...)
	b.table.Rows = append(b.table.Rows, current)
	b.table.Rows = append(b.table.Rows, b.limit(callees, exclusiveCost)...)
}

func buildCallers(b *builder) error {
	if b.options.Argument == "" {
		return &UnknownError{What: "function", Name: ""}
	}
	if b.options.Argument == AllFunctions {
		return b.callersOfAll()
	}
	matches, err := b.matching(b.options.Argument)
	if err != nil {
		return err
	}
	return b.eachCurrent(matches, b.callersOf)
}

func buildModules(b *builder) error {
	roots, err := b.moduleRows()
	if err != nil {
		return err
	}
	functions, err := b.functionRows()
	if err != nil {
		return err
	}
	below, err := b.placesBelow()
	if err != nil {
		return err
	}
	ofModule := map[session.ModuleID][]Row{}
	for _, row := range functions {
		row.level = 1
		ofModule[row.module] = append(ofModule[row.module], row)
	}
	return b.tree(roots, exclusiveCost, func(r *Row) ([]Row, error) {
		switch r.kind {
		case rowModule:
			return ofModule[r.module], nil
		case rowFunction:
			return below.functions[r.function], nil
		case rowBody:
			return below.bodies[r.function], nil
		case rowLine:
			return below.lines[r.line], nil
		}
		return nil, nil
	})
}

// placesIn are the rows below functions: their lines and what is on none, and the instructions of these.
type placesIn struct {
	functions, bodies map[session.FunctionID][]Row
	lines             map[session.LineID][]Row
}

func (c *context) placesBelow() (placesIn, error) {
	below := placesIn{map[session.FunctionID][]Row{}, map[session.FunctionID][]Row{}, map[session.LineID][]Row{}}
	lines, err := c.lineRows()
	if err != nil {
		return below, err
	}
	hasBody := map[session.FunctionID]bool{}
	for _, row := range lines {
		row.level = 2
		hasBody[row.function] = hasBody[row.function] || row.kind == rowBody
		below.functions[row.function] = append(below.functions[row.function], row)
	}
	instructions, err := c.instructionRows()
	for _, row := range instructions {
		switch {
		case row.line != 0:
			row.level = 3
			below.lines[row.line] = append(below.lines[row.line], row)
		case hasBody[row.function]: // no symbols: the time of its body holds that of these calls
			row.level = 3
			below.bodies[row.function] = append(below.bodies[row.function], row)
		default:
			row.level = 2
			below.functions[row.function] = append(below.functions[row.function], row)
		}
	}
	return below, err
}

func (c *context) lineRow(v session.LineValue) Row {
	row := c.functionRow(c.lines.get(v.Line).Function, both(v.Amount))
	row.kind, row.line = rowLine, v.Line
	return row
}

func (c *context) instructionRow(v session.InstructionValue) Row {
	in := c.instructions.get(v.Instruction)
	row := c.functionRow(in.Function, both(v.Amount))
	row.kind, row.line, row.instruction = rowInstruction, in.Line, v.Instruction
	return row
}

func buildLines(b *builder) error {
	if b.source.Selection().OfUserLines() {
		return b.userLines()
	}
	list, err := b.lineRows()
	if err != nil {
		return err
	}
	b.attachLifetimes(list)
	b.table.Rows = b.limit(list, exclusiveCost)
	var placed q.Amount
	for _, r := range list {
		placed = placed.Add(r.values.Exclusive)
	}
	if without := b.shown.Sub(placed); !without.IsZero() {
		b.table.Notes = append(b.table.Notes, fmt.Sprintf("%s %% of the bytes were allocated in functions without symbols and have no line.",
			q.PercentOf(without.Bytes, b.total.Bytes).Number()))
	}
	if b.hasTime() {
		b.table.Notes = append(b.table.Notes, bodyNote)
	}
	return nil
}

// userLines makes the rows of places in user code, with what framework code did for them, and of what is at none.
func (b *builder) userLines() error {
	lines, err := b.source.UserLines()
	if err != nil {
		return err
	}
	var list []Row
	for _, l := range lines {
		row := Row{kind: rowOutside, process: l.Process, text: "(outside of your code)", values: both(l.Amount)}
		if l.Function != 0 {
			row = b.functionRow(l.Function, both(l.Amount))
			if row.kind, row.line = rowLine, l.Line; l.Line == 0 {
				row.kind = rowBody
			}
		}
		if l.TimeValue != (session.TimeValue{}) {
			row.time = place(l.TimeValue)
		}
		row.time = b.orNone(row.time, row.process)
		if b.lifetimes.places != nil {
			ends := b.lifetimes.places[l.UserPlace]
			row.lifetime = &ends
		}
		list = append(list, row)
	}
	b.table.Rows = b.limit(list, exclusiveCost)
	b.table.Notes = append(b.table.Notes, userLinesNote)
	return nil
}

// userLinesNote explains the lines of user code.
const userLinesNote = "Each line has what the framework did for it; (body): what a function did, or had done, on none of its lines."

// bodyNote explains rows of the kind body.
const bodyNote = "(body): time of a function after its last call, or before calls of which the line is not known."

func buildInstructions(b *builder) error {
	list, err := b.instructionRows()
	if err != nil {
		return err
	}
	b.table.Rows = b.limit(list, exclusiveCost)
	if !b.hasTime() {
		return nil
	}
	var placed q.Time
	for _, r := range list {
		placed = placed.Add(exclusiveCost(&r).time)
	}
	without := b.shownTime.Inclusive.Sub(placed)
	b.table.Notes = append(b.table.Notes, fmt.Sprintf("%s %% of the time passed in functions after their last call, which is at no instruction.",
		q.PercentOf(b.elapsed(without), b.elapsed(b.totalTime.Inclusive)).Number()))
	return nil
}

func buildProcesses(b *builder) error {
	list, err := b.processRows()
	if err != nil {
		return err
	}
	seen := map[session.ProcessID]bool{}
	for _, r := range list {
		seen[r.process] = true
	}
	sel := b.source.Selection()
	for _, p := range b.processes.list { // those that did nothing are processes too
		if !seen[p.ID] && sel.HasProcess(p.ID) && len(sel.Threads) == 0 {
			list = append(list, Row{kind: rowProcess, process: p.ID, time: b.orNone(nil, p.ID)})
		}
	}
	b.table.Rows = b.limit(list, exclusiveCost)
	return nil
}

func buildThreads(b *builder) error {
	values, err := b.source.Threads()
	if err != nil {
		return err
	}
	times, err := b.source.ThreadTimes()
	if err != nil {
		return err
	}
	of, timeOf := map[session.ThreadID]q.Amount{}, map[session.ThreadID]*rowTime{}
	for _, v := range values {
		of[v.Thread] = v.Amount
	}
	for _, t := range times {
		timeOf[t.Thread] = place(t.TimeValue)
	}
	var list []Row
	for _, t := range b.threads.list {
		if !b.source.Selection().HasThread(&t) {
			continue
		}
		list = append(list, Row{kind: rowThread, thread: t.ID, process: t.Process, values: both(of[t.ID]), time: b.orNone(timeOf[t.ID], t.Process)})
	}
	if b.options.By != "" {
		return b.merged(list, b.groupOfThread)
	}
	b.table.Rows = b.limit(list, exclusiveCost)
	return nil
}

func buildHeader(b *builder) error {
	info, err := b.source.Session().Info()
	if err != nil {
		return err
	}
	add := func(key, value string) {
		b.table.Rows = append(b.table.Rows, Row{kind: rowFact, key: key, text: value})
	}
	names := make([]string, 0, len(info))
	for key := range info {
		names = append(names, key)
	}
	slices.Sort(names)
	for _, key := range names {
		add(key, info[key])
	}
	add("processes", q.Count(len(b.processes.list)).String())
	add("threads", b.threadCount(0).String())
	add("modules", q.Count(len(b.modules.list)).String())
	add("functions", q.Count(len(b.functions.list)).String())
	add("types", q.Count(len(b.types.list)).String())
	if b.hasMemory() {
		add("allocations", b.shown.Allocations.String())
		add("bytes", fmt.Sprintf("%s (%s)", b.shown.Bytes.Exact(), b.shown.Bytes))
	}
	b.headerTimes(add)
	losses, err := b.source.Session().Losses()
	if err != nil {
		return err
	}
	add("losses", strconv.Itoa(len(losses)))
	for _, l := range losses {
		what := counted(l.Events, l.Unit())
		if l.Unit() == "event" {
			what += fmt.Sprintf(", %s, %s", counted(l.Allocations, "allocation"), l.Bytes.Exact())
		}
		add("loss "+l.Reason, fmt.Sprintf("process %d: %s", b.processes.get(l.Process).PID, what))
	}
	return nil
}
