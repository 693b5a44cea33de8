package analysis

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/differ"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// oneCall is a call, as a stopwatch around it would see it.
type oneCall struct {
	function, caller             session.FunctionID
	elapsed, application, ee, ae q.Nanoseconds // inclusive, and exclusive
	cpu, ce                      q.Nanoseconds // the same: half of what was waited was with a processor
}

// oneInterval is the time between two events, with the stack at its end.
type oneInterval struct {
	stack    []session.FunctionID
	line     int64 // at which the top called, 0: it ended
	duration q.Nanoseconds
	waited   bool
}

func (i *oneInterval) cpu() q.Nanoseconds {
	if i.waited {
		return i.duration - i.duration/2
	}
	return i.duration
}

// story is a program that was watched: every call and every interval by itself, and nothing added up.
type story struct {
	calls     []oneCall
	intervals []oneInterval
}

// watch makes up a run of n events of one thread with all calls ended, records it in b, and tells its story. The
// probes' cost is in what is recorded and not in the story.
func watch(t *rapid.T, b *sessiontest.Builder, thread session.ThreadID, functions []session.FunctionID, inside,
	outside q.Nanoseconds) *story {
	s := &story{}
	var open []*oneCall
	run := b.Run(thread)
	pass := func(cost q.Nanoseconds, line int64) sessiontest.Interval {
		i := oneInterval{line: line, duration: q.Nanoseconds(rapid.IntRange(0, 1000).Draw(t, "ns")),
			waited: rapid.IntRange(0, 3).Draw(t, "os") == 0}
		for k, c := range open {
			i.stack = append(i.stack, c.function)
			c.elapsed += i.duration
			c.cpu += i.cpu()
			if !i.waited {
				c.application += i.duration
			}
			if k == len(open)-1 {
				c.ce += i.cpu()
				c.ee += i.duration
				if !i.waited {
					c.ae += i.duration
				}
			}
		}
		s.intervals = append(s.intervals, i)
		return sessiontest.Interval{Elapsed: i.duration + cost, Waited: i.waited}
	}
	end := func() {
		run.End(pass(inside, 0))
		s.calls = append(s.calls, *open[len(open)-1])
		open = open[:len(open)-1]
	}
	for range rapid.IntRange(0, 60).Draw(t, "events") {
		if len(open) > 0 && rapid.IntRange(0, 99).Draw(t, "end") < 45 {
			end()
			continue
		}
		c := &oneCall{function: rapid.SampledFrom(functions).Draw(t, "function")}
		var line int64
		var i sessiontest.Interval
		if len(open) > 0 {
			c.caller = open[len(open)-1].function
			line = b.Functions[c.caller-1].Line + rapid.Int64Range(0, 2).Draw(t, "line")
			i = pass(outside, line)
		}
		run.Call(line, c.function, i)
		open = append(open, c)
	}
	for len(open) > 0 {
		end()
	}
	return s
}

// row is what the story says of a set of calls, which are of functions that in chooses, and of the time in which one of
// these was on the stack.
func (s *story) row(in func(session.FunctionID) bool, of func(*oneCall) bool) naiveRow {
	var r naiveRow
	for _, i := range s.intervals {
		t := q.Time{Elapsed: i.duration, Application: i.duration, CPU: i.cpu()}
		if i.waited {
			t.Application = 0
		}
		if slices.ContainsFunc(i.stack, in) {
			r.Inclusive = r.Inclusive.Add(t)
		}
		if in(i.stack[len(i.stack)-1]) {
			r.Exclusive = r.Exclusive.Add(t)
		}
	}
	for i := range s.calls {
		c := &s.calls[i]
		if !of(c) {
			continue
		}
		r.NodesElapsed += c.elapsed
		r.NodesApplication += c.application
		r.NodesCPU += c.cpu
		for _, v := range []struct {
			r *session.Range
			n q.Nanoseconds
		}{{&r.ElapsedInclusive, c.elapsed}, {&r.ElapsedExclusive, c.ee}, {&r.ApplicationInclusive, c.application},
			{&r.ApplicationExclusive, c.ae},
			{&r.CPUInclusive, c.cpu}, {&r.CPUExclusive, c.ce}} {
			if r.Calls == 0 {
				*v.r = session.Range{Min: v.n, Max: v.n}
			}
			v.r.Min, v.r.Max = min(v.r.Min, v.n), max(v.r.Max, v.n)
		}
		r.Calls++
	}
	return r
}

// onlyTimes leaves out what a story does not tell: what the system did, and what the probes took.
var onlyTimes = cmp.Options{cmpopts.IgnoreFields(q.Time{}, "Overhead", "Waits"), cmpopts.EquateEmpty()}

// TestTimesAgainstStory compares tables with the calls and intervals from which they came. This is the definition
// itself: each interval belongs to the stack at its end, and a call takes what a stopwatch around it shows.
func TestTimesAgainstStory(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		b := sessiontest.New()
		p := b.Process("Story", 1)
		inside := q.Nanoseconds(rapid.IntRange(0, 50).Draw(rt, "inside"))
		outside := q.Nanoseconds(rapid.IntRange(0, 50).Draw(rt, "outside"))
		b.Timed(p, float64(inside), float64(outside))
		modules := []session.ModuleID{b.Module(p, "A.dll", true), b.Module(p, "B.dll", true)}
		var functions []session.FunctionID
		for i := range 4 {
			functions = append(functions, b.Function(modules[i%2], "F()", "/src/a.cs", int64(10*(i+1))))
		}
		s := watch(rt, b, b.Thread(p, "main"), functions, inside, outside)
		file := open(rt, b, filepath.Join(dir, "a"))
		defer file.Close()
		if found, err := Check(file); err != nil || len(found) > 0 {
			rt.Fatal(found, err)
		}
		s.compare(rt, b, file)
	})
}

func (s *story) compare(t *rapid.T, b *sessiontest.Builder, file *session.Session) {
	v, err := Open(file, Selection{})
	if err != nil {
		t.Fatal(err)
	}
	functions, err := v.FunctionTimes()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range b.Functions {
		want := s.row(func(id session.FunctionID) bool { return id == f.ID }, func(c *oneCall) bool {
			return c.function == f.ID
		})
		var got naiveRow
		for _, r := range functions {
			if r.Function == f.ID {
				got = naiveRow{TimeValue: r.TimeValue, SingleCalls: r.SingleCalls}
			}
		}
		if diff := differ.Of(want, got, onlyTimes); diff != "" {
			t.Errorf("function %d (-story +derived):\n%s", f.ID, diff)
		}
	}
	modules, err := v.ModuleTimes()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range modules {
		in := func(id session.FunctionID) bool { return b.Functions[id-1].Module == r.Module }
		if diff := differ.Of(s.row(in, func(c *oneCall) bool {
			return in(c.function)
		}), naiveRow{TimeValue: r.TimeValue, SingleCalls: r.SingleCalls}, onlyTimes); diff != "" {
			t.Errorf("module %d (-story +derived):\n%s", r.Module, diff)
		}
	}
	everything := s.row(func(session.FunctionID) bool { return true }, func(*oneCall) bool { return true })
	total, err := v.TotalTime()
	if diff := differ.Of(everything.TimeValue, total, onlyTimes); diff != "" || err != nil {
		t.Errorf("total (-story +derived): %v\n%s", err, diff)
	}
	lines, err := v.LineTimes()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range lines {
		if r.Line == 0 {
			continue
		}
		var own q.Time
		var made q.Count
		for _, i := range s.intervals {
			if i.stack[len(i.stack)-1] == r.Function && i.line == b.Lines[r.Line-1].LineBegin {
				made++
				own.Elapsed += i.duration
			}
		}
		if r.Calls != made || r.Exclusive.Elapsed != own.Elapsed {
			t.Errorf("line %d: %d calls in %d ns, want %d in %d", r.Line, r.Calls, r.Exclusive.Elapsed, made,
				own.Elapsed)
		}
	}
	calls, err := v.CallTimes()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range calls {
		want := s.row(func(session.FunctionID) bool { return false }, func(c *oneCall) bool {
			return c.function == r.Callee && c.caller == r.Caller
		})
		var own q.Nanoseconds
		for _, c := range s.calls {
			if c.function == r.Callee && c.caller == r.Caller {
				own += c.ee
			}
		}
		if diff := differ.Of(want.SingleCalls, r.SingleCalls, onlyTimes); diff != "" || r.Calls != want.Calls ||
			r.Exclusive.Elapsed != own {
			t.Errorf("call %d → %d (-story +derived): %d calls, want %d; %d ns, want %d\n%s", r.Caller, r.Callee,
				r.Calls, want.Calls, r.Exclusive.Elapsed, own, diff)
		}
	}
}
