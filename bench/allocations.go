package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// kinds are the ways in which the target Alloc allocates; its source describes them.
var kinds = []struct{ name, what string }{
	{"same", "one line, one class"},
	{"lines", "four lines of one function, four classes"},
	{"leaves", "a small function, called from four places"},
	{"tree", "a recursion: the stack grows and shrinks"},
	{"wide", "100,000 different stacks"},
}

const (
	depth      = "18"     // with Main and the loop, 20 managed frames
	count      = "16382"  // allocations in each of the target's own rounds: two trees
	countWide  = "100000" // all different stacks
	rounds     = "100"    // in each run
	roundsSlow = "5"
)

var variants = []string{"none", "empty", "memory", "emptygc", "lifetime", "snapshot"}

// allocations measures nanoseconds per allocation, warm, under a stack of 20 frames.
func (b *bench) allocations() error {
	dll, err := b.dotnet.Compile([]string{"bench/targets/Alloc"}, "", dotnettest.Options{})
	if err != nil {
		return err
	}
	fmt.Fprintf(b.out, "\n## Allocations, warm, under 20 frames\n\nNanoseconds of processor time per allocation, the "+
		"least of %d runs of %s rounds, all variants "+
		"in turn; in brackets as a ratio to the empty callback, for lifetime to the one with COR_PRF_MONITOR_GC.\n\n"+
		"| allocations from | none | empty | memory | empty, MONITOR_GC | lifetime | DoStackSnapshot |\n"+
		"| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n", b.rounds, rounds)
	for _, k := range kinds {
		times := map[string][]float64{}
		for range b.rounds {
			for _, v := range variants {
				ns, err := b.allocate(dll, k.name, v)
				if err != nil {
					return fmt.Errorf("%s, %s: %w", k.name, v, err)
				}
				times[v] = append(times[v], ns)
			}
		}
		empty, emptyGC := slices.Min(times["empty"]), slices.Min(times["emptygc"])
		memory, lifetime, snapshot := slices.Min(times["memory"]), slices.Min(times["lifetime"]), slices.Min(
			times["snapshot"])
		fmt.Fprintf(b.out, "| %s: %s | %.1f | %.1f | %.1f (%.2f) | %.1f | %.1f (%.2f) | %.0f (%.1f) |\n", k.name,
			k.what,
			slices.Min(times["none"]), empty, memory, memory/empty, emptyGC, lifetime, lifetime/emptyGC, snapshot,
			snapshot/empty)
	}
	return nil
}

// allocate runs the target once and returns the least of its rounds.
func (b *bench) allocate(dll, kind, variant string) (float64, error) {
	args := []string{kind, depth, count, rounds}
	if kind == "wide" {
		args[2] = countWide
	}
	if variant == "snapshot" {
		args[3] = roundsSlow // a microsecond each
	}
	cmd := b.dotnet.Newest().Command(dll, args...)
	b.attach(cmd, variant)
	values, err := twoNumbers(cmd)
	return values[1], err
}

// attach sets the environment by which the runtime loads a variant of the agent.
func (b *bench) attach(cmd *exec.Cmd, variant string) {
	if variant == "none" {
		return
	}
	agent := b.oracle
	if variant == "memory" || variant == "lifetime" {
		agent = b.product
	}
	if variant == "lifetime" {
		cmd.Env = append(cmd.Env, "CLRPROF_LIFETIME=1", "CLRPROF_FINAL_GC=1")
	}
	cmd.Env = append(cmd.Env, "CORECLR_ENABLE_PROFILING=1", "CORECLR_PROFILER={8B2F1E5A-6C3D-4E9B-9A57-C1B0F2D34E61}",
		"CORECLR_PROFILER_PATH="+agent, "CLRPROF_ARENAS="+b.arenas(), "CLRPROF_VARIANT="+variant)
}

// arenas empties and returns the directory for arenas.
func (b *bench) arenas() string {
	old, _ := filepath.Glob(filepath.Join(b.dir, "*.arena"))
	for _, path := range old {
		remove(path)
	}
	return b.dir
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	if n%2 == 1 {
		return sorted[n/2]
	}
	return (sorted[n/2-1] + sorted[n/2]) / 2
}
