package analysis

import (
	"math"
	"math/big"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/clrprof/clrprof/internal/capture/instrument"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/differ"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// naiveRow is what a row of a derived table of times holds.
type naiveRow struct {
	session.TimeValue
	session.SingleCalls
	List []session.Extremes // of the naive way: those of the calls, until all are there
}

// extremes replaces the list by its smallest and largest values.
func (r naiveRow) extremes() naiveRow {
	for i, e := range r.List {
		if i == 0 {
			r.Extremes = e
		}
		for _, p := range [][2]*session.Range{{&r.ElapsedInclusive, &e.ElapsedInclusive},
			{&r.ElapsedExclusive, &e.ElapsedExclusive},
			{&r.ApplicationInclusive, &e.ApplicationInclusive}, {&r.ApplicationExclusive, &e.ApplicationExclusive},
			{&r.CPUInclusive, &e.CPUInclusive}, {&r.CPUExclusive, &e.CPUExclusive}} {
			p[0].Min, p[0].Max = min(p[0].Min, p[1].Min), max(p[0].Max, p[1].Max)
		}
	}
	r.List = nil
	return r
}

// naiveTimes computes tables of times one timing after the other: it walks from the timing's node to the root and adds
// to everything on the way, as the definitions in docs/metrics.md do.
type naiveTimes struct {
	b            *sessiontest.Builder
	paths        map[string]naiveRow
	calls        map[[2]session.FunctionID]naiveRow
	functions    map[session.FunctionID]naiveRow
	modules      map[session.ModuleID]naiveRow
	lines        map[naiveLine]naiveRow
	instructions map[session.InstructionID]naiveRow
	threads      map[session.ThreadID]naiveRow
	processes    map[session.ProcessID]naiveRow
	set          map[int]naiveRow // 0: the functions that in says
	in           func(session.FunctionID) bool
}

type naiveLine struct {
	function session.FunctionID
	line     session.LineID
}

// naiveCorrect is the correction of one timing with exact fractions.
func naiveCorrect(v session.TimingValue, p session.ProcessTime) q.Time {
	round := func(r *big.Rat) int64 { // half away from zero
		half := big.NewRat(1, 2)
		r = new(big.Rat).Add(r, half)
		return new(big.Int).Div(r.Num(), r.Denom()).Int64()
	}
	product := func(n q.Count, each float64) int64 {
		return round(new(big.Rat).Mul(big.NewRat(int64(n), 1), new(big.Rat).SetFloat64(each)))
	}
	t := q.Time{Waits: v.Waits}
	t.Overhead = min(v.Elapsed, q.Nanoseconds(product(v.Ended, p.Inside)+product(v.Made, p.Outside)))
	t.Elapsed = v.Elapsed - t.Overhead
	own := q.Nanoseconds(0)
	if all := int64(v.Ended + v.Made); all > 0 {
		own = q.Nanoseconds(round(big.NewRat(int64(t.Overhead)*(all-int64(v.Intervals)), all)))
	}
	t.Application = v.Elapsed - v.Waited - own
	if t.Application < 0 {
		t.Application = 0
	}
	if t.Application > t.Elapsed {
		t.Application = t.Elapsed
	}
	t.CPU = t.Elapsed - v.OffCPU
	if t.CPU < t.Application {
		t.CPU = t.Application
	}
	return t
}

// naiveCounted is what CPU counters counted, without what the probes of a process added to them.
func naiveCounted(b *sessiontest.Builder, process session.ProcessID, n q.Counters, v session.TimingValue) q.Counters {
	for _, c := range b.CPUCounters {
		if c.Process == process {
			added := q.Count(math.Round(float64(v.Ended)*c.Inside) + math.Round(float64(v.Made)*c.Outside))
			n[c.Position-1] = max(0, n[c.Position-1]-added)
		}
	}
	return n
}

// once adds to the inclusive time of a key that was not seen yet, and always to the time of single calls.
func onceTime[K comparable](m map[K]naiveRow, seen map[K]bool, k K, t q.Time) {
	r := m[k]
	if !seen[k] {
		r.Inclusive = r.Inclusive.Add(t)
	}
	seen[k] = true
	r.NodesElapsed += t.Elapsed
	r.NodesApplication += t.Application
	r.NodesCPU += t.CPU
	m[k] = r
}

func topTime[K comparable](m map[K]naiveRow, k K, t q.Time, calls, running q.Count, extremes []session.Extremes) {
	r := m[k]
	r.Exclusive = r.Exclusive.Add(t)
	r.Calls += calls
	r.Running += running
	r.List = append(r.List, extremes...)
	m[k] = r
}

// place is where in a function a node is: an instruction, and a line or the body.
func (v *naiveTimes) place(n session.Node) (session.InstructionID, naiveLine) {
	at := naiveLine{function: n.Function}
	if n.Instruction != 0 {
		at.line = v.b.Instructions[n.Instruction-1].Line
	}
	return n.Instruction, at
}

func (v *naiveTimes) add(timing session.Timing, t q.Time, sum session.TimingValue, running q.Count,
	extremes []session.Extremes) {
	var stack []session.Node // root first
	for n := timing.Node; n != 0; n = v.b.Nodes[n-1].Parent {
		stack = append([]session.Node{v.b.Nodes[n-1]}, stack...)
	}
	functions, calls, paths := map[session.FunctionID]bool{}, map[[2]session.FunctionID]bool{}, map[string]bool{}
	modules, lines, instructions, sets :=
		map[session.ModuleID]bool{}, map[naiveLine]bool{}, map[session.InstructionID]bool{}, map[int]bool{}
	for i, n := range stack {
		call := [2]session.FunctionID{0, n.Function}
		if i > 0 {
			call[0] = stack[i-1].Function
		}
		module := v.b.Functions[n.Function-1].Module
		instruction, line := v.place(n)
		onceTime(v.functions, functions, n.Function, t)
		onceTime(v.calls, calls, call, t)
		onceTime(v.paths, paths, pathKey(stack[:i+1]), t)
		onceTime(v.modules, modules, module, t)
		onceTime(v.lines, lines, line, t)
		onceTime(v.instructions, instructions, instruction, t)
		if v.in(n.Function) {
			onceTime(v.set, sets, 0, t)
		}
		if i == len(stack)-2 && running != 0 { // who called what runs
			topTime(v.instructions, instruction, q.Time{}, 0, running, nil)
			if line.line != 0 {
				topTime(v.lines, line, q.Time{}, 0, running, nil)
			}
		}
		if i < len(stack)-1 {
			continue
		}
		topTime(v.functions, n.Function, t, sum.Calls, running, extremes)
		topTime(v.calls, call, t, sum.Calls, running, extremes)
		topTime(v.paths, pathKey(stack), t, sum.Calls, running, extremes)
		topTime(v.modules, module, t, sum.Calls, running, extremes)
		topTime(v.instructions, instruction, t, sum.Made, 0, nil)
		if v.in(n.Function) {
			topTime(v.set, 0, t, sum.Calls, running, extremes)
		}
		if line.line != 0 {
			topTime(v.lines, line, t, sum.Made, 0, nil)
		} else {
			topTime(v.lines, line, t, sum.Calls, running, nil)
		}
	}
	topTime(v.threads, timing.Thread, t, sum.Calls, running, nil)
	topTime(v.processes, v.b.Threads[timing.Thread-1].Process, t, sum.Calls, running, nil)
}

// newNaiveTimes computes the tables of the part of b that the filter lets through.
func newNaiveTimes(b *sessiontest.Builder, f Selection, in func(session.FunctionID) bool) *naiveTimes {
	v := &naiveTimes{b, map[string]naiveRow{}, map[[2]session.FunctionID]naiveRow{}, map[session.FunctionID]naiveRow{},
		map[session.ModuleID]naiveRow{},
		map[naiveLine]naiveRow{}, map[session.InstructionID]naiveRow{}, map[session.ThreadID]naiveRow{},
		map[session.ProcessID]naiveRow{}, map[int]naiveRow{}, in}
	to := f.To
	if to == 0 {
		to = 1 << 60
	}
	for _, timing := range b.Timings {
		process := b.Threads[timing.Thread-1].Process
		if !f.HasThread(&b.Threads[timing.Thread-1]) {
			continue
		}
		var sum session.TimingValue
		var running q.Count
		for _, r := range b.TimingValues {
			begin, end := q.Nanoseconds(100*(r.Slice-1)), q.Nanoseconds(100*r.Slice)
			if r.Timing != timing.ID {
				continue
			}
			if begin < to {
				running += r.Calls - r.Ended
			}
			if max(begin, f.From) >= min(end, to) {
				continue
			}
			sum.Calls, sum.Ended, sum.Made = sum.Calls+r.Calls, sum.Ended+r.Ended, sum.Made+r.Made
			sum.Elapsed, sum.Waited, sum.Waits = sum.Elapsed+r.Elapsed, sum.Waited+r.Waited, sum.Waits.Add(r.Waits)
		}
		var counted q.Counters
		for _, r := range b.TimingCounts {
			begin, end := q.Nanoseconds(100*(r.Slice-1)), q.Nanoseconds(100*r.Slice)
			if r.Timing == timing.ID && max(begin, f.From) < min(end, to) {
				counted = counted.Add(r.Counters)
			}
		}
		var extremes []session.Extremes
		for _, e := range b.TimingExtremes {
			if e.Timing == timing.ID && f.From == 0 && f.To == 0 {
				extremes = append(extremes, e.Extremes)
			}
		}
		for _, p := range b.ProcessTimes {
			if p.Process == process {
				t := naiveCorrect(sum, p)
				t.Counters = naiveCounted(b, process, counted, sum)
				v.add(timing, t, sum, running, extremes)
			}
		}
	}
	return v
}

// compare leaves out what is zero, but for paths that have others below.
func (v *naiveTimes) compare(t *rapid.T, d *session.Derived) {
	single := func(m naiveRow) naiveRow { return naiveRow{TimeValue: m.TimeValue} }
	diffTimes(t, "calls", v.calls, d.CallTimes, func(r session.CallTime) ([2]session.FunctionID, naiveRow) {
		return [2]session.FunctionID{r.Caller, r.Callee}, naiveRow{TimeValue: r.TimeValue, SingleCalls: r.SingleCalls}
	}, nil)
	diffTimes(t, "functions", v.functions, d.FunctionTimes,
		func(r session.FunctionTime) (session.FunctionID, naiveRow) {
			return r.Function, naiveRow{TimeValue: r.TimeValue, SingleCalls: r.SingleCalls}
		}, nil)
	diffTimes(t, "modules", v.modules, d.ModuleTimes, func(r session.ModuleTime) (session.ModuleID, naiveRow) {
		return r.Module, naiveRow{TimeValue: r.TimeValue, SingleCalls: r.SingleCalls}
	}, nil)
	diffTimes(t, "lines", v.lines, d.LineTimes, func(r session.LineTime) (naiveLine, naiveRow) {
		return naiveLine{r.Function, r.Line}, naiveRow{TimeValue: r.TimeValue}
	}, single)
	delete(v.instructions, 0)
	diffTimes(t, "instructions", v.instructions, d.InstructionTimes,
		func(r session.InstructionTime) (session.InstructionID, naiveRow) {
			return r.Instruction, naiveRow{TimeValue: r.TimeValue}
		}, single)
	total := func(m naiveRow) naiveRow { m.Inclusive = m.Exclusive; return m }
	diffTimes(t, "threads", v.threads, d.ThreadTimes, func(r session.ThreadTime) (session.ThreadID, naiveRow) {
		return r.Thread, naiveRow{TimeValue: r.TimeValue}
	}, total)
	diffTimes(t, "processes", v.processes, d.ProcessTimes, func(r session.ProcessTimeValue) (session.ProcessID,
		naiveRow) {
		return r.Process, naiveRow{TimeValue: r.TimeValue}
	}, total)
	keys := map[session.PathID]string{}
	for _, p := range d.PathTimes {
		keys[p.ID] = keys[p.Parent] + string(rune('A'+p.Function))
	}
	for _, p := range d.Paths { // one id for both
		if key, ok := keys[p.ID]; ok && key != keys[p.Parent]+string(rune('A'+p.Function)) {
			t.Errorf("path %d is another in times", p.ID)
		}
		keys[p.ID] = keys[p.Parent] + string(rune('A'+p.Function))
	}
	diffTimes(t, "paths", v.paths, d.PathTimes, func(r session.PathTime) (string, naiveRow) {
		return keys[r.ID], naiveRow{TimeValue: r.TimeValue, SingleCalls: r.SingleCalls}
	}, nil)
}

func diffTimes[K comparable, Row any](t *rapid.T, what string, want map[K]naiveRow, rows []Row,
	kv func(Row) (K, naiveRow), simplify func(naiveRow) naiveRow) {
	got := asMap(rows, kv)
	for k, r := range want {
		want[k] = r.extremes()
		if simplify != nil {
			want[k] = simplify(r)
		}
	}
	for _, m := range []map[K]naiveRow{want, got} {
		for k, r := range m {
			if r.TimeValue == (session.TimeValue{}) {
				delete(m, k)
			}
		}
	}
	if diff := differ.Of(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s (-naive +derived):\n%s", what, diff)
	}
}

// randomTimes is sessiontest.RandomTimes, at times with probes that take more than what they measure.
func randomTimes(t *rapid.T) *sessiontest.Builder {
	b := sessiontest.RandomTimes(rapid.Uint64().Draw(t, "seed"))
	if rapid.Bool().Draw(t, "other probes") {
		for i := range b.ProcessTimes { // in eighths, which products of floating-point numbers hold exactly
			b.ProcessTimes[i].Inside = float64(rapid.IntRange(0, 8000).Draw(t, "inside")) / 8
			b.ProcessTimes[i].Outside = float64(rapid.IntRange(0, 8000).Draw(t, "outside")) / 8
		}
	}
	if rapid.Bool().Draw(t, "counters") {
		addCounters(t, b)
	}
	return b
}

// addCounters adds two CPU counters, of which one has no overhead.
func addCounters(t *rapid.T, b *sessiontest.Builder) {
	for _, p := range b.ProcessTimes {
		b.CPUCounters = append(b.CPUCounters, session.CPUCounter{Process: p.Process, Position: 1, Name: "page-faults",
			Unit: "count"}, session.CPUCounter{Process: p.Process, Position: 2, Name: "task-clock", Unit: "ns",
			Inside:  float64(rapid.IntRange(0, 80).Draw(t, "counted inside")) / 8,
			Outside: float64(rapid.IntRange(0, 80).Draw(t, "counted outside")) / 8})
	}
	some := rapid.IntRange(0, 100)
	for _, v := range b.TimingValues {
		b.TimingCounts = append(b.TimingCounts, session.TimingCount{Slice: v.Slice, Timing: v.Timing,
			Counters: q.Counters{q.Count(some.Draw(t, "faults")), q.Count(some.Draw(t, "ns"))}})
	}
}

func TestTimesAgainstNaive(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		b := randomTimes(rt)
		s := open(rt, b, filepath.Join(dir, "a"))
		defer s.Close()
		f := Selection{}
		if rapid.Bool().Draw(rt, "filtered") {
			f = drawSelection(rt, b)
		}
		d, err := Load(s)
		if err != nil {
			rt.Fatal(err)
		}
		derived, err := part(rt, d, f).Derive()
		if err != nil {
			rt.Fatal(err)
		}
		pattern := rapid.SampledFrom([]string{"M0.dll", "M1", "*", "Raw.Type.Raw", "nothing"}).Draw(rt, "pattern")
		rules := instrument.NewRules([]string{pattern}, nil)
		want := newNaiveTimes(b, f, func(id session.FunctionID) bool {
			module := ""
			if m := b.Functions[id-1].Module; m != 0 {
				module = b.Modules[m-1].Name
			}
			return rules.Keeps(module, b.Functions[id-1].RawType, b.Functions[id-1].RawName)
		})
		want.compare(rt, derived)
		got, err := part(rt, d, f).Range(pattern)
		if err != nil {
			rt.Fatal(err)
		}
		if diff := differ.Of(want.set[0].extremes(),
			naiveRow{TimeValue: got.Time, SingleCalls: got.Single}); diff != "" {
			rt.Errorf("range %s (-naive +derived):\n%s", pattern, diff)
		}
		if memory := naiveRange(b, f, want.in); got.Memory != memory {
			rt.Errorf("range %s: %+v allocated, want %+v", pattern, got.Memory, memory)
		}
		for _, id := range got.Functions {
			if !want.in(id) {
				rt.Errorf("function %d is not in the range", id)
			}
		}
	})
}

// naiveRange is what was allocated with a function of a set on the stack, and at its top.
func naiveRange(b *sessiontest.Builder, f Selection, in func(session.FunctionID) bool) q.Amounts {
	var out q.Amounts
	for _, r := range b.SiteValues {
		if !isIn(b, f, r) {
			continue
		}
		node := b.Sites[r.Site-1].Node
		if in(b.Nodes[node-1].Function) {
			out.Exclusive = out.Exclusive.Add(r.Amount)
		}
		for ; node != 0; node = b.Nodes[node-1].Parent {
			if in(b.Nodes[node-1].Function) {
				out.Inclusive = out.Inclusive.Add(r.Amount)
				break
			}
		}
	}
	return out
}
