package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

const (
	tailSteps  = 300_000 // divisible by 6
	tailLevels = 100
	tailStack  = 256 << 10
)

// TestTimeTails: a call with the prefix tail. is a call by its function, with all that it takes, in recursions of any
// depth on a small stack. What does not depend on the depth is right with hooks, too, and every view says what is not.
func TestTimeTails(t *testing.T) {
	t.Parallel()
	for _, runtime := range dotnettest.NeedRuntimes(t, 8) {
		dll := dotnettest.Target(t, "TimeTails", dotnettest.Options{Framework: dotnettest.Net8})
		for i, w := range []way{timeTiered, timeOptimized, timeHurried} {
			if i > 0 && !dotnettest.Drawn(i, 2) {
				continue
			}
			for k, flags := range [][]string{timeOnly, byProbes, byHooks} {
				if k == 2 && i != 1 {
					continue
				}
				t.Run(w.name+"/"+runtime.Name+"/"+flags[len(flags)-1], func(t *testing.T) {
					cmd := runtime.Command(dll, itoa(tailSteps), itoa(tailStack), itoa(tailLevels))
					cmd.Env = append(cmd.Env, w.env...)
					r := record(t, cmd, flags...)
					if want := tailOutput(); r.exit != 0 || r.stdout != want {
						t.Fatalf("exit code %d\n%s%s", r.exit, r.stdout, r.stderr)
					}
					soundTime(t, r.session)
					lost := losses(t, r.session)
					if k == 2 {
						checkJumps(t, r.session, lost)
						return
					}
					if len(lost) != 0 {
						t.Errorf("lost %v", lost)
					}
					checkTails(t, r.session, k == 0)
				})
			}
		}
	}
}

// checkJumps: with hooks all of these calls jump.
func checkJumps(t *testing.T, path string, lost map[string]loss) {
	t.Helper()
	if len(lost) != 1 || lost[session.LossCallsJumped].Events < 4*tailSteps {
		t.Errorf("lost %v, want calls that jumped", lost)
	}
	for _, name := range []string{"summary", "functions", "calltree", "threads"} {
		if text := run(t, "report", path, name).stdout; !strings.Contains(text, "calls: they ended by a jump") {
			t.Errorf("%s does not say what jumped:\n%s", name, text)
		}
	}
}

// tailCall is a function that calls another one: how often, and what that took at least.
type tailCall struct {
	Caller, Callee string
	Calls          int64
	Elapsed        int64
}

// tailCalls is what all functions with two names took. Longest is what two of them took: calls of others can be within
// theirs, and are in the sum twice.
type tailCalls struct {
	tailCall
	Longest int64
}

// tailRounds counts the calls of three functions that call each other.
func tailRounds() map[[2]string]int64 {
	calls, at := map[[2]string]int64{{"Run", "A"}: 1}, "A"
	for n := tailSteps; n > 0; n-- {
		next := "B"
		if at == "B" && n%3 != 0 {
			next = "C"
		} else if at == "B" || at == "C" && n%2 == 0 {
			next = "A"
		}
		calls[[2]string{at, next}]++
		at = next
	}
	calls[[2]string{at, "Finish"}]++
	return calls
}

// tailOutput is what the program says.
func tailOutput() string {
	n := tailRounds()
	sum := n[[2]string{"A", "B"}] + 2*n[[2]string{"B", "A"}] + 3*n[[2]string{"B", "C"}] + n[[2]string{"C", "B"}]
	return fmt.Sprintf("(true, %d, %d, %d, %dL) 6 15\n", tailSteps, 3*tailSteps, tailLevels, sum)
}

// checkTails compares who called whom, how often, and with what time.
func checkTails(t *testing.T, path string, boundary bool) {
	t.Helper()
	calls := map[[2]string]tailCalls{}
	for _, e := range query[tailCalls](t, path,
		`SELECT c.raw_name AS caller, f.raw_name AS callee, sum(v.calls) AS calls, sum(v.elapsed_inclusive + v.overhead_inclusive) AS elapsed,
			max(v.elapsed_inclusive + v.overhead_inclusive) AS longest
		FROM call_time v JOIN function f ON f.id = v.callee_id JOIN function c ON c.id = v.caller_id GROUP BY 1, 2`) {
		calls[[2]string{e.Caller, e.Callee}] = e
	}
	of := func(caller, callee string) int64 { return calls[[2]string{caller, callee}].Elapsed }
	last, area := of("Finish", "Burn"), of("Area", "Burn")
	want := []tailCall{
		{"Run", "Even", 1, 0}, {"Even", "Odd", tailSteps / 2, 0}, {"Odd", "Even", tailSteps / 2, 0},
		{"Run", "Ends", 3, of("Ends", "Invoke") - of("Down", "Ends")},
		{"Run", "Waits", 3, of("Invoke", "Burn") - of("Run", "Ends")},
		{"Ends", "Invoke", 3 + tailLevels, of("Invoke", "Burn") - of("Waits", "Invoke")}, {"Waits", "Invoke", 3, 1},
		{"Invoke", "Burn", 6, 1},
		{"Run", "First", 3, area}, {"First", "Second", 3, area}, {"Second", "Third", 3, area},
		{"Third", "Area", 3, area}, {"Area", "Burn", 3, 1},
		{"Run", "Down", 1, of("Down", "Ends")}, {"Down", "Ends", tailLevels, of("Invoke", "Down")},
		{"Invoke", "Down", tailLevels, 0},
		{"Catches", "Leads", 10, of("Leads", "Throws")}, {"Leads", "Throws", 10, 1}, {"Finish", "Burn", 1, 1},
	}
	for pair, n := range tailRounds() { // each was called before the last one burned, and goes on
		want = append(want, tailCall{pair[0], pair[1], n, last})
	}
	if boundary {
		want = append(want, tailCall{"Adds", "Add", 6, 1},
			// what is called last is of another class than what is called before
			tailCall{"Curried", "InvokeFast", 1, calls[[2]string{"InvokeFast", "Invoke"}].Longest},
			tailCall{"Invoke", "InvokeFast", tailSteps, 1}, tailCall{"InvokeFast", "Invoke", tailSteps + 1, 1})
	}
	for _, w := range want {
		if got := calls[[2]string{w.Caller, w.Callee}]; got.Calls != w.Calls || got.Elapsed < w.Elapsed {
			t.Errorf("%s called %s %d times, %d ns; want %d times, at least %d ns", w.Caller, w.Callee, got.Calls,
				got.Elapsed, w.Calls, w.Elapsed)
		}
	}
	for pair := range calls { // no caller that never called
		if pair[1] == "Even" && pair[0] != "Run" && pair[0] != "Odd" || pair[1] == "Burn" && pair[0] != "Invoke" &&
			pair[0] != "Area" && pair[0] != "Finish" {
			t.Errorf("%s called %s", pair[0], pair[1])
		}
	}
	took := query[struct{ Bytes int64 }](t, path, "SELECT agent_bytes AS bytes FROM process")
	if len(took) != 1 || took[0].Bytes > 8<<20 {
		t.Errorf("the agent took %v bytes", took)
	}
}
