package e2e

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

const killed = 128 + int(syscall.SIGKILL)

// checkKilled asserts what must hold of the session of a process that was killed, perhaps within a collection.
func checkKilled(t *testing.T, path string) {
	t.Helper()
	found, err := analysis.Check(openSession(t, path))
	if err != nil {
		t.Fatalf("checking the session: %v", err)
	}
	for _, v := range found {
		t.Errorf("the session contradicts itself: %v", v)
	}
	for _, l := range query[struct{ Reason string }](t, path, "SELECT reason FROM loss") {
		if l.Reason != "gc_cut" {
			t.Errorf("lost: %v", l.Reason)
		}
	}
	checkSums(t, path)
	checkLives(t, path, false)
	for name, state := range endStates(t, path) {
		if state != "died" {
			t.Errorf("%s %s", name, state)
		}
	}
	text := run(t, "report", path, "lifetime")
	if text.exit != 0 || !strings.Contains(text.stdout+text.stderr, "not collected at the end") {
		t.Errorf("code %d, and it does not say what alive means:\n%s%s", text.exit, text.stdout, text.stderr)
	}
}

// TestLifetimeKilledInCollection kills the process at one callback of its garbage collections after the other: at the
// start, within the ranges of survivors, at the end before and after the agent has done its work.
func TestLifetimeKilledInCollection(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	agent := oracle(t)
	for i, runtime := range in.NewestAndOldest() {
		for j, w := range []way{{name: "workstation"}, {name: "server", env: server}} {
			t.Run(w.name+"/"+runtime.Name, func(t *testing.T) {
				t.Parallel()
				for _, at := range []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 501, 502, 503, 504, 505} {
					if (i+j+at)%2 != 0 && !dotnettest.EveryRuntime() || !dotnettest.Drawn(at, casesEvery) {
						continue // each is seen on both runtimes, with the one collector and with the other
					}
					target := runtime.Command(dotnettest.Target(t, "LifetimeHeap", dotnettest.Options{Unsafe: true}),
						"storm", "1000")
					target.Env = append(append(target.Env, w.env...), "CLRPROF_AGENT="+agent, "CLRPROF_VARIANT=kill",
						"CLRPROF_EVERY="+strconv.Itoa(at))
					r := record(t, target, "--lifetime")
					if r.exit != killed {
						t.Fatalf("killed at callback %d: exit code %d\n%s", at, r.exit, r.stderr)
					}
					checkKilled(t, r.session)
					if n := len(view[gcRow](t, r.session, "gcs")); n > at || at > 500 && n < 20 {
						t.Errorf("killed at callback %d: %d collections", at, n)
					}
				}
			})
		}
	}
}

// TestLifetimeKilledFromOutside kills the process at any moment of a storm of collections.
func TestLifetimeKilledFromOutside(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	for i, round := range dotnettest.Some([]int{10, 30, 100, 200}) {
		for _, runtime := range dotnettest.OneInTurn(in.Runtimes(), i) {
			t.Run(fmt.Sprintf("%s/%d", runtime.Name, round), func(t *testing.T) {
				target := runtime.Command(dotnettest.Target(t, "LifetimeHeap", dotnettest.Options{Unsafe: true}),
					"storm", "100000")
				path, code := recordAndKill(t, target, fmt.Sprintf(`"round %d"`, round))
				if code != killed {
					t.Fatalf("exit code %d", code)
				}
				checkKilled(t, path)
				if n := len(view[gcRow](t, path, "gcs")); n == 0 {
					t.Error("no collections")
				}
			})
		}
	}
}

// recordAndKill records a target that says its process, and kills that when it has said a word.
func recordAndKill(t *testing.T, target *exec.Cmd, word string) (path string, code int) {
	t.Helper()
	path, in, args := recordArgs(t, target, []string{"--lifetime"})
	cmd := exec.Command(binary, args...)
	cmd.Env, cmd.Dir, cmd.Stderr = in.env, in.dir, os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := 0
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		if pid == 0 {
			pid = truthRows[dotnettest.Truth](t, lines.Text(), "process")[0].PID
		}
		if strings.Contains(lines.Text(), word) {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Error(err)
			}
		}
	}
	_ = cmd.Wait() // its code is returned
	return path, exitCode(cmd.ProcessState)
}

// TestLifetimeEndsWhileItIsRead: a process that ends by itself while what it did is read, which takes long after
// thousands of collections, is reported as a whole. The first reading begins a second after the start of clrprof: other
// tests would delay one or the other, so none runs meanwhile.
func TestLifetimeEndsWhileItIsRead(t *testing.T) {
	in := dotnettest.Need(t)
	for i, after := range []string{"820", "900", "980"} {
		for _, runtime := range dotnettest.OneInTurn(in.Runtimes(), i) {
			t.Run(runtime.Name+"/"+after, func(t *testing.T) {
				target := runtime.Command(dotnettest.Target(t, "LifetimeHeap", dotnettest.Options{Unsafe: true}),
					"collector", after)
				r := mustRecord(t, target, "--lifetime")
				want := truthRows[dotnettest.Truth](t, r.stdout, "type")[0]
				got := byID(view[lives](t, r.session, "lifetime"), func(l lives) string {
					return l.Name
				})["LifetimeHeap.Node"]
				if got.Instances != want.Objects || got.Bytes != want.Bytes || got.Alive != 0 {
					t.Errorf("%d nodes of %d bytes were made and all are dead; it is said %+v", want.Objects,
						want.Bytes, got)
				}
			})
		}
	}
}

// TestLifetimeMemoryLimit: beyond the limit new objects are not followed; their allocation is, and both is
// said.
func TestLifetimeMemoryLimit(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	for i, limit := range []string{"24M", "16M", "8M"} {
		for _, runtime := range dotnettest.OneInTurn(in.Runtimes(), i) {
			t.Run(runtime.Name+"/"+limit, func(t *testing.T) {
				target := runtime.Command(dotnettest.Target(t, "LifetimeHeap", dotnettest.Options{Unsafe: true}),
					"grow", "40")
				r := record(t, target, "--lifetime", "--memory-limit", limit)
				if r.exit != 0 {
					t.Fatalf("exit code %d\n%s%s", r.exit, r.stdout, r.stderr)
				}
				checkLimited(t, r)
				nodes := byID(view[lives](t, r.session, "lifetime"), func(l lives) string {
					return l.Name
				})["LifetimeHeap.Node"]
				if want := truthRows[dotnettest.Truth](t, r.stdout, "type")[0].Objects; nodes.Instances != want {
					t.Errorf("%d nodes were allocated, %d are recorded", want, nodes.Instances)
				}
				if limit == "24M" && nodes.dead().Objects == 0 {
					t.Error("no object was followed to its end")
				}
			})
		}
	}
}

// TestLifetimeOfLarge: following objects takes memory for each, not for each of their bytes.
func TestLifetimeOfLarge(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	for i, w := range []way{{name: "workstation"}, {name: "server", env: server}} {
		for _, runtime := range dotnettest.OneInTurn(in.Runtimes(), i) {
			t.Run(runtime.Name+"/"+w.name, func(t *testing.T) {
				target := runtime.Command(dotnettest.Target(t, "LifetimeHeap", dotnettest.Options{Unsafe: true}),
					"spread", "12000")
				target.Env = append(target.Env, w.env...)
				r := mustRecord(t, target, "--lifetime", "--memory-limit", "32M")
				if lost := query[struct{ Reason string }](t, r.session, "SELECT reason FROM loss"); len(lost) != 0 {
					t.Errorf("120 MB of objects of 10 KB in 32 MiB: lost: %v", lost)
				}
				got := byID(view[lives](t, r.session, "lifetime"), func(l lives) string { return l.Name })
				for _, name := range []string{"LifetimeHeap.Label", "LifetimeHeap.Cell[]"} {
					if o := got[name]; o.Instances != 12000 || o.Alive != 6000 || o.dead().Objects != 6000 {
						t.Errorf("%s: 12,000 were made, and half of them are alive: %+v", name, o)
					}
				}
			})
		}
	}
}

func checkLimited(t *testing.T, r result) {
	t.Helper()
	found, err := analysis.Check(openSession(t, r.session))
	if err != nil || len(found) > 0 {
		t.Errorf("the session contradicts itself: %v, %v", found, err)
	}
	checkSums(t, r.session)
	checkLives(t, r.session, false)
	lost := map[string]bool{}
	for _, l := range query[struct{ Reason string }](t, r.session, "SELECT reason FROM loss") {
		lost[l.Reason] = true
		switch l.Reason {
		case "lifetime_full", "moves_lost": // the limit is that of what notes moves, too
		case "ages_lost", "survivors_lost", "stacks_lost", "stack_truncated": // what goes first
		default:
			t.Errorf("lost: %s", l.Reason)
		}
	}
	if lost["stacks_lost"] && !(lost["survivors_lost"] && (lost["ages_lost"] || hasAllAges(t, r))) {
		t.Errorf("stacks went before ages and roots: %v", lost)
	}
	text := run(t, "report", r.session)
	if !strings.Contains(text.stdout+text.stderr,
		"(--memory-limit) was reached: when they died is not known and they count as alive") {
		t.Errorf("the summary does not say what is missing:\n%s%s", text.stdout, text.stderr)
	}
}

// hasAllAges reports whether the age of each object is known that is known to be dead: then none could be lost.
func hasAllAges(t *testing.T, r result) bool {
	t.Helper()
	for _, row := range view[map[string]any](t, r.session, "ages") {
		ages := 0.0
		for column, value := range row {
			if strings.HasPrefix(column, "gcs_") {
				ages += value.(float64)
			}
		}
		if ages != row["dead_instances"] {
			return false
		}
	}
	return true
}

// TestLifetimeOff: allocations alone lose nothing, and there are no views of lives.
func TestLifetimeOff(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	for _, runtime := range in.Runtimes() {
		target := runtime.Command(dotnettest.Target(t, "LifetimeHeap", dotnettest.Options{Unsafe: true}), "churn", "5")
		r := mustRecord(t, target, "--memory")
		if text := run(t, "report", r.session, "lifetime"); text.exit != codeUsage {
			t.Errorf("lifetime: code %d, %s%s", text.exit, text.stdout, text.stderr)
		}
	}
}

// TestLifetimeManyThreads: a thousand threads allocate and die while collections run.
func TestLifetimeManyThreads(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	for i, w := range []way{{name: "workstation"}, {name: "server", env: server}} {
		for _, runtime := range in.InTurn(i) {
			t.Run(w.name+"/"+runtime.Name, func(t *testing.T) {
				target := runtime.Command(dotnettest.Target(t, "LifetimeHeap", dotnettest.Options{Unsafe: true}),
					"crowd", "1000")
				target.Env = append(append(target.Env, w.env...), smallBudget...)
				r := mustRecord(t, target, "--lifetime")
				want := truthRows[dotnettest.Truth](t, r.stdout, "type")[0].Objects
				rows := byID(view[lives](t, r.session, "lifetime"), func(l lives) string { return l.Name })
				if got := rows["LifetimeHeap.Node"]; got.Instances != want || got.Alive != 0 {
					t.Errorf("%d nodes were made and all are dead; it is said %+v", want, got)
				}
			})
		}
	}
}

// TestLifetimeManyObjects: a hundred million objects, all dead in the end, each after a collection or two. Their
// bytes do not fit into 32 bits; on the oldest runtime, where the numbers are no larger for that, it is a tenth.
func TestLifetimeManyObjects(t *testing.T) {
	t.Parallel()
	dotnettest.NotQuick(t, "it repeats what others do once")
	in := dotnettest.Need(t)
	for i, runtime := range in.NewestAndOldest() {
		t.Run(runtime.Name, func(t *testing.T) {
			millions := []int64{100, 10}[i]
			r := mustRecord(t, runtime.Command(dotnettest.Target(t, "LifetimeHeap", dotnettest.Options{Unsafe: true}),
				"flood", fmt.Sprint(millions)), "--lifetime")
			got := byID(view[lives](t, r.session, "lifetime"), func(l lives) string {
				return l.Name
			})["LifetimeHeap.Node"]
			if want := millions * 1_000_000; got.Instances != want || got.Bytes != want*48 || got.Alive != 0 ||
				got.Gen0 == 0 || got.Gen1+got.Gen2 == 0 {
				t.Errorf("%d nodes were made and are dead; it is said %+v", want, got)
			}
		})
	}
}

// TestLifetimeCompiler: the C# compiler on a large source: nothing is lost and all adds up.
func TestLifetimeCompiler(t *testing.T) {
	t.Parallel()
	dotnettest.NotQuick(t, "it runs a real compiler")
	in := dotnettest.Need(t)
	source, err := in.Large(5000)
	if err != nil {
		t.Fatal(err)
	}
	args, err := in.CompilerCommand(in.Newest(), []string{source}, t.TempDir()+"/large.dll",
		dotnettest.Options{Deterministic: true})
	if err != nil {
		t.Fatal(err)
	}
	target := exec.Command(args[0], args[1:]...)
	target.Env = in.Env()
	r := mustRecord(t, target, "--lifetime") // it looks for losses, untracked objects among them
	if n := len(view[gcRow](t, r.session, "gcs")); n < 3 {
		t.Errorf("%d collections", n)
	}
}
