package analysis

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/clrprof/clrprof/internal/pattern"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/differ"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// stackSum is what was done on a stack itself.
type stackSum struct {
	Amount q.Amount
	Calls  q.Count
	Time   q.Time
}

func (s *stackSum) add(o stackSum) {
	s.Amount, s.Calls, s.Time = s.Amount.Add(o.Amount), s.Calls+o.Calls, s.Time.Add(o.Time)
}

func (s *stackSum) isZero() bool { return *s == stackSum{} }

// pathStacks are the paths of a source: the process and the functions from the root on, and what was done there itself.
type pathStacks struct {
	stacks map[session.PathID][]string
	own    map[session.PathID]*stackSum
}

// functionMark names a function by its id; a pseudo function ends with ~.
func functionMark(f *session.Function) string {
	if f.Kind == session.FunctionPseudo {
		return fmt.Sprintf("%d~", f.ID)
	}
	return fmt.Sprint(f.ID)
}

// functionMarks are the marks of the functions of a session; of none it is 0.
func functionMarks(t *rapid.T, v *Source) map[session.FunctionID]string {
	functions, err := v.session.Functions()
	if err != nil {
		t.Fatal(err)
	}
	out := map[session.FunctionID]string{0: "0"}
	for i := range functions {
		out[functions[i].ID] = functionMark(&functions[i])
	}
	return out
}

func readStacks(t *rapid.T, v *Source) pathStacks {
	marks := functionMarks(t, v)
	out := pathStacks{map[session.PathID][]string{}, map[session.PathID]*stackSum{}}
	add := func(id, parent session.PathID, process session.ProcessID, f session.FunctionID, own stackSum) {
		if out.own[id] == nil {
			above := out.stacks[parent]
			if parent == 0 {
				above = []string{fmt.Sprintf("process %d", process)}
			}
			out.stacks[id] = append(slices.Clip(above), marks[f])
			out.own[id] = &stackSum{}
		}
		out.own[id].add(own)
	}
	paths, err := v.Paths()
	if err != nil {
		t.Fatal(err)
	}
	times, err := v.PathTimes()
	if err != nil {
		t.Fatal(err)
	}
	// Both are in the order of id, and a parent has values wherever what is below it has.
	parents := map[session.PathID]session.PathTime{}
	for _, p := range paths {
		parents[p.ID] = session.PathTime{ID: p.ID, Parent: p.Parent, Process: p.Process, Function: p.Function}
	}
	for _, p := range times {
		parents[p.ID] = session.PathTime{ID: p.ID, Parent: p.Parent, Process: p.Process, Function: p.Function}
	}
	for _, id := range slices.Sorted(maps.Keys(parents)) {
		p := parents[id]
		add(p.ID, p.Parent, p.Process, p.Function, stackSum{})
	}
	for _, p := range paths {
		add(p.ID, p.Parent, p.Process, p.Function, stackSum{Amount: p.Exclusive})
	}
	for _, p := range times {
		add(p.ID, p.Parent, p.Process, p.Function, stackSum{Calls: p.Calls, Time: p.Exclusive})
	}
	return out
}

// sum adds up what was done on each stack, by what name makes of it.
func (p pathStacks) sum(name func([]string) []string) map[string]stackSum {
	out := map[string]stackSum{}
	for id, own := range p.own {
		for _, to := range name(p.stacks[id]) {
			x := out[to]
			x.add(*own)
			out[to] = x
		}
	}
	return nonzero(out)
}

func nonzero(m map[string]stackSum) map[string]stackSum {
	for k, v := range m {
		if v.isZero() {
			delete(m, k)
		}
	}
	return m
}

// foldStack is folding as one would do it by hand: from the root on, back to where the function was.
func foldStack(stack []string) []string {
	var out []string
	for _, f := range stack {
		if at := slices.Index(out, f); at >= 0 && !strings.HasSuffix(f, "~") {
			out = out[:at]
		}
		out = append(slices.Clip(out), f)
	}
	return out
}

// treeOf is what Trim, FoldRecursion and BottomUp return.
type treeOf interface {
	Role(session.PathID) AsyncRole
	Below(session.PathID) ([]session.PathValue, []session.PathTime)
}

// treeSums are what each row has itself, by the names from the root; the inclusive values must be those of the rows
// below with it.
func treeSums(t *rapid.T, v *Source, tree treeOf, bottomUp bool) map[string]stackSum {
	marks := functionMarks(t, v)
	out := map[string]stackSum{}
	var walk func(id session.PathID, above string, level int64) stackSum
	walk = func(id session.PathID, above string, level int64) stackSum {
		amounts, times := tree.Below(id)
		own, all, names := map[session.PathID]*stackSum{}, map[session.PathID]*stackSum{}, map[session.PathID]string{}
		row := func(p session.PathTime) {
			if p.Level != level || p.Parent != id {
				t.Fatalf("row %+v at level %d below %d", p, level, id)
			}
			name := above
			if id == 0 {
				name = fmt.Sprintf("process %d", p.Process)
			}
			names[p.ID] = fmt.Sprintf("%s %s%s", name, marks[p.Function], tree.Role(p.ID))
			if own[p.ID] == nil {
				own[p.ID], all[p.ID] = &stackSum{}, &stackSum{}
			}
			own[p.ID].add(stackSum{Calls: p.Calls, Time: p.Exclusive})
			all[p.ID].add(stackSum{Time: p.Inclusive})
		}
		for _, p := range amounts {
			row(session.PathTime{ID: p.ID, Parent: p.Parent, Level: p.Level, Process: p.Process, Function: p.Function})
			own[p.ID].add(stackSum{Amount: p.Exclusive})
			all[p.ID].add(stackSum{Amount: p.Inclusive})
		}
		for _, p := range times {
			row(p)
		}
		var sum stackSum
		for _, id := range slices.Sorted(maps.Keys(names)) {
			x := out[names[id]]
			x.add(*own[id])
			out[names[id]] = x
			below := walk(id, names[id], level+1)
			if !bottomUp {
				below.add(*own[id])
			} else {
				below = *own[id]
			}
			below.Calls = 0
			if below != *all[id] {
				t.Fatalf("%s: inclusive %+v, its parts %+v", names[id], *all[id], below)
			}
			sum.add(below)
		}
		return sum
	}
	walk(0, "", 1)
	return nonzero(out)
}

// TestShapes: trees of random sessions, of memory and of times, are what is made by hand of each path.
func TestShapes(t *testing.T) {
	dir := t.TempDir()
	for name, make := range map[string]func(uint64) *sessiontest.Builder{"memory": sessiontest.Random,
		"times": sessiontest.RandomTimes} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				s := open(rt, make(rapid.Uint64().Draw(rt, "seed")), filepath.Join(dir, name))
				defer s.Close()
				v, err := Open(s, Selection{})
				if err != nil {
					rt.Fatal(err)
				}
				stacks := readStacks(rt, v)
				checkFolded(rt, v, stacks)
				checkTrimmed(rt, v, stacks)
				checkBottomUp(rt, v, stacks)
				checkGrouped(rt, v, stacks)
			})
		})
	}
}

// checkFolded: each stack counts where folding by hand puts it, in the tree and as a selection, of which samples are
// made.
func checkFolded(rt *rapid.T, v *Source, stacks pathStacks) {
	want := stacks.sum(func(s []string) []string { return []string{strings.Join(foldStack(s), " ")} })
	tree, err := v.FoldRecursion(nil)
	if err != nil {
		rt.Fatal(err)
	}
	if diff := differ.Of(want, treeSums(rt, v, tree, false)); diff != "" {
		rt.Fatalf("tree (-by hand +folded):\n%s", diff)
	}
	selected, err := Open(v.session, Selection{FoldRecursion: true})
	if err != nil {
		rt.Fatal(err)
	}
	have := readStacks(rt, selected).sum(func(s []string) []string { return []string{strings.Join(s, " ")} })
	if diff := differ.Of(want, have); diff != "" {
		rt.Fatalf("selection (-by hand +folded):\n%s", diff)
	}
	for _, kind := range []func(*Source) (any, error){
		func(v *Source) (any, error) { return v.Lines() }, func(v *Source) (any, error) { return v.Types() },
		func(v *Source) (any, error) { return v.Total() }, func(v *Source) (any, error) { return v.TotalTime() },
	} {
		whole, err := kind(v)
		if err != nil {
			rt.Fatal(err)
		}
		folded, err := kind(selected)
		if err != nil {
			rt.Fatal(err)
		}
		if diff := differ.Of(whole, folded); diff != "" {
			rt.Fatalf("%T differs when recursion is folded:\n%s", whole, diff)
		}
	}
}

// tenth trims what is less than a tenth of all.
func tenth(t *rapid.T, v *Source) TooSmall {
	all, err := v.Total()
	if err != nil {
		t.Fatal(err)
	}
	time, err := v.TotalTime()
	if err != nil {
		t.Fatal(err)
	}
	return func(_ int, a q.Amount, x q.Time) bool {
		return 10*a.Bytes < all.Bytes && 10*x.Elapsed < time.Inclusive.Elapsed || all.IsZero() &&
			10*x.Elapsed < time.Inclusive.Elapsed ||
			time.Inclusive.Elapsed == 0 && 10*a.Bytes < all.Bytes
	}
}

// checkTrimmed: each stack counts for its first function that is too small, with what else is too small beside it.
func checkTrimmed(rt *rapid.T, v *Source, stacks pathStacks) {
	small := tenth(rt, v)
	inclusive := stacks.sum(func(s []string) (out []string) {
		for i := 1; i <= len(s); i++ {
			out = append(out, strings.Join(s[:i], " "))
		}
		return out
	})
	want := stacks.sum(func(s []string) []string {
		for i := 2; i <= len(s); i++ {
			if x := inclusive[strings.Join(s[:i], " ")]; small(i, x.Amount, x.Time) {
				return []string{strings.Join(s[:i-1], " ") + " 0left out"}
			}
		}
		return []string{strings.Join(s, " ")}
	})
	tree, err := v.Trim(nil, small)
	if err != nil {
		rt.Fatal(err)
	}
	if diff := differ.Of(want, treeSums(rt, v, tree, false)); diff != "" {
		rt.Fatalf("(-by hand +trimmed):\n%s", diff)
	}
}

// checkBottomUp: a row has what was done itself on all stacks that end with its functions, in the order from the leaf.
func checkBottomUp(rt *rapid.T, v *Source, stacks pathStacks) {
	ends := func(s []string) (out []string) {
		for i := len(s) - 1; i > 0; i-- {
			up := slices.Clone(s[i:])
			slices.Reverse(up)
			out = append(out, s[0]+" "+strings.Join(up, " "))
		}
		return out
	}
	want := stacks.sum(ends)
	tree, err := v.BottomUp(nil, nil)
	if err != nil {
		rt.Fatal(err)
	}
	if diff := differ.Of(want, treeSums(rt, v, tree, true)); diff != "" {
		rt.Fatalf("(-by hand +bottom up):\n%s", diff)
	}
	small := tenth(rt, v)
	trimmed := stacks.sum(func(s []string) (out []string) {
		above := s[0]
		for _, end := range ends(s) {
			if x := want[end]; small(0, x.Amount, x.Time) {
				return append(out, above+" 0left out")
			}
			out, above = append(out, end), end
		}
		return out
	})
	if tree, err = v.BottomUp(nil, small); err != nil {
		rt.Fatal(err)
	}
	if diff := differ.Of(trimmed, treeSums(rt, v, tree, true)); diff != "" {
		rt.Fatalf("trimmed (-by hand +bottom up):\n%s", diff)
	}
	checkKept(rt, v, want)
}

// checkKept: a tree from below that is kept has the same rows however often one asks, and another one opens each by the
// ids on the way to it, from the last one back.
func checkKept(rt *rapid.T, v *Source, want map[string]stackSum) {
	kept := func() *BottomUpTree {
		tree, err := v.BottomUp(nil, nil)
		if err != nil {
			rt.Fatal(err)
		}
		tree.Keep()
		return tree
	}
	tree, other := kept(), kept()
	for range 2 {
		if diff := differ.Of(want, treeSums(rt, v, tree, true)); diff != "" {
			rt.Fatalf("kept (-by hand +bottom up):\n%s", diff)
		}
	}
	var ways [][]session.PathID
	var walk func(way []session.PathID)
	walk = func(way []session.PathID) {
		ways = append(ways, way)
		id := session.PathID(0)
		if len(way) > 0 {
			id = way[len(way)-1]
		}
		amounts, times := tree.Below(id)
		below := map[session.PathID]bool{}
		for _, p := range amounts {
			below[p.ID] = true
		}
		for _, p := range times {
			below[p.ID] = true
		}
		if id != 0 && tree.IsLeaf(id) != (len(below) == 0) {
			rt.Fatalf("row %v is a leaf: %t, but %d rows are below it", way, tree.IsLeaf(id), len(below))
		}
		for _, b := range slices.Sorted(maps.Keys(below)) {
			walk(append(slices.Clone(way), b))
		}
	}
	walk(nil)
	for _, way := range slices.Backward(ways) {
		if err := other.Open(way); err != nil {
			rt.Fatalf("%v: %v", way, err)
		}
		last := append([]session.PathID{0}, way...)[len(way)]
		amounts, times := tree.Below(last)
		if a, b := other.Below(last); !reflect.DeepEqual(a, amounts) || !reflect.DeepEqual(b, times) {
			rt.Fatalf("below %v there is %v %v, want %v %v", way, a, b, amounts, times)
		}
		if len(way) > 1 && !errors.Is(other.Open(way[1:]), errNoRow) {
			rt.Fatalf("%v: part of a way is a way", way)
		}
	}
}

// checkGrouped: each stack counts for the modules or namespaces on it, of which none is twice in a row.
func checkGrouped(rt *rapid.T, v *Source, stacks pathStacks) {
	functions, err := v.session.Functions()
	if err != nil {
		rt.Fatal(err)
	}
	for by, group := range map[By]func(f *session.Function) string{
		ByModule:    func(f *session.Function) string { return fmt.Sprint(f.Process, f.Module) },
		ByNamespace: func(f *session.Function) string { return fmt.Sprint(f.Process, pattern.Namespace(f.RawType)) },
	} {
		first, of := map[string]string{}, map[string]string{"0": "0"}
		for i := range functions {
			f := &functions[i]
			if first[group(f)] == "" {
				first[group(f)] = functionMark(f) + string(AsyncGroup)
			}
			of[functionMark(f)] = first[group(f)]
		}
		want := stacks.sum(func(s []string) []string {
			out := []string{s[0]}
			for _, f := range s[1:] {
				if out[len(out)-1] != of[f] || of[f] == "0" {
					out = append(out, of[f])
				}
			}
			return []string{strings.Join(out, " ")}
		})
		tree, err := v.GroupFunctions(nil, by)
		if err != nil {
			rt.Fatal(err)
		}
		if diff := differ.Of(want, treeSums(rt, v, tree, false)); diff != "" {
			rt.Fatalf("by %s (-by hand +grouped):\n%s", by, diff)
		}
	}
}
