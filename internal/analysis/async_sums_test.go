package analysis

import (
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/differ"
)

// onTree is what a function, or a call, has on the rows of a tree.
type onTree struct {
	Amounts q.Amounts
	Times   q.Times
	Calls   q.Count
}

// naiveSums adds up a tree by looking, for each row, at all rows above it.
func naiveSums(tree *LogicalTree) (functions map[session.FunctionID]onTree, calls map[callPair]onTree) {
	functions, calls = map[session.FunctionID]onTree{}, map[callPair]onTree{}
	parents, keys := map[session.PathID]session.PathID{}, map[session.PathID]session.FunctionID{}
	note := func(id, parent session.PathID, function session.FunctionID) {
		parents[id], keys[id] = parent, function
		for machine, method := range tree.methods {
			if machine == function {
				keys[id] = method
			}
		}
		if tree.Role(id) == AsyncRuntime {
			keys[id] = AsyncRuntimeID
		}
	}
	for _, p := range tree.below.rows {
		note(p.ID, p.Parent, p.Function)
	}
	for _, p := range tree.beneath.rows {
		note(p.ID, p.Parent, p.Function)
	}
	pair := func(id session.PathID) callPair { return callPair{keys[parents[id]], keys[id]} }
	add := func(id session.PathID, amounts q.Amounts, times q.Times, n q.Count) {
		first, firstCall := true, true
		for above := parents[id]; above != 0; above = parents[above] {
			first = first && keys[above] != keys[id]
			firstCall = firstCall && pair(above) != pair(id)
		}
		sum := func(to onTree, outermost bool) onTree {
			to.Amounts.Exclusive = to.Amounts.Exclusive.Add(amounts.Exclusive)
			to.Times.Exclusive = to.Times.Exclusive.Add(times.Exclusive)
			to.Calls += n
			if outermost {
				to.Amounts.Inclusive = to.Amounts.Inclusive.Add(amounts.Inclusive)
				to.Times.Inclusive = to.Times.Inclusive.Add(times.Inclusive)
			}
			return to
		}
		functions[keys[id]] = sum(functions[keys[id]], first)
		calls[pair(id)] = sum(calls[pair(id)], firstCall)
	}
	for _, p := range tree.below.rows {
		add(p.ID, p.Amounts, q.Times{}, 0)
	}
	for _, p := range tree.beneath.rows {
		add(p.ID, q.Amounts{}, p.Times, p.Calls)
	}
	return functions, calls
}

// TestTreeSums: functions and calls of the logical tree have what a look at each row and all above it finds.
func TestTreeSums(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		s, _, tree := drawLogicalTree(rt, filepath.Join(dir, "a"))
		defer s.Close()
		functions, calls := naiveSums(tree)
		sums := tree.Sums()
		have := map[session.FunctionID]onTree{}
		for _, f := range sums.Functions {
			have[f.Function] = onTree{Amounts: f.Amounts}
		}
		for _, f := range sums.FunctionTimes {
			x := have[f.Function]
			x.Times, x.Calls = f.Times, f.Calls
			have[f.Function] = x
		}
		if diff := differ.Of(functions, have); diff != "" {
			rt.Fatalf("functions:\n%s", diff)
		}
		of := map[callPair]onTree{}
		for _, c := range sums.Calls {
			of[callPair{c.Caller, c.Callee}] = onTree{Amounts: c.Amounts}
		}
		for _, c := range sums.CallTimes {
			x := of[callPair{c.Caller, c.Callee}]
			x.Times, x.Calls = c.Times, c.Calls
			of[callPair{c.Caller, c.Callee}] = x
		}
		if diff := differ.Of(calls, of); diff != "" {
			rt.Fatalf("calls:\n%s", diff)
		}
		for _, f := range sums.Functions {
			if sums.Method(f.Function) != f.Function {
				rt.Fatalf("the body of function %d has a row of its own", f.Function)
			}
		}
	})
}
