package e2e

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// TestForks: children that are forked and run managed code end as they do without clrprof, change nothing of what is
// recorded of their parent, and are named as not recorded.
func TestForks(t *testing.T) {
	t.Parallel()
	const children = 5
	in := dotnettest.Need(t)
	for i, flags := range [][]string{{"--time"}, {"--time", "--memory", "--probes", "hooks"}, {"--memory"}, {"--time", "--memory", "--lifetime"}} {
		for _, runtime := range in.Runtimes() {
			if runtime.Major() < 8 {
				continue
			}
			t.Run(fmt.Sprint(flags, runtime.Name), func(t *testing.T) {
				t.Parallel()
				cmd := runtime.Command(dotnettest.Target(t, "Forks", dotnettest.Options{}), fmt.Sprint(children))
				// What the runtime compiles in a child changes its parent, with which it shares the memory.
				cmd.Env = append(cmd.Env, "COMPlus_TieredCompilation=0")
				r := record(t, cmd, flags...)
				if r.exit != 4 {
					t.Fatalf("exit code %d: %s", r.exit, r.stderr)
				}
				if found, err := analysis.Check(openSession(t, r.session)); err != nil || len(found) != 0 {
					t.Errorf("the session contradicts itself: %v, %v", found, err)
				}
				type loss struct {
					Reason, Process string
					Missing, Many   int64
				}
				losses := query[loss](t, r.session, `SELECT reason, process, sum(missing) AS missing, count(*) AS many
					FROM losses GROUP BY 1, 2 ORDER BY 1, 2`)
				if diff := cmp.Diff([]loss{{"forked", "Forks", children, children}}, losses); diff != "" {
					t.Errorf("losses (-want +got):\n%s", diff)
				}
				compareForks(t, r, i)
			})
		}
	}
}

// compareForks compares what the parent made and called.
func compareForks(t *testing.T, r result, mode int) {
	t.Helper()
	const made, calls = 100 + 1000 + 2000 + 1000, 4
	type row struct{ Objects, Calls int64 }
	var want, have row
	if mode != 0 {
		want.Objects = made
		have.Objects = query[row](t, r.session, "SELECT sum(instances) AS objects FROM types WHERE name = 'Forks.Widget'")[0].Objects
	}
	if mode != 2 {
		want.Calls = made + calls
		have.Calls = query[row](t, r.session, `SELECT sum(calls) AS calls FROM function_times
			WHERE name LIKE 'Forks.Program.One(%' OR name LIKE 'Forks.Program.Make(%'`)[0].Calls
	}
	if have != want {
		t.Errorf("%+v, want %+v", have, want)
	}
}
