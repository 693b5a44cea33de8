package calltree

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	q "github.com/clrprof/clrprof/internal/quantity"
)

// sample is a random tree with amounts and groups. Groups are few, so that
// recursion, direct and through others, is common.
type sample struct {
	tree      Tree
	exclusive []q.Amount
	group     []int32
	groups    int
}

func drawSample(t *rapid.T) sample {
	n := rapid.IntRange(0, 60).Draw(t, "nodes")
	s := sample{groups: rapid.IntRange(1, 6).Draw(t, "groups")}
	var parent []int32
	for i := range n {
		// Near parents make deep trees, far ones make wide trees.
		low := max(-1, i-rapid.IntRange(1, 61).Draw(t, "near"))
		parent = append(parent, int32(rapid.IntRange(low, i-1).Draw(t, "parent")))
		s.exclusive = append(s.exclusive, q.Amount{
			Allocations: q.Count(rapid.IntRange(0, 3).Draw(t, "allocations")),
			Bytes:       q.Bytes(rapid.IntRange(0, 100).Draw(t, "bytes")),
		})
		s.group = append(s.group, int32(rapid.IntRange(0, s.groups-1).Draw(t, "group")))
	}
	tree, err := New(parent)
	if err != nil {
		t.Fatal(err)
	}
	s.tree = tree
	return s
}

// stack returns the nodes from node to its root.
func (s sample) stack(node int) []int {
	var out []int
	for i := int32(node); i >= 0; i = s.tree.Parent[i] {
		out = append(out, int(i))
	}
	return out
}

// Each naive function below looks at one allocation place after the other, with
// its whole stack, as the definitions in docs/metrics.md do.

func (s sample) naiveInclusive() []q.Amount {
	out := make([]q.Amount, s.tree.Len())
	for i, a := range s.exclusive {
		for _, n := range s.stack(i) {
			out[n] = out[n].Add(a)
		}
	}
	return out
}

func (s sample) naivePresence(group []int32) []q.Amount {
	out := make([]q.Amount, s.groups)
	for i, a := range s.exclusive {
		seen := map[int32]bool{}
		for _, n := range s.stack(i) {
			if g := group[n]; g >= 0 && !seen[g] {
				seen[g] = true
				out[g] = out[g].Add(a)
			}
		}
	}
	return out
}

func (s sample) naiveCalls() map[Call]q.Amounts {
	out := map[Call]q.Amounts{}
	call := func(n int) Call {
		if p := s.tree.Parent[n]; p >= 0 {
			return Call{s.group[p], s.group[n]}
		}
		return Call{None, s.group[n]}
	}
	for i, a := range s.exclusive {
		seen := map[Call]bool{}
		for depth, n := range s.stack(i) {
			c := call(n)
			v := out[c]
			if depth == 0 {
				v.Exclusive = v.Exclusive.Add(a)
			}
			if !seen[c] {
				seen[c] = true
				v.Inclusive = v.Inclusive.Add(a)
			}
			out[c] = v
		}
	}
	return out
}

// naiveMerge keys nodes by the text of their path of groups.
func (s sample) naiveMerge() map[string]q.Amount {
	out := map[string]q.Amount{}
	for i, a := range s.exclusive {
		out[s.pathKey(i)] = out[s.pathKey(i)].Add(a)
	}
	return out
}

func (s sample) pathKey(node int) string {
	key := ""
	for _, n := range s.stack(node) {
		key = string(rune('a'+s.group[n])) + key
	}
	return key
}

func TestAgainstNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSample(t)
		inclusive := Inclusive(s.tree, s.exclusive)
		if diff := cmp.Diff(s.naiveInclusive(), inclusive, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("inclusive: %s", diff)
		}
		if diff := cmp.Diff(s.naivePresence(s.group), Presence(s.tree, inclusive, s.group, s.groups)); diff != "" {
			t.Errorf("presence: %s", diff)
		}
		some := slices.Clone(s.group)
		for i := range some {
			if some[i] == 0 {
				some[i] = None
			}
		}
		if diff := cmp.Diff(s.naivePresence(some), Presence(s.tree, inclusive, some, s.groups)); diff != "" {
			t.Errorf("presence with nodes of no group: %s", diff)
		}
		calls := map[Call]q.Amounts{}
		for _, c := range Calls(s.tree, s.exclusive, inclusive, s.group) {
			calls[c.Call] = q.Amounts{Inclusive: c.Inclusive, Exclusive: c.Exclusive}
		}
		if diff := cmp.Diff(s.naiveCalls(), calls, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("calls: %s", diff)
		}
	})
}

func TestMergeAgainstNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSample(t)
		m := s.tree.Merge(s.group)
		if _, err := New(m.Parent); err != nil {
			t.Fatal(err)
		}
		merged := sample{tree: m.Tree, group: m.Group, groups: s.groups, exclusive: Sum(s.exclusive, m.Of, m.Len())}
		if diff := cmp.Diff(s.naiveMerge(), merged.naiveMerge(), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("merge: %s", diff)
		}
		keys := map[string]bool{}
		for i := range m.Len() {
			keys[merged.pathKey(i)] = true
		}
		if len(keys) != m.Len() {
			t.Errorf("%d merged nodes have %d different paths", m.Len(), len(keys))
		}
		for i, n := range m.Of {
			if s.pathKey(i) != merged.pathKey(int(n)) {
				t.Errorf("node %d has path %s, merged %s", i, s.pathKey(i), merged.pathKey(int(n)))
			}
		}
		// Merging must not change the values of functions and calls.
		inclusive := Inclusive(merged.tree, merged.exclusive)
		if diff := cmp.Diff(s.naivePresence(s.group),
			Presence(merged.tree, inclusive, merged.group, s.groups)); diff != "" {
			t.Errorf("presence after merge: %s", diff)
		}
	})
}

func TestKeepAgainstNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSample(t)
		inclusive := Inclusive(s.tree, s.exclusive)
		keep := make([]bool, s.tree.Len())
		want := 0
		for i := range keep {
			if keep[i] = !inclusive[i].IsZero(); keep[i] {
				want++
			}
		}
		kept, old := s.tree.Keep(keep)
		if _, err := New(kept.Parent); err != nil || kept.Len() != want {
			t.Fatalf("%d kept, want %d, %v", kept.Len(), want, err)
		}
		after := sample{tree: kept}
		for _, o := range old {
			after.group = append(after.group, s.group[o])
			after.exclusive = append(after.exclusive, s.exclusive[o])
		}
		for i, o := range old {
			if s.pathKey(int(o)) != after.pathKey(i) {
				t.Errorf("node %d changed its path", o)
			}
		}
		if diff := cmp.Diff(s.naivePathTotals(), after.naivePathTotals(), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("kept values: %s", diff)
		}
	})
}

// naivePathTotals is naiveMerge without the paths of value zero.
func (s sample) naivePathTotals() map[string]q.Amount {
	out := s.naiveMerge()
	for k, v := range out {
		if v.IsZero() {
			delete(out, k)
		}
	}
	return out
}

func TestWalkOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSample(t)
		var got, want []int
		s.tree.Walk(s.tree.Children(), func(n int32) { got = append(got, int(n)) }, func(n int32) {
			got = append(got, -1-int(n))
		})
		var visit func(parent int32)
		visit = func(parent int32) {
			for i, p := range s.tree.Parent {
				if p == parent {
					want = append(want, i)
					visit(int32(i))
					want = append(want, -1-i)
				}
			}
		}
		visit(None)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Error(diff)
		}
		for i, level := range s.tree.Levels() {
			if int(level) != len(s.stack(i))-1 {
				t.Errorf("level of %d is %d", i, level)
			}
		}
	})
}

func TestHotPathAgainstNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSample(t)
		inclusive := Inclusive(s.tree, s.exclusive)
		children := func(parent int32) ([]Weighted[int32], error) {
			var out []Weighted[int32]
			for i, p := range s.tree.Parent {
				if p == parent {
					out = append(out, Weighted[int32]{int32(i), int64(inclusive[i].Bytes), int64(s.exclusive[i].Bytes)})
				}
			}
			return out, nil
		}
		got, err := HotPath(None, 0, children)
		if err != nil {
			t.Fatal(err)
		}
		parent, own := int32(None), q.Bytes(0)
		for i := 0; ; i++ {
			below, _ := children(parent)
			slices.SortStableFunc(below, func(a, b Weighted[int32]) int { return int(b.Inclusive - a.Inclusive) })
			stop := len(below) == 0 || below[0].Inclusive == 0 || int64(own) >= below[0].Inclusive
			if stop != (i == len(got)) {
				t.Fatalf("path %v has the wrong length", got)
			}
			if stop {
				return
			}
			if got[i] != below[0].Node {
				t.Fatalf("path %v: step %d should be %d", got, i, below[0].Node)
			}
			parent, own = got[i], s.exclusive[got[i]].Bytes
		}
	})
}

func TestNewRejects(t *testing.T) {
	for _, parent := range [][]int32{{0}, {-2}, {-1, 1}, {-1, 2, 0}} {
		if _, err := New(parent); err == nil {
			t.Errorf("parents %v were accepted", parent)
		}
	}
}

// TestDeep would end in a stack overflow, or take minutes, if anything recursed or were quadratic.
func TestDeep(t *testing.T) {
	const n = 1 << 20
	parent := make([]int32, n)
	group := make([]int32, n)
	exclusive := make([]q.Amount, n)
	for i := range parent {
		parent[i] = int32(i - 1)
		group[i] = int32(i % 3)
		exclusive[i] = q.Amount{Allocations: 1, Bytes: 24}
	}
	tree, err := New(parent)
	if err != nil {
		t.Fatal(err)
	}
	inclusive := Inclusive(tree, exclusive)
	all := q.Amount{Allocations: n, Bytes: 24 * n}
	if inclusive[0] != all {
		t.Errorf("inclusive of the root is %v", inclusive[0])
	}
	for g, v := range Presence(tree, inclusive, group, 3) {
		if want := (q.Amount{Allocations: q.Count(n - g), Bytes: q.Bytes(24 * (n - g))}); v != want {
			t.Errorf("group %d has %v, want %v", g, v, want)
		}
	}
	if m := tree.Merge(group); m.Len() != n {
		t.Errorf("merged to %d", m.Len())
	}
	if calls := Calls(tree, exclusive, inclusive, group); len(calls) != 4 {
		t.Errorf("%d calls", len(calls))
	}
}

// TestHotPathStops names the three reasons to stop.
func TestHotPathStops(t *testing.T) {
	tree := map[string][]Weighted[string]{
		"":      {{"light", 4, 4}, {"heavy", 10, 0}, {"later", 10, 0}},
		"heavy": {{"equal", 10, 5}},
		"equal": {{"leaf", 5, 5}}, // as much as the node itself: it ends above
		"zero":  {{"nothing", 0, 0}},
	}
	children := func(n string) ([]Weighted[string], error) { return tree[n], nil }
	for _, c := range []struct {
		from string
		want []string
	}{{"", []string{"heavy", "equal"}}, {"zero", nil}, {"leaf", nil}} {
		got, err := HotPath(c.from, 0, children)
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("from %q: %v %s", c.from, err, diff)
		}
	}
}
