package collect

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/capture/arena"
	"github.com/clrprof/clrprof/internal/capture/eventpipe"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/wiretest"
	"github.com/clrprof/clrprof/internal/wire"
)

const hundredMilliseconds quantity.Nanoseconds = 100_000_000

// newTestMeters samples these, without a process.
func newTestMeters(names ...string) *meters {
	var r Recorder
	r.sampleMeters(names, hundredMilliseconds, false)
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

// TestMeterReasons: what is missing is said of the process, in one line that does not grow without end.
func TestMeterReasons(t *testing.T) {
	m := newTestMeters("A", "B")
	m.add(1, point("A/a", 1), hundredMilliseconds)
	for i := range 2 * maxMeterReasons {
		s := newTestSource(1)
		s.process, s.pid, s.failure = session.ProcessID(i), 100+i, eventpipe.ErrNoSocket
		m.sources = append(m.sources, s)
	}
	m.sources[1].sessions = make([]*eventpipe.Session, 1)
	m.sources[1].failure, m.sources[1].lost[0], m.sources[1].dropped = nil, 7, 8
	if n := len(m.losses(true)); n != len(m.sources)-1 {
		t.Errorf("%d processes are lost", n)
	}
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
	s := newTestSource(1)
	s.add(0, make([]eventpipe.Point, maxWaitingPoints-1), nil, 0)
	s.add(0, make([]eventpipe.Point, 3), nil, 0)
	if len(s.points) != maxWaitingPoints || s.dropped != 2 {
		t.Errorf("%d points, %d dropped", len(s.points), s.dropped)
	}
}

// newTestSource has so many sessions, of no process.
func newTestSource(sessions int) *meterSource {
	return &meterSource{owner: map[string]int{}, lost: make([]uint64, sessions), troubles: make([][]string, sessions)}
}

// TestMeterSessions: what two sessions tell of the same event source counts once; each source has a session.
func TestMeterSessions(t *testing.T) {
	s := newTestSource(2)
	s.sessions = make([]*eventpipe.Session, 2)
	s.add(0, []eventpipe.Point{*point("A/a", 1)}, nil, 0)
	s.add(1, []eventpipe.Point{*point("B/b", 2), *point("A/a", 1)}, nil, 3)
	s.add(0, []eventpipe.Point{*point("B/b", 2), *point("A/a", 4)}, []string{"full"}, 2)
	var got []string
	for _, p := range s.points {
		got = append(got, fmt.Sprint(p.Name, "=", p.Value))
	}
	if want := []string{"A/a=1", "B/b=2", "A/a=4"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if silent := s.silent([]string{"A", "C", "B"}); !slices.Equal(silent, []string{"C"}) {
		t.Errorf("silent: %q", silent)
	}
	if said := s.said(); !slices.Equal(said, []string{"full", "the runtime had no room for 5 events"}) {
		t.Errorf("said: %q", said)
	}
}

// TestMeterStart: a process is asked only when its runtime has accepted the agent, and its version is known then.
func TestMeterStart(t *testing.T) {
	for _, x := range []struct {
		state wire.State
		major uint32
		begun bool
		why   error
	}{
		{wire.StateStarting, 0, false, errSilent},
		{wire.StateRecording, 4, true, errOldRuntime},
		{wire.StateShutDown, 4, true, errOldRuntime},
		{wire.StateShutDown, 9, true, errEnded},
		{wire.StateFailed, 9, true, nil},
	} {
		written := wiretest.New()
		written.Header.State, written.Header.RuntimeMajor = uint32(x.state), x.major
		path := filepath.Join(t.TempDir(), "1-1.arena")
		if err := written.Write(path); err != nil {
			t.Fatal(err)
		}
		a, err := arena.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		m := newTestMeters("A")
		m.addProcess(1, &measured{}, a, 1)
		if _, look := m.before(math.MaxInt64); !look {
			t.Errorf("state %d: it is not looked at", x.state)
		}
		m.look()
		_, again := m.before(math.MaxInt64)
		if s := m.sources[0]; s.begun != x.begun || again == x.begun || !errors.Is(s.why(true), x.why) {
			t.Errorf("state %d: begun %v, %v", x.state, s.begun, s.why(true))
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
}
