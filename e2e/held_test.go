package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
	"github.com/clrprof/clrprof/internal/testkit/programs"
)

// Size of the made-up programs.
const (
	heldFunctions  = 12
	heldStatements = 12
	heldSeeds      = 2
	// heldEarlier is how many of a program's some 350 objects may die earlier with --time than without: where the JIT
	// keeps a value for reasons of its own, which only its code shows, the value is stored in a variable that is added.
	heldEarlier = 6
	// heldLater is how many may be alive longer in optimized code, where a register can hold a value that is not used any
	// more. Which ones depends on the version of the JIT, not on whether what lies on the stack is kept for a probe.
	heldLater = 4
)

// TestHeld runs made-up programs that print which of their objects are alive behind each statement. With --time no
// object lives longer than without in code of the lowest tier, whose variables live as long as the frame: probes around
// calls keep no arguments and no results of calls.
func TestHeld(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	for i, w := range []way{timeTiered, timeOptimized} {
		for j, runtime := range in.Runtimes() {
			if runtime.Major() < 8 {
				continue // hooks are used there
			}
			seed := uint64(1 + (i+j)%heldSeeds)
			t.Run(fmt.Sprintf("%s/%s/%d", runtime.Name, w.name, seed), func(t *testing.T) {
				t.Parallel()
				dll := compileHeld(t, in, seed)
				plain, cmd := runtime.Command(dll), runtime.Command(dll)
				plain.Env, cmd.Env = append(plain.Env, w.env...), append(cmd.Env, w.env...)
				want, err := plain.Output()
				if err != nil {
					t.Fatal(err)
				}
				r := record(t, cmd, "--time")
				if r.exit != 0 {
					t.Fatalf("exit code %d\n%s", r.exit, r.stderr)
				}
				compareHeld(t, string(want), r.stdout, w.name == timeTiered.name)
			})
		}
	}
}

func compileHeld(t *testing.T, in *dotnettest.Install, seed uint64) string {
	t.Helper()
	source, err := in.Made("Program.cs", programs.Held(seed, heldFunctions, heldStatements))
	if err != nil {
		t.Fatal(err)
	}
	dll, err := in.Compile([]string{source}, "", dotnettest.Options{Name: "Held", Debug: dotnettest.DebugNone})
	if err != nil {
		t.Fatal(err)
	}
	return dll
}

// compareHeld compares line by line. Optimized code without probes has functions inlined that are called with probes,
// so there more objects die earlier.
func compareHeld(t *testing.T, want, have string, tiered bool) {
	t.Helper()
	wants, haves := strings.Split(want, "\n"), strings.Split(have, "\n")
	if len(wants) != len(haves) || len(wants) < heldFunctions*heldStatements {
		t.Fatalf("%d lines, %d without a profiler", len(haves), len(wants))
	}
	earlier, later := map[string]bool{}, map[string]bool{}
	for i := range wants {
		w, h := strings.Fields(wants[i]), strings.Fields(haves[i])
		for _, object := range h {
			later[object] = later[object] || !slices.Contains(w, object)
		}
		for _, object := range w {
			earlier[object] = earlier[object] || !slices.Contains(h, object)
		}
	}
	e, l := count(earlier), count(later)
	if tiered && (l > 0 || e > heldEarlier) || l > heldLater {
		t.Errorf("%d objects live longer with --time than without, and %d shorter", l, e)
	}
}

func count(objects map[string]bool) int {
	n := 0
	for _, is := range objects {
		if is {
			n++
		}
	}
	return n
}
