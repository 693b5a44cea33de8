package dotnettest

import (
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
		if r.own {
			continue // apphost: which version is up to the machine
		}
		cmd := exec.Command(exe, "x")
		cmd.Env = r.Env()
		wantHello(t, cmd, "hello "+want+" 1")
	}
}

func TestSelfContained(t *testing.T) {
	in := Need(t)
	exe, err := in.SelfContained(writeHello(t, in, Options{}), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	// It must not find a runtime elsewhere.
	cmd.Env = []string{"DOTNET_ROOT=/nonexistent", "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT=1"}
	wantHello(t, cmd, "hello 9 0")
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
