package e2e

import (
	"testing"

	"github.com/clrprof/clrprof/internal/dotnettest"
	"github.com/clrprof/clrprof/internal/session"
)

// TestTimeOfNothing calls a function without code ten million times: without what the probes add, its own time is
// nothing, to 3 ns for each call. It is computed from what was measured, so that what is below zero is seen. As of the probes,
// which are measured at the beginning, the median counts, and intervals in which the system did not act.
func TestTimeOfNothing(t *testing.T) {
	const exact = 3.0 // ns
	in := dotnettest.Need(t)
	for _, w := range []way{timeTiered, timeOptimized} {
		for _, runtime := range in.Runtimes() {
			for _, flags := range [][]string{timeOnly, byProbes} {
				t.Run(w.name+"/"+runtime.Name+"/"+flags[len(flags)-1], func(t *testing.T) {
					cmd := runtime.Command(dotnettest.Target(t, "TimeEmpty", dotnettest.Options{}), "empty", "10000000")
					cmd.Env = append(cmd.Env, w.env...)
					r := mustRecordTime(t, cmd, flags...)
					p := compareCalls(t, r, "TimeEmpty.dll").processes[0]
					loops := query[struct{ NS float64 }](t, r.session, `SELECT 1.0 * sum(v.elapsed_ns - v.waited_ns) / sum(v.ended - v.wait_intervals) NS
						FROM timing_value v JOIN timing t ON t.id = v.timing_id JOIN node n ON n.id = t.node_id JOIN function f ON f.id = n.function_id
						WHERE f.raw_type || '.' || f.raw_name = 'TimeEmpty.Leaves.Empty' GROUP BY t.id ORDER BY NS`)
					if len(loops) != 10 {
						t.Fatalf("%d loops, want 10", len(loops))
					}
					// Where others use the machine nothing takes the same time twice: the loops say by how much.
					noise := loops[len(loops)-1].NS - loops[0].NS
					if own := loops[len(loops)/2].NS - p.Inside; own < -exact-noise || own > exact+noise {
						t.Errorf("a call of a function without code takes %.2f ns, after %.2f ns for the probes were taken out: %v", own, p.Inside, loops)
					}
					checkWithin(t, r, p)
				})
			}
		}
	}
}

// checkWithin compares the loop around the calls with what the target measured around the loop.
func checkWithin(t *testing.T, r result, p session.ProcessTime) {
	t.Helper()
	w := truthRows[took](t, r.stdout, "took")[0]
	f := readRecordedTime(t, r.session).functions[w.callee()]
	if f.inclusive.Elapsed > w.WallMax+w.perCall(w.WallMax) {
		t.Errorf("%s took %d ns, the target measured %d ns around it", w.Name, f.inclusive.Elapsed, w.WallMax)
	}
	if p.Inside <= 0 || p.Outside <= 0 || p.ColdInside < 0 || p.ColdOutside < 0 {
		t.Errorf("probes are said to take %+v", p)
	}
}

// TestTimeOfManyPaths goes through thousands of different paths of calls: each is a node of the tree, and has its calls.
func TestTimeOfManyPaths(t *testing.T) {
	in := dotnettest.Need(t)
	for _, runtime := range in.Runtimes() {
		// Without tiers: a function that is compiled again has other return addresses.
		cmd := runtime.Command(dotnettest.Target(t, "TimeEmpty", dotnettest.Options{}), "wide", "13")
		cmd.Env = append(cmd.Env, timeOptimized.env...)
		r := mustRecordTime(t, cmd, timeOnly...)
		compareCalls(t, r, "TimeEmpty.dll")
		want := truthRows[struct {
			Calls int64 `json:"calls"`
			Paths int64 `json:"paths"`
		}](t, r.stdout, "paths")[0]
		got := query[struct {
			Paths, Least, Most int64
		}](t, r.session, `SELECT count(*) Paths, min(calls) Least, max(calls) Most FROM (SELECT sum(v.calls) calls FROM timing_value v
			JOIN timing t ON t.id = v.timing_id JOIN node n ON n.id = t.node_id JOIN function f ON f.id = n.function_id
			WHERE f.raw_name IN ('Left', 'Right') AND v.calls > 0 GROUP BY n.id)`)[0]
		if got.Paths != want.Paths || got.Least != want.Calls || got.Most != want.Calls {
			t.Errorf("%s: %d paths with %d to %d calls, want %d paths with %d", runtime.Name, got.Paths, got.Least, got.Most, want.Paths, want.Calls)
		}
	}
}
