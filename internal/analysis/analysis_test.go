package analysis

import (
	"errors"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/differ"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// naive computes values as docs/metrics.md words them: one amount after the other,
// with its whole stack, into maps by id.
type naive struct {
	paths        map[string]q.Amounts
	calls        map[[2]session.FunctionID]q.Amounts
	functions    map[session.FunctionID]q.Amounts
	modules      map[session.ModuleID]q.Amounts
	lines        map[session.LineID]q.Amount
	instructions map[session.InstructionID]q.Amount
	types        map[session.TypeID]q.Amount
	threads      map[session.ThreadID]q.Amount
	processes    map[session.ProcessID]q.Amount
	typePaths    map[session.TypeID]map[string]q.Amounts
	b            *sessiontest.Builder
}

func newNaive(b *sessiontest.Builder) *naive {
	return &naive{
		paths: map[string]q.Amounts{}, calls: map[[2]session.FunctionID]q.Amounts{},
		functions: map[session.FunctionID]q.Amounts{}, modules: map[session.ModuleID]q.Amounts{},
		lines: map[session.LineID]q.Amount{}, instructions: map[session.InstructionID]q.Amount{},
		types:   map[session.TypeID]q.Amount{},
		threads: map[session.ThreadID]q.Amount{}, processes: map[session.ProcessID]q.Amount{},
		typePaths: map[session.TypeID]map[string]q.Amounts{}, b: b,
	}
}

// once adds to the inclusive value of a key the first time it is seen on a stack.
func once[K comparable](values map[K]q.Amounts, seen map[K]bool, key K, a q.Amount) {
	if v := values[key]; !seen[key] {
		seen[key] = true
		v.Inclusive = v.Inclusive.Add(a)
		values[key] = v
	}
}

func top[K comparable](values map[K]q.Amounts, key K, a q.Amount) {
	v := values[key]
	v.Exclusive = v.Exclusive.Add(a)
	values[key] = v
}

func pathKey(stack []session.Node) string { // root first
	key := ""
	for _, n := range stack {
		key += string(rune('A' + n.Function))
	}
	return key
}

func (v *naive) add(site session.Site, a q.Amount) {
	var stack []session.Node // root first
	for id := site.Node; id != 0; id = v.b.Nodes[id-1].Parent {
		stack = append([]session.Node{v.b.Nodes[id-1]}, stack...)
	}
	if v.typePaths[site.Type] == nil {
		v.typePaths[site.Type] = map[string]q.Amounts{}
	}
	functions, modules := map[session.FunctionID]bool{}, map[session.ModuleID]bool{}
	calls, paths, typePaths := map[[2]session.FunctionID]bool{}, map[string]bool{}, map[string]bool{}
	for i, n := range stack {
		module := v.b.Functions[n.Function-1].Module
		call := [2]session.FunctionID{0, n.Function}
		if i > 0 {
			call[0] = stack[i-1].Function
		}
		once(v.functions, functions, n.Function, a)
		once(v.calls, calls, call, a)
		once(v.paths, paths, pathKey(stack[:i+1]), a)
		once(v.typePaths[site.Type], typePaths, pathKey(stack[:i+1]), a)
		once(v.modules, modules, module, a)
		if i < len(stack)-1 {
			continue
		}
		top(v.functions, n.Function, a)
		top(v.calls, call, a)
		top(v.paths, pathKey(stack), a)
		top(v.typePaths[site.Type], pathKey(stack), a)
		top(v.modules, module, a)
		if n.Instruction != 0 {
			v.instructions[n.Instruction] = v.instructions[n.Instruction].Add(a)
			if line := v.b.Instructions[n.Instruction-1].Line; line != 0 {
				v.lines[line] = v.lines[line].Add(a)
			}
		}
	}
	v.types[site.Type] = v.types[site.Type].Add(a)
	v.threads[site.Thread] = v.threads[site.Thread].Add(a)
	process := v.b.Threads[site.Thread-1].Process
	v.processes[process] = v.processes[process].Add(a)
}

// asMap turns rows into a map, to compare them with the naive ones.
func asMap[Row any, K comparable, V any](rows []Row, kv func(Row) (K, V)) map[K]V {
	out := map[K]V{}
	for _, r := range rows {
		k, v := kv(r)
		out[k] = v
	}
	return out
}

func pathMap(b *sessiontest.Builder, rows []session.PathValue) map[string]q.Amounts {
	keys := map[session.PathID]string{}
	return asMap(rows, func(r session.PathValue) (string, q.Amounts) {
		keys[r.ID] = keys[r.Parent] + string(rune('A'+r.Function))
		return keys[r.ID], r.Amounts
	})
}

func (v *naive) compare(t *rapid.T, d *session.Derived) {
	diff := func(what string, want, got any) {
		if d := differ.Of(want, got, cmpopts.EquateEmpty()); d != "" {
			t.Errorf("%s (-naive +derived):\n%s", what, d)
		}
	}
	diff("paths", v.paths, pathMap(v.b, d.Paths))
	diff("calls", v.calls, asMap(d.Calls, func(r session.CallValue) ([2]session.FunctionID, q.Amounts) {
		return [2]session.FunctionID{r.Caller, r.Callee}, r.Amounts
	}))
	diff("functions", v.functions, asMap(d.Functions, func(r session.FunctionValue) (session.FunctionID, q.Amounts) {
		return r.Function, r.Amounts
	}))
	diff("modules", v.modules, asMap(d.Modules, func(r session.ModuleValue) (session.ModuleID, q.Amounts) {
		return r.Module, r.Amounts
	}))
	diff("lines", v.lines, asMap(d.Lines, func(r session.LineValue) (session.LineID, q.Amount) {
		return r.Line, r.Amount
	}))
	diff("instructions", v.instructions,
		asMap(d.Instructions, func(r session.InstructionValue) (session.InstructionID, q.Amount) {
			return r.Instruction, r.Amount
		}))
	diff("types", v.types, asMap(d.Types, func(r session.TypeValue) (session.TypeID, q.Amount) {
		return r.Type, r.Amount
	}))
	diff("threads", v.threads, asMap(d.Threads, func(r session.ThreadValue) (session.ThreadID, q.Amount) {
		return r.Thread, r.Amount
	}))
	diff("processes", v.processes, asMap(d.Processes, func(r session.ProcessValue) (session.ProcessID, q.Amount) {
		return r.Process, r.Amount
	}))
}

// drawSelection draws a selection that may let through everything, a part or nothing.
func drawSelection(t *rapid.T, b *sessiontest.Builder) Selection {
	last := q.Nanoseconds(100 * len(b.Slices))
	// Ends of slices, where mistakes are, and anything.
	moment := rapid.OneOf(rapid.SampledFrom([]q.Nanoseconds{0, 99, 100, 101, 200, last - 1}),
		rapid.Custom(func(t *rapid.T) q.Nanoseconds {
			return q.Nanoseconds(rapid.Int64Range(0, int64(last)+200).Draw(t, "moment"))
		}))
	f := Selection{From: min(moment.Draw(t, "from"), last-1)}
	if id := rapid.IntRange(0, len(b.Processes)).Draw(t, "process"); id > 0 {
		f.Processes = []session.ProcessID{session.ProcessID(id)}
	}
	if id := rapid.IntRange(0, len(b.Threads)).Draw(t, "thread"); id > 0 {
		f.Threads = []session.ThreadID{session.ThreadID(id)}
	}
	if to := moment.Draw(t, "to"); to > f.From {
		f.To = to
	}
	return f
}

// isIn is the naive form of the selection. Slice i of a random session is [100 i, 100 i + 100).
func isIn(b *sessiontest.Builder, f Selection, v session.SiteValue) bool {
	site := b.Sites[v.Site-1]
	begin, end := q.Nanoseconds(100*(v.Slice-1)), q.Nanoseconds(100*v.Slice)
	to := f.To
	if to == 0 {
		to = 1 << 60
	}
	return f.HasThread(&b.Threads[site.Thread-1]) &&
		max(begin, f.From) < min(end, to)
}

func TestDeriveAgainstNaive(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		b := sessiontest.Random(rapid.Uint64().Draw(rt, "seed"))
		s := open(rt, b, filepath.Join(dir, "a"))
		defer s.Close()
		f := Selection{}
		if rapid.Bool().Draw(rt, "filtered") {
			f = drawSelection(rt, b)
		}
		want := newNaive(b)
		for _, v := range b.SiteValues {
			if isIn(b, f, v) {
				want.add(b.Sites[v.Site-1], v.Amount)
			}
		}
		d, err := Load(s)
		if err != nil {
			rt.Fatal(err)
		}
		derived, err := part(rt, d, f).Derive()
		if err != nil {
			rt.Fatal(err)
		}
		want.compare(rt, derived)
		trees, err := part(rt, d, f).TypeTrees()
		if err != nil {
			rt.Fatal(err)
		}
		for _, typ := range append(b.Types, b.Types...) { // twice: the scratch space must be clean
			if diff := differ.Of(want.typePaths[typ.ID], pathMap(b, trees.Paths(typ.ID)),
				cmpopts.EquateEmpty()); diff != "" {
				rt.Errorf("paths of type %d (-naive +derived):\n%s", typ.ID, diff)
			}
		}
		checkFewTypes(rt, b, part(rt, d, f), want)
	})
}

// checkFewTypes compares the trees of some types alone with what the reference found, which is nothing of the others.
func checkFewTypes(rt *rapid.T, b *sessiontest.Builder, d *Data, want *naive) {
	rt.Helper()
	wanted := map[session.TypeID]bool{}
	for _, typ := range b.Types {
		wanted[typ.ID] = rapid.Bool().Draw(rt, "wanted")
	}
	ids := slices.DeleteFunc(slices.Sorted(maps.Keys(wanted)), func(id session.TypeID) bool { return !wanted[id] })
	if rapid.Bool().Draw(rt, "known") { // what was read and merged before is used
		if _, err := d.TypeTrees(); err != nil {
			rt.Fatal(err)
		}
	}
	trees, err := d.typeTreesOf(ids)
	if err != nil {
		rt.Fatal(err)
	}
	for id, is := range wanted {
		paths := want.typePaths[id]
		if !is {
			paths = nil
		}
		if diff := differ.Of(paths, pathMap(b, trees.Paths(id)), cmpopts.EquateEmpty()); diff != "" {
			rt.Errorf("paths of type %d of %v (-naive +derived):\n%s", id, ids, diff)
		}
	}
}

// part selects a part of the data.
func part(t interface {
	Helper()
	Fatal(...any)
}, d *Data, sel Selection) *Data {
	t.Helper()
	out, err := d.Select(sel)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// open writes b over path, completes it and opens it.
func open(t interface {
	Helper()
	Fatal(...any)
}, b *sessiontest.Builder, path string) *session.Session {
	t.Helper()
	os.Remove(path)
	if err := b.Write(path); err != nil {
		t.Fatal(err)
	}
	w, err := session.Edit(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := Complete(w); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := session.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestFilterErrors(t *testing.T) {
	s := open(t, sessiontest.Random(1), filepath.Join(t.TempDir(), "a"))
	defer s.Close()
	for _, c := range []struct {
		filter Selection
		want   error
	}{
		{Selection{Processes: []session.ProcessID{99}}, ErrNoProcess},
		{Selection{Processes: []session.ProcessID{math.MaxUint32}}, ErrNoProcess},
		{Selection{Threads: []session.ThreadID{99}}, ErrNoThread}, {Selection{From: 1 << 50}, ErrNoSlice},
	} {
		if _, err := Open(s, c.filter); !errors.Is(err, c.want) {
			t.Errorf("%+v: %v, want %v", c.filter, err, c.want)
		}
	}
}
