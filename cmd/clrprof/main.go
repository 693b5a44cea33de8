// Command clrprof is an exact allocation profiler for .NET on Linux.
package main

import (
	"os"

	"github.com/clrprof/clrprof/internal/cli"
)

func main() {
	os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
