package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/clrprof/clrprof/internal/calltree"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// functionRow makes a row about a function.
func (c *context) functionRow(id session.FunctionID, v q.Amounts) Row {
	f := c.functions.get(id)
	return Row{kind: rowFunction, function: id, module: f.Module, process: f.Process, values: v}
}

func both(a q.Amount) q.Amounts { return q.Amounts{Inclusive: a, Exclusive: a} }

func buildFunctions(b *builder) error {
	values, err := b.source.Functions()
	if err != nil {
		return err
	}
	list := make([]Row, 0, len(values))
	for _, v := range values {
		list = append(list, b.functionRow(v.Function, v.Amounts))
	}
	b.table.Rows = b.limit(list, worthExclusive)
	return nil
}

func (c *context) processRows() ([]Row, error) {
	values, err := c.source.Processes()
	if err != nil {
		return nil, err
	}
	var list []Row
	for _, v := range values {
		list = append(list, Row{kind: rowProcess, process: v.Process, values: both(v.Amount)})
	}
	return list, nil
}

func buildCallTree(b *builder) error {
	roots, err := b.processRows()
	if err != nil {
		return err
	}
	for i := range roots {
		roots[i].values.Exclusive = q.Amount{} // a process itself allocates nothing
	}
	return b.tree(roots, worthInclusive, b.pathsBelow)
}

// pathsBelow returns the rows below a row of the call tree.
func (c *context) pathsBelow(r *Row) ([]Row, error) {
	below, err := c.source.PathChildren(r.path)
	if err != nil {
		return nil, err
	}
	var list []Row
	for _, p := range below {
		if p.Process == r.process {
			list = append(list, c.pathRow(p))
		}
	}
	return list, nil
}

func (c *context) pathRow(p session.PathValue) Row {
	row := c.functionRow(p.Function, p.Amounts)
	row.path, row.level, row.process = p.ID, int(max(p.Level, 0)), p.Process // a damaged session may have any level
	return row
}

// hotPath returns the hot path from a row of the call tree, without it.
func (c *context) hotPath(from Row) ([]Row, error) {
	return calltree.HotPath(from, int64(from.values.Exclusive.Bytes), func(r Row) ([]calltree.Weighted[Row], error) {
		below, err := c.pathsBelow(&r)
		var out []calltree.Weighted[Row]
		for _, b := range below {
			out = append(out, calltree.Weighted[Row]{Node: b, Inclusive: int64(b.values.Inclusive.Bytes), Exclusive: int64(b.values.Exclusive.Bytes)})
		}
		return out, err
	})
}

// find returns the ids whose names match: exactly, else as a part of the name without
// regard to case. Several ids of one name (in several processes) are one match.
// weight orders the candidates of an ambiguous name.
func find[ID ~int64](what, wanted string, ids []ID, name func(ID) string, weight func(ID) q.Bytes) ([]ID, error) {
	var exact, part []ID
	lower := strings.ToLower(wanted)
	for _, id := range ids {
		if n := name(id); n == wanted {
			exact = append(exact, id)
		} else if strings.Contains(strings.ToLower(n), lower) {
			part = append(part, id)
		}
	}
	if len(exact) > 0 {
		return exact, nil
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

func buildCallers(b *builder) error {
	values, err := b.source.Functions()
	if err != nil {
		return err
	}
	of := map[session.FunctionID]q.Amounts{}
	var ids []session.FunctionID
	for _, v := range values {
		of[v.Function] = v.Amounts
		ids = append(ids, v.Function)
	}
	if b.options.Argument == "" {
		return &UnknownError{What: "function", Name: ""}
	}
	matches, err := find("function", b.options.Argument, ids, b.functionName, func(id session.FunctionID) q.Bytes { return of[id].Inclusive.Bytes })
	if err != nil {
		return err
	}
	calls, err := b.source.Calls()
	if err != nil {
		return err
	}
	for _, current := range matches {
		var callers, callees []Row
		for _, call := range calls {
			if call.Callee == current {
				row := b.functionRow(call.Caller, call.Amounts)
				row.role, row.root, row.level, row.process = roleCaller, current, 1, b.functions.get(current).Process
				callers = append(callers, row)
			}
			if call.Caller == current {
				row := b.functionRow(call.Callee, call.Amounts)
				row.role, row.root, row.level = roleCallee, current, 1
				callees = append(callees, row)
			}
		}
		row := b.functionRow(current, of[current])
		row.role, row.root = roleCurrent, current
		b.table.Rows = append(b.table.Rows, b.limit(callers, worthExclusive)...)
		b.table.Rows = append(b.table.Rows, row)
		b.table.Rows = append(b.table.Rows, b.limit(callees, worthExclusive)...)
	}
	return nil
}

func buildModules(b *builder) error {
	modules, err := b.source.Modules()
	if err != nil {
		return err
	}
	functions, err := b.source.Functions()
	if err != nil {
		return err
	}
	lines, err := b.source.Lines()
	if err != nil {
		return err
	}
	instructions, err := b.source.Instructions()
	if err != nil {
		return err
	}
	var roots []Row
	ofModule := map[session.ModuleID][]Row{}
	for _, v := range functions {
		row := b.functionRow(v.Function, v.Amounts)
		row.level = 1
		ofModule[row.module] = append(ofModule[row.module], row)
	}
	for _, v := range modules {
		roots = append(roots, Row{kind: rowModule, module: v.Module, process: b.modules.get(v.Module).Process, values: v.Amounts})
	}
	ofFunction := map[session.FunctionID][]Row{}
	for _, v := range lines {
		row := b.lineRow(v)
		row.level = 2
		ofFunction[row.function] = append(ofFunction[row.function], row)
	}
	ofLine := map[session.LineID][]Row{}
	for _, v := range instructions {
		row := b.instructionRow(v)
		if row.line != 0 {
			row.level = 3
			ofLine[row.line] = append(ofLine[row.line], row)
		} else { // no symbols: it hangs below its function
			row.level = 2
			ofFunction[row.function] = append(ofFunction[row.function], row)
		}
	}
	return b.tree(roots, worthExclusive, func(r *Row) ([]Row, error) {
		switch r.kind {
		case rowModule:
			return ofModule[r.module], nil
		case rowFunction:
			return ofFunction[r.function], nil
		case rowLine:
			return ofLine[r.line], nil
		}
		return nil, nil
	})
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
	values, err := b.source.Lines()
	if err != nil {
		return err
	}
	var list []Row
	for _, v := range values {
		list = append(list, b.lineRow(v))
	}
	b.attachLives(list)
	b.table.Rows = b.limit(list, worthExclusive)
	var placed q.Amount
	for _, r := range list {
		placed = placed.Add(r.values.Exclusive)
	}
	if without := b.shown.Sub(placed); !without.IsZero() {
		b.table.Notes = append(b.table.Notes, fmt.Sprintf("%s %% of the bytes were allocated in functions without symbols and have no line.",
			q.PercentOf(without.Bytes, b.total.Bytes).Number()))
	}
	return nil
}

func buildInstructions(b *builder) error {
	values, err := b.source.Instructions()
	if err != nil {
		return err
	}
	var list []Row
	for _, v := range values {
		list = append(list, b.instructionRow(v))
	}
	b.table.Rows = b.limit(list, worthExclusive)
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
	for _, p := range b.processes.list { // those that allocated nothing are processes too
		if f := b.source.Filter(); !seen[p.ID] && (f.Process == 0 || f.Process == p.ID) && f.Thread == 0 {
			list = append(list, Row{kind: rowProcess, process: p.ID})
		}
	}
	b.table.Rows = b.limit(list, worthExclusive)
	return nil
}

func buildThreads(b *builder) error {
	values, err := b.source.Threads()
	if err != nil {
		return err
	}
	of := map[session.ThreadID]q.Amount{}
	for _, v := range values {
		of[v.Thread] = v.Amount
	}
	var list []Row
	for _, t := range b.threads.list {
		f := b.source.Filter()
		if f.Process != 0 && f.Process != t.Process || f.Thread != 0 && f.Thread != t.ID {
			continue
		}
		list = append(list, Row{kind: rowThread, thread: t.ID, process: t.Process, values: both(of[t.ID])})
	}
	b.table.Rows = b.limit(list, worthExclusive)
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
	add("threads", q.Count(len(b.threads.list)).String())
	add("modules", q.Count(len(b.modules.list)).String())
	add("functions", q.Count(len(b.functions.list)).String())
	add("types", q.Count(len(b.types.list)).String())
	add("allocations", b.shown.Allocations.String())
	add("bytes", fmt.Sprintf("%s (%s)", b.shown.Bytes.Exact(), b.shown.Bytes))
	losses, err := b.source.Session().Losses()
	if err != nil {
		return err
	}
	add("losses", strconv.Itoa(len(losses)))
	for _, l := range losses {
		add("loss "+l.Reason, fmt.Sprintf("process %d: %s, %s, %s", b.processes.get(l.Process).PID,
			counted(l.Events, "event"), counted(l.Allocations, "allocation"), l.Bytes.Exact()))
	}
	return nil
}
