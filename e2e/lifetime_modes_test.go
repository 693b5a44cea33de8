package e2e

import (
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// allocatedBy is what was allocated of a type by a stack: functions from the innermost to the outermost.
type allocatedBy struct{ Type, Stack string }

// allocations returns how many objects a session has by type and stack.
func allocations(t *testing.T, path string) map[allocatedBy]int64 {
	t.Helper()
	type node struct {
		ID, Parent int64
		Function   string
	}
	stacks := map[int64]string{}
	for _, n := range query[node](t, path, `SELECT n.id, n.parent_id AS parent, f.name AS function
		FROM node n JOIN function f ON f.id = n.function_id ORDER BY n.id`) { // parents come first
		stacks[n.ID] = n.Function + "\n" + stacks[n.Parent]
	}
	found := map[allocatedBy]int64{}
	for _, s := range query[struct {
		Node, Objects int64
		Type          string
	}](t, path, `SELECT s.node_id AS node, t.name AS type, sum(v.allocations) AS objects
		FROM site_value v JOIN site s ON s.id = v.site_id JOIN type t ON t.id = s.type_id GROUP BY 1, 2`) {
		found[allocatedBy{s.Type, stacks[s.Node]}] += s.Objects
	}
	return found
}

// TestModesAgree checks that a program has the same objects by type and stack whether their ends are recorded or not: the
// session of events that the agent starts for these takes nothing of the framework away from the program. What is made
// after the last collection is left out, and counted.
func TestModesAgree(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	dll := dotnettest.Target(t, "SharedCaches", dotnettest.Options{})
	for i, parts := range [][]string{{"hello"}, {"texts"}, {"reflection"}, {"events"}} {
		for _, runtime := range in.InTurn(i) {
			if runtime.Major() < 8 {
				continue // it has no events for it
			}
			t.Run(strings.Join(parts, " ")+"/"+runtime.Name, func(t *testing.T) {
				lifetime := mustRecord(t, runtime.Command(dll, parts...))
				found := allocations(t, lifetime.session)
				of := query[struct{ Gcs, Walked, Objects int64 }](t, lifetime.session, `SELECT gcs, walked_gcs AS walked, objects
					FROM process_lifetime JOIN process_left_out USING (process_id)`)
				if len(of) != 1 || of[0].Gcs != 401 || of[0].Walked > of[0].Gcs/2 || of[0].Objects > mostLate {
					t.Fatalf("there was no session of events, or much was left out: %+v", of)
				}
				late := int64(0)
				for a, n := range allocations(t, mustRecord(t, runtime.Command(dll, parts...), "--memory").session) {
					if missing := n - found[a]; missing > 0 && strings.HasSuffix(a.Stack, "System.AppContext.OnProcessExit()\n") {
						late += missing
					} else if missing != 0 {
						t.Errorf("%d objects of %s instead of %d, by\n%s", found[a], a.Type, n, a.Stack)
					}
					delete(found, a)
				}
				for a, n := range found {
					t.Errorf("%d objects of %s that the program does not make without their ends, by\n%s", n, a.Type, a.Stack)
				}
				if late != of[0].Objects {
					t.Errorf("%d objects are missing that were made at the end, %d were left out", late, of[0].Objects)
				}
			})
		}
	}
}
