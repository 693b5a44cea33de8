package report

import (
	"cmp"
	"slices"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// functionView shows all of one function.
var functionView = View{
	Name:     "function",
	Short:    "a function: its callers, its own part and its calls, its callees and lines",
	Argument: "FUNCTION",
	Text:     Options{Top: 20},
	Needs:    NeedsFunction,
	Async:    true,
	places:   true,
	columns: keys("type " + identity + "root_function_name function_bytes_percent " + amounts +
		" line_begin column_begin line_end source_text"),
	text:   keys("name type function_bytes_percent " + textAmounts + " module source_text"),
	sort:   "inclusive_bytes",
	build:  buildFunction,
	awaits: true,
	timed: timedView{
		columns: keys("function_elapsed_percent " + timeKeys(true)),
		text: keys("type name function_elapsed_percent " + elapsedBoth +
			"calls cpu_inclusive cpu_exclusive module source_text"),
		both: keys("type name function_elapsed_percent " + elapsedBoth +
			"function_bytes_percent inclusive_bytes inclusive_bytes_percent exclusive_bytes exclusive_bytes_percent " +
			"calls module source_text"),
		sort: "elapsed_inclusive",
	},
}

// Roles of the rows of the view function, besides those of callers.
const (
	roleBody   = "body"   // what the function did itself
	roleCalled = "called" // what it did by all of its calls
	roleLine   = "line"
)

// functionColumns are the columns of the view function alone.
var functionColumns = []Column{
	{Key: "function_bytes_percent", Title: "Of it", Kind: Percent, data: dataMemory,
		cell: partOfFunction(func(_ *context, w cost) int64 { return int64(w.amount.Bytes) })},
	{Key: "function_elapsed_percent", Title: "Of it", Kind: Percent, data: dataTime,
		cell: partOfFunction(func(c *context, w cost) int64 { return int64(c.elapsed(w.time)) })},
	{Key: "source_text", Title: "Source", Kind: Name, Cut: CutEnd, cell: func(_ *context, r *Row) Cell {
		return Cell{Text: r.source, Empty: r.source == ""}
	}},
}

// partOfFunction makes a column of what part of the function a row is.
func partOfFunction(of func(*context, cost) int64) func(*context, *Row) Cell {
	return func(c *context, r *Row) Cell {
		if r.whole == nil {
			return Cell{Empty: true}
		}
		return Cell{Percent: q.PercentOf(of(c, inclusiveCost(r)), of(c, *r.whole))}
	}
}

// FunctionDetails are the rows of one function, in their sections. Each is a table of rows that no limit cuts.
type FunctionDetails struct {
	Name, ShortName string
	PID             int64 // of its process
	Callers, Itself *Table
	Callees, Lines  *Table
	Source          []SourceLine // of each row of Lines; none: its lines are not known
	File            string       // that they are in; of a function without lines, that it is in; "": it has no symbols
	Selected        bool         // they are of a part of the run alone
}

// SourceLine is a line of a function.
type SourceLine struct {
	Number    int64  // 0: what is on none of its lines
	Text      string // "": it is not known
	HasValues bool   // otherwise it only stands between lines that have
}

// sections are the rows of one function.
type sections struct {
	current                 Row
	callers, parts, callees []Row
	lines                   []Row
}

// buildFunction shows one function: who calls it, what it did itself and by its calls, whom it calls, and its lines.
func buildFunction(b *builder) error {
	if err := b.joinAsync(); err != nil {
		return err
	}
	matches, err := b.matching(b.options.Argument)
	if err != nil {
		return err
	}
	of, err := b.linesOfMethods()
	if err != nil {
		return err
	}
	var all []sections
	sources, recursive := cmp.Or(b.options.Sources, newSources(b.context)), false
	err = b.eachCurrent(matches, func(current Row, callers, callees []Row) {
		if slices.ContainsFunc(callees, func(r Row) bool { return r.function == current.function }) {
			recursive = true
		}
		whole := inclusiveCost(&current)
		d := sections{current: current, parts: parts(current)}
		d.callers, d.callees = b.limit(callers, exclusiveCost), b.limit(callees, exclusiveCost)
		if d.lines = of[current.function]; len(d.lines) > 0 {
			d.lines = b.withSource(withBody(d.lines, &current), sources)
		}
		rows := slices.Concat(d.callers, d.parts, d.callees, d.lines)
		for i := range rows {
			rows[i].whole, rows[i].root = &whole, current.function
		}
		n, c := len(d.callers), len(d.callees)
		d.callers, d.parts, d.callees, d.lines = rows[:n], rows[n:n+len(d.parts)], rows[n+len(d.parts):n+len(d.parts)+
			c], rows[n+len(d.parts)+c:]
		b.table.Rows = append(b.table.Rows, slices.DeleteFunc(slices.Clone(rows), func(r Row) bool {
			return r.kind == rowSource
		})...)
		all = append(all, d)
	})
	if err != nil {
		return err
	}
	if recursive {
		b.note(NoteRecursion)
	}
	if slices.ContainsFunc(b.table.Rows, isBody) {
		if b.hasTime() {
			b.note(NoteBody)
		}
		if b.hasMemory() {
			b.note(NoteNoLine)
		}
	}
	b.table.Notes = append(b.table.Notes, sources.notes(b.context)...)
	if len(b.options.Columns) == 0 {
		for i := range all {
			b.table.Functions = append(b.table.Functions, b.table.details(&all[i]))
		}
	}
	return nil
}

// isBody reports whether a row is what a function did on none of its lines.
func isBody(r Row) bool { return r.kind == rowBody }

// linesOfMethods are the lines by function. An async method has those of its state machine, if these are one.
func (b *builder) linesOfMethods() (map[session.FunctionID][]Row, error) {
	lines, err := b.lineRows()
	of := map[session.FunctionID][]Row{}
	for _, row := range lines {
		method := b.methods.Method(row.function)
		at := -1
		if isBody(row) {
			at = slices.IndexFunc(of[method], isBody)
		}
		if at < 0 {
			of[method] = append(of[method], row)
			continue
		}
		body := &of[method][at]
		body.values = body.values.Add(row.values)
		if body.time != nil && row.time != nil {
			sum := body.time.TimeValue
			sum.Times, sum.Calls, sum.Running = sum.Times.Add(row.time.Times), sum.Calls+row.time.Calls, sum.Running+
				row.time.Running
			body.time = place(sum)
		}
	}
	return of, err
}

// withBody gives the lines of a function a row of what it allocated on none of them, so that they have all that it did
// itself.
func withBody(lines []Row, current *Row) []Row {
	rest, at := current.values.Exclusive, -1
	for i := range lines {
		rest = rest.Sub(lines[i].values.Exclusive)
		if isBody(lines[i]) {
			at = i
		}
	}
	switch {
	case rest.IsZero():
	case at >= 0:
		lines[at].values = both(rest)
	default:
		body := Row{kind: rowBody, process: current.process, module: current.module, function: current.function,
			values: both(rest)}
		if current.time != nil {
			body.time = noTime
		}
		lines = append(lines, body)
	}
	return lines
}

// parts are the function itself, what it did in its own body, and what by its calls.
func parts(current Row) []Row {
	body, called := current, current
	body.kind, body.role, body.text = rowRange, roleBody, "in its own code"
	called.kind, called.role, called.text = rowRange, roleCalled, "in calls"
	body.await, called.await = nil, nil
	body.values = both(current.values.Exclusive)
	called.values = q.Amounts{Inclusive: current.values.Inclusive.Sub(current.values.Exclusive)}
	if current.time != nil {
		body.time = place(
			session.TimeValue{Times: q.Times{Inclusive: current.time.Exclusive, Exclusive: current.time.Exclusive}})
		called.time = place(
			session.TimeValue{Times: q.Times{Inclusive: current.time.Inclusive.Sub(current.time.Exclusive)}})
	}
	return []Row{current, body, called}
}

// mostBetween is how many lines without values stand between two with values: more say nothing of why they are shown.
const mostBetween = 40

// withSource puts lines in their order, with their text, and between them the lines of the file that have no values.
func (b *builder) withSource(lines []Row, sources *Sources) []Row {
	slices.SortStableFunc(lines, func(x, y Row) int {
		a, z := b.lines.get(x.line), b.lines.get(y.line)
		return cmp.Or(cmp.Compare(a.File, z.File), cmp.Compare(a.LineBegin, z.LineBegin),
			cmp.Compare(a.ColumnBegin, z.ColumnBegin))
	})
	var out []Row
	file, last := session.FileID(0), int64(0)
	if f := b.functions.get(lines[0].function); f.Line != 0 {
		file, last = f.File, f.Line-1
	}
	for _, row := range lines {
		row.role = roleLine
		if row.line == 0 { // of what is on no line there is no text
			out = append(out, row)
			continue
		}
		l := b.lines.get(row.line)
		text := sources.open(b.files.get(l.File).Path, b.modules.get(row.module))
		if l.File == file && l.LineBegin-last <= mostBetween {
			for n := last + 1; n < l.LineBegin; n++ {
				out = append(out, sourceRow(row, n, text.line(n)))
			}
		}
		row.source = text.line(l.LineBegin)
		out = append(out, row)
		for n := l.LineBegin + 1; n <= min(l.LineEnd, l.LineBegin+mostBetween); n++ { // the rest of the statement
			out = append(out, sourceRow(row, n, text.line(n)))
		}
		file, last = l.File, max(l.LineBegin, min(l.LineEnd, l.LineBegin+mostBetween))
	}
	return slices.DeleteFunc(out, func(r Row) bool { return r.kind == rowSource && r.source == "" })
}

// sourceRow is a line that has no values of its own.
func sourceRow(of Row, number int64, text string) Row {
	return Row{kind: rowSource, role: roleLine, process: of.process, module: of.module, function: of.function,
		number: number, source: text}
}

// The columns of the sections in text.
const (
	functionMemory = "function_bytes_percent inclusive_bytes inclusive_bytes_percent exclusive_bytes " +
		"exclusive_bytes_percent "
	functionTimes = "function_elapsed_percent elapsed_inclusive elapsed_inclusive_percent elapsed_exclusive " +
		"elapsed_exclusive_percent calls "
	functionAwaits = "awaited suspensions "
	lineMemory     = "exclusive_bytes exclusive_bytes_percent exclusive_allocations " // a line calls nothing of its own
	lineTimes      = elapsedBoth + "calls "
)

// sectionColumns chooses the columns of a section by what the session holds.
func (c *context) sectionColumns(memory, times string) []string {
	out := ""
	if c.hasTime() {
		out += times
	}
	if c.hasMemory() {
		out += memory
	}
	return keys(out)
}

// details are the sections of a function as tables.
func (t *Table) details(d *sections) FunctionDetails {
	c, id := t.context, d.current.function
	times := functionTimes
	if d.current.await != nil {
		times += functionAwaits
	}
	columns := append([]string{"name"}, c.sectionColumns(functionMemory, times)...)
	out := FunctionDetails{Name: c.functionName(id), ShortName: c.shortFunctionName(id),
		PID:     c.processes.get(d.current.process).PID,
		Callers: t.part(d.callers, columns), Itself: t.part(d.parts, columns), Callees: t.part(d.callees, columns),
		Lines: t.part(d.lines, c.sectionColumns(lineMemory, lineTimes)),
		File:  c.files.get(c.functions.get(id).File).Path, Selected: !c.source.Selection().IsZero()}
	if len(d.lines) > 0 {
		out.File = c.fileOf(&d.lines[0])
	}
	for i := range d.lines {
		r := &d.lines[i]
		line := SourceLine{Number: r.number, Text: r.source, HasValues: r.kind != rowSource}
		if line.HasValues {
			line.Number = c.lines.get(r.line).LineBegin
		}
		out.Source = append(out.Source, line)
	}
	return out
}

// part is a table of some rows, with some columns of text.
func (t *Table) part(rows []Row, columns []string) *Table {
	sub := *t
	sub.Rows, sub.TextColumns, sub.Functions, sub.Columns = rows, columns, nil, nil
	for _, key := range columns {
		sub.Columns = append(sub.Columns, t.context.column(key))
	}
	return &sub
}
