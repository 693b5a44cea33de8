package main

import (
	"fmt"

	"github.com/clrprof/clrprof/internal/dotnettest"
)

// pausesWays are what the program of the pauses runs with; the first is the measure.
var pausesWays = []struct{ name, variant, roots string }{
	{"none", "none", "off"}, {"empty, MONITOR_GC", "emptygc", "off"}, {"lifetime, roots off", "lifetime", "off"},
	{"lifetime", "lifetime", "gen2"},
}

// pauses measures how long garbage collections stop a program, by itself, with lifetimes and without, and with the
// roots that full collections look at as well unless --roots says otherwise.
func (b *bench) pauses() error {
	dll, err := b.dotnet.Compile([]string{"bench/targets/Pauses"}, "", dotnettest.Options{})
	if err != nil {
		return err
	}
	fmt.Fprintf(b.out, "\n## Pauses of garbage collections\n\nMicroseconds of processor time of the thread that "+
		"collects, the least of %d runs, all ways in turn; 100,000 dead objects "+
		"each time. In brackets as a ratio to the program by itself. `make bench BENCHFLAGS=\"-only pauses\"`.\n\n| "+
		"alive | collection |", b.rounds)
	for _, way := range pausesWays {
		fmt.Fprintf(b.out, " %s |", way.name)
	}
	fmt.Fprint(b.out, "\n| ---: | --- | ---: | ---: | ---: | ---: |\n")
	for _, live := range []string{"1000", "100000", "5000000"} {
		if err := b.pausesRows(dll, live); err != nil {
			return err
		}
	}
	return nil
}

// pausesRows measures one number of objects alive: a row for each kind of collection.
func (b *bench) pausesRows(dll, live string) error {
	var least [len(pauseKinds)][4]float64
	for round := range b.rounds {
		for i, way := range pausesWays {
			pause, err := b.pause(dll, live, way.variant, way.roots)
			if err != nil {
				return fmt.Errorf("%s alive, %s: %w", live, way.name, err)
			}
			for kind, us := range pause {
				if round == 0 || us < least[kind][i] {
					least[kind][i] = us
				}
			}
		}
	}
	for kind, name := range pauseKinds {
		fmt.Fprintf(b.out, "| %s | %s | %.0f |", live, name, least[kind][0])
		for _, us := range least[kind][1:] {
			fmt.Fprintf(b.out, " %.0f (%.2f) |", us, us/least[kind][0])
		}
		fmt.Fprintln(b.out)
	}
	return nil
}

// pauseKinds are the collections that the target measures, in the order in which it prints them.
var pauseKinds = [...]string{"generation 0", "generation 0, 100,000 more survive", "full"}

// pause runs the target once and returns its medians.
func (b *bench) pause(dll, live, variant, roots string) (us [len(pauseKinds)]float64, err error) {
	cmd := b.dotnet.Newest().Command(dll, live)
	b.attach(cmd, variant)
	cmd.Env = append(cmd.Env, "CLRPROF_ROOTS="+roots, "CLRPROF_MEMORY=4294967296", "DOTNET_gcConcurrent=0")
	text, err := cmd.Output()
	if err != nil {
		return us, err
	}
	_, err = fmt.Sscan(string(text), &us[0], &us[1], &us[2]) // a number of bytes follows
	return us, err
}
