package main

import (
	"fmt"
	"os/exec"
	"strings"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// callKinds are the ways in which the target CallCost calls; its source describes them.
var callKinds = []struct{ name, what string }{
	{"loop", "one loop calls one function"},
	{"recursion", "1,000 deep, from one place"},
	{"tree", "1,111 paths in turn"},
	{"wide", "111,111 paths in turn"},
	{"threads", "sixteen threads, each with the loop"},
}

// hookVariants are what the runtime can call when functions begin and end. The two in the middle are those of
// agent/test/oracle.c: the same functions call the same stubs, only the product does something there.
var hookVariants = []string{"none", "emptyhooks", "clockhooks", "time"}

const callsOfRound = "1000000" // in each of the target's own rounds

// calls measures nanoseconds of processor time per call, warm.
func (b *bench) calls() error {
	dll, err := b.dotnet.Compile([]string{"bench/targets/CallCost"}, "", dotnettest.Options{})
	if err != nil {
		return err
	}
	fmt.Fprintf(b.out, "\n## Calls, warm\n\nNanoseconds of processor time per call of a function that does nothing; "+
		"in brackets as a ratio to hooks "+
		"that read the clock, and do nothing else.\n\n"+
		"| calls | none | empty hooks | hooks with a clock | time |\n| --- | ---: | ---: | ---: | ---: |\n")
	for _, k := range callKinds {
		ns := map[string][]float64{}
		for r := range b.rounds {
			for _, v := range rotated(hookVariants, r) {
				values, err := b.numbers(v, "", dll, k.name, callsOfRound)
				if err != nil {
					return fmt.Errorf("%s, %s: %w", k.name, v, err)
				}
				ns[v] = append(ns[v], values[0])
			}
		}
		clock, time := median(ns["clockhooks"]), median(ns["time"])
		fmt.Fprintf(b.out, "| %s: %s | %.1f | %.1f | %.1f | %.1f (%.2f) |\n", k.name, k.what,
			median(ns["none"]), median(ns["emptyhooks"]), clock, time, time/clock)
	}
	return nil
}

// starts measures what a thread costs that makes one call.
func (b *bench) starts() error {
	dll, err := b.dotnet.Compile([]string{"bench/targets/ThreadStarts"}, "", dotnettest.Options{})
	if err != nil {
		return err
	}
	ways := []string{"none", "emptyhooks", "time, rseq", "time, perf", "time, gap"}
	wall, cpu := map[string][]float64{}, map[string][]float64{}
	for r := range b.rounds {
		for _, way := range rotated(ways, r) {
			variant, mechanism, _ := strings.Cut(way, ", ")
			values, err := b.numbers(variant, mechanism, dll, "40")
			if err != nil {
				return fmt.Errorf("%s: %w", way, err)
			}
			wall[way], cpu[way] = append(wall[way], values[0]), append(cpu[way], values[1])
		}
	}
	fmt.Fprintf(b.out, "\n## Threads that make one call\n\nMicroseconds to start and join one, of the best of 40 "+
		"rounds of 200. How a thread learns that the system acted "+
		"is chosen here; rseq and perf fall back to gap where they are not allowed.\n\n"+
		"| | wall | more than none | processor | more than none |\n| --- | ---: | ---: | ---: | ---: |\n")
	for _, way := range ways {
		w, c := median(wall[way]), median(cpu[way])
		fmt.Fprintf(b.out, "| %s | %.1f | %+.1f | %.1f | %+.1f |\n", way, w, w-median(wall["none"]), c,
			c-median(cpu["none"]))
	}
	return nil
}

// numbers runs a target with a variant of the hooks and returns the two numbers that it prints.
func (b *bench) numbers(variant, mechanism, dll string, args ...string) (out [2]float64, err error) {
	cmd := b.dotnet.Newest().Command(dll, args...)
	b.attachHooks(cmd, variant)
	if mechanism != "" {
		cmd.Env = append(cmd.Env, "CLRPROF_MECHANISMS="+mechanism)
	}
	return twoNumbers(cmd)
}

// twoNumbers runs a target and returns the two numbers that it prints.
func twoNumbers(cmd *exec.Cmd) (out [2]float64, err error) {
	text, err := cmd.Output()
	if err != nil {
		return out, err
	}
	if _, err := fmt.Sscan(string(text), &out[0], &out[1]); err != nil {
		return out, fmt.Errorf("%q: %w", text, err)
	}
	return out, nil
}

// attachHooks sets the environment by which the runtime loads the agent for times, or a variant of it that hooks the
// same functions; for none it does nothing. "time small" leaves out small functions, as --exclude-small does.
func (b *bench) attachHooks(cmd *exec.Cmd, variant string) {
	if variant == "none" {
		return
	}
	b.attach(cmd, variant)
	cmd.Env = append(cmd.Env, "CLRPROF_TIME=1", "CLRPROF_NO_MEMORY=1", "COMPlus_TailCallLoopOpt=0",
		"DOTNET_TailCallLoopOpt=0")
	if variant == "time" || variant == "time small" {
		cmd.Env = append(cmd.Env, "CORECLR_PROFILER_PATH="+b.product)
	}
	if variant == "time small" {
		cmd.Env = append(cmd.Env, "CLRPROF_SMALL=16")
	}
}

// rotated returns the list with another one first in each round, so that none is always measured in the wake of the
// same other one.
func rotated(list []string, round int) []string {
	n := round % len(list)
	return append(append([]string{}, list[n:]...), list[:n]...)
}
