package report

import (
	"slices"

	"github.com/clrprof/clrprof/internal/analysis"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// linesView is the list of statements.
var linesView = View{
	Name:    "lines",
	Short:   "one row per statement that allocated or called",
	Text:    Options{Top: 30},
	places:  true,
	columns: keys(position + "line_name " + exclusive),
	text: keys("place function exclusive_bytes exclusive_bytes_percent exclusive_allocations " +
		"exclusive_allocations_percent module"),
	sort:          "exclusive_bytes",
	build:         buildLines,
	optional:      keys(lifetimeKeys("")),
	readLifetimes: readLineLifetimes,
	adapt:         withLineKinds,
	timed: timedView{
		columns: keys("kind " + timeKeys(false)),
		text:    keys("place function " + elapsedBoth + "calls cpu_inclusive cpu_exclusive module"),
		both:    keys("place function " + elapsedBoth + "exclusive_bytes exclusive_bytes_percent calls module"),
		sort:    "elapsed_inclusive",
	},
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
	b.table.Rows = b.limit(b.withoutLine(list), exclusiveCost)
	if b.hasTime() {
		b.note(NoteBody)
	}
	return nil
}

// withoutLine adds a row of what is on no line to those of lines, so that the rows add up to the whole.
func (b *builder) withoutLine(list []Row) []Row {
	var placed q.Amount
	var calls session.TimeValue
	for i := range list {
		r := &list[i]
		placed = placed.Add(r.values.Exclusive)
		if r.time != nil && !isBody(*r) {
			calls.Calls, calls.Running = calls.Calls+r.time.Calls, calls.Running+r.time.Running
		}
	}
	without := b.shown.Sub(placed)
	calls = session.TimeValue{Calls: b.shownTime.Calls - calls.Calls, Running: b.shownTime.Running - calls.Running}
	if without.IsZero() && calls.Calls == 0 {
		return list
	}
	row := Row{kind: rowOutside, text: "(without a line)", values: both(without)}
	if b.hasTime() {
		row.time = place(calls)
	}
	if !without.IsZero() {
		b.note(NoteWithoutLine, q.PercentOf(without.Bytes, b.total.Bytes))
	}
	if calls.Calls != 0 {
		b.note(NoteCallsWithoutLine, calls.Calls)
	}
	return append(list, row)
}

// withLineKinds adds what kind of place a row is, of which there are several in user code.
func withLineKinds(c *context, v View) View {
	if c.source.Selection().OfUserLines() && !slices.Contains(v.columns, "kind") {
		v.columns = append(slices.Clone(v.columns), "kind")
	}
	return v
}

func readLineLifetimes(b *builder, l *analysis.Lifetimes) {
	if b.source.Selection().OfUserLines() {
		b.lifetimes.places = l.UserLines()
		return
	}
	b.lifetimes.lines = l.Lines()
}

// userLines makes the rows of places in user code, with what framework code did for them, and of what is at none.
func (b *builder) userLines() error {
	lines, err := b.source.UserLines()
	if err != nil {
		return err
	}
	b.table.Rows = b.limitOf(func(yield func(*Row) bool) {
		var row Row
		var time rowTime
		for i := range lines {
			if row = b.userLine(&lines[i], &time); !yield(&row) {
				return
			}
		}
	}, exclusiveCost)
	b.note(NoteUserLines)
	return nil
}

// userLine makes the row of a place in user code, with a time that is overwritten if it has any.
func (b *builder) userLine(l *analysis.UserLine, time *rowTime) Row {
	row := Row{kind: rowOutside, process: l.Process, text: "(outside of your code)", values: both(l.Amount)}
	if l.Function != 0 {
		row = b.functionRow(l.Function, both(l.Amount))
		if row.kind, row.line = rowLine, l.Line; l.Line == 0 {
			row.kind = rowBody
		}
	}
	if l.TimeValue != (session.TimeValue{}) {
		*time = rowTime{TimeValue: l.TimeValue}
		row.time = time
	}
	row.time = b.orNone(row.time, row.process)
	if b.lifetimes.places != nil {
		ends := b.lifetimes.places[l.UserPlace]
		row.lifetime = &ends
	}
	return row
}
