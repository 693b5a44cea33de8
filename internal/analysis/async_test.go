package analysis

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/differ"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// asyncSession is a session of a program with an async method Load of App, and the framework functions that run it.
type asyncSession struct {
	*sessiontest.Builder
	thread, pool                                   session.ThreadID
	typ                                            session.TypeID
	main, other, load, machine, start, resume, use session.FunctionID
	end                                            session.FunctionID // the machine calls it when the method ends
	stream, next, nextMachine, give                session.FunctionID // of an async iterator, which gives elements
}

func newAsyncSession() *asyncSession {
	b := sessiontest.New()
	p := b.Process("App", 7)
	app, core := b.Module(p, "App.dll", true), b.Module(p, "System.Private.CoreLib.dll", false)
	function := func(m session.ModuleID, typ, name, display string) session.FunctionID {
		id := b.Function(m, display, "", 0)
		b.Functions[id-1].RawType, b.Functions[id-1].RawName = typ, name
		return id
	}
	return &asyncSession{Builder: b, thread: b.Thread(p, "main"), pool: b.Thread(p, "pool"),
		typ:  b.Type(app, "App.Item"),
		main: function(app, "App", "Main", "Main"), other: function(app, "App", "Other", "Other"),
		load:    function(app, "App", "Load", "Load"),
		machine: function(app, "App/<Load>d__1", "MoveNext", "Load [async]"),
		start:   function(core, "System.Runtime.CompilerServices.AsyncTaskMethodBuilder", "Start", "Start"),
		resume:  function(core, "System.Threading.ExecutionContext", "RunInternal", "Run"),
		use:     function(app, "App", "Use", "Use"),
		end:     function(core, "System.Runtime.CompilerServices.AsyncTaskMethodBuilder", "SetResult", "End"),
		stream:  function(app, "App/<Stream>d__2", "MoveNext", "Stream [async iterator]"),
		next: function(app, "App/<Stream>d__2", "System.Collections.Generic.IAsyncEnumerator<T>.MoveNextAsync",
			"Next"),
		nextMachine: function(core, "System.Runtime.CompilerServices.AsyncIteratorMethodBuilder", "MoveNext", "NextMachine"),
		give:        function(core, "System.Threading.Tasks.Sources.ManualResetValueTaskSourceCore`1", "SetResult", "Give")}
}

// allocate makes n objects of n bytes on a stack.
func (a *asyncSession) allocate(t session.ThreadID, n int64, stack ...session.FunctionID) {
	var frames []sessiontest.Frame
	for _, f := range stack {
		frames = append(frames, sessiontest.Frame{Function: f})
	}
	a.Allocate(1, t, a.typ, q.Count(n), q.Bytes(n), frames...)
}

// logical returns the rows of the logical tree: name, inclusive and exclusive objects.
func (a *asyncSession) logical(t *testing.T) []string {
	t.Helper()
	s := open(t, a.Builder, filepath.Join(t.TempDir(), "s"))
	v, err := Open(s, Selection{})
	if err != nil {
		t.Fatal(err)
	}
	tree, err := v.LogicalTree()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	var walk func(parent session.PathID)
	walk = func(parent session.PathID) {
		for _, p := range tree.Children(parent) {
			name := string(tree.Role(p.ID))
			if p.Function != 0 {
				name += a.Functions[p.Function-1].Name
			}
			out = append(out, fmt.Sprintf("%s%s %d %d", strings.Repeat(" ", int(p.Level)-1), name,
				p.Inclusive.Allocations, p.Exclusive.Allocations))
			walk(p.ID)
		}
	}
	walk(0)
	return out
}

// TestLogicalTree: what a method did after it had waited is at its call if there is one path of calls, else below the
// innermost path on which all calls were made.
func TestLogicalTree(t *testing.T) {
	for name, c := range map[string]struct {
		make func(a *asyncSession)
		want []string
	}{
		"one call": {func(a *asyncSession) {
			a.allocate(a.thread, 1, a.main, a.load, a.start)
			a.allocate(a.thread, 10, a.main, a.load, a.start, a.machine)
			a.allocate(a.pool, 100, a.resume, a.machine)
			a.allocate(a.pool, 1000, a.resume, a.machine, a.use)
			a.allocate(a.pool, 10_000, a.resume)
		}, []string{"Main 1111 0", " Load 1111 110", "  runtime 1 1", "  Use 1000 1000", "runtime 10000 10000"}},
		"two callers": {func(a *asyncSession) {
			a.allocate(a.thread, 1, a.main, a.load, a.start, a.machine)
			a.allocate(a.thread, 2, a.main, a.other, a.load, a.start, a.machine)
			a.allocate(a.pool, 100, a.resume, a.machine)
		}, []string{"Main 103 0", " Load 1 1", "  runtime 0 0", " Other 2 0", "  Load 2 2", "   runtime 0 0",
			" resumedLoad 100 100", "runtime 0 0"}},
		"calls on two roots": {func(a *asyncSession) {
			a.allocate(a.thread, 1, a.main, a.load, a.start, a.machine)
			a.allocate(a.thread, 2, a.other, a.load, a.start, a.machine)
			a.allocate(a.pool, 100, a.resume, a.machine)
		}, []string{"Main 1 0", " Load 1 1", "  runtime 0 0", "Other 2 0", " Load 2 2", "  runtime 0 0", "runtime 0 0",
			"resumedLoad 100 100"}},
		"no call is known": {func(a *asyncSession) {
			a.allocate(a.pool, 100, a.resume, a.machine)
		}, []string{"runtime 0 0", "Load [async] 100 100"}},
		"called by itself after it has waited": {func(a *asyncSession) {
			a.allocate(a.thread, 1, a.main, a.load, a.start, a.machine)
			a.allocate(a.pool, 10, a.resume, a.machine, a.load, a.start, a.machine)
		}, []string{"Main 11 0", " Load 11 1", "  runtime 0 0", "  resumedLoad 10 0", "   Load 10 10",
			"    runtime 0 0", "runtime 0 0"}},
		"without the function that starts it": {func(a *asyncSession) {
			a.allocate(a.thread, 1, a.main, a.start, a.machine)
			a.allocate(a.pool, 10, a.resume, a.machine)
		}, []string{"Main 11 0", " Load 11 11", " runtime 0 0", "runtime 0 0"}},
		"with and without the function that starts it": {func(a *asyncSession) {
			a.allocate(a.thread, 1, a.main, a.start, a.machine)
			a.allocate(a.thread, 10, a.main, a.load, a.start, a.machine)
			a.allocate(a.pool, 100, a.resume, a.machine)
		}, []string{"Main 111 0", " Load 111 111"}},
		"what goes on when it has ended": {func(a *asyncSession) {
			a.allocate(a.thread, 1, a.main, a.load, a.start, a.machine)
			a.allocate(a.pool, 10, a.resume, a.machine, a.end)
			a.allocate(a.pool, 100, a.resume, a.machine, a.end, a.resume)
			a.allocate(a.pool, 1000, a.resume, a.machine, a.end, a.resume, a.use)
			a.allocate(a.pool, 10_000, a.resume, a.machine, a.end, a.other)
		}, []string{"Main 111 0", " Load 111 1", "  runtime 110 110", "runtime 11000 0", " Use 1000 1000",
			" Other 10000 10000"}},
		"a loop that calls it again when it has ended": {func(a *asyncSession) {
			a.allocate(a.pool, 1, a.other, a.load, a.start, a.machine)
			a.allocate(a.pool, 10, a.other, a.machine)
			a.allocate(a.pool, 100, a.other, a.machine, a.end, a.load, a.start, a.machine)
			a.allocate(a.pool, 1000, a.other, a.machine, a.end, a.machine)
			a.allocate(a.pool, 10_000, a.other, a.machine, a.end, a.machine, a.end, a.use)
		}, []string{"Other 11111 0", " Load 1111 1111", " Use 10000 10000"}},
		"an async iterator": {func(a *asyncSession) {
			a.allocate(a.thread, 1, a.main, a.load, a.start, a.machine, a.next, a.nextMachine, a.stream)
			a.allocate(a.pool, 10, a.resume, a.stream, a.use)
			a.allocate(a.pool, 100, a.resume, a.stream, a.give, a.machine)
			a.allocate(a.pool, 1000, a.resume, a.machine, a.next, a.nextMachine, a.stream)
			a.allocate(a.pool, 10_000, a.resume, a.stream, a.give, a.resume, a.other)
		}, []string{"Main 1111 0", " Load 1111 100", "  Stream [async iterator] 1011 1001", "   Use 10 10",
			"runtime 10000 0", " Other 10000 10000"}},
		"an async iterator whose next function was inlined": {func(a *asyncSession) {
			a.allocate(a.thread, 1, a.main, a.load, a.start, a.machine)
			a.allocate(a.pool, 10, a.resume, a.machine, a.nextMachine, a.stream)
			a.allocate(a.pool, 100, a.resume, a.stream)
			a.allocate(a.pool, 1000, a.resume, a.machine, a.next, a.nextMachine, a.stream)
			a.allocate(a.pool, 10_000, a.resume, a.machine, a.next, a.stream)
		}, []string{"Main 11111 0", " Load 11111 1", "  Stream [async iterator] 11110 11110"}},
		"a method that gives a result of its own": {func(a *asyncSession) {
			a.allocate(a.thread, 1, a.main, a.load, a.start, a.machine)
			a.allocate(a.pool, 10, a.resume, a.machine, a.give, a.use)
		}, []string{"Main 11 0", " Load 11 1", "  runtime 10 0", "   Use 10 10"}},
		"the result of a call that has not waited": {func(a *asyncSession) {
			a.allocate(a.thread, 1, a.main, a.load, a.start, a.machine)
			a.allocate(a.thread, 10, a.main, a.load, a.start, a.machine, a.end, a.use)
		}, []string{"Main 11 0", " Load 11 1", "  runtime 10 0", "   Use 10 10"}},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAsyncSession()
			c.make(a)
			have := a.logical(t)
			if diff := differ.Of(without(c.want), without(have)); diff != "" {
				t.Errorf("(-want +have)\n%s", diff)
			}
		})
	}
}

// without leaves out rows that have nothing.
func without(rows []string) []string {
	return slices.DeleteFunc(slices.Clone(rows), func(s string) bool { return strings.HasSuffix(s, " 0 0") })
}

// nameAsync makes functions of a session async methods, what starts and resumes them, and others.
func nameAsync(rt *rapid.T, b *sessiontest.Builder) {
	names := [][3]string{{"App", "Load", ""}, {"App", "Save", ""}, {"App/<Load>d__1", "MoveNext", " [async]"},
		{"App/<Save>d__2", "MoveNext", " [async]"},
		{"System.Runtime.CompilerServices.AsyncTaskMethodBuilder", "Start", ""},
		{"System.Threading.ExecutionContext", "Run", ""}, {"App", "Use", ""},
		{"System.Runtime.CompilerServices.AsyncTaskMethodBuilder", "SetResult", ""},
		{"System.Runtime.CompilerServices.TaskAwaiter", "GetResult", ""}}
	for i := range b.Functions {
		f := &b.Functions[i]
		n := rapid.SampledFrom(names).Draw(rt, "name")
		f.RawType, f.RawName, f.Name = n[0], n[1], n[1]+n[2]
		if f.Kind == session.FunctionPseudo {
			f.RawType, f.RawName, f.Name = "", "(truncated)", "(truncated)"
		}
	}
}

// drawLogicalTree makes a session at a path that has async methods.
func drawLogicalTree(rt *rapid.T, path string) (*session.Session, *Source, *LogicalTree) {
	b := sessiontest.Random(rapid.Uint64().Draw(rt, "seed"))
	nameAsync(rt, b)
	s := open(rt, b, path)
	v, err := Open(s, Selection{})
	if err != nil {
		rt.Fatal(err)
	}
	tree, err := v.LogicalTree()
	if err != nil || tree == nil {
		s.Close()
		rt.Skip(err)
	}
	return s, v, tree
}

// TestLogicalTreeAddsUp: whatever calls whatever, no value is lost or counted twice, for each process, and for each
// function but that the values of a state machine are those of its method, and those of the runtime are together.
func TestLogicalTreeAddsUp(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		s, v, tree := drawLogicalTree(rt, filepath.Join(dir, "a"))
		defer s.Close()
		type sums struct {
			Own, All q.Amount
			Time     q.Time
			Whole    q.Time
		}
		want, have := map[session.ProcessID]*sums{}, map[session.ProcessID]*sums{}
		of := func(m map[session.ProcessID]*sums, p session.ProcessID) *sums {
			if m[p] == nil {
				m[p] = &sums{}
			}
			return m[p]
		}
		paths, err := v.Paths()
		if err != nil {
			rt.Fatal(err)
		}
		for _, p := range paths {
			x := of(want, p.Process)
			x.Own, x.All = x.Own.Add(p.Exclusive), x.All.Add(p.Exclusive)
		}
		times, err := v.PathTimes()
		if err != nil {
			rt.Fatal(err)
		}
		for _, p := range times {
			x := of(want, p.Process)
			x.Time, x.Whole = x.Time.Add(p.Exclusive), x.Whole.Add(p.Exclusive)
		}
		seen := map[session.PathID]bool{}
		parents := map[session.PathID]bool{0: true}
		for _, p := range tree.below.rows {
			parents[p.ID] = true
		}
		for parent := range parents {
			for _, p := range tree.Children(parent) {
				x := of(have, p.Process)
				x.Own = x.Own.Add(p.Exclusive)
				if p.Parent != parent || seen[p.ID] || p.ID <= parent {
					rt.Fatalf("row %d below %d", p.ID, parent)
				}
				if seen[p.ID] = true; parent == 0 {
					x.All = x.All.Add(p.Inclusive)
				}
			}
		}
		if len(seen) != len(tree.below.rows) {
			rt.Fatalf("%d rows are below another one, of %d", len(seen), len(tree.below.rows))
		}
		for parent := range parents {
			for _, p := range tree.TimeChildren(parent) {
				x := of(have, p.Process)
				if x.Time = x.Time.Add(p.Exclusive); parent == 0 {
					x.Whole = x.Whole.Add(p.Inclusive)
				}
			}
		}
		if diff := differ.Of(want, have); diff != "" {
			rt.Fatal(diff)
		}
	})
}

// TestRooted: the root of what is at and below a function has the inclusive values of the function.
func TestRooted(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		b := sessiontest.Random(rapid.Uint64().Draw(rt, "seed"))
		s := open(rt, b, filepath.Join(dir, "a"))
		defer s.Close()
		v, err := Open(s, Selection{})
		if err != nil {
			rt.Fatal(err)
		}
		functions, err := v.Functions()
		if err != nil {
			rt.Fatal(err)
		}
		for _, f := range functions {
			tree, err := v.Rooted(nil, map[session.FunctionID]bool{f.Function: true})
			if err != nil {
				rt.Fatal(err)
			}
			var have, own q.Amount
			for _, root := range tree.Children(0) {
				if root.Function != f.Function || root.Level != 0 {
					rt.Fatalf("root %+v of function %d", root, f.Function)
				}
				have = have.Add(root.Inclusive)
			}
			for _, p := range tree.below.rows {
				if p.Function == f.Function {
					own = own.Add(p.Exclusive)
				}
			}
			if have != f.Inclusive || own != f.Exclusive {
				rt.Fatalf("function %d: %v and %v, want %v and %v", f.Function, have, own, f.Inclusive, f.Exclusive)
			}
		}
	})
}
