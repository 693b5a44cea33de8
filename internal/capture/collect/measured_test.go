package collect

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/testkit/wiretest"
	"github.com/clrprof/clrprof/internal/wire"
)

// numbers are what the counters said last, by what they are called.
func (m *meters) numbers() map[string]float64 {
	names := map[int64]string{}
	for _, c := range m.counters {
		names[c.ID] = c.Label()
	}
	out := map[string]float64{}
	for _, row := range m.rows {
		out[names[row.Counter]] = row.Number()
	}
	return out
}

func bitsOf(n float64) uint64 { return math.Float64bits(n) }

// TestMeasured: each kind of instrument has the counters that it should; of a histogram the mean is of what came since
// the last look, and what has measured nothing has no level.
func TestMeasured(t *testing.T) {
	counters := []wire.MeterCounter{
		{Kind: wire.MeterAdded, Whole: 1, Instrument: "added", Tags: "a=1"},
		{Kind: wire.MeterAdded, Instrument: "part"},
		{Kind: wire.MeterUpDown, Whole: 1, Instrument: "up"},
		{Kind: wire.MeterSet, Instrument: "set"},
		{Kind: wire.MeterTotal, Whole: 1, Instrument: "total"},
		{Kind: wire.MeterMeasured, Whole: 1, Instrument: "took"},
		{Kind: wire.MeterMeasured, Instrument: "never"},
	}
	minusThree := ^uint64(2)
	first := []wire.MeterValue{{Count: 1, Sum: 7}, {Count: 1, Sum: bitsOf(0.25)}, {Count: 2, Sum: minusThree},
		{Count: 1, Last: bitsOf(-1.5)}, {}, {Count: 2, Sum: 10, Min: 4, Max: 6}, {}}
	second := []wire.MeterValue{{Count: 2, Sum: math.MaxInt64}, {Count: 1, Sum: bitsOf(0.25)}, {Count: 2, Sum: minusThree},
		{Count: 2, Last: bitsOf(math.NaN())}, {Count: 1, Last: 9}, {Count: 4, Sum: 17, Min: 3, Max: 6}, {}}
	m := newTestMeters("Shop*")
	for i := range counters {
		counters[i].Meter = "Shop"
		m.addMeasured(1, &counters[i], &wire.MeterValue{}, &first[i], hundredMilliseconds)
	}
	want := map[string]float64{"Shop/added{a=1}": 7, "Shop/part": 0.25, "Shop/up": -3, "Shop/set": -1.5, "Shop/took": 5,
		"Shop/took.count": 2, "Shop/took.sum": 10, "Shop/took.min": 4, "Shop/took.max": 6, "Shop/never.count": 0,
		"Shop/never.sum": 0}
	if have := m.numbers(); !maps.Equal(have, want) {
		t.Errorf("%v, want %v", have, want)
	}
	for i := range counters {
		m.addMeasured(1, &counters[i], &first[i], &second[i], 2*hundredMilliseconds)
	}
	want["Shop/added{a=1}"], want["Shop/total"], want["Shop/took"] = math.MaxInt64, 9, 3.5
	want["Shop/took.count"], want["Shop/took.sum"], want["Shop/took.min"] = 4, 17, 3
	if have := m.numbers(); !maps.Equal(have, want) {
		t.Errorf("%v, want %v", have, want)
	}
	for _, row := range m.rows {
		if row.Counter == firstMeterCounter && row.Time > hundredMilliseconds && row.Value != math.MaxInt64 {
			t.Errorf("the greatest number became %+v", row)
		}
	}
	if !m.seen["Shop*"] {
		t.Error("the pattern is not known to have values")
	}
}

// TestMeasuredBesideEvents: a counter of a meter and one of an event source that are called alike are two.
func TestMeasuredBesideEvents(t *testing.T) {
	m := newTestMeters("A")
	m.add(1, point("A/a", 1), hundredMilliseconds)
	m.addMeasured(1, &wire.MeterCounter{Kind: wire.MeterAdded, Whole: 1, Meter: "A", Instrument: "a"},
		&wire.MeterValue{}, &wire.MeterValue{Count: 1, Sum: 2}, hundredMilliseconds)
	if have := m.numbers(); !maps.Equal(have, map[string]float64{"A/a": 1, "A/a (meter)": 2}) {
		t.Errorf("%v", have)
	}
}

// TestMeasuredAlike: instruments of one name with other units, and one that is called like a part of a histogram.
func TestMeasuredAlike(t *testing.T) {
	var s measured
	for i, c := range []wire.MeterCounter{{Kind: wire.MeterAdded, Instrument: "a"}, {Kind: wire.MeterAdded, Instrument: "a",
		Unit: "ms"}, {Kind: wire.MeterAdded, Instrument: "a", Tags: "x=1"}, {Kind: wire.MeterSet, Instrument: "took.sum"},
		{Kind: wire.MeterMeasured, Instrument: "took"}, {Kind: wire.MeterAdded, Instrument: "a", Unit: "s"}} {
		c.ID, c.Meter = uint32(i+1), "A"
		if err := s.addCounter(&c); err != nil {
			t.Fatal(err)
		}
	}
	var have []string
	for _, c := range s.counters {
		have = append(have, c.Instrument)
	}
	if want := []string{"a", "a (2)", "a", "took.sum", "took (2)", "a (3)"}; !slices.Equal(have, want) {
		t.Errorf("%q, want %q", have, want)
	}
}

// TestMeasuredCorrupt: records that no agent writes are refused.
func TestMeasuredCorrupt(t *testing.T) {
	for _, record := range []wire.MeterCounter{{ID: 2, Kind: wire.MeterSet}, {ID: 1}, {ID: 1, Kind: wire.MeterKinds}} {
		if err := (&measured{}).addCounter(&record); err == nil {
			t.Errorf("%+v is taken", record)
		}
	}
}

// TestMeasuredLast: the last values are those that the process left, also if it said that it ends before a sample was
// taken; without them nobody knows more than why.
func TestMeasuredLast(t *testing.T) {
	x, a := newRecording(t), wiretest.New()
	a.Add(wire.MeterState{State: wire.MeterWanted}, wire.MeterState{State: wire.MeterListening},
		wire.MeterCounter{ID: 1, Kind: wire.MeterAdded, Whole: 1, Meter: "Shop", Instrument: "orders"})
	a.MeterValues = []wire.MeterValue{{Count: 1, Sum: 41}}
	x.Recorder.alive = func(int) bool { return true }
	x.mustSync(a)
	x.Recorder.alive = func(int) bool { return false }
	a.MeterValues[0].Sum = 42
	a.Header.State, a.Header.EndNS = uint32(wire.StateShutDown), 5e8 // before the first look
	x.mustSync(a)
	rows, err := x.w.CounterValues()
	if err != nil || len(rows) != 2 || rows[0].Value != 41 || rows[1].Value != 42 || rows[1].Time <= rows[0].Time {
		t.Errorf("%+v, %v", rows, err)
	}
	for state, why := range map[uint32]string{wire.MeterOldRuntime: ".NET 8", wire.MeterNoFile: "cannot read",
		wire.MeterWanted: "startup hooks", wire.MeterListening: "", 0: ""} {
		err := (&measured{state: state}).why(true)
		if (err == nil) != (why == "") || err != nil && !strings.Contains(err.Error(), why) {
			t.Errorf("state %d: %v", state, err)
		}
	}
}

// TestMeasuredManyAlike: of as many instruments as there can be, all called alike, each has a number of its own, and a
// histogram between them one that none of its counters shares with another instrument.
func TestMeasuredManyAlike(t *testing.T) {
	var s measured
	tried := 0
	for i := range wire.MaxMeterCounters {
		record := wire.MeterCounter{ID: uint32(i + 1), Kind: wire.MeterAdded, Meter: "Shop", Instrument: "sold"}
		switch i {
		case 100: // its mean is called as the others are
			record.Kind = wire.MeterMeasured
		case 200:
			record.Instrument = "sold (300)"
		}
		if err := s.addCounter(&record); err != nil {
			t.Fatal(err)
		}
		if want := aliked[i]; want != "" {
			tried++
			if have := s.counters[i].Instrument; have != want {
				t.Errorf("instrument %d is called %q, want %q", i, have, want)
			}
		}
	}
	if tried != len(aliked) {
		t.Errorf("%d of %d names were compared", tried, len(aliked))
	}
}

// aliked are names of instruments in TestMeasuredManyAlike.
var aliked = map[int]string{0: "sold", 1: "sold (2)", 100: "sold (101)", 101: "sold (102)", 200: "sold (300)",
	299: "sold (299)", 300: "sold (301)", wire.MaxMeterCounters - 1: "sold (20000)"}
