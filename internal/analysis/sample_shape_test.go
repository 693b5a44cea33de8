package analysis

import (
	"maps"
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

// sampleSums adds up the values of samples by what key says.
func sampleSums(t *rapid.T, x *SampleSet, key func(*Sample) string) map[string][]int64 {
	t.Helper()
	out := map[string][]int64{}
	if err := x.Each(func(s *Sample) error {
		k := key(s)
		if out[k] == nil {
			out[k] = make([]int64, len(s.Values))
		}
		for i, v := range s.Values {
			out[k][i] += v
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

// stackNames are the names of the functions of a stack, the root first, in their process.
func stackNames(x *SampleSet, s *Sample) string {
	names := []string{s.Process.Name}
	for _, f := range slices.Backward(s.Stack) {
		names = append(names, x.Frames()[f].Function.DisplayName())
	}
	return strings.Join(names, ";")
}

// bytesByNames are the exclusive bytes of the rows of a tree, by the names from its root.
func bytesByNames(s *session.Session, tree *LogicalTree, by By, names map[session.ProcessID]string) map[string]int64 {
	functions, _ := s.Functions()
	modules, _ := s.Modules()
	get := newIndex(functions, func(f *session.Function) session.FunctionID { return f.ID })
	out := map[string]int64{}
	var walk func(id session.PathID, above string)
	walk = func(id session.PathID, above string) {
		amounts, _ := tree.Below(id)
		for _, a := range amounts {
			f, name := at(functions, get, a.Function), ""
			switch role := tree.Role(a.ID); {
			case role == AsyncLeftOut:
				name = "[left out]"
			case role == AsyncGroup && by == ByNamespace:
				if name = FunctionNamespace(f); name == "" {
					name = "(no namespace)"
				}
			case role == AsyncGroup:
				name = "(no module)"
				for _, m := range modules {
					if m.ID == f.Module {
						name = m.Name
					}
				}
			default:
				name = f.DisplayName()
			}
			path := above
			if path == "" {
				path = names[a.Process]
			}
			path += ";" + name
			out[path] += int64(a.Exclusive.Bytes)
			walk(a.ID, path)
		}
	}
	walk(0, "")
	maps.DeleteFunc(out, func(_ string, n int64) bool { return n == 0 })
	return out
}

// TestSampleShapes: samples in any shape have the sums of the session by type and thread, and are on the paths of the
// call tree in that shape.
func TestSampleShapes(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		s := open(rt, drawSession(rt), filepath.Join(dir, "a"))
		defer s.Close()
		x, err := Samples(s, Selection{})
		if err != nil {
			rt.Fatal(err)
		}
		names := map[session.ProcessID]string{}
		for id, p := range x.processOf {
			names[id] = p.Name
		}
		perThread := func(s *Sample) string { return s.Type + " in " + s.Thread.Name + s.Process.Name }
		want := sampleSums(rt, x, perThread)
		small := func(level int, a q.Amount, time q.Time) bool {
			return level > 1 && a.Bytes < 1000 && time.Elapsed < 1e6
		}
		for name, shape := range map[string]SampleShape{"logical": {Logical: true}, "fold": {Fold: true},
			"module": {By: ByModule}, "namespace": {By: ByNamespace}, "small": {Small: small},
			"all": {Fold: true, By: ByModule, Small: small, MergeThreads: true}, "threads": {MergeThreads: true}} {
			y, err := Samples(s, Selection{Shape: &shape})
			if err != nil {
				rt.Fatal(name, err)
			}
			if diff := differ.Of(want, sampleSums(rt, y, perThread)); diff != "" {
				rt.Fatalf("%s: (-as recorded +shaped)\n%s", name, diff)
			}
			if !shape.changesStacks() || name == "logical" {
				continue
			}
			src, err := Open(s, Selection{})
			if err != nil {
				rt.Fatal(err)
			}
			src.traced = &shapedRows{}
			var tree *LogicalTree
			if shape.Fold {
				tree, err = src.FoldRecursion(nil)
			}
			if shape.By != "" && err == nil {
				tree, err = src.GroupFunctions(tree, shape.By)
			}
			if shape.Small != nil && err == nil {
				tree, err = src.Trim(tree, shape.Small)
			}
			if err != nil {
				rt.Fatal(err)
			}
			have := map[string]int64{}
			for names, values := range sampleSums(rt, y, func(s *Sample) string { return stackNames(y, s) }) {
				if at := slices.IndexFunc(y.Values, func(v SampleValue) bool { return v.Name == "bytes" }); at >= 0 &&
					values[at] != 0 {
					have[names] = values[at]
				}
			}
			if diff := differ.Of(bytesByNames(s, tree, shape.By, names), have); diff != "" {
				rt.Fatalf("%s: (-call tree +samples)\n%s", name, diff)
			}
		}
	})
}

// TestSampleRoot: what is at and below a function is its inclusive value.
func TestSampleRoot(t *testing.T) {
	s := open(t, sessiontest.Shop(), filepath.Join(t.TempDir(), "a"))
	src, err := Open(s, Selection{})
	if err != nil {
		t.Fatal(err)
	}
	values, err := src.Functions()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range values {
		x, err := Samples(s, Selection{Shape: &SampleShape{Roots: map[session.FunctionID]bool{f.Function: true}}})
		if err != nil {
			t.Fatal(err)
		}
		sum := int64(0)
		if err := x.Each(func(s *Sample) error {
			sum += s.Values[1]
			if root := x.Frames()[s.Stack[len(s.Stack)-1]].Function.ID; root != f.Function {
				t.Errorf("a stack begins with function %d, not %d", root, f.Function)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if sum != int64(f.Inclusive.Bytes) {
			t.Errorf("function %d: %d bytes, want %d", f.Function, sum, f.Inclusive.Bytes)
		}
	}
}

// TestSampleLogical: what an async method did after it had waited is below who called it, and nothing else moves.
func TestSampleLogical(t *testing.T) {
	a := newAsyncSession()
	a.allocate(a.thread, 1, a.main, a.load, a.start)
	a.allocate(a.thread, 10, a.main, a.load, a.start, a.machine)
	a.allocate(a.pool, 100, a.resume, a.machine)
	a.allocate(a.pool, 1000, a.resume, a.machine, a.use)
	a.allocate(a.pool, 10_000, a.resume)
	s := open(t, a.Builder, filepath.Join(t.TempDir(), "s"))
	x, err := Samples(s, Selection{Shape: &SampleShape{Logical: true}})
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]int64{}
	if err := x.Each(func(s *Sample) error {
		have[s.Thread.Name+" "+stackNames(x, s)] += s.Values[0]
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	want := map[string]int64{"main App;Main;Load;[async runtime]": 1, "main App;Main;Load": 10,
		"pool App;Main;Load": 100, "pool App;Main;Load;Use": 1000, "pool App;[async runtime]": 10_000}
	if diff := differ.Of(want, have); diff != "" {
		t.Error(diff)
	}
}
