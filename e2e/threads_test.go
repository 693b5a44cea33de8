package e2e

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// rowsOfThreads is how many threads of a process have rows of their own (agent/src/threads/thread_sets.c, MAX_OWN_IDS).
const rowsOfThreads = 1000

// ofTheRuntimes is how many threads without a name the runtime begins for itself meanwhile: to compile again, to
// finalize.
const ofTheRuntimes = 5

// mostAtOnce is how many of the target's threads can run at the same time, and so need a set each: one that was joined
// has still to end for the operating system, which on a busy machine takes longer than the next ones do. 10 were seen.
const mostAtOnce = 100

// TestThreadChurn: threads that come and go by the thousands, each at two hundred places of its own. Totals, and what
// threads of each name did, are exact.
func TestThreadChurn(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	for _, flags := range dotnettest.Some([][]string{{"--memory"}, {"--lifetime"}, {"--time", "--memory"}}) {
		for _, runtime := range in.NewestAndOldest() {
			recordChurn(t, runtime, 2000, flags)
		}
	}
}

// TestThreadChurnMemory: the agent's memory does not depend on how many threads there were.
func TestThreadChurnMemory(t *testing.T) {
	t.Parallel()
	dotnettest.NotQuick(t, "10,000 threads for each way; the scenario threads_one_by_one has as many in a simulated runtime")
	in := dotnettest.Need(t)
	for i, flags := range [][]string{{"--memory"}, {"--time", "--memory"}} { // lifetime adds nothing to these
		for j, runtime := range in.NewestAndOldest() {
			if i != j && !dotnettest.EveryRuntime() {
				continue // each has one runtime
			}
			few, many := recordChurn(t, runtime, 2000, flags), recordChurn(t, runtime, 8000, flags)
			if many > few+few/10 {
				t.Errorf("%s %v: the agent took %d bytes for 2,000 threads, %d for 8,000", runtime.Name, flags, few, many)
			}
		}
	}
}

// recordChurn records so many threads, checks what is recorded, and returns the agent's memory.
func recordChurn(t *testing.T, runtime dotnettest.Runtime, threads int64, flags []string) (agent int64) {
	t.Helper()
	t.Run(fmt.Sprint(threads, flags[0], "/", runtime.Name), func(t *testing.T) {
		r := recordOnce(t, runtime.Command(dotnettest.Target(t, "ThreadChurn", dotnettest.Options{}),
			strconv.FormatInt(threads, 10)), flags...)
		if r.exit != 0 {
			t.Fatalf("exit code %d: %s", r.exit, r.stderr)
		}
		checkSession(t, r.session)
		compareTruth(t, r, runtime)
		agent = checkChurn(t, r, threads)
	})
	return agent
}

// checkChurn checks the list of threads and returns the agent's memory.
func checkChurn(t *testing.T, r result, threads int64) int64 {
	t.Helper()
	sets := query[struct {
		Name    string `json:"name"`
		Each    string `json:"each"`
		Threads int64  `json:"threads"`
		Objects int64  `json:"objects"`
	}](t, r.session,
		`SELECT t.name, s.name AS each, s.threads, (SELECT sum(v.allocations) FROM site JOIN site_value v ON v.site_id = site.id
		JOIN type ON type.id = site.type_id WHERE site.thread_id = t.id AND type.raw_name LIKE 'ThreadChurn.K_') AS objects
		FROM thread_set s JOIN thread t ON t.id = s.thread_id WHERE objects > 0 ORDER BY t.name`)
	folded, objects := int64(0), int64(0)
	for _, s := range sets {
		want := fmt.Sprintf("%d ended threads named %s", s.Threads, s.Each)
		if s.Each == "" {
			want = fmt.Sprintf("%d ended threads without a name", s.Threads)
		}
		if s.Name != want || s.Objects > 200*s.Threads || s.Objects < 200*(s.Threads-ofTheRuntimes) {
			t.Errorf("%q of %d threads has %d objects; want %q", s.Name, s.Threads, s.Objects, want)
		}
		folded, objects = folded+s.Threads, objects+s.Objects
	}
	if len(sets) < 2 || len(sets) > mostAtOnce || folded < threads-rowsOfThreads || folded > threads+ofTheRuntimes {
		t.Errorf("%d threads share %d rows", folded, len(sets))
	}
	if lost := losses(t, r.session)["threads_folded"]; lost.Events < folded {
		t.Errorf("%d threads share rows; the session says %d", folded, lost.Events)
	}
	return query[struct {
		Bytes int64 `json:"agent_bytes"`
	}](t, r.session, "SELECT agent_bytes FROM process")[0].Bytes
}
