package e2e

import (
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/dotnettest"
	"github.com/clrprof/clrprof/internal/session"
)

// TestTimeTails: a call that ends by a jump, as the prefix tail. demands it, ends there, for however deep a recursion. What it jumped to
// is a call of its caller, and every view says how many calls that is about.
func TestTimeTails(t *testing.T) {
	t.Parallel()
	const levels, jumps = 2_000_000, 2_000_000 + 3
	for _, runtime := range dotnettest.NeedRuntimes(t, 8) {
		dll := dotnettest.Target(t, "TimeTails", dotnettest.Options{Framework: dotnettest.Net8})
		for _, w := range []way{timeTiered, timeOptimized, timeHurried} {
			for _, flags := range [][]string{timeOnly, byProbes} {
				t.Run(w.name+"/"+runtime.Name+"/"+flags[len(flags)-1], func(t *testing.T) {
					cmd := runtime.Command(dll, itoa(levels))
					cmd.Env = append(cmd.Env, w.env...)
					r := record(t, cmd, flags...)
					if r.exit != 0 {
						t.Fatalf("exit code %d\n%s%s", r.exit, r.stdout, r.stderr)
					}
					soundTime(t, r.session)
					lost := losses(t, r.session)
					if len(lost) != 1 || lost[session.LossCallsJumped].Events != jumps {
						t.Errorf("lost %v, want %d calls that jumped", lost, jumps)
					}
					checkTails(t, r.session, levels)
					for _, name := range []string{"summary", "functions", "calltree", "threads"} {
						if text := run(t, "report", r.session, name).stdout; !strings.Contains(text, "2,000,003 calls: they ended by a jump") {
							t.Errorf("%s does not say what jumped:\n%s", name, text)
						}
					}
				})
			}
		}
	}
}

// checkTails compares who called whom, how often, and with what time.
func checkTails(t *testing.T, path string, levels int64) {
	t.Helper()
	type edge struct {
		Caller, Callee string
		Calls          int64
		Elapsed        int64
	}
	calls := map[[2]string]edge{}
	for _, e := range query[edge](t, path, `SELECT c.raw_name AS caller, f.raw_name AS callee, sum(v.calls) AS calls, sum(v.elapsed_inclusive + v.overhead_inclusive) AS elapsed
		FROM call_time v JOIN function f ON f.id = v.callee_id JOIN function c ON c.id = v.caller_id GROUP BY 1, 2`) {
		calls[[2]string{e.Caller, e.Callee}] = e
	}
	own := query[struct{ NS int64 }](t, path, "SELECT agent_time_ns AS ns FROM process_time")[0].NS // is in no interval
	each := 3*20_000_000 - own
	for _, want := range []struct {
		caller, callee string
		calls, least   int64
	}{
		{"Run", "Even", levels/2 + 1, 0}, {"Run", "Odd", levels / 2, 0}, // each jumped to the other
		{"Run", "Ends", 3, 0}, {"Run", "Invoke", 3, each}, // Ends has jumped
		{"Run", "Waits", 3, each}, {"Waits", "Invoke", 3, each}, {"Invoke", "Burn", 6, 2 * each},
	} {
		got := calls[[2]string{want.caller, want.callee}]
		if got.Calls != want.calls || got.Elapsed < want.least {
			t.Errorf("%s called %s %d times, %d ns; want %d times, at least %d ns", want.caller, want.callee, got.Calls, got.Elapsed, want.calls, want.least)
		}
	}
	if ends := calls[[2]string{"Run", "Ends"}].Elapsed; ends >= each {
		t.Errorf("Ends took %d ns, and it had jumped", ends)
	}
	took := query[struct{ Bytes int64 }](t, path, "SELECT agent_bytes AS bytes FROM process")
	if len(took) != 1 || took[0].Bytes > 8<<20 {
		t.Errorf("the agent took %v bytes", took)
	}
}
