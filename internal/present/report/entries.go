package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/clrprof/clrprof/internal/analysis"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

const (
	entryColumns = "module module_path source_file line process_id process_name " +
		"inclusive_allocations inclusive_allocations_percent inclusive_bytes inclusive_bytes_percent " +
		"exclusive_allocations exclusive_allocations_percent exclusive_bytes exclusive_bytes_percent"
	entryMemory = "inclusive_bytes inclusive_bytes_percent inclusive_allocations "
)

// entryView is the list of entry points of a kind: first its columns for programs, text begins with one and ends with
// others.
func entryView(name, short, columns, first, last string, e *entries) View {
	first, last = first+" ", "function_place "+last+" module"
	return View{
		Name: name, Short: short, Text: Options{Top: 50}, awaits: true,
		columns: keys(columns + entryColumns),
		text:    keys(first + entryMemory + last),
		sort:    "inclusive_bytes",
		build:   func(b *builder) error { return b.buildEntries(e) },
		timed: timedView{
			columns: keys(timeKeys(false)),
			text:    keys(first + "elapsed_inclusive elapsed_inclusive_percent cpu_inclusive calls " + last),
			both: keys(first + "elapsed_inclusive elapsed_inclusive_percent inclusive_bytes inclusive_bytes_percent calls " +
				strings.Replace(last, " ", " inclusive_allocations cpu_inclusive ", 1)),
			sort: "elapsed_inclusive",
		},
	}
}

// testsView is the list of tests.
var testsView = entryView("tests", "one row per test method: what it did, including everything that it called",
	"name kind test_attribute ", "name", "test_attribute", &testEntries)

// endpointsView is the list of what answers requests.
var endpointsView = entryView("endpoints",
	"one row per web endpoint: what it did, including everything that it called",
	"route name kind ", "route", "name", &endpointEntries)

// entryColumnList are the columns of entry points alone.
var entryColumnList = []Column{
	{Key: "test_attribute", Title: "Attribute", Kind: Text, cell: when(hasFunction, func(c *context, r *Row) Cell {
		name := c.functions.get(r.function).Test
		return Cell{Text: name, Empty: name == ""}
	}), short: func(c *context, r *Row) string {
		name := c.functions.get(r.function).Test
		return strings.TrimSuffix(name[strings.LastIndexAny(name, "./")+1:], "Attribute")
	}},
	{Key: "route", Title: "Route", Kind: Name, Cut: CutMiddle, cell: func(c *context, r *Row) Cell {
		if r.kind == rowOutside {
			return textCell(r.text)
		}
		route := c.functions.get(r.function).Route
		return Cell{Text: route, Empty: route == ""}
	}},
}

// entries says how entry points of a kind are shown.
type entries struct {
	kind analysis.EntryKind
	// what the view says: that there are none, and what those rows are
	noteNone, noteOutside, noteSeveral NoteKind
	section                            string // key of the list of a summary
	title                              string // of that list
	name                               string // its column that names the entry point
}

var testEntries = entries{
	kind: analysis.EntryTests, noteNone: NoteNoTests,
	noteOutside: NoteTests, noteSeveral: NoteSeveralTests, section: sectionTests,
	title: "Tests: what each did, including everything that it called", name: "name",
}

var endpointEntries = entries{
	kind: analysis.EntryEndpoints, noteNone: NoteNoEndpoints, noteOutside: NoteEndpoints,
	noteSeveral: NoteSeveralEndpoints, section: sectionEndpoints,
	title: "Endpoints: what each did, including everything that it called", name: "route",
}

// The keys of the lists of entry points.
const (
	sectionTests     = "tests"
	sectionEndpoints = "endpoints"
)

func (b *builder) buildEntries(e *entries) error {
	rows, outside, err := b.entryRows(e)
	if err != nil {
		return err
	}
	if len(rows)+len(outside) == 0 {
		if !analysis.HasEntries(b.functions.list, e.kind) { // else none is selected
			b.note(e.noteNone)
		}
		return nil
	}
	b.note(e.noteOutside)
	if e.kind == analysis.EntryTests && !b.hasTime() {
		b.note(NoteQuietTests)
	}
	if slices.ContainsFunc(outside, func(r Row) bool { return r.text == e.kind.Several() }) {
		b.note(e.noteSeveral)
	}
	cases, err := b.caseRows(e)
	if err != nil {
		return err
	}
	b.table.Rows = append(b.limit(append(rows, cases...), inclusiveCost), outside...)
	return nil
}

// caseRows makes the rows of what each case of a test allocated, if that was recorded.
func (b *builder) caseRows(e *entries) (rows []Row, err error) {
	if e.kind != analysis.EntryTests || !b.hasMemory() {
		return nil, nil
	}
	cases, err := b.source.Session().TestCases()
	if err != nil || len(cases) == 0 {
		return nil, err
	}
	if !b.source.Selection().WholeProcesses() {
		b.note(NoteCasesFiltered)
		return nil, nil
	}
	for i := range cases {
		one := &cases[i]
		f := b.functions.get(one.Function)
		if f.Test == "" || !b.source.Selection().HasProcess(f.Process) {
			continue
		}
		rows = append(rows, Row{kind: rowCase, function: one.Function, module: f.Module, process: f.Process,
			text: caseText(one), values: q.Amounts{Inclusive: one.Amount}})
	}
	if len(rows) > 0 {
		b.note(NoteTestCases)
	}
	return rows, nil
}

// caseText is what tells a case from the others: its arguments, and which of several it is, or how many calls there
// were.
func caseText(t *session.TestCase) string {
	text := "(" + t.Arguments + ")"
	switch {
	case t.Number > 0:
		return fmt.Sprintf("%s #%d", text, t.Number)
	case t.Calls > 1:
		return text + ", " + t.Calls.Of("call")
	}
	return text
}

// entryRows makes the rows of entry points, and of what the processes that have them did beside them.
func (b *builder) entryRows(e *entries) (rows, outside []Row, err error) {
	found, err := b.source.Entries(e.kind)
	if err != nil {
		return nil, nil, err
	}
	for i := range found.List {
		t := &found.List[i]
		row := b.functionRow(t.Function, t.Amounts)
		if b.hasTime() {
			row.time = b.orNone(place(t.Time), t.Process)
		}
		row.await = b.awaitOf(t.Functions)
		rows = append(rows, row)
	}
	for _, beside := range []struct {
		name string
		list []analysis.EntryValue
	}{{e.kind.Several(), found.Several}, {e.kind.Beside(), found.Outside}} {
		for _, o := range beside.list {
			row := Row{kind: rowOutside, process: o.Process, text: beside.name, values: o.Amounts}
			if b.hasTime() {
				row.time = b.orNone(place(o.Time), o.Process)
			}
			outside = append(outside, row)
		}
	}
	if x := &found.Elsewhere; len(rows)+len(outside) > 0 && !x.IsZero() {
		row := Row{kind: rowOutside, text: e.kind.Elsewhere(), values: x.Amounts}
		if b.hasTime() {
			row.time = place(x.Time)
		}
		outside = append(outside, row)
	}
	return rows, outside, nil
}

// awaitOf adds up how the async methods among some functions waited; nil: none did.
func (c *context) awaitOf(functions []session.FunctionID) *session.FunctionAwait {
	var sum *session.FunctionAwait
	for _, id := range functions {
		a := c.awaits[id]
		switch {
		case a == nil:
		case sum == nil:
			one := *a
			sum = &one
		default:
			sum.Suspensions, sum.Awaited, sum.Known = sum.Suspensions+a.Suspensions, sum.Awaited+a.Awaited,
				sum.Known && a.Known
		}
	}
	return sum
}

// The text columns of the entry points of a summary, behind their names.
const (
	listedMemory = " inclusive_bytes inclusive_bytes_percent inclusive_allocations function_place"
	listedTimed  = " elapsed_inclusive elapsed_inclusive_percent calls function_place"
	listedBoth   = " elapsed_inclusive elapsed_inclusive_percent inclusive_bytes inclusive_bytes_percent function_place"
)

// listedEntries are the kinds of entry points that the session has.
func (c *context) listedEntries() (out []*entries) {
	for _, e := range []*entries{&testEntries, &endpointEntries} {
		if analysis.HasEntries(c.functions.list, e.kind) {
			out = append(out, e)
		}
	}
	return out
}

// addEntries adds the tests and the endpoints, if some functions are any.
func (s *Summary) addEntries(o Options) error {
	if o.Quick {
		return nil
	}
	for _, e := range s.context.listedEntries() {
		if err := s.addEntriesOf(e, o); err != nil {
			return err
		}
	}
	return nil
}

func (s *Summary) addEntriesOf(e *entries, o Options) error {
	b := &builder{context: s.context}
	rows, _, err := b.entryRows(e)
	if err != nil || len(rows) == 0 {
		return err
	}
	text, sort := e.name+listedMemory, "inclusive_bytes"
	switch {
	case s.context.hasTime() && s.context.hasMemory():
		text, sort = e.name+listedBoth, "elapsed_inclusive"
	case s.context.hasTime():
		text, sort = e.name+listedTimed, "elapsed_inclusive"
	}
	for i := range rows { // their own code is no part of a summary
		r := &rows[i]
		r.values = both(r.values.Inclusive)
		if r.time != nil {
			r.time = place(session.TimeValue{Calls: r.time.Calls, Running: r.time.Running,
				Times: q.Times{Inclusive: r.time.Inclusive, Exclusive: r.time.Inclusive}})
		}
	}
	return s.addRows(e.section, e.title, sort, text, pointed(rows), o.Top, Row{})
}
