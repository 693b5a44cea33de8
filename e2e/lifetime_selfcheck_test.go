package e2e

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// smallBudget makes the runtime collect generation 0 early: many GCs that nobody asked for.
var smallBudget = []string{"COMPlus_GCgen0size=40000", "COMPlus_GCgen0MaxBudget=40000"}

// TestLifetimeSelfCheck compares, at the end of every GC of a real runtime, the agent's shadow of the heap with the
// runtime's own walk over the heap: the same objects, each with its size and its type. At the end each site has lost
// sight of nothing.
func TestLifetimeSelfCheck(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	agent := oracle(t)
	dll := dotnettest.Target(t, "LifetimeHeap", dotnettest.Options{Unsafe: true})
	all := []string{"listeners", "churn", "pin", "large", "pinned-heap", "finalizers", "weak", "unload", "frozen",
		"threads", "storm"}
	some := slices.Clip([]string{"churn", "pin", "large", "finalizers", "storm"})
	for i, c := range []struct {
		name  string
		env   []string
		whats []string
		since int // major version of the runtime, 0: all
	}{
		{"workstation", slices.Concat(smallBudget, []string{"CLRPROF_ROOTS=every"}), append(all, "all"), 0},
		{"server", slices.Concat(smallBudget, server, []string{"CLRPROF_ROOTS=every"}),
			append(some, "threads", "unload", "all"), 0},
		{"conserving", slices.Concat(smallBudget, []string{"COMPlus_GCConserveMemory=9"}), some, 8},
		{"segments", slices.Concat(smallBudget, []string{"COMPlus_GCName=libclrgc.so"}), some, 8}, // as before .NET 7
		{"concurrent", []string{"COMPlus_gcConcurrent=1", "CLRPROF_ROOTS=off"}, some, 0},
	} {
		for j, what := range c.whats {
			if (i > 0 || what != "all") && !dotnettest.Drawn(i<<8+j, waysEvery) {
				continue
			}
			runtimes := slices.DeleteFunc(in.NewestAndOldest(), func(r dotnettest.Runtime) bool {
				return c.since > r.Major()
			})
			if i > 0 { // what the first has is checked on both
				runtimes = dotnettest.OneInTurn(runtimes, i+j)
			}
			for _, runtime := range runtimes {
				t.Run(c.name+"/"+what+"/"+runtime.Name, func(t *testing.T) {
					t.Parallel()
					selfCheck(t, runtime, agent, dll, c.env, what, "30")
				})
			}
		}
	}
}

// TestLifetimeSelfCheckRunning does so with programs that end while their threads allocate and collect: what the last
// collection of the agent's left is checked, and nothing after it, when the agent follows no object any more.
func TestLifetimeSelfCheckRunning(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	agent := oracle(t)
	dll := dotnettest.Target(t, "LifetimeHeap", dotnettest.Options{Unsafe: true})
	for _, runtime := range in.NewestAndOldest() {
		for i := range 5 {
			t.Run(fmt.Sprint(runtime.Name, "/", i), func(t *testing.T) {
				t.Parallel()
				selfCheck(t, runtime, agent, dll, smallBudget, "running", "10")
			})
		}
	}
}

// TestLifetimeHugeArrays does so with arrays of 2 and 4 GB. They are not written to, but a runtime may clear them:
// no other test needs memory meanwhile.
func TestLifetimeHugeArrays(t *testing.T) {
	dotnettest.NotQuick(t, "all other tests wait while a runtime clears gigabytes; replay has objects of such sizes")
	if gib := availableMemory(t) >> 30; gib < 8 {
		t.Skipf("%d GiB of memory are available, arrays of 4 GB need 8", gib)
	}
	in := dotnettest.Need(t)
	agent := oracle(t)
	dll := dotnettest.Target(t, "LifetimeHeap", dotnettest.Options{Unsafe: true})
	for _, runtime := range in.NewestAndOldest() {
		t.Run(runtime.Name, func(t *testing.T) {
			selfCheck(t, runtime, agent, dll, nil, "huge", "4")
		})
	}
}

func selfCheck(t *testing.T, runtime dotnettest.Runtime, agent, dll string, env []string, args ...string) {
	t.Helper()
	target := runtime.Command(dll, args...)
	verdict := filepath.Join(t.TempDir(), "verdict")
	arenas := attachAgent(t, target, agent, append(slices.Clip(env), "CLRPROF_VARIANT=selfcheck", "CLRPROF_COMPARISON="+
		verdict)...)
	runTarget(t, target)
	gcs, live := sameShadow(t, verdict)
	l := readArena(t, arenas)
	if len(l.gcs) != gcs || gcs < 3 || live < 100*gcs {
		t.Errorf("%d GCs were checked with %d objects, %d were recorded", gcs, live, len(l.gcs))
	}
	l.running = args[0] == "running"
	l.checkConserved(t)
}

// sameShadow reads what the self-check found: that the shadow has all objects and no others, as they are. It returns
// after how many collections that was, and how many objects were looked at.
func sameShadow(t *testing.T, verdict string) (gcs, live int) {
	t.Helper()
	text, err := os.ReadFile(verdict)
	if err != nil {
		t.Fatal(err)
	}
	var missing, extra, different int
	if _, err := fmt.Sscanf(string(text), "gcs %d live %d missing %d extra %d different %d", &gcs, &live, &missing,
		&extra, &different); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	t.Logf("%d GCs, %d live objects looked at", gcs, live)
	if missing != 0 || extra != 0 || different != 0 {
		t.Errorf("of %d objects in %d GCs the shadow lacks %d, has %d that are not there and %d with another size or "+
			"type\n%s",
			live, gcs, missing, extra, different, text)
	}
	return gcs, live
}

// availableMemory is how many bytes the machine can give to programs.
func availableMemory(t *testing.T) int64 {
	t.Helper()
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var kib int64
		if _, err := fmt.Sscanf(lines.Text(), "MemAvailable: %d kB", &kib); strings.HasPrefix(lines.Text(),
			"MemAvailable") && err == nil {
			return kib << 10
		}
	}
	t.Fatal("/proc/meminfo does not say how much memory is available")
	return 0
}
