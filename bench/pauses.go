package main

import (
	"fmt"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
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
	return b.gaps()
}

// gapShapes are arrays, bytes of each, and one of how many is kept.
var gapShapes = [][3]string{{"400", "2000000", "8"}, {"60", "16000000", "8"}, {"300000", "10000", "100"}}

// gaps measures full collections of heaps on which few arrays are alive between many dead ones.
func (b *bench) gaps() error {
	dll, err := b.dotnet.Compile([]string{"bench/targets/Gaps"}, "", dotnettest.Options{})
	if err != nil {
		return err
	}
	fmt.Fprint(b.out, "\nMilliseconds of processor time of full collections where few arrays are alive between dead ones: the "+
		"first, which finds them dead, and later ones.\n\n| arrays | bytes of each | kept | collection | none | lifetime |\n"+
		"| ---: | ---: | ---: | --- | ---: | ---: |\n")
	for _, shape := range gapShapes {
		var least [2][2]float64 // first and later; without and with lifetimes
		for round := range b.rounds {
			for i, variant := range []string{"none", "lifetime"} {
				cmd := b.dotnet.Newest().Command(dll, shape[:]...)
				b.attach(cmd, variant)
				cmd.Env = append(cmd.Env, "CLRPROF_MEMORY=4294967296", "DOTNET_gcConcurrent=0")
				text, err := cmd.Output()
				if err != nil {
					return fmt.Errorf("%v, %s: %w", shape, variant, err)
				}
				var ms [2]float64
				if _, err := fmt.Sscan(string(text), &ms[0], &ms[1]); err != nil {
					return fmt.Errorf("%v, %s: %w", shape, variant, err)
				}
				for kind := range ms {
					if round == 0 || ms[kind] < least[kind][i] {
						least[kind][i] = ms[kind]
					}
				}
			}
		}
		for kind, name := range []string{"first", "later"} {
			fmt.Fprintf(b.out, "| %s | %s | 1 of %s | %s | %.2f | %.2f (%.2f) |\n", shape[0], shape[1], shape[2], name,
				least[kind][0], least[kind][1], least[kind][1]/least[kind][0])
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
