package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// bySites are calls of the program's own code and those that it makes, seen by probes alone.
var bySites = []string{"--time", "--probes", "il"}

// TestCallees compares calls of the framework's functions, seen by probes around them, with what the program knows: by
// the function that its code names, whatever runs for it.
func TestCallees(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	for i, w := range []way{timeTiered, timeOptimized, timeDebug, timeTier0, timeHurried, timeNoPGO} {
		for _, runtime := range in.InTurn(i) {
			if runtime.Major() < 5 {
				continue // calls are seen by hooks
			}
			t.Run(w.name+"/"+runtime.Name, func(t *testing.T) {
				t.Parallel()
				cmd := runtime.Command(dotnettest.Target(t, "Callees", w.options), "200")
				cmd.Env = append(cmd.Env, w.env...)
				compareCallees(t, mustRecordTime(t, cmd, bySites...), "Callees.dll")
			})
		}
	}
}

// compareCallees compares the calls of a module's functions, and what they call, with what the target printed. The
// framework is called by the functions that print as well, of which nothing is known.
func compareCallees(t *testing.T, r result, module string) {
	t.Helper()
	got := readRecordedTime(t, r.session)
	callers := map[called]bool{}
	for _, row := range truthRows[callTruth](t, r.stdout, "calls") {
		callers[row.callee()] = row.Callers
		if row.Module == module {
			got.compareFunction(t, row)
		}
	}
	want := map[call]int64{}
	for _, row := range truthRows[callTruth](t, r.stdout, "call") {
		want[call{row.caller(), row.callee()}] += row.Calls
	}
	names := map[called]string{}
	for _, row := range truthRows[callTruth](t, r.stdout, "call") {
		names[row.callee()] = row.Name
	}
	for c, n := range want {
		if have := got.calls[c]; have != n && callers[c.Callee] {
			t.Errorf("%s called %s %d times, the session says %d", got.name(c.Caller), names[c.Callee], n, have)
		}
	}
	for c, n := range got.calls {
		if want[c] == 0 && callers[c.Callee] && !untold(got.name(c.Caller)) && c.Caller != (called{}) {
			t.Errorf("the session has %d calls of %s by %s, of which the truth knows nothing", n, got.name(c.Callee),
				got.name(c.Caller))
		}
	}
	for c, n := range got.calls {
		if _, known := callers[c.Callee]; !known && c.Caller.Module == module && !untold(got.name(c.Caller)) {
			t.Errorf("the session has %d calls of %s by %s, of which the truth says nothing", n, got.name(c.Callee),
				got.name(c.Caller))
		}
	}
}

// TestCalleesInSingleFile: in a single file are other assemblies of the program, whose functions have probes of their
// own. They are known before they are loaded, so calls of these functions have no second pair of probes around them,
// which would count each call twice.
func TestCalleesInSingleFile(t *testing.T) {
	t.Parallel()
	dotnettest.NotQuick(t, "it publishes programs")
	targets, err := filepath.Abs("../testdata/targets/Parts/Parts.targets")
	if err != nil {
		t.Fatal(err)
	}
	library := dotnettest.Target(t, "PartsLibrary", dotnettest.Options{Library: true})
	cmd := delivered(t, "Parts", []string{"SelfContained=true", "PublishSingleFile=true",
		"CustomBeforeMicrosoftCommonTargets=" + targets, "PartsLibrary=" + library})
	r := mustRecordTime(t, cmd, append([]string{"--mine", "PartsLibrary"}, bySites...)...)
	for _, module := range []string{"Parts.dll", "PartsLibrary.dll"} {
		compareCallees(t, r, module)
	}
}

// TestCalleesInMemory does the same with an assembly that the program itself loads, from memory.
func TestCalleesInMemory(t *testing.T) {
	t.Parallel()
	library := dotnettest.Target(t, "PartsLibrary", dotnettest.Options{Library: true})
	dll := dotnettest.Target(t, "Parts", dotnettest.Options{References: []string{library}})
	alone := copyBeside(t, dll, strings.TrimSuffix(dll, ".dll")+".runtimeconfig.json")
	for _, runtime := range dotnettest.NeedRuntimes(t, 5) {
		t.Run(runtime.Name, func(t *testing.T) {
			t.Parallel()
			r := mustRecordTime(t, runtime.Command(alone, "100", library), bySites...)
			for _, module := range []string{"Parts.dll", "PartsLibrary"} {
				compareCallees(t, r, module)
			}
		})
	}
}

// copyBeside copies files into a folder where nothing else is, and returns the first one's path there.
func copyBeside(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range files {
		if err := copyFile(f, filepath.Join(dir, filepath.Base(f))); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, filepath.Base(files[0]))
}
