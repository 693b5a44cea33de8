package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// pausedTruth is what the target CollectionWaits says of the runtime's pauses.
type pausedTruth struct {
	Count       int64 // collections
	All, Within int64 // nanoseconds: in all, and while threads computed
}

// TestWaitsForCollections: threads that are stopped for a collection wait for it, and not in the function that they are
// in; what sleeps meanwhile sleeps. The pauses are the runtime's own.
func TestWaitsForCollections(t *testing.T) {
	t.Parallel()
	dll := dotnettest.Target(t, "CollectionWaits", dotnettest.Options{})
	for i, flags := range [][]string{timeOnly, boundaryHooks} {
		for _, runtime := range dotnettest.Need(t).InTurn(i) {
			t.Run(runtime.Name+"/"+strings.Join(flags, " "), func(t *testing.T) {
				cmd := runtime.Command(dll)
				cmd.Env = append(cmd.Env, "DOTNET_gcConcurrent=0")
				r := mustRecordTime(t, cmd, flags...)
				truth := truthRows[pausedTruth](t, r.stdout, "paused")[0]
				checkPauses(t, r, truth)
				checkCollectionWaits(t, r, truth)
				checkCollectionFindings(t, r)
			})
		}
	}
}

// checkPauses compares with what the runtime counts. Its clock is read somewhat later, and earlier, than the agent's.
func checkPauses(t *testing.T, r result, truth pausedTruth) {
	t.Helper()
	p := query[struct{ Pauses, Paused, Longest int64 }](t, r.session,
		"SELECT gc_pauses Pauses, gc_paused_ns Paused, gc_longest_ns Longest FROM process_time")[0]
	if p.Pauses != truth.Count {
		t.Errorf("%d pauses, want %d", p.Pauses, truth.Count)
	}
	if truth.All != 0 && (p.Paused < truth.All*4/5 || p.Paused > truth.All*6/5) {
		t.Errorf("paused for %d ns, the runtime says %d", p.Paused, truth.All)
	}
	if p.Longest > p.Paused || p.Longest <= 0 {
		t.Errorf("the longest of %d ns of pauses is %d", p.Paused, p.Longest)
	}
}

// checkCollectionWaits: both threads that compute waited for the larger part of each pause, and for no longer than that
// without a processor. The other part is what it takes to stop them.
func checkCollectionWaits(t *testing.T, r result, truth pausedTruth) {
	t.Helper()
	rows := query[struct {
		Caller, Callee          string
		Calls, Elapsed, Blocked int64
	}](t, r.session,
		`SELECT caller Caller, callee Callee, calls Calls, elapsed_exclusive Elapsed, blocked_exclusive Blocked FROM call_times`)
	var waited, blocked, slept, computed int64
	for _, row := range rows {
		switch {
		case row.Callee == session.NameCollection && strings.HasPrefix(row.Caller, "Computing."):
			waited, blocked = waited+row.Elapsed, blocked+row.Blocked
			if row.Calls != 0 {
				t.Errorf("%d calls of collections by %s", row.Calls, row.Caller)
			}
		case strings.HasPrefix(row.Callee, "Computing.Step"):
			computed += row.Blocked
		case strings.Contains(row.Callee, "Thread.Sleep") && strings.HasPrefix(row.Caller, "Requests."):
			slept += row.Blocked
		}
	}
	if truth.Within != 0 && (waited < truth.Within || blocked > 2*truth.Within+truth.Within/2) {
		t.Errorf("two threads waited for collections for %d ns, blocked %d; the pauses took %d", waited, blocked,
			truth.Within)
	}
	if computed > waited/10 {
		t.Errorf("%d ns blocked where nothing waits, %d for collections", computed, waited)
	}
	if slept < 25*15e6 {
		t.Errorf("25 times 20 ms of sleep are %d ns", slept)
	}
}

// sleeps is how often the thread of requests was off the processor in its 25 sleeps, as the kernel counts it: once in
// each, and in one recording of eight once more, which is so without collections by allocations, too. On a busy machine
// a pause can last as long as a sleep in it, which is then a wait for the collection.
func sleeps(t *testing.T, r result) (switches int64) {
	t.Helper()
	x := query[struct{ Calls, Switches, Stopped int64 }](t, r.session, `SELECT calls Calls,
		voluntary_exclusive Switches, (SELECT coalesce(sum(voluntary_exclusive), 0) FROM call_times
			WHERE callee = '(garbage collection)' AND caller LIKE '%Thread.Sleep%') Stopped
		FROM call_times WHERE callee LIKE '%Thread.Sleep%' AND caller LIKE 'Requests.%'`)[0]
	if x.Calls != 25 || x.Switches+x.Stopped < x.Calls {
		t.Errorf("%d calls of Thread.Sleep, and %d switches in them, %d for collections", x.Calls, x.Switches, x.Stopped)
	}
	return x.Switches
}

// checkCollectionFindings: the collections are a finding, and so is what each request waits for.
func checkCollectionFindings(t *testing.T, r result) {
	t.Helper()
	var summary struct {
		Findings []string `json:"findings"`
	}
	shown := newSandbox(t).run("report", r.session, "--json")
	if err := json.Unmarshal([]byte(shown.stdout), &summary); err != nil {
		t.Fatal(err, shown.stderr)
	}
	for _, says := range [][]string{{"waiting for garbage collections", "they stopped all threads"},
		{"blocked", fmt.Sprintf("off the processor %d times", sleeps(t, r)), "Thread.Sleep, called in Requests.Handle"}} {
		found := false
		for _, f := range summary.Findings {
			found = found || containsAll(f, says)
		}
		if !found {
			t.Errorf("no finding has %q:\n%s", says, strings.Join(summary.Findings, "\n"))
		}
	}
}
