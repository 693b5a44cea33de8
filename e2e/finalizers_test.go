package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// TestFinalizers: no finalizer runs because of clrprof that would not have run, however a program ends, and what only
// finalizers would have got counts as dead.
func TestFinalizers(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	dll := dotnettest.Target(t, "Finalizers", dotnettest.Options{})
	endings := []struct {
		how   string
		code  int
		known bool // the runtime says that it ends
	}{
		{"return", 3, true}, {"exit", 3, true}, {"exit-thread", 3, true},
		{"term", 128 + int(syscall.SIGTERM), true}, // .NET 10 and later leave the signal to the kernel
		{"unhandled", 128 + int(syscall.SIGABRT), false}, {"int", 128 + int(syscall.SIGINT), false},
	}
	for _, runtime := range in.Runtimes() {
		for _, end := range dotnettest.Some(endings) {
			t.Run(runtime.Name+"/"+end.how, func(t *testing.T) {
				plain := runtime.Command(dll, t.TempDir(), end.how)
				printed, _ := plain.Output()
				dir := t.TempDir()
				args := []string{dll, dir, end.how}
				if runtime.Major() >= 8 {
					args = append(args, "400") // collections
				}
				r := record(t, runtime.Command(args[0], args[1:]...))
				if r.exit != end.code || exitCode(plain.ProcessState) != end.code {
					t.Errorf("exit code %d, without clrprof %d, want %d", r.exit, exitCode(plain.ProcessState), end.code)
				}
				if d := cmp.Diff(string(printed), r.stdout); d != "" {
					t.Errorf("standard output without and with clrprof: %s", d)
				}
				left, err := os.ReadDir(dir)
				if err != nil || len(left) != 1 || left[0].Name() != "unflushed" {
					t.Errorf("%v, %v: finalizers ran", left, err)
				}
				if info, err := os.Stat(filepath.Join(dir, "unflushed")); err != nil || info.Size() != 0 {
					t.Errorf("a file that nobody flushed: %v, %v", info, err)
				}
				checkSession(t, r.session)
				if end.known && (end.how != "term" || runtime.Major() < 10) {
					endsOfFinalizable(t, r.session)
				}
			})
		}
	}
}

// endsOfFinalizable compares what became of the objects of Finalizers.
func endsOfFinalizable(t *testing.T, path string) {
	t.Helper()
	want := map[string]int64{"Finalizers.Alive": 100, "Finalizers.Held": 100}
	for _, name := range strings.Fields("Prints Throws Blocks Rises Locks Starts Suppressed Plain") {
		want["Finalizers."+name] = 0
	}
	got := map[string]int64{}
	for _, row := range query[struct {
		Type  string `json:"name"`
		Alive int64  `json:"alive_instances"`
	}](t, path, "SELECT name, alive_instances FROM lifetime WHERE name LIKE 'Finalizers.%' AND name NOT LIKE '%Program%'") {
		got[row.Type] += row.Alive
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("alive at the end, want and got: %s", d)
	}
}
