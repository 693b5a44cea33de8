package dotnettest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const hello = `
using System;
static class Hello {
    static int Main(string[] args) {
        Console.WriteLine("hello " + Environment.Version.Major + " " + args.Length);
        return 3;
    }
}
`

// writeHello compiles the program into a directory of the test's own.
func writeHello(t *testing.T, in *Install, o Options) string {
	t.Helper()
	dir := t.TempDir()
	src := filepath.Join(dir, "Hello.cs")
	if err := os.WriteFile(src, []byte(hello), 0o644); err != nil {
		t.Fatal(err)
	}
	dll, err := in.Compile([]string{src}, filepath.Join(dir, "bin"), o)
	if err != nil {
		t.Fatal(err)
	}
	return dll
}

// wantHello runs the command and checks its output and its exit code.
func wantHello(t *testing.T, cmd *exec.Cmd, want string) {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if got := strings.TrimSpace(string(out)); got != want {
		t.Errorf("%v: output %q, want %q", cmd.Args, got, want)
	}
	if code := cmd.ProcessState.ExitCode(); code != 3 {
		t.Errorf("%v: exit code %d (%v), want 3", cmd.Args, code, err)
	}
}

func TestWaysToRun(t *testing.T) {
	in := Need(t)
	dll := writeHello(t, in, Options{})
	exe, err := in.AppHost(dll)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range in.Runtimes() {
		want, _, _ := strings.Cut(r.Name, ".")
		wantHello(t, r.Command(dll, "x", "y"), "hello "+want+" 2")
		cmd := exec.Command(exe, "x")
		cmd.Env = r.Env()
		wantHello(t, cmd, "hello "+want+" 1")
	}
}

func TestSelfContained(t *testing.T) {
	in := Need(t)
	for _, r := range in.Runtimes() {
		if r.Major() < 5 {
			continue // it is not laid out so
		}
		exe, err := in.SelfContained(r, writeHello(t, in, Options{}), t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(exe)
		// It must not find a runtime elsewhere.
		cmd.Env = []string{"DOTNET_ROOT=/nonexistent", "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT=1"}
		wantHello(t, cmd, fmt.Sprintf("hello %d 0", r.Major()))
	}
}

func TestMCPServerRuns(t *testing.T) {
	in := Need(t)
	cmd := exec.Command(in.MCP(), "--version")
	cmd.Env = in.Env()
	// It ends with 1 after printing its version.
	out, err := cmd.CombinedOutput()
	if !strings.Contains(string(out), "0.5.13") {
		t.Errorf("azmcp --version: %v\n%s", err, out)
	}
}

// TestLanguages compiles what needs an SDK: the newest C#, F# and Visual Basic, for each framework.
func TestLanguages(t *testing.T) {
	in, _ := NeedSDK(t)
	for _, tt := range []struct {
		file, source string
		options      Options
	}{
		{"Newest.cs", "using System;\nint[] a = [1, 2];\nConsole.WriteLine($\"hello {Environment.Version.Major} " +
			"{args.Length + a.Twice.Length}\");\nreturn 3;\n" +
			"static class E { extension(int[] a) { public int[] Twice => [.. a, .. a]; } }\n",
			Options{Framework: Net10}},
		{"Raw.cs", "using System;\nint[] a = [1, 2, 3, 4];\nConsole.WriteLine($\"\"\"hello " +
			"{Environment.Version.Major} {args.Length + a.Length}\"\"\");\nreturn 3;\n", Options{Framework: Net8}},
		{"Web.cs",
			"using System;\nvar b = Microsoft.AspNetCore.Builder.WebApplication.CreateBuilder(args);\nConsole.WriteLine($\"hello {Environment.Version.Major} 4\");\nreturn b == null ? 1 : 3;\n",
			Options{Framework: Net10, Web: true, NoOptimize: true}},
		{"Functional.fs", "open System\n[<EntryPoint>]\nlet main args =\n  printfn \"hello %d %d\" " +
			"Environment.Version.Major (args.Length + List.length [1; 2; 3; 4])\n  3\n", Options{Framework: Net10}},
		{"Basic.vb", "Module Program\n  Function Main(args As String()) As Integer\n    " +
			"System.Console.WriteLine($\"hello {System.Environment.Version.Major} {args.Length + {1, 2, 3, " +
			"4}.Length}\")\n" +
			"    Return 3\n  End Function\nEnd Module\n", Options{Framework: Net10}},
	} {
		path := filepath.Join(t.TempDir(), tt.file)
		if err := os.WriteFile(path, []byte(tt.source), 0o644); err != nil {
			t.Fatal(err)
		}
		dll, err := in.Compile([]string{path}, "", tt.options)
		if err != nil {
			t.Error(err)
			continue
		}
		if _, err := os.Stat(strings.TrimSuffix(dll, "dll") + "pdb"); err != nil {
			t.Error(err)
		}
		for _, r := range NeedRuntimes(t, 8) {
			if r.Major() >= 10 || tt.options.Framework == Net8 {
				wantHello(t, r.Command(dll), fmt.Sprintf("hello %d 4", r.Major()))
			}
		}
	}
}
