package session

import (
	"errors"
	"math"
	"path/filepath"
	"slices"
	"testing"

	q "github.com/clrprof/clrprof/internal/quantity"
)

// distinct is a time in which no two fields are the same, so that no column can be taken for another.
func distinct(first int64) q.Time {
	n := func(i int64) int64 { return first + i }
	return q.Time{Elapsed: q.Nanoseconds(n(0)), Application: q.Nanoseconds(n(1)), Overhead: q.Nanoseconds(n(2)),
		Waits: q.Waits{Intervals: q.Count(n(3)), Voluntary: q.Count(n(4)), Preempted: q.Count(n(5)),
			Faults: q.Count(n(6)), Reads: q.Count(n(7)), OffCPU: q.Nanoseconds(n(8)),
			Blocked: q.Nanoseconds(n(9)), Ready: q.Nanoseconds(n(10))}, CPU: q.Nanoseconds(n(11))}
}

// testTimeTables is the part of TestTables that concerns times.
func testTimeTables(t *testing.T, w *Writer) {
	t.Helper()
	value := TimeValue{Calls: 1, Running: 2, Times: q.Times{Inclusive: distinct(10), Exclusive: distinct(40)}}
	extremes := Extremes{Range{1, 2}, Range{3, 4}, Range{5, 6}, Range{7, 1 << 60}, Range{8, 9}, Range{10, 11}}
	single := SingleCalls{NodesElapsed: 101, NodesApplication: 102, NodesCPU: 103, Extremes: extremes}
	tableTest(t, w, processTimeTable, w.ProcessTimes, ProcessTime{1, ClockTSC, 2_700_000_000, InstrumentBoundary,
		MechanismRseq, 1500, 9.25, 11.5, 1e3, 2e3, 77, true, ProbesIL, 6.5, 12, 13, 14, 15, 16.5, 17.5, 18.5, 19.5},
		ProcessTime{Process: 2, Clock: ClockMonotonic})
	tableTest(t, w, timingTable, w.Timings, Timing{1, 1, 2}, Timing{2, 1, 1})
	tableTest(t, w, timingValueTable, w.TimingValues, TimingValue{1, 1, 2, 3, 4, 5, 6, distinct(20).Waits},
		TimingValue{Slice: 1, Timing: 2})
	tableTest(t, w, timingInclusiveTable, w.TimingInclusives, TimingInclusive{1, 1, 2, 3, 4, 5, distinct(20).Waits, 6,
		7, 8, 9})
	tableTest(t, w, timingExtremeTable, w.TimingExtremes, TimingExtreme{1, extremes})
	tableTest(t, w, timingRunningTable, w.TimingRunning, TimingRunning{1, 2, 3})
	tableTest(t, w, timingBeganTable, w.TimingBegan, TimingBegan{1, 2, -3}, TimingBegan{2, 3, math.MinInt64},
		TimingBegan{3, 4, math.MaxInt64})
	tableTest(t, w, functionAwaitTable, w.FunctionAwaits, FunctionAwait{1, 2, 3, 4, true},
		FunctionAwait{Function: 2, Suspensions: 1})
	tableTest(t, w, pathTimeTable, w.PathTimes, PathTime{1, 0, 1, 1, 4, value, single}, PathTime{ID: 2, Parent: 1})
	if err := w.EachPathCalls(func(r *PathTime) {
		if want := (PathTime{1, 0, 1, 1, 4, TimeValue{Calls: 1}, SingleCalls{}}); r.ID == 1 && *r != want {
			t.Errorf("the calls of a path are %+v, want %+v", *r, want)
		}
	}); err != nil {
		t.Error(err)
	}
	tableTest(t, w, callTimeTable, w.CallTimes, CallTime{0, 1, value, single})
	tableTest(t, w, functionTimeTable, w.FunctionTimes, FunctionTime{1, value, single})
	tableTest(t, w, moduleTimeTable, w.ModuleTimes, ModuleTime{0, value, single})
	tableTest(t, w, lineTimeTable, w.LineTimes, LineTime{1, 0, value}, LineTime{1, 7, value})
	tableTest(t, w, instructionTimeTable, w.InstructionTimes, InstructionTime{1, value})
	tableTest(t, w, threadTimeTable, w.ThreadTimes, ThreadTime{1, value})
	tableTest(t, w, processTimeValueTable, w.ProcessTimeValues, ProcessTimeValue{1, value})
	tableTest(t, w, userTimeTable, w.UserTimes, UserTime{0, 0, 0, distinct(10)}, UserTime{1, 2, 3, distinct(40)})
}

// TestPathTimeList: rows that are made when they are asked for are those of the table, over several chunks, and there
// are none where they do not rise, or a reference is out of range.
func TestPathTimeList(t *testing.T) {
	w := smallToEdit(t)
	var rows []PathTime
	for i := range int64(maxChunkRows + 10) {
		value := TimeValue{Calls: q.Count(i), Times: q.Times{Inclusive: distinct(i << (i % 50)), Exclusive: distinct(-i)}}
		rows = append(rows, PathTime{PathID(2*i + 1), PathID(i), 1, 1, FunctionID(i % 7), value,
			SingleCalls{NodesElapsed: q.Nanoseconds(i % 200), Extremes: Extremes{CPUExclusive: Range{1, q.Nanoseconds(i)}}}})
	}
	if err := rewrite(w, pathTimeTable, rows); err != nil {
		t.Fatal(err)
	}
	list, err := w.PathTimeList()
	if err != nil || list == nil || list.Len() != len(rows) {
		t.Fatal(list, err)
	}
	for i, want := range rows {
		if got := list.At(i); got != want || list.Link(i) != (PathLink{want.ID, want.Parent}) {
			t.Fatalf("row %d is %+v, want %+v", i, got, want)
		}
	}
	works, err := w.PathWorkList()
	if err != nil || works == nil || works.Len() != len(rows) {
		t.Fatal(works, err)
	}
	for i, full := range rows {
		want := PathTime{ID: full.ID, Parent: full.Parent, Process: full.Process, Function: full.Function, Level: full.Level}
		want.Inclusive.CPU = full.Inclusive.CPU
		if got := works.At(i); got != want || works.Link(i) != (PathLink{want.ID, want.Parent}) {
			t.Fatalf("the work of row %d is %+v, want %+v", i, got, want)
		}
	}
	again, unchecked := rows[:1:1], pathTimeTable
	unchecked.order = "level, id" // what rows are written in
	if err := put(w, add, unchecked, again); err != nil {
		t.Fatal(err)
	}
	if list, err := w.PathTimeList(); list != nil || err != nil {
		t.Errorf("rows that do not rise: %v, %v", list, err)
	}
	wrong, err := w.newChunk(unchecked.name, false)
	if err != nil {
		t.Fatal(err)
	}
	w.packer.encode(wrong, func() {
		pack(&wrong.block, unchecked, again)
		wrong.block.Columns[pathFunctionColumn][0] = -1
	})
	if _, err := w.PathTimeList(); !errors.Is(err, ErrRange) {
		t.Errorf("a function out of range: %v", err)
	}
}

// TestLossUnits: what the view losses says of a reason is what Go says.
func TestLossUnits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	small(t, path)
	w, err := Edit(path)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for _, reason := range LossReasons() {
		if err := w.ReplaceLosses([]Loss{{Process: 1, Reason: reason, Events: 1}}); err != nil {
			t.Fatal(err)
		}
	}
	_, rows, err := ask(w.Session, "SELECT reason, unit, missing FROM losses")
	if err != nil || len(rows) != len(lossKinds) {
		t.Fatal(len(rows), err)
	}
	for _, row := range rows {
		l := Loss{Reason: row[0].(string)}
		if row[1] != l.Unit() || (row[2] == int64(1)) != l.IsMissing() {
			t.Errorf("%s: the view says %v, %v", l.Reason, row[1], row[2])
		}
	}
}

// TestViews reads every view, and compares the times in some with what was written.
func TestViews(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	small(t, path)
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, views, err := ask(s,
		"SELECT name FROM sqlite_schema WHERE type = 'view' UNION SELECT name FROM sqlite_temp_schema WHERE type "+
			"= 'view'")
	if err != nil || len(views) < 30 {
		t.Fatal(len(views), err)
	}
	for _, v := range views {
		if _, rows, err := ask(s, "SELECT * FROM "+v[0].(string)); err != nil || len(rows) == 0 &&
			v[0] != "survivors" && v[0] != "roots" {
			t.Errorf("%s: %d rows, %v", v[0], len(rows), err)
		}
	}
	for query, want := range map[string][]any{
		"SELECT name, calls, elapsed_inclusive, elapsed_inclusive_percent, avg_elapsed_inclusive FROM function_times": {
			"C.M", int64(1), int64(9), 100.0, 9.0},
		"SELECT count(*), max(level), sum(calls) FROM call_tree_times":  {int64(40), int64(40), int64(40)},
		"SELECT caller, callee, calls FROM call_times":                  {"", "C.M", int64(1)},
		"SELECT kind, function, calls FROM line_times":                  {"body", "C.M", int64(1)},
		"SELECT clock, inside_ns, elapsed_inclusive FROM process_times": {"tsc", 9.5, int64(9)},
		"SELECT kind, sum(calls), sum(elapsed_ns) FROM timings":         {"call", int64(40), int64(360)},
	} {
		if _, rows, err := ask(s, query); err != nil || len(rows) != 1 || !slices.Equal(rows[0], want) {
			t.Errorf("%s: %v, %v, want %v", query, rows, err, want)
		}
	}
}
