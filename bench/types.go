package main

import (
	"fmt"
	"slices"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// typesWays are what the pauses of a program with many types are measured with; the first is the measure.
var typesWays = []string{"none", "emptygc", "lifetime"}

// types measures the pauses of a program that allocates objects of few and of many types in two threads, against the
// program by itself, with workstation and with server GC.
func (b *bench) types() error {
	dll, err := b.dotnet.Compile([]string{"bench/targets/Types"}, "", dotnettest.Options{})
	if err != nil {
		return err
	}
	fmt.Fprintf(b.out, "\n## Pauses with many types\n\nTwo threads allocate. Milliseconds a collection, as the "+
		"runtime says, and nanoseconds of an allocation, pauses included; in brackets "+
		"as a ratio to the program by itself.\n\n| types | GC | kept | pause, none | empty, MONITOR_GC | lifetime | "+
		"allocation, none | empty, MONITOR_GC | lifetime |\n"+
		"| ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for _, types := range []string{"10", "3000"} {
		for _, server := range []bool{false, true} {
			for _, kept := range []string{"1", "100000"} {
				if err := b.typesRow(dll, types, kept, server); err != nil {
					return fmt.Errorf("%s types, %s kept, server GC %t: %w", types, kept, server, err)
				}
			}
		}
	}
	return nil
}

// typesRow measures one program in all ways, in turn.
func (b *bench) typesRow(dll, types, kept string, server bool) error {
	pauses, allocations := map[string][]float64{}, map[string][]float64{}
	for round := range b.rounds {
		for _, way := range rotated(slices.Clone(typesWays), round) {
			cmd := b.dotnet.Newest().Command(dll, types, "2", "40", kept)
			b.attach(cmd, way)
			if server {
				cmd.Env = append(cmd.Env, "DOTNET_gcServer=1", "DOTNET_GCHeapCount=2", "DOTNET_GCgen0size=1000000")
			}
			text, err := cmd.Output()
			if err != nil {
				return fmt.Errorf("%s: %w", way, err)
			}
			var collections, pause, ns float64
			if _, err := fmt.Sscan(string(text), &collections, &pause, &ns); err != nil {
				return fmt.Errorf("%s: %q: %w", way, text, err)
			}
			pauses[way], allocations[way] = append(pauses[way], pause/1000), append(allocations[way], ns)
		}
	}
	fmt.Fprintf(b.out, "| %s | %s | %s |", types, map[bool]string{false: "workstation", true: "server"}[server], kept)
	for _, measured := range []map[string][]float64{pauses, allocations} {
		base := median(measured[typesWays[0]])
		fmt.Fprintf(b.out, " %.1f |", base)
		for _, way := range typesWays[1:] {
			m := median(measured[way])
			fmt.Fprintf(b.out, " %.1f (%.1f) |", m, m/base)
		}
	}
	fmt.Fprintln(b.out)
	return nil
}
