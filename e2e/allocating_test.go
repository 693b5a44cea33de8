package e2e

import (
	"testing"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// TestWaysToAllocate: in each of more than sixty ways to allocate, all bytes that the runtime counts are below the
// function that has them made, and what it makes itself is its own. Shapes and Boxes have the ways that compiled code
// has; these are mostly of libraries.
func TestWaysToAllocate(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	for i, w := range []way{tiered, optimized, tier0} {
		for _, runtime := range in.InTurn(i) {
			t.Run(w.name+"/"+runtime.Name, func(t *testing.T) {
				t.Parallel()
				cmd := runtime.Command(dotnettest.Target(t, "Ways", dotnettest.Options{Unsafe: true}))
				cmd.Env = append(cmd.Env, w.env...)
				r := mustRecord(t, cmd, "--memory")
				compareTruth(t, r, runtime)
				ways := truthRows[struct {
					Count int `json:"count"`
				}](t, r.stdout, "ways")[0].Count
				if totals := len(truthRows[struct{}](t, r.stdout, "total")); ways < 60 || totals != ways {
					t.Errorf("%d ways, %d have a total, want at least 60", ways, totals)
				}
			})
		}
	}
}
