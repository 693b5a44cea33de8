package e2e

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// TestHosts: a program in C that hosts the runtime has neither libgcc nor libstdc++ where the agent would find them, as
// python, a plugin, or a game has not. All is recorded there that is recorded of dotnet.
func TestHosts(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	host := filepath.Join(t.TempDir(), "host")
	if text, err := exec.Command("gcc", "-Wall", "-Werror", "-o", host, "testdata/host.c", "-ldl").CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, text)
	}
	dll := dotnettest.Target(t, "TimeCalls", dotnettest.Options{})
	for _, runtime := range in.Runtimes() {
		if runtime.Major() < 8 { // a runtime that is not supported any more; its hostfxr may be missing
			continue
		}
		t.Run(runtime.Name, func(t *testing.T) {
			t.Parallel()
			args := append([]string{host, hostfxr(t, runtime)}, runtime.Args(dll, "300", "1", "400")[1:]...)
			r := mustRecordTime(t, &exec.Cmd{Path: host, Args: args, Env: runtime.Env()},
				"--time", "--mine", "TimeCalls.*") // its name is not that of the process
			compareCalls(t, r, "TimeCalls.dll")
		})
	}
}

// TestPythonHost: the same for python3, which loads the runtime by ctypes.
func TestPythonHost(t *testing.T) {
	t.Parallel()
	runtime := dotnettest.Need(t).Newest()
	args := python(t, runtime, dotnettest.Target(t, "TimeCalls", dotnettest.Options{}), "300", "1", "400")
	r := mustRecordTime(t, &exec.Cmd{Path: args[0], Args: args, Env: runtime.Env()}, "--time", "--mine", "TimeCalls.*")
	compareCalls(t, r, "TimeCalls.dll")
}

// TestAttachPythonHost: python3 goes on when it is recorded for a while, objects and times, and when that has ended.
func TestAttachPythonHost(t *testing.T) {
	t.Parallel()
	runtime := dotnettest.Need(t).Newest()
	args := python(t, runtime, dotnettest.Target(t, "Served", dotnettest.Options{}))
	s := newSandbox(t)
	s.env = append(s.env, "DOTNET_ROOT="+runtime.Root)
	x := s.startServiceOf(args, nil)
	x.do("rounds 3")
	for i := range 2 {
		a := x.attach(fmt.Sprint("hosted", i), "--time", "--mine", "Served.*")
		x.do("rounds 7")
		x.detach(a)
		a.hasCalls(x, 7)
		x.do("rounds 40")
	}
	x.finish()
}

// python is a command of python3 that hosts a program.
func python(t *testing.T, runtime dotnettest.Runtime, dll string, arguments ...string) []string {
	t.Helper()
	path, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("needs python3")
	}
	script, err := filepath.Abs("testdata/host.py")
	if err != nil {
		t.Fatal(err)
	}
	return append([]string{path, script, hostfxr(t, runtime)}, runtime.Args(dll, arguments...)[1:]...)
}

// hostfxr is the library by which other programs host a runtime.
func hostfxr(t *testing.T, runtime dotnettest.Runtime) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(runtime.Root, "host/fxr/*/libhostfxr.so"))
	if err != nil || len(found) == 0 {
		t.Fatalf("no hostfxr in %s: %v", runtime.Root, err)
	}
	return slices.Max(found)
}
