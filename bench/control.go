package main

import (
	"fmt"
	"strings"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// control measures what calls of Clrprof.Control take in a program that is not recorded.
func (b *bench) control() error {
	dll, err := b.dotnet.Compile([]string{"testdata/targets/ControlCodes", "integrations/control"}, "",
		dotnettest.Options{Name: "ControlCodes"})
	if err != nil {
		return err
	}
	out, err := b.dotnet.Newest().Command(dll, "cost").Output()
	if err != nil {
		return err
	}
	fmt.Fprint(b.out, "\n## Clrprof.Control in a program that is not recorded\n\nNanoseconds of a call, the least of 10 "+
		"rounds of 10 million.\n\n| call | ns |\n| --- | ---: |\n")
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		call, ns, found := strings.Cut(line, " ")
		if !found {
			return fmt.Errorf("the target says %q", line)
		}
		fmt.Fprintf(b.out, "| %s | %s |\n", call, ns)
	}
	return nil
}
