package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// tracedWays are recordings of the same calls. One whose limit is small counts nearly all events as lost.
var tracedWays = []struct {
	name  string
	flags []string // nil: the program by itself
}{
	{"none", nil},
	{"--time", []string{"--time"}},
	{"--trace", []string{"--trace", "TRACE", "--trace-limit", "64G"}},
	{"--trace, which is full", []string{"--trace", "TRACE", "--trace-limit", "64K"}},
}

// trace measures what a call and its end take, which are two events of a call trace.
func (b *bench) trace() error {
	dll, err := b.dotnet.Compile([]string{"bench/targets/CallCost"}, "", dotnettest.Options{})
	if err != nil {
		return err
	}
	fmt.Fprintf(b.out, "\n## A call trace\n\nNanoseconds of processor time for a call and its end, warm, the least of %d "+
		"runs, all ways in turn; in brackets as a difference to --time.\n\n| | hooks | probes |\n| --- | ---: | ---: |\n",
		b.rounds)
	ns := map[string][2][]float64{}
	for range b.rounds {
		for _, w := range tracedWays {
			of := ns[w.name]
			for i, how := range [][]string{{"--probes", "hooks"}, {"--instrument", "mine"}} {
				value, err := b.traced(dll, w.flags, how)
				if err != nil {
					return fmt.Errorf("%s: %w", w.name, err)
				}
				of[i] = append(of[i], value)
			}
			ns[w.name] = of
		}
	}
	time := ns["--time"]
	for _, w := range tracedWays {
		fmt.Fprintf(b.out, "| %s |", w.name)
		for i := range time {
			least := slices.Min(ns[w.name][i])
			fmt.Fprintf(b.out, " %.1f (%+.1f) |", least, least-slices.Min(time[i]))
		}
		fmt.Fprintln(b.out)
	}
	return nil
}

// traced runs the target by itself, without flags, or recorded, and returns the least that it prints.
func (b *bench) traced(dll string, flags, how []string) (float64, error) {
	cmd := b.dotnet.Newest().Command(dll, "loop", callsOfRound)
	if flags != nil {
		session, trace := filepath.Join(b.dir, "traced.clrprof"), filepath.Join(b.dir, "traced.csv.gz")
		defer remove(session)
		defer remove(trace)
		all := append([]string{"run", "-f", "--no-report", "-o", session}, how...)
		for _, f := range flags {
			if f == "TRACE" {
				f = trace
			}
			all = append(all, f)
		}
		outer := exec.Command(b.clrprof, append(append(all, "--"), cmd.Args...)...)
		outer.Env = cmd.Env
		cmd = outer
	}
	values, err := twoNumbers(cmd)
	return values[1], err
}
