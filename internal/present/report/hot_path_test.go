package report

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// serving is a program whose entry point waits for 900 ms in a function of the framework, while another thread works for
// 100 ms.
func serving(entry string, works q.Nanoseconds) *sessiontest.Builder {
	b := sessiontest.New()
	b.Info[session.KeyMode] = session.ModeTime
	b.Slices = []session.Slice{{ID: 1, End: 1_000_000_000}}
	p := b.Process("Serve", 600)
	b.Timed(p, 0, 0)
	app, core := b.Module(p, "Serve.dll", true), b.Module(p, "System.Private.CoreLib.dll", false)
	b.Modules[app-1].Origin = "project"
	named := func(module session.ModuleID, name, raw, rawType string) session.FunctionID {
		f := b.Function(module, name, "", 0)
		b.Functions[f-1].RawName, b.Functions[f-1].RawType = raw, rawType
		return f
	}
	main := named(app, "Serve.Program."+entry+"()", entry, "Serve.Program")
	wait := named(core, "System.Threading.Thread.Join()", "Join", "System.Threading.Thread")
	handle := named(app, "Serve.Handler.Get()", "Get", "Serve.Handler")
	work := named(core, "string.Concat()", "Concat", "System.String")
	start := named(core, "System.Runtime.CompilerServices.AsyncTaskMethodBuilder.Start()", "Start",
		"System.Runtime.CompilerServices.AsyncTaskMethodBuilder")
	b.Run(b.Thread(p, "main")).Call(0, main, sessiontest.Interval{}).
		Call(12, wait, sessiontest.Interval{Elapsed: 1000}).
		End(sessiontest.Interval{Elapsed: 900_000_000, Slept: true}).
		End(sessiontest.Interval{Elapsed: works})
	b.Run(b.Thread(p, "pool")).Call(0, handle, sessiontest.Interval{}).
		Call(20, work, sessiontest.Interval{Elapsed: 1000}).End(sessiontest.Interval{Elapsed: 100_000_000}).
		Call(20, start, sessiontest.Interval{Elapsed: 1000}).End(sessiontest.Interval{Elapsed: 7_000_000}).
		End(sessiontest.Interval{Elapsed: 1000})
	return b
}

// TestHotPathLeadsToWork: what the entry point of a program waits for weighs nothing in the hot path, which says so; any
// other function's waiting does.
func TestHotPathLeadsToWork(t *testing.T) {
	get := []string{"Serve", "Serve.Handler.Get()", "string.Concat()"}
	for _, tt := range []struct {
		entry  string
		works  q.Nanoseconds
		want   []string
		waited bool
	}{
		{"Main", 1000, get, true}, {entryOfAsyncMain, 1000, get, true}, {"<Main>$", 1000, get, true},
		{"main", 1000, get, true},
		{"Main", 200_000_000, []string{"Serve", "Serve.Program.Main()"}, true},
		{"Main", 1_000_000_000, []string{"Serve", "Serve.Program.Main()"}, false},
		{"Loop", 1000, []string{"Serve", "Serve.Program.Loop()", "System.Threading.Thread.Join()"}, false},
	} {
		r := made(t, serving(tt.entry, tt.works))
		table, err := r.Build(callTreeView, Options{Hot: true})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for i := range table.Rows {
			names = append(names, rowName(table.context, &table.Rows[i]).Text)
		}
		if diff := cmp.Diff(tt.want, names); diff != "" {
			t.Errorf("%s, %s: the hot path (-want +have):\n%s", tt.entry, tt.works, diff)
		}
		at := slices.IndexFunc(table.Notes, func(n Note) bool { return n.Kind == NoteHotWaited })
		if (at >= 0) != tt.waited || tt.waited && table.Notes[at].Facts[0] != any(q.Nanoseconds(900_000_000)) {
			t.Errorf("%s, %s: %v", tt.entry, tt.works, table.Notes)
		}
	}
}

// TestFlameOfServers: the flame graph begins with CPU time where Main waits most of the time, as its wait is as wide as
// the picture.
func TestFlameOfServers(t *testing.T) {
	for _, tt := range []struct {
		entry string
		works q.Nanoseconds
		want  string
	}{{"Main", 1000, "cpu_inclusive"}, {"Main", 1_000_000_000, "elapsed_inclusive"}, {"Loop", 1000, "elapsed_inclusive"}} {
		metrics, err := made(t, serving(tt.entry, tt.works)).FlameMetrics()
		if err != nil || metrics[0].Key != tt.want {
			t.Errorf("%s works %s: %v first, want %s, %v", tt.entry, tt.works, metrics[0].Key, tt.want, err)
		}
	}
}

// TestAsyncRuntimeIsOfItsMethod: what starts and suspends an async method is no row of what user code does, but part of
// the method's.
func TestAsyncRuntimeIsOfItsMethod(t *testing.T) {
	s, err := made(t, serving("Main", 1000)).Summarize(Options{Top: 10})
	if err != nil {
		t.Fatal(err)
	}
	list, got := s.section(sectionWork), map[string]q.Nanoseconds{}
	for i := range list.Rows {
		got[rowName(list.context, &list.Rows[i]).Text] += list.Rows[i].time.Exclusive.CPU
	}
	want := map[string]q.Nanoseconds{"string.Concat()": 100_000_000, "Serve.Handler.Get()": 7_003_000,
		"Serve.Program.Main()": 2000}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("work (-want +have):\n%s", diff)
	}
}

// resumed is a program in which an async method allocates most when it is resumed, by a thread of the pool.
func resumed() *sessiontest.Builder {
	b := sessiontest.New()
	p := b.Process("Serve", 42)
	app, core := b.Module(p, "Serve.dll", true), b.Module(p, "System.Private.CoreLib.dll", false)
	named := func(module session.ModuleID, name, raw, rawType string) session.FunctionID {
		f := b.Function(module, name, "", 0)
		b.Functions[f-1].RawName, b.Functions[f-1].RawType = raw, rawType
		return f
	}
	main := named(app, "Serve.Program.Main()", "Main", "Serve.Program")
	load := named(app, "Serve.Program.Load()", "Load", "Serve.Program")
	loading := named(app, "Serve.Program.Load() [async]", "MoveNext", "Serve.Program/<Load>d__1")
	dispatch := named(core, "System.Threading.ThreadPoolWorkQueue.Dispatch()", "Dispatch", "")
	text := b.Type(core, "string")
	b.Allocate(1, b.Thread(p, "main"), text, 10, 4000, sessiontest.Frame{Function: main},
		sessiontest.Frame{Function: load}, sessiontest.Frame{Function: loading})
	b.Allocate(1, b.Thread(p, "pool"), text, 90, 96_000, sessiontest.Frame{Function: dispatch},
		sessiontest.Frame{Function: loading})
	return b
}

// TestHotPathsOfCallTree: the hot path of a summary is that of the call tree, async methods below their callers.
func TestHotPathsOfCallTree(t *testing.T) {
	names := func(table *Table) []string {
		var out []string
		for i := range table.Rows {
			if r := &table.Rows[i]; r.kind != rowProcess {
				out = append(out, rowName(table.context, r).Text)
			}
		}
		return out
	}
	for i, b := range []*sessiontest.Builder{resumed(), sessiontest.Tested(), sessiontest.Kitchen()} {
		r := made(t, b)
		tree, err := r.Build(callTreeView, Options{Hot: true})
		if err != nil {
			t.Fatal(err)
		}
		s, err := r.Summarize(Options{Top: 5})
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(s.Sections, func(x Section) bool { return x.HotPath })
		if diff := cmp.Diff(names(tree), names(s.Sections[at].Table)); diff != "" {
			t.Errorf("session %d: the hot path (-call tree +summary):\n%s", i, diff)
		}
		if want := []string{"Serve.Program.Main()", "Serve.Program.Load()"}; i == 0 && !slices.Equal(names(tree), want) {
			t.Errorf("the hot path is %q", names(tree))
		}
	}
}
