package collect

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/eventpipe"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

const hundredMilliseconds quantity.Nanoseconds = 100_000_000

// newTestMeters samples these, without a process.
func newTestMeters(names ...string) *meters {
	var r Recorder
	r.sampleMeters(names, hundredMilliseconds)
	return r.meters
}

func point(name string, value float64) *eventpipe.Point {
	source, _, _ := strings.Cut(name, "/")
	return &eventpipe.Point{Counter: eventpipe.Counter{Source: source, Name: name}, Value: value}
}

// TestMeterValues: values are kept exactly, also those that are not whole; what is no number is left out.
func TestMeterValues(t *testing.T) {
	m := newTestMeters("A")
	values := []float64{0, 1, -1, 0.1, -0.1, 1e15 + 0.5, -2.75, 1e-300, math.MaxInt64 / 4}
	for i, v := range append(slices.Clone(values), math.Inf(1), math.NaN(), 1e19, -1e300) {
		m.add(1, point("A/a", v), quantity.Nanoseconds(i+1)*hundredMilliseconds)
	}
	if len(m.rows) != len(values) {
		t.Fatalf("%d rows of %d values", len(m.rows), len(values))
	}
	for i, row := range m.rows {
		if row.Number() != values[i] || row.Counter != firstMeterCounter || math.Abs(row.Fraction) >= 1 {
			t.Errorf("%v became %+v", values[i], row)
		}
	}
}

// TestMeterAge: an old recording keeps values more rarely, but the last one of each counter always.
func TestMeterAge(t *testing.T) {
	m := newTestMeters("A")
	const day = 86_400_000_000_000
	last := quantity.Nanoseconds(0)
	for at := quantity.Nanoseconds(0); at < day; at += 5 * hundredMilliseconds {
		m.add(1, point("A/a", float64(at)), at)
		last = at
	}
	if n := len(m.rows); n < samplesOfAge || n > 15*samplesOfAge {
		t.Errorf("%d rows of a day", n)
	}
	m.finish()
	if row := m.rows[len(m.rows)-1]; row.Time != last || row.Value != int64(last) {
		t.Errorf("the last row is %+v, want one at %d", row, last)
	}
	if !slices.IsSortedFunc(m.rows, func(a, b session.CounterValue) int { return int(a.Time - b.Time) }) {
		t.Error("rows are not in the order of time")
	}
}

// TestMeterLimit: too many counters are left out, and that is said; processes share them.
func TestMeterLimit(t *testing.T) {
	m := newTestMeters("A")
	for i := range maxMeterCounters + 5 {
		m.add(session.ProcessID(i%2+1), point(fmt.Sprint("A/", i), 1), hundredMilliseconds)
	}
	m.add(2, point("A/0", 2), hundredMilliseconds)
	if len(m.rows) != maxMeterCounters+1 || len(m.counters) != maxMeterCounters {
		t.Fatalf("%d rows of %d counters", len(m.rows), len(m.counters))
	}
	m.finish()
	row := m.counters[len(m.counters)-1]
	if row.Name != "A" || !strings.Contains(row.Missing, "more than 20000 counters") || row.ID >= firstMeterCounter {
		t.Errorf("%+v", row)
	}
}

// TestMeterReasons: what is missing is told with the process, in one line that does not grow without end.
func TestMeterReasons(t *testing.T) {
	m := newTestMeters("A", "B")
	m.add(1, point("A/a", 1), hundredMilliseconds)
	for i := range 2 * maxMeterReasons {
		m.sources = append(m.sources, &meterSource{process: session.ProcessID(i), pid: 100 + i,
			failure: eventpipe.ErrNoSocket})
	}
	m.sources[1].failure, m.sources[1].lost, m.sources[1].dropped = nil, 7, 8
	m.finish()
	row := m.counters[len(m.counters)-1]
	for _, part := range []string{"process 100: no diagnostics socket; ", "process 101: 8 values",
		"process 101: the runtime had no room for 7 events",
		"and 9 more reasons"} {
		if !strings.Contains(row.Missing, part) {
			t.Errorf("%q lacks %q", row.Missing, part)
		}
	}
	if row.Name != "B" || strings.Contains(row.Missing, "\n") {
		t.Errorf("%+v", row)
	}
}

// TestMeterRoom: a reader that is late loses values, and counts them.
func TestMeterRoom(t *testing.T) {
	s := &meterSource{}
	m := eventpipe.NewMeters(func(string) bool { return true })
	s.add(make([]eventpipe.Point, maxWaitingPoints-1), m, 0)
	s.add(make([]eventpipe.Point, 3), m, 0)
	if len(s.points) != maxWaitingPoints || s.dropped != 2 {
		t.Errorf("%d points, %d dropped", len(s.points), s.dropped)
	}
}
