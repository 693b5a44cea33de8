package main

import (
	"fmt"

	"github.com/clrprof/clrprof/internal/dotnettest"
)

// pauses measures how long garbage collections stop a program, with lifetimes and without, and with the roots that full
// collections look at as well unless --roots says otherwise.
func (b *bench) pauses() error {
	dll, err := b.dotnet.Compile([]string{"bench/targets/Pauses"}, "", dotnettest.Options{})
	if err != nil {
		return err
	}
	fmt.Fprintf(b.out, "\n## Pauses of garbage collections\n\nMicroseconds, with 100,000 dead objects each time; in brackets as a ratio.\n\n"+
		"| alive | generation 0, empty | lifetime | full, empty | lifetime, roots off | lifetime |\n| ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for _, live := range []string{"1000", "100000", "5000000"} {
		var young, full [3][]float64
		for range b.rounds {
			for i, way := range []struct{ variant, roots string }{{"emptygc", "off"}, {"lifetime", "off"}, {"lifetime", "gen2"}} {
				y, f, err := b.pause(dll, live, way.variant, way.roots)
				if err != nil {
					return fmt.Errorf("%s alive, %s, roots %s: %w", live, way.variant, way.roots, err)
				}
				young[i], full[i] = append(young[i], y), append(full[i], f)
			}
		}
		y0, y1, f0, f1, f2 := median(young[0]), median(young[1]), median(full[0]), median(full[1]), median(full[2])
		fmt.Fprintf(b.out, "| %s | %.0f | %.0f (%.2f) | %.0f | %.0f (%.2f) | %.0f (%.2f) |\n", live, y0, y1, y1/y0, f0, f1, f1/f0, f2, f2/f0)
	}
	return nil
}

// pause runs the target once and returns its medians for generation 0 and for full collections.
func (b *bench) pause(dll, live, variant, roots string) (young, full float64, err error) {
	cmd := b.dotnet.Newest().Command(dll, live)
	b.attach(cmd, variant)
	cmd.Env = append(cmd.Env, "CLRPROF_ROOTS="+roots, "CLRPROF_MEMORY=4294967296")
	text, err := cmd.Output()
	if err != nil {
		return 0, 0, err
	}
	_, err = fmt.Sscan(string(text), &young, &full)
	return young, full, err
}
