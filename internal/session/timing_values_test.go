package session

import (
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	q "github.com/clrprof/clrprof/internal/quantity"
)

// TestTimingValueList: rows that are decoded again and again are those of the table, over several chunks, whatever else
// is read in between, and what refers to nothing is an error when the table is read.
func TestTimingValueList(t *testing.T) {
	w := smallToEdit(t)
	var rows []TimingValue
	for i := range int64(2*maxChunkRows + 10) {
		rows = append(rows, TimingValue{Slice: SliceID(1 + i/maxChunkRows), Timing: TimingID(1 + i%maxChunkRows),
			Calls: q.Count(i), Ended: q.Count(-i), Made: 1, Elapsed: q.Nanoseconds(i << (i % 40)), Waited: 7,
			Waits: distinct(i % 3).Waits})
	}
	if err := rewrite(w, timingValueTable, rows); err != nil {
		t.Fatal(err)
	}
	var mutex sync.Mutex
	seen := map[[2]int64]int{}
	list, err := w.TimingValueList(func(slices, timings []int64) error {
		mutex.Lock()
		defer mutex.Unlock()
		for i := range slices {
			seen[[2]int64{slices[i], timings[i]}]++
		}
		return nil
	})
	if err != nil || len(seen) != len(rows) {
		t.Fatalf("%d of %d rows were checked: %v", len(seen), len(rows), err)
	}
	for range 2 {
		var got []TimingValue
		list.Each(func(r *TimingValue) { got = append(got, *r) })
		if !slices.Equal(got, rows) {
			t.Errorf("%d rows, not the %d that were written", len(got), len(rows))
		}
		if other, err := w.TimingValues(); err != nil || len(other) != len(rows) { // in the same memory
			t.Error(len(other), err)
		}
	}
	bad := errors.New("refers to nothing")
	if _, err := w.TimingValueList(func([]int64, []int64) error { return bad }); !errors.Is(err, bad) {
		t.Errorf("a bad reference: %v", err)
	}
	(&TimingValueList{}).Each(func(*TimingValue) { t.Error("no list has a row") })
}

// TestCallsOfOne: the calls of, and by, one function are those of all that have it.
func TestCallsOfOne(t *testing.T) {
	w := derivedCalls(t)
	for f := range FunctionID(5) {
		amounts, err := w.CallValuesOf(f)
		all, err2 := w.CallValues()
		want := slices.DeleteFunc(all, func(r CallValue) bool { return r.Caller != f && r.Callee != f })
		if err := errors.Join(err, err2); err != nil || !slices.Equal(amounts, want) {
			t.Errorf("amounts of %d are %+v, want %+v (%v)", f, amounts, want, err)
		}
		times, err := w.CallTimesOf(f)
		every, err2 := w.CallTimes()
		timed := slices.DeleteFunc(every, func(r CallTime) bool { return r.Caller != f && r.Callee != f })
		if err := errors.Join(err, err2); err != nil || !slices.Equal(times, timed) {
			t.Errorf("times of %d are %+v, want %+v (%v)", f, times, timed, err)
		}
		has, err := w.HasLineTimes(f)
		lines, err2 := w.LineTimes()
		some := slices.ContainsFunc(lines, func(r LineTime) bool { return r.Function == f })
		if err := errors.Join(err, err2); err != nil || has != some {
			t.Errorf("function %d has lines: %v, want %v (%v)", f, has, some, err)
		}
	}
}

// smallToEdit is a small session that can be changed until the end of the test.
func smallToEdit(t *testing.T) *Writer {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	small(t, path)
	w, err := Edit(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

// derivedCalls is a session in which a function calls itself, others call each other, and one has the times of a line.
func derivedCalls(t *testing.T) *Writer {
	t.Helper()
	w := smallToEdit(t)
	var amounts []CallValue
	var times []CallTime
	for i, c := range [][2]FunctionID{{0, 1}, {1, 1}, {1, 2}, {2, 1}, {3, 2}} {
		n := int64(i + 1)
		amounts = append(amounts, CallValue{Caller: c[0], Callee: c[1],
			Amounts: q.Amounts{Inclusive: q.Amount{Allocations: q.Count(n), Bytes: 8}}})
		value := TimeValue{Calls: q.Count(n), Times: q.Times{Inclusive: distinct(n), Exclusive: distinct(n)}}
		for k := range value.Inclusive.Counters {
			value.Inclusive.Counters[k], value.Exclusive.Counters[k] = q.Count(n), q.Count(-n)
		}
		times = append(times, CallTime{Caller: c[0], Callee: c[1], TimeValue: value})
	}
	const replace = "INSERT OR REPLACE"
	for _, script := range []string{"DELETE FROM call_value", "DELETE FROM call_time", "DELETE FROM line_time",
		"DELETE FROM cpu_counter"} {
		if err := w.each(script, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(insert(w.conn, replace, callValueTable, amounts), insert(w.conn, replace, callTimeTable, times),
		insert(w.conn, replace, lineTimeTable, []LineTime{{2, 3, times[0].TimeValue}})); err != nil {
		t.Fatal(err)
	}
	return w
}

// TestCountersThatWereNotRead: the columns of CPU counters are read where some were, and only there.
func TestCountersThatWereNotRead(t *testing.T) {
	w := derivedCalls(t)
	counted := func() (n int) {
		rows, err := w.CallTimes()
		lines, err2 := w.LineTimes()
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			if r.Calls == 0 || r.Inclusive.Ready == 0 || r.Exclusive.Ready == 0 {
				t.Errorf("the last of the other columns are lost: %+v", r)
			}
			if !r.Inclusive.Counters.IsZero() && !r.Exclusive.Counters.IsZero() {
				n++
			}
		}
		for _, r := range lines {
			if !r.Inclusive.Counters.IsZero() {
				n++
			}
		}
		return n
	}
	if n := counted(); n != 0 {
		t.Errorf("without counters %d rows have them", n)
	}
	if err := insert(w.conn, "INSERT", cpuCounterTable, []CPUCounter{{Process: 1, Position: 1, Name: "cycles"}}); err != nil {
		t.Fatal(err)
	}
	if n := counted(); n != 6 {
		t.Errorf("with counters %d rows have them, want 6", n)
	}
}
