package report

import (
	"slices"
	"strings"

	"github.com/clrprof/clrprof/internal/analysis"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// testsView is the list of tests.
var testsView = View{
	Name:   "tests",
	Short:  "one row per test method: what it did, including everything that it called",
	Text:   Options{Top: 50},
	awaits: true,
	columns: keys("name kind test_attribute module module_path source_file line process_id process_name " +
		"inclusive_allocations inclusive_allocations_percent inclusive_bytes inclusive_bytes_percent " +
		"exclusive_allocations exclusive_allocations_percent exclusive_bytes exclusive_bytes_percent"),
	text:  keys("name inclusive_bytes inclusive_bytes_percent inclusive_allocations function_place test_attribute module"),
	sort:  "inclusive_bytes",
	build: buildTests,
	timed: timedView{
		columns: keys(timeKeys(false)),
		text: keys("name elapsed_inclusive elapsed_inclusive_percent cpu_inclusive calls function_place test_attribute " +
			"module"),
		both: keys("name elapsed_inclusive elapsed_inclusive_percent inclusive_bytes inclusive_bytes_percent calls " +
			"function_place inclusive_allocations cpu_inclusive test_attribute module"),
		sort: "elapsed_inclusive",
	},
}

// testColumns are those of the view tests alone.
var testColumns = []Column{
	{Key: "test_attribute", Title: "Attribute", Kind: Text, cell: when(hasFunction, func(c *context, r *Row) Cell {
		name := c.functions.get(r.function).Test
		return Cell{Text: name, Empty: name == ""}
	}), short: func(c *context, r *Row) string {
		name := c.functions.get(r.function).Test
		return strings.TrimSuffix(name[strings.LastIndexAny(name, "./")+1:], "Attribute")
	}},
}

// severalTests is the name of the row of what async methods did that several tests call.
const severalTests = "(several tests)"

func buildTests(b *builder) error {
	rows, outside, err := b.testRows()
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		b.note(NoteNoTests)
		return nil
	}
	b.note(NoteTests)
	if slices.ContainsFunc(outside, func(r Row) bool { return r.text == severalTests }) {
		b.note(NoteSeveralTests)
	}
	b.table.Rows = append(b.limit(rows, inclusiveCost), outside...)
	return nil
}

// testRows makes the rows of tests, and of what the processes that ran them did beside them.
func (b *builder) testRows() (rows, outside []Row, err error) {
	tests, err := b.source.Tests()
	if err != nil {
		return nil, nil, err
	}
	for i := range tests.List {
		t := &tests.List[i]
		row := b.functionRow(t.Function, t.Amounts)
		if b.hasTime() {
			row.time = b.orNone(place(t.Time), t.Process)
		}
		row.await = b.awaitOf(t.Functions)
		rows = append(rows, row)
	}
	for _, beside := range []struct {
		name string
		list []analysis.TestValue
	}{{severalTests, tests.Several}, {"(outside of tests)", tests.Outside}} {
		for _, o := range beside.list {
			row := Row{kind: rowOutside, process: o.Process, text: beside.name, values: o.Amounts}
			if b.hasTime() {
				row.time = b.orNone(place(o.Time), o.Process)
			}
			outside = append(outside, row)
		}
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

// The text columns of the tests of a summary.
const (
	testText      = "name inclusive_bytes inclusive_bytes_percent inclusive_allocations function_place"
	testTextTimed = "name elapsed_inclusive elapsed_inclusive_percent calls function_place"
	testTextBoth  = "name elapsed_inclusive elapsed_inclusive_percent inclusive_bytes inclusive_bytes_percent function_place"
)

// sectionTests is the key of the list of tests.
const sectionTests = "tests"

// addTests adds the tests, if some functions are any.
func (s *Summary) addTests(o Options) error {
	if o.Quick || !analysis.HasTests(s.context.functions.list) {
		return nil
	}
	b := &builder{context: s.context}
	rows, _, err := b.testRows()
	if err != nil || len(rows) == 0 {
		return err
	}
	text, sort := testText, testsView.sort
	switch {
	case s.context.hasTime() && s.context.hasMemory():
		text, sort = testTextBoth, testsView.timed.sort
	case s.context.hasTime():
		text, sort = testTextTimed, testsView.timed.sort
	}
	for i := range rows { // their own code is no part of a summary
		r := &rows[i]
		r.values = both(r.values.Inclusive)
		if r.time != nil {
			r.time = place(session.TimeValue{Calls: r.time.Calls, Running: r.time.Running,
				Times: q.Times{Inclusive: r.time.Inclusive, Exclusive: r.time.Inclusive}})
		}
	}
	return s.addRows(sectionTests, "Tests: what each did, including everything that it called", sort, text,
		pointed(rows), o.Top, Row{})
}
