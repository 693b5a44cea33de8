package e2e

import (
	"fmt"
	"testing"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// changed is what happened to the objects of a type from one collection to the next.
type changed struct {
	GC      int    `json:"gc"`
	Type    string `json:"type"`
	Objects int64  `json:"objects"`
}

// TestLifetimeChanges compares what was born before, and what died in, each collection with objects of which both are
// known by construction.
func TestLifetimeChanges(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	for i, w := range lifetimeWays {
		for _, runtime := range in.InTurn(i) {
			t.Run(w.name+"/"+runtime.Name, func(t *testing.T) {
				t.Parallel()
				target := runtime.Command(dotnettest.Target(t, "LifetimeTruth", w.options), "1000")
				target.Env = append(append(target.Env, largeBudget), w.env...)
				r := mustRecord(t, target, "--lifetime")
				born, died := map[string]map[int]int64{}, map[string]map[int]int64{}
				add := func(to map[string]map[int]int64, c changed) {
					if to[c.Type] == nil {
						to[c.Type] = map[int]int64{}
					}
					to[c.Type][c.GC] += c.Objects
				}
				for _, c := range query[changed](t, r.session,
					"SELECT gc, type, sum(allocations) AS objects FROM gc_births GROUP BY 1, 2") {
					add(born, c)
				}
				for _, c := range query[changed](t, r.session,
					"SELECT gc, type, sum(objects) AS objects FROM gc_deaths GROUP BY 1, 2") {
					add(died, c)
				}
				for _, want := range truthRows[lifetimeTruth](t, r.stdout, "lifetime") {
					name := want.shown()
					dead := want.Gen0 + want.Gen1 + want.Gen2 + want.LOH + want.POH
					wantBorn, wantDied := map[int]int64{want.Born + 1: dead + want.Alive}, map[int]int64(nil)
					if dead != 0 {
						wantDied = map[int]int64{want.Born + want.Survived + 1: dead}
					}
					if fmt.Sprint(born[name]) != fmt.Sprint(wantBorn) ||
						fmt.Sprint(died[name]) != fmt.Sprint(wantDied) {
						t.Errorf("%s: born %v and died %v by collection, want %v and %v", name, born[name], died[name],
							wantBorn, wantDied)
					}
				}
			})
		}
	}
}
