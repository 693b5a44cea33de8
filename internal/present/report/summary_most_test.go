package report

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// TestNothingStandsOut: of a program of which no line allocates much, and most is of code that is not recorded, the
// summary says so, and in which function; and the hot path leads to the user's code.
func TestNothingStandsOut(t *testing.T) {
	b := sessiontest.New()
	p := b.Process("Even", 700)
	thread := b.Thread(p, "main")
	app := b.Module(p, "Even.dll", true)
	b.Modules[app-1].Origin = "project"
	thing := b.Type(app, "Even.Thing")
	main := b.Function(app, "Even.Program.Main()", "/src/Program.cs", 10)
	b.Functions[main-1].RawName = "Main"
	for line := range int64(20) {
		bytes := 100_000 + q.Bytes(line)
		b.Allocate(1, thread, thing, 1, bytes, sessiontest.Frame{Function: main, Line: 11 + line})
	}
	excluded := session.FunctionID(len(b.Functions) + 1)
	b.Functions = append(b.Functions, session.Function{ID: excluded, Process: p, Kind: session.FunctionPseudo,
		RawName: session.NameExcluded})
	b.Allocate(1, thread, thing, 5, 6_000_000, sessiontest.Frame{Function: excluded})
	r := made(t, b)
	if _, kinds := findings(t, r); !cmp.Equal(kinds, []NoteKind{FindingSpot, FindingFramework, FindingAllCode}) {
		t.Errorf("the summary finds %v", kinds)
	}
	s, err := r.Summarize(Options{Top: 5})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range s.Findings {
		if f.Kind == FindingAllCode && !cmp.Equal(f.Facts[3], any("Program.Main")) {
			t.Errorf("of all code, most bytes are of %v, want the recorded function with most", f.Facts[3])
		}
	}
	table, err := r.Build(callTreeView, Options{Hot: true})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for i := range table.Rows {
		names = append(names, rowName(table.context, &table.Rows[i]).Text)
	}
	if diff := cmp.Diff([]string{"Even", "Even.Program.Main()"}, names); diff != "" {
		t.Errorf("the hot path (-want +have):\n%s", diff)
	}
	passed := slices.IndexFunc(table.Notes, func(n Note) bool { return n.Kind == NoteHotPassed })
	if passed < 0 || fmt.Sprint(table.Notes[passed].Facts...) != fmt.Sprint(q.PercentOf(q.Bytes(6_000_000),
		q.Bytes(8_000_190)), "bytes") {
		t.Errorf("the hot path goes past what it does not say: %v", table.Notes)
	}
	types, err := r.Build(typesView, Options{Depth: 1, Top: 1})
	if err != nil {
		t.Fatal(err)
	}
	path, share := types.HotPath(0)
	if len(path) != 1 || path[0].Function != "Program.Main" || share != q.PercentOf(q.Bytes(2_000_190),
		q.Bytes(8_000_190)) {
		t.Errorf("most of a type was created in %v, %s of it", path, share)
	}
}

// TestFindBothParts: the name of an async method means the method and its body.
func TestFindBothParts(t *testing.T) {
	names := []string{"", "App.Work.Run(int)", "App.Work.Run(int) [async]", "App.Work.Run(string)", "App.Go()",
		"App.Go() [async]"}
	for wanted, want := range map[string][]session.FunctionID{"Go": {4, 5}, "App.Go": {4, 5}, "App.Go()": {4},
		"Run(int)": {1}, "Run(string)": {3}, "Run(int) [async]": {2}, "Run": nil} {
		have, err := find("function", wanted, []session.FunctionID{1, 2, 3, 4, 5},
			func(id session.FunctionID) string { return names[id] }, func(session.FunctionID) int64 { return 1 })
		if (err != nil) != (want == nil) || !cmp.Equal(want, have) {
			t.Errorf("%s: %v, %v, want %v", wanted, have, err, want)
		}
	}
}

// TestFront: the first rows of a list are those of the list in its order, and none is lost.
func TestFront(t *testing.T) {
	r := made(t, sessiontest.Shop())
	for n := range 6 {
		b := &builder{context: r.context, order: allColumns["exclusive_bytes"]}
		var list, all []Row
		for i := range 40 {
			list = append(list, Row{kind: rowFact, text: fmt.Sprint(i * 7 % 5), key: fmt.Sprint(i),
				values: both(q.Amount{Bytes: q.Bytes(i * 11 % 7)})})
		}
		all = b.sorted(slices.Clone(list))
		b.front(list, n)
		keys := func(rows []Row) (out []string) {
			for _, r := range rows {
				out = append(out, r.key)
			}
			return out
		}
		if diff := cmp.Diff(keys(all[:n]), keys(list[:n])); diff != "" {
			t.Errorf("%d rows (-sorted +front):\n%s", n, diff)
		}
		if have, want := slices.Sorted(slices.Values(keys(list))), slices.Sorted(slices.Values(keys(all))); !cmp.Equal(
			have, want) {
			t.Errorf("%d rows: %v are left of %v", n, have, want)
		}
	}
}

// TestLimiter: of rows that come one by one those are shown that are first in the order of all of them, and the rest row
// has what the others have.
func TestLimiter(t *testing.T) {
	r := made(t, sessiontest.Shop())
	rows := make([]Row, 2*leastWaiting+leastWaiting/2)
	for i := range rows {
		rows[i] = Row{kind: rowFact, text: fmt.Sprint(i * 7 % 5), key: fmt.Sprint(i),
			values: both(q.Amount{Allocations: 1, Bytes: q.Bytes(i * 7919 % 1009)})}
	}
	for _, top := range []int{0, 1, 30, mostPicked + 1, len(rows) - 1, len(rows)} {
		b := &builder{context: r.context, order: allColumns["exclusive_bytes"], options: Options{Top: top}}
		one, hidden := b.newLimiter(exclusiveCost), 0
		for i, row := range rows {
			if i%3 > 0 && one.hide(&row) { // not all are asked
				hidden++
				continue
			}
			one.add(row)
		}
		if few := top > 0 && mostWaiting*top < len(rows); few != (hidden > 0) {
			t.Errorf("%d rows: %d were hidden before they were added", top, hidden)
		}
		if len(one.list) > max(mostWaiting*top, leastWaiting) && top > 0 {
			t.Errorf("%d of %d rows wait for %d", len(one.list), len(rows), top)
		}
		have, want, shown := one.rows(), b.sorted(slices.Clone(rows)), len(rows)
		if top > 0 {
			shown = min(top, len(rows))
		}
		var rest cost
		for i := range want {
			switch {
			case i >= shown:
				rest = rest.add(exclusiveCost(&want[i]))
			case have[i].key != want[i].key:
				t.Fatalf("%d rows: row %d is %s, want %s", top, i, have[i].key, want[i].key)
			}
		}
		last := have[shown:]
		if left := len(rows) - shown; left == 0 && len(last) > 0 || left > 0 && (len(last) != 1 ||
			last[0].kind != rowRest || last[0].rest != left || last[0].hidden != rest ||
			last[0].text != string(rowFact)) {
			t.Errorf("%d rows: the rest is %+v, want %d rows of %+v", top, last, left, rest)
		}
	}
}
