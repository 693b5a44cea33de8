package report

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// flat is a program of which no line does much. Main calls Run, which calls a user function by code of the framework and
// one itself: each works in many lines. Last is called from two places, with too little in each to be named.
type flat struct {
	*sessiontest.Builder
	thread                       session.ThreadID
	thing                        session.TypeID
	main, run, invoke, last, not session.FunctionID
	calls                        []session.FunctionID // of Run
}

func newFlat() *flat {
	f := &flat{Builder: sessiontest.New()}
	f.Slices = []session.Slice{{ID: 1, End: 1_000_000_000}}
	p := f.Process("Flat", 700)
	f.thread = f.Thread(p, "main")
	app, core := f.Module(p, "Flat.dll", true), f.Module(p, "System.Private.CoreLib.dll", false)
	f.Modules[app-1].Origin = "project"
	f.thing = f.Type(app, "Flat.Thing")
	user := func(name string) session.FunctionID {
		id := f.Function(app, "Flat.Program."+name+"()", "/src/Program.cs", 10)
		f.Functions[id-1].RawName = name
		return id
	}
	f.main, f.run, f.last, f.not = user("Main"), user("Run"), user("Last"), user("Small")
	f.invoke = f.Function(core, "System.Action.Invoke()", "", 0)
	f.calls = []session.FunctionID{user("Parse"), user("Write")}
	return f
}

// allocate adds what is allocated in so many lines of a function, 100,000 bytes in each.
func (f *flat) allocate(lines int64, stack ...session.FunctionID) {
	var frames []sessiontest.Frame
	for _, id := range stack {
		frames = append(frames, sessiontest.Frame{Function: id, Line: 11})
	}
	for line := range lines {
		frames[len(frames)-1].Line = 20 + line
		f.Allocate(1, f.thread, f.thing, 1, 100_000, frames...)
	}
}

// partsFound are what a summary names of where the call tree parts: of what, and which functions.
func partsFound(t *testing.T, b *sessiontest.Builder) (what any, names List) {
	t.Helper()
	s, err := made(t, b).Summarize(Options{Top: 5})
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(s.Findings, func(n Note) bool { return n.Kind == FindingParts })
	if at < 0 {
		return nil, nil
	}
	return s.Findings[at].Facts[0], s.Findings[at].Facts[1].(List)
}

// TestParts: the summary of a flat program names the calls that have the largest parts of what it allocates.
func TestParts(t *testing.T) {
	f := newFlat()
	f.allocate(20, f.main, f.run, f.invoke, f.calls[0])
	f.allocate(5, f.main, f.run, f.invoke, f.calls[0], f.not)
	f.allocate(12, f.main, f.run, f.calls[1])
	f.allocate(2, f.main, f.run, f.not)
	f.allocate(3, f.main, f.run, f.last)
	f.allocate(3, f.main, f.run, f.invoke, f.last)
	f.allocate(5, f.main, f.invoke)
	what, names := partsFound(t, f.Builder)
	want := List{"Program.Parse (50.00 %)", "Program.Write (24.00 %)", "Program.Last (12.00 %)"}
	if diff := cmp.Diff(want, names); diff != "" || what != "bytes" {
		t.Errorf("parts of the %v (-want +have):\n%s", what, diff)
	}
}

// TestPartsAlone: where all is in calls of one function, and none of its callees has much, that function is named; of
// Main it is not said.
func TestPartsAlone(t *testing.T) {
	f := newFlat()
	for i := range int64(20) {
		f.allocate(1, f.main, f.run, f.Function(1, "Flat.Program.Part"+string(rune('A'+i))+"()", "/src/Program.cs", 40+i))
	}
	if what, names := partsFound(t, f.Builder); what != "bytes" || !cmp.Equal(names, List{"Program.Run (100.00 %)"}) {
		t.Errorf("parts of the %v: %v", what, names)
	}
	f = newFlat()
	f.allocate(20, f.main)
	if what, names := partsFound(t, f.Builder); names != nil {
		t.Errorf("parts of the %v: %v", what, names)
	}
}

// TestPartsOfTime: where calls were timed, the parts are of the CPU time.
func TestPartsOfTime(t *testing.T) {
	f := newFlat()
	f.Info[session.KeyMode] = session.ModeTime
	f.Timed(1, 8, 7)
	run := f.Run(f.thread).Call(0, f.main, sessiontest.Interval{}).Call(11, f.run, sessiontest.Interval{Elapsed: 1000})
	for i, callee := range []session.FunctionID{f.calls[0], f.calls[1]} {
		run.Call(int64(12+i), callee, sessiontest.Interval{Elapsed: 1000})
		for line := range int64(20) {
			called := f.Function(1, "Flat.Program.Part"+string(rune('A'+line))+"()", "/src/Program.cs", 40+line)
			run.Call(20+line, called, sessiontest.Interval{Elapsed: 1000}).
				End(sessiontest.Interval{Elapsed: q.Nanoseconds(1_000_000 * (i + 1))})
		}
		run.End(sessiontest.Interval{Elapsed: 1000})
	}
	run.End(sessiontest.Interval{Elapsed: 1000}).End(sessiontest.Interval{Elapsed: 1000})
	check := func() {
		t.Helper()
		what, names := partsFound(t, f.Builder)
		want := List{"Program.Write (66.65 %)", "Program.Parse (33.34 %)"}
		if diff := cmp.Diff(want, names); diff != "" || what != "CPU time" {
			t.Errorf("parts of the %v (-want +have):\n%s", what, diff)
		}
	}
	check()
	f.Info[session.KeyMode] = session.ModeMemoryTime // what allocates most says nothing of the time
	for range 20 {
		f.allocate(1, f.main, f.run)
	}
	check()
}

// accumulating is a session in which two megabytes only accumulate: less than is worth a snapshot otherwise. Threads of
// a pool take turns, so that no site of one thread grows for long.
func accumulating() *sessiontest.Builder {
	b := sessiontest.Aging()
	app := b.Module(1, "Aging.dll", true)
	typ, fill := b.Type(app, "Aging.Kept"), b.Function(app, "Aging.Program.Fill()", "/src/Program.cs", 70)
	b.Modules[app-1].Origin = "project"
	for slice := range session.SliceID(4) {
		b.Allocate(slice+1, b.Thread(1, "worker"), typ, 1000, 500_000, sessiontest.Frame{Function: fill, Line: 71})
	}
	return b
}

// TestProposesSnapshot: much that is alive, of which no snapshot says what holds it, is a reason to take one.
func TestProposesSnapshot(t *testing.T) {
	for name, tt := range map[string]struct {
		build func() *sessiontest.Builder
		more  q.Bytes // that is alive
		want  bool
	}{"little": {sessiontest.Aging, 0, false}, "much": {sessiontest.Aging, 20e6, true},
		"not followed": {sessiontest.Shop, 20e6, false}, "taken": {sessiontest.Heap, 20e6, false},
		"accumulates": {accumulating, 0, true}} {
		b := tt.build()
		if len(b.SiteValues) > 0 {
			b.SiteValues[0].Bytes += tt.more
		}
		s, err := made(t, b).Summarize(Options{Top: 5})
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(s.Next, func(n Next) bool { return n.Kind == NextSnapshot }) != tt.want {
			t.Errorf("%s: proposes %v", name, s.Next)
		}
	}
}
