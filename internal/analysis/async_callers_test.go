package analysis

import (
	"fmt"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/differ"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// logicalSum is what was done at one place of logical trees.
type logicalSum struct {
	Own  q.Amount
	Time q.Time
}

// addLogical adds the rows of a logical tree, by the process and the names from the root on.
func addLogical(rt *rapid.T, to map[string]logicalSum, b *sessiontest.Builder, s *session.Session, sel Selection) {
	v, err := Open(s, sel)
	if err != nil {
		rt.Fatal(err)
	}
	tree, err := v.LogicalTree()
	if err != nil {
		rt.Fatal(err)
	}
	if tree == nil {
		rt.Skip("no async methods")
	}
	var walk func(parent session.PathID, at string)
	walk = func(parent session.PathID, at string) {
		amounts, times := tree.Below(parent)
		names := map[session.PathID]string{}
		name := func(id session.PathID, p session.ProcessID, f session.FunctionID) string {
			names[id] = fmt.Sprint(at, " › ", p, tree.Role(id), f)
			return names[id]
		}
		for _, p := range amounts {
			key := name(p.ID, p.Process, p.Function)
			sum := to[key]
			sum.Own = sum.Own.Add(p.Exclusive)
			to[key] = sum
		}
		for _, p := range times {
			key := name(p.ID, p.Process, p.Function)
			sum := to[key]
			sum.Time = sum.Time.Add(p.Exclusive)
			to[key] = sum
		}
		for id, key := range names {
			walk(id, key)
		}
	}
	walk(0, "")
	for key, sum := range to {
		if sum == (logicalSum{}) {
			delete(to, key)
		}
	}
}

// TestLogicalTreeOfParts: the logical trees of all threads, or of all types, add up to that of the session, row by row:
// it is the same callers that a method is below, whatever of it is selected.
func TestLogicalTreeOfParts(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		b := sessiontest.Random(rapid.Uint64().Draw(rt, "seed"))
		if rapid.Bool().Draw(rt, "times") {
			b = sessiontest.RandomTimes(rapid.Uint64().Draw(rt, "seed"))
		}
		nameAsync(rt, b)
		s := open(rt, b, filepath.Join(dir, "a"))
		defer s.Close()
		fold := rapid.Bool().Draw(rt, "fold recursion")
		want, have := map[string]logicalSum{}, map[string]logicalSum{}
		addLogical(rt, want, b, s, Selection{FoldRecursion: fold})
		if rapid.Bool().Draw(rt, "threads") {
			for _, thread := range b.Threads {
				addLogical(rt, have, b, s, Selection{FoldRecursion: fold, Threads: []session.ThreadID{thread.ID}})
			}
		} else {
			for key, sum := range want { // times are of no type
				if sum.Time = (q.Time{}); sum == (logicalSum{}) {
					delete(want, key)
				} else {
					want[key] = sum
				}
			}
			for _, of := range b.Types {
				addLogical(rt, have, b, s, Selection{FoldRecursion: fold, types: map[session.TypeID]bool{of.ID: true}})
			}
		}
		if diff := differ.Of(want, have); diff != "" {
			rt.Fatalf("(-whole +sum of parts)\n%s", diff)
		}
	})
}
