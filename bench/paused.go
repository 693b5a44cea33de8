package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// pausedWays are what a recording asks of the runtime, which a pause cannot take back all of.
var pausedWays = []struct {
	name   string
	target []string // its name and arguments; it prints nanoseconds of processor time, the least last
	flags  []string
}{
	{"allocations, --memory", []string{"Alloc", "same", depth, count, rounds}, []string{"--memory"}},
	{"allocations, --lifetime", []string{"Alloc", "same", depth, count, rounds}, []string{"--lifetime"}},
	{"calls, --time --probes hooks", []string{"CallCost", "loop", callsOfRound},
		[]string{"--time", "--probes", "hooks"}},
	{"calls, --time", []string{"CallCost", "loop", callsOfRound}, []string{"--time"}},
}

// paused measures what an allocation, or a call and its end, takes while nothing is recorded.
func (b *bench) paused() error {
	fmt.Fprintf(b.out, "\n## While nothing is recorded\n\nNanoseconds of processor time for each, warm, the least of "+
		"%d runs, all ways in turn; in brackets as a "+
		"difference to the program by itself. The least of calls in a pause is that of a pause that has lasted for "+
		"two seconds (docs/design/0008).\n\n| | none | recorded | paused |\n| --- | ---: | ---: | ---: |\n",
		b.rounds)
	for _, w := range pausedWays {
		dll, err := b.dotnet.Compile([]string{"bench/targets/" + w.target[0]}, "", dotnettest.Options{})
		if err != nil {
			return err
		}
		ns := map[string][]float64{}
		for range b.rounds {
			for _, state := range []string{"none", "recorded", "paused"} {
				value, err := b.inState(state, dll, w.target[1:], w.flags)
				if err != nil {
					return fmt.Errorf("%s, %s: %w", w.name, state, err)
				}
				ns[state] = append(ns[state], value)
			}
		}
		none, recorded, paused := slices.Min(ns["none"]), slices.Min(ns["recorded"]), slices.Min(ns["paused"])
		fmt.Fprintf(b.out, "| %s | %.1f | %.1f (%+.1f) | %.1f (%+.1f) |\n", w.name, none, recorded, recorded-none,
			paused, paused-none)
	}
	return nil
}

// inState runs a target by itself, recorded, or with a recording that is paused, and returns the least that it prints.
func (b *bench) inState(state, dll string, args, flags []string) (float64, error) {
	cmd := b.dotnet.Newest().Command(dll, args...)
	if state != "none" {
		session := filepath.Join(b.dir, "paused.clrprof")
		all := append([]string{"run", "-f", "--no-report", "-o", session}, flags...)
		if state == "paused" {
			all = append(all, "--paused")
		}
		outer := exec.Command(b.clrprof, append(append(all, "--"), cmd.Args...)...)
		outer.Env = cmd.Env
		defer remove(session)
		cmd = outer
	}
	values, err := twoNumbers(cmd)
	return values[1], err
}
