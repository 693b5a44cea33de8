package main

import (
	"cmp"
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// filterWays are the flags with which a program of 100,000 stacks is recorded, each mode first without a filter.
var filterWays = []string{"--memory", "--memory --include Alloc.*", "--memory --exclude Alloc.*", "",
	"--include Alloc.*", "--exclude Alloc.*",
	"--time", "--time --include Alloc.*", "--time --exclude Alloc.*"}

// filters measures what it costs to record only some functions: never more than to record all.
func (b *bench) filters() error {
	dll, err := b.dotnet.Compile([]string{"bench/targets/Alloc"}, "", dotnettest.Options{})
	if err != nil {
		return err
	}
	target := b.dotnet.Newest().Command(dll, "wide", depth, countWide, "30")
	session := filepath.Join(b.dir, "filters.clrprof")
	least := map[string]float64{}
	for range b.rounds {
		for _, way := range filterWays {
			argv := append([]string{"run", "--no-report", "-f", "-o", session}, strings.Fields(way)...)
			cmd := exec.Command(b.clrprof, append(append(argv, "--"), target.Args...)...)
			cmd.Env = target.Env
			_, cpu, err := timed(cmd)
			if err != nil {
				return fmt.Errorf("%q: %w", way, err)
			}
			if known, ok := least[way]; !ok {
				least[way] = cpu
			} else {
				least[way] = math.Min(known, cpu)
			}
		}
	}
	fmt.Fprintf(b.out, "\n## Filters\n\nSeconds of processor time of `clrprof run` and its target, 3.3 million "+
		"allocations under 100,000 stacks; the least of "+
		"%d runs, all ways in turn. `make bench BENCHFLAGS=\"-only filters\"`.\n\n| flags | processor |\n| --- | ---: |\n", b.rounds)
	for _, way := range filterWays {
		fmt.Fprintf(b.out, "| %s | %.2f |\n", cmp.Or(way, "(default)"), least[way])
	}
	return nil
}
