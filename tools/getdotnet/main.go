// Command getdotnet fetches a real .NET for tests, demo and benchmarks into the
// user's cache directory, once, and uses it.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

const usage = `usage:
  getdotnet                         fetch; list the version and DOTNET_ROOT of each runtime and SDK
  getdotnet root [VERSION]          print the DOTNET_ROOT of a runtime, default the newest
  getdotnet compile OUTDIR SOURCE…  compile C# 8 files, or the files of a directory
  getdotnet exec COMMAND [ARG…]     run a command that finds the newest runtime as "dotnet"`

// exitCode is the end of a command that ran, and that said itself what was wrong.
type exitCode int

func (c exitCode) Error() string { return fmt.Sprintf("exit code %d", int(c)) }

func main() {
	err := run(os.Args[1:])
	if code, ok := err.(exitCode); ok {
		os.Exit(int(code))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "getdotnet:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	in, err := dotnettest.Ensure(os.Stderr)
	if err != nil {
		return err
	}
	switch {
	case len(args) == 0:
		for _, r := range append(in.EachRuntime(), in.Net31()) {
			fmt.Printf("%s\t%s\n", r.Name, r.Root)
		}
		single, err := in.SingleFiles(os.Stderr)
		if err != nil {
			return err
		}
		for _, r := range single {
			fmt.Printf("%s\t%s\n", r.Title(), r.Root)
		}
		if sdk, ok := in.NewestSDK(); ok {
			fmt.Printf("SDK %s\t%s\n", sdk.Version, sdk.Root)
		}
		return nil
	case args[0] == "root" && len(args) <= 2:
		return root(in, append(args[1:], in.Newest().Name)[0])
	case args[0] == "compile" && len(args) >= 3:
		dll, err := in.Compile(args[2:], args[1], dotnettest.Options{})
		if err == nil {
			fmt.Println(dll)
		}
		return err
	case args[0] == "exec" && len(args) >= 2:
		return execute(in.Newest(), args[1:])
	default:
		return errors.New(usage)
	}
}

func root(in *dotnettest.Install, version string) error {
	for _, r := range append(in.EachRuntime(), in.Net31()) {
		if r.Name == version {
			fmt.Println(r.Root)
			return nil
		}
	}
	return fmt.Errorf("no runtime %s", version)
}

// execute runs a command with the runtime first on the PATH.
func execute(r dotnettest.Runtime, argv []string) error {
	path := r.Root + string(filepath.ListSeparator) + os.Getenv("PATH")
	if err := os.Setenv("PATH", path); err != nil { // where exec.Command looks for argv[0]
		return err
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = r.Env()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code > 0 {
		return exitCode(code)
	}
	return err
}
