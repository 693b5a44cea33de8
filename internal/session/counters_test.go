package session

import (
	"errors"
	"math"
	"path/filepath"
	"reflect"
	"testing"

	"zombiezen.com/go/sqlite/sqlitex"
)

// queried are the rows of a query.
func queried(t *testing.T, s *Session, query string) [][]any {
	t.Helper()
	_, rows, _, err := s.QueryUpTo(query, Bounds{Rows: 1000, Bytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// TestCounterValues: values that are not whole are kept exactly, and queries see them, also in a plain database.
func TestCounterValues(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	small(t, path)
	w, err := Edit(path)
	if err != nil {
		t.Fatal(err)
	}
	numbers := []float64{0.1, -0.1, 1e15 + 0.5, -3, 1e-300}
	var want []CounterValue
	for i, n := range numbers {
		value, fraction, ok := SplitNumber(n)
		if !ok {
			t.Errorf("%v is refused", n)
		}
		want = append(want, CounterValue{Time: 10, Process: 1, Counter: int64(1000 + i), Value: value,
			Fraction: fraction})
	}
	err = errors.Join(w.ReplaceCounters([]Counter{{ID: 1000, Name: "Shop/orders", Unit: "{order}", IsSum: true,
		Tags: "kind=web"}}),
		w.InsertCounterValues(want), w.Close())
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	counters, err := s.Counters()
	if err != nil || len(counters) != 2 || counters[1].Label() != "Shop/orders{kind=web}" ||
		counters[0].Label() != "process.resident" {
		t.Errorf("%+v, %v", counters, err)
	}
	got, err := s.CounterValues()
	if err != nil || !reflect.DeepEqual(got[1:], want) {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	for i := range numbers {
		if n := got[1+i].Number(); n != numbers[i] {
			t.Errorf("%v became %v", numbers[i], n)
		}
	}
	seen := [][]any{{int64(7), "process.resident", ""}, {0.1, "Shop/orders", "kind=web"}}
	query := "SELECT value, name, tags FROM counters ORDER BY name DESC"
	if rows := queried(t, s, query); !reflect.DeepEqual(rows, seen) {
		t.Errorf("the view has %v", rows)
	}
	if rows := queried(t, s, "SELECT fraction FROM counter_value WHERE fraction = 0.5"); len(rows) != 1 {
		t.Errorf("%v", rows)
	}
	for _, n := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e19, -1e19, 1 << 63} {
		if _, _, ok := SplitNumber(n); ok {
			t.Errorf("%v is kept", n)
		}
	}
}

// TestCountersWithoutTags reads the counters of a session that was made before they had tags.
func TestCountersWithoutTags(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	small(t, path)
	w, err := Edit(path)
	if err != nil {
		t.Fatal(err)
	}
	script := "ALTER TABLE counter RENAME TO newer; CREATE TABLE counter (id INTEGER PRIMARY KEY, name TEXT " +
		"NOT NULL, " +
		"unit TEXT NOT NULL, is_sum INTEGER NOT NULL, meaning TEXT NOT NULL, missing TEXT NOT NULL); " +
		"INSERT INTO counter SELECT id, name, unit, is_sum, meaning, missing FROM newer; DROP TABLE newer"
	if err := errors.Join(sqlitex.ExecuteScript(w.conn, script, nil), w.Close()); err != nil {
		t.Fatal(err)
	}
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if rows := queried(t, s, "SELECT name, value, tags FROM counters"); !reflect.DeepEqual(rows,
		[][]any{{"process.resident", int64(7), ""}}) {
		t.Errorf("%v", rows)
	}
	if counters, err := s.Counters(); err != nil || len(counters) != 1 || counters[0].Tags != "" {
		t.Errorf("%+v, %v", counters, err)
	}
}
