package analysis

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/differ"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// four are the four values of time, in nanoseconds.
type four struct{ ei, ee, ai, ae q.Nanoseconds }

func fourOf(t q.Times) four {
	return four{t.Inclusive.Elapsed, t.Exclusive.Elapsed, t.Inclusive.Application, t.Exclusive.Application}
}

// ran is an interval in which the operating system did nothing, waits one in which it did.
func ran(n q.Nanoseconds) sessiontest.Interval { return sessiontest.Interval{Elapsed: n} }
func waits(n q.Nanoseconds) sessiontest.Interval {
	return sessiontest.Interval{Elapsed: n, Waited: true}
}

// program is a process with one module of functions A, B, C … at lines 10, 20, 30 …, and threads as they are asked for.
func program(inside, outside float64, functions int) (*sessiontest.Builder, session.ProcessID) {
	b := sessiontest.New()
	p := b.Process("Program", 1)
	b.Timed(p, inside, outside)
	m := b.Module(p, "Program.dll", true)
	for i := range functions {
		b.Function(m, "P."+string(rune('A'+i))+"()", "/src/p.cs", int64(10*(i+1)))
	}
	return b, p
}

// derive computes all tables, after a check of the session.
func derive(t *testing.T, b *sessiontest.Builder, f Selection) *session.Derived {
	t.Helper()
	s := open(t, b, filepath.Join(t.TempDir(), "a"))
	defer s.Close()
	if found, err := Check(s); err != nil || len(found) > 0 {
		t.Fatal(found, err)
	}
	d, err := Load(s)
	if err != nil {
		t.Fatal(err)
	}
	derived, err := part(t, d, f).Derive()
	if err != nil {
		t.Fatal(err)
	}
	return derived
}

// TestFourValues is the table of the four data values: an interval counts in the inclusive values of every function on
// the stack at its end, in the exclusive ones of the function that executed, and in those of application time if the
// operating system did nothing in it.
func TestFourValues(t *testing.T) {
	b, p := program(0, 0, 2)
	b.Run(b.Thread(p, "main")).
		Call(0, 1, ran(0)).
		Call(11, 2, ran(1)).     // A, no event
		End(ran(10)).            // B, no event
		Call(12, 2, waits(100)). // A, event
		End(waits(1000)).        // B, event
		End(ran(10_000))         // A, no event
	want := map[session.FunctionID]four{
		1: {11_111, 10_101, 10_011, 10_001},
		2: {1010, 1010, 10, 10},
	}
	got := asMap(derive(t, b, Selection{}).FunctionTimes, func(r session.FunctionTime) (session.FunctionID, four) {
		return r.Function, fourOf(r.Times)
	})
	if diff := differ.Of(want, got, cmp.AllowUnexported(four{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestRecursion: A calls itself twice over, then B and A call each other.
func TestRecursion(t *testing.T) {
	b, p := program(0, 0, 2)
	b.Run(b.Thread(p, "main")).
		Call(0, 1, ran(0)).Call(11, 1, ran(1)).Call(11, 1, ran(2)).End(ran(4)).End(ran(8)).End(ran(16))
	b.Run(b.Thread(p, "other")).
		Call(0, 2, ran(0)).Call(21, 1, ran(100)).Call(11, 2, ran(200)).Call(21, 1,
		ran(400)).End(ran(800)).End(ran(1600)).End(ran(3200)).End(ran(6400))
	type row struct {
		calls            q.Count
		ei, ee, nodes    q.Nanoseconds
		minEI, maxEI     q.Nanoseconds
		minExcl, maxExcl q.Nanoseconds
	}
	of := func(v session.TimeValue, s session.SingleCalls) row {
		return row{v.Calls, v.Inclusive.Elapsed, v.Exclusive.Elapsed, s.NodesElapsed, s.ElapsedInclusive.Min,
			s.ElapsedInclusive.Max, s.ElapsedExclusive.Min, s.ElapsedExclusive.Max}
	}
	d := derive(t, b, Selection{})
	// On main A is on the stack for all 31 ns, and its calls took 31, 14 and 4, each with those in it.
	// On other B is on the stack for all 12,700 ns, A for all but the first 100 and the last 6400.
	wantFunctions := map[session.FunctionID]row{
		1: {5, 31 + 6200, 31 + 200 + 3200 + 800, 31 + 14 + 4 + 6200 + 800, 4, 6200, 4, 3400},
		2: {2, 12_700, 6500 + 400 + 1600, 12_700 + 2800, 2800, 12_700, 2000, 6500},
	}
	wantCalls := map[[2]session.FunctionID]row{
		{0, 1}: {1, 31, 17, 31, 31, 31, 17, 17},
		{1, 1}: {2, 14, 14, 18, 4, 14, 4, 10},
		{0, 2}: {1, 12_700, 6500, 12_700, 12_700, 12_700, 6500, 6500},
		{2, 1}: {2, 6200, 4200, 6200 + 800, 800, 6200, 800, 3400},
		{1, 2}: {1, 2800, 2000, 2800, 2800, 2800, 2000, 2000},
	}
	functions := asMap(d.FunctionTimes, func(r session.FunctionTime) (session.FunctionID, row) {
		return r.Function, of(r.TimeValue, r.SingleCalls)
	})
	calls := asMap(d.CallTimes, func(r session.CallTime) ([2]session.FunctionID, row) {
		return [2]session.FunctionID{r.Caller, r.Callee}, of(r.TimeValue, r.SingleCalls)
	})
	if diff := differ.Of(wantFunctions, functions, cmp.AllowUnexported(row{})); diff != "" {
		t.Errorf("functions (-want +got):\n%s", diff)
	}
	if diff := differ.Of(wantCalls, calls, cmp.AllowUnexported(row{})); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if m := d.ModuleTimes[0]; of(m.TimeValue, m.SingleCalls) != (row{7, 12_731, 12_731, 31 + 14 + 4 + 12_700 + 6200 +
		2800 + 800, 4, 12_700, 4, 6500}) {
		t.Errorf("module: %+v", m)
	}
	// Line 11 of A calls A twice on main, where it is on the stack twice for 14 ns that count once, and B on other.
	lines := asMap(d.LineTimes, func(r session.LineTime) ([2]int64, row) {
		line := int64(0)
		if r.Line != 0 {
			line = b.Lines[r.Line-1].LineBegin
		}
		return [2]int64{int64(r.Function), line}, row{r.Calls, r.Inclusive.Elapsed, r.Exclusive.Elapsed, 0, 0, 0, 0, 0}
	})
	wantLines := map[[2]int64]row{
		{1, 0}:  {5, 28 + 800 + 3200, 28 + 800 + 3200, 0, 0, 0, 0, 0},
		{1, 11}: {3, 15 + 3000, 3 + 200, 0, 0, 0, 0, 0},
		{2, 0}:  {2, 8000, 8000, 0, 0, 0, 0, 0},
		{2, 21}: {2, 6300, 500, 0, 0, 0, 0, 0},
	}
	if diff := differ.Of(wantLines, lines, cmp.AllowUnexported(row{})); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

// TestTimedSample has the numbers of the sample, added up by hand.
func TestTimedSample(t *testing.T) {
	d := derive(t, sessiontest.Timed(), Selection{})
	type row struct {
		calls, running q.Count
		four
		overhead, minEI, maxEI q.Nanoseconds
	}
	got := asMap(d.FunctionTimes, func(r session.FunctionTime) (session.FunctionID, row) {
		return r.Function, row{r.Calls, r.Running, fourOf(r.Times), r.Exclusive.Overhead, r.ElapsedInclusive.Min,
			r.ElapsedInclusive.Max}
	})
	const sleep, open = 100_000_000, 300_000_000 // one sleep ended, one was going on
	want := map[session.FunctionID]row{
		1: {1, 0, four{2100 + 1000 + 100 + sleep, 2100, 3200, 2100}, 70, sleep + 3200, sleep + 3200},
		2: {4, 1, four{1000 + 1100 + open, 2000, 2100, 2000}, 70, 100, 900}, // Work in Work: once
		3: {2, 1, four{200 + sleep + open, 200, 200, 200}, 50, sleep + 100, sleep + 100},
		4: {2, 1, four{sleep + open, sleep + open, 0, 0}, 10, sleep, sleep},
	}
	if diff := differ.Of(want, got, cmp.AllowUnexported(row{}, four{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if p := d.ProcessTimes[0]; fourOf(p.Times) != (four{sleep + open + 4300, sleep + open + 4300, 4300, 4300}) ||
		p.Calls != 9 || p.Running != 3 {
		t.Errorf("process: %+v", p)
	}
	if s := d.FunctionTimes[3].Exclusive.Waits; s != (q.Waits{Intervals: 1, Voluntary: 1, OffCPU: sleep + open,
		Blocked: sleep}) {
		t.Errorf("waits of Sleep: %+v", s)
	}
}

// TestTimesInSlices: the first half of the sample, in which Main calls Work and is still running.
func TestTimesInSlices(t *testing.T) {
	d := derive(t, sessiontest.Timed(), Selection{To: 500_000_000})
	type row struct {
		calls, running q.Count
		four
	}
	got := asMap(d.FunctionTimes, func(r session.FunctionTime) (session.FunctionID, row) {
		if r.Extremes != (session.Extremes{}) {
			t.Errorf("function %d has a minimum and a maximum of a part of the run", r.Function)
		}
		return r.Function, row{r.Calls, r.Running, fourOf(r.Times)}
	})
	want := map[session.FunctionID]row{1: {1, 1, four{2500, 1500, 2500, 1500}}, 2: {3, 0, four{1000, 1000, 1000, 1000}}}
	if diff := differ.Of(want, got, cmp.AllowUnexported(row{}, four{})); diff != "" {
		t.Errorf("first half (-want +got):\n%s", diff)
	}
	// One thread of the second half, in which no call of Main begins; what runs at its end is known.
	d = derive(t, sessiontest.Timed(), Selection{From: 500_000_000, Threads: []session.ThreadID{2}})
	got = asMap(d.FunctionTimes, func(r session.FunctionTime) (session.FunctionID, row) {
		return r.Function, row{r.Calls, r.Running, fourOf(r.Times)}
	})
	const open = 300_000_000
	want = map[session.FunctionID]row{2: {1, 1, four{open + 1100, 1000, 1100, 1000}},
		3: {1, 1, four{open + 100, 100, 100, 100}}, 4: {1, 1, four{open, open, 0, 0}}}
	if diff := differ.Of(want, got, cmp.AllowUnexported(row{}, four{})); diff != "" {
		t.Errorf("worker (-want +got):\n%s", diff)
	}
}

// TestCorrect has timings with the result by hand.
func TestCorrect(t *testing.T) {
	p := probes{inside: 1.5, outside: 20}
	for _, c := range []struct {
		what string
		m    measured
		want [3]q.Nanoseconds // elapsed, application, overhead
	}{
		{"nothing", measured{}, [3]q.Nanoseconds{}},
		{"tails: 3 × 1.5 is rounded up", measured{ended: 3, elapsed: 105}, [3]q.Nanoseconds{100, 100, 5}},
		{"leads", measured{made: 2, elapsed: 140}, [3]q.Nanoseconds{100, 100, 40}},
		{"both", measured{ended: 2, made: 2, elapsed: 143}, [3]q.Nanoseconds{100, 100, 43}},
		{"less than the probes' part", measured{made: 2, elapsed: 30}, [3]q.Nanoseconds{0, 0, 30}},
		{"one of two waited: the other's probe is in application time",
			measured{made: 2, elapsed: 1140, waited: 1000, Waits: q.Waits{Intervals: 1}},
			[3]q.Nanoseconds{1100, 120, 40}},
		{"all waited", measured{made: 2, elapsed: 140, waited: 140, Waits: q.Waits{Intervals: 2}},
			[3]q.Nanoseconds{100, 0, 40}},
		{"what did not wait is less than its probe",
			measured{made: 2, elapsed: 140, waited: 130, Waits: q.Waits{Intervals: 1}}, [3]q.Nanoseconds{100, 0, 40}},
		{"what waited is less than its probe: no more than elapsed",
			measured{made: 2, elapsed: 140, waited: 10, Waits: q.Waits{Intervals: 1}}, [3]q.Nanoseconds{100, 100, 40}},
		{"the open interval", measured{calls: 1, elapsed: 100, waited: 100}, [3]q.Nanoseconds{100, 0, 0}},
		{"huge numbers", measured{made: 1 << 40, elapsed: 1 << 50, Waits: q.Waits{Intervals: 1 << 39}, waited: 1 << 49},
			[3]q.Nanoseconds{1<<50 - 20<<40, 1<<49 - 10<<40, 20 << 40}},
	} {
		got := c.m.correct(p)
		if (got.Elapsed != c.want[0]) || got.Application != c.want[1] || got.Overhead != c.want[2] ||
			got.Waits != c.m.Waits {
			t.Errorf("%s: %d, %d, %d, want %v", c.what, got.Elapsed, got.Application, got.Overhead, c.want)
		}
	}
}

// TestCorrectNonsense: whatever a damaged session says, nothing panics, and overhead is in a range that can be added
// up.
func TestCorrectNonsense(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := func(name string) int64 { return rapid.Int64().Draw(t, name) }
		m := measured{ended: q.Count(n("ended")), made: q.Count(n("made")), elapsed: q.Nanoseconds(n("elapsed")),
			waited: q.Nanoseconds(n("waited")),
			Waits:  q.Waits{Intervals: q.Count(n("intervals"))}}
		c := m.correct(probes{inside: rapid.Float64().Draw(t, "inside"),
			outside: rapid.Float64().Draw(t, "outside")})
		if c.Overhead < 0 || c.Overhead > max(m.elapsed, 0) || c.Application > c.Elapsed {
			t.Errorf("%+v of %+v", c.Time, m)
		}
	})
}

// TestRange: a set of functions has what one function would have that had all of their code.
func TestRange(t *testing.T) {
	s := open(t, sessiontest.Timed(), filepath.Join(t.TempDir(), "a"))
	defer s.Close()
	v, err := Open(s, Selection{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		pattern   string
		functions int
		calls     q.Count
		want      four
	}{
		{"Clock", 3, 7, four{400_004_300, 4300, 4300, 4300}},     // with Sleep below
		{"System.*", 1, 2, four{400_000_000, 400_000_000, 0, 0}}, // the framework's module
		{"*", 4, 9, four{400_004_300, 400_004_300, 4300, 4300}},  // everything
		{"nothing", 0, 0, four{}},
	} {
		r, err := v.Range(c.pattern)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Functions) != c.functions || r.Time.Calls != c.calls || fourOf(r.Time.Times) != c.want {
			t.Errorf("%s: functions %v, %d calls, %+v, want %+v", c.pattern, r.Functions, r.Time.Calls,
				fourOf(r.Time.Times), c.want)
		}
	}
	if _, err := Open(s, Selection{Threads: []session.ThreadID{9}}); !errors.Is(err, ErrNoThread) {
		t.Error(err)
	}
}
