// Command getdotnet fetches a real .NET for tests, demo and benchmarks into the
// user's cache directory, once. It prints the DOTNET_ROOT of each runtime; with
// an argument, "9.0.7" or "3.1.2", that one's only.
package main

import (
	"fmt"
	"os"

	"github.com/clrprof/clrprof/internal/dotnettest"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "getdotnet:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) > 1 {
		return fmt.Errorf("usage: getdotnet [VERSION]")
	}
	in, err := dotnettest.Ensure(os.Stderr)
	if err != nil {
		return err
	}
	for _, r := range in.Runtimes() {
		switch {
		case len(args) == 0:
			fmt.Printf("%s\t%s\n", r.Name, r.Root)
		case args[0] == r.Name:
			fmt.Println(r.Root)
			return nil
		}
	}
	if len(args) == 1 {
		return fmt.Errorf("no runtime %s", args[0])
	}
	return nil
}
