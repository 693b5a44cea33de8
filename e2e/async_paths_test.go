package e2e

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// pathTruth is what the target AsyncPaths knows of a function: all that its calls make by themselves, and who calls it.
type pathTruth struct {
	Name, Caller string
	Made         int64
}

// TestAsyncPaths: whatever an async method waits for, and whoever resumes it, all that it does is in one row of the call
// tree, below its caller.
func TestAsyncPaths(t *testing.T) {
	t.Parallel()
	modes := [][]string{{"--memory"}, {"--time", "--memory"}, nil, {"--time", "--memory", "--probes", "hooks"}}
	o := dotnettest.Options{Framework: dotnettest.Net8}
	recordInTurn(t, "AsyncPaths", o, modes, 3, func(t *testing.T, r result, _ []string) { comparePaths(t, r, "AsyncPaths") })
}

// TestAsyncLanguages: the same of tasks of F# and async functions of Visual Basic.
func TestAsyncLanguages(t *testing.T) {
	t.Parallel()
	for i, target := range []string{"AsyncFSharp", "AsyncBasic"} {
		for k, runtime := range dotnettest.OneInTurn(dotnettest.NeedRuntimes(t, 8), i) {
			flags := [][]string{{"--memory"}, {"--time", "--memory"}, nil}[(i+k)%3]
			t.Run(target+" "+strings.Join(flags, " ")+"/"+runtime.Name, func(t *testing.T) {
				t.Parallel()
				r := recordOnce(t, runtime.Command(dotnettest.Target(t, target, dotnettest.Options{Framework: dotnettest.Net8})),
					flags...)
				if r.exit != 0 {
					t.Fatalf("exit code %d\n%s%s", r.exit, r.stdout, r.stderr)
				}
				comparePaths(t, r, target)
			})
		}
	}
}

// comparePaths compares the rows of the target's functions in the call tree with what it says of them.
func comparePaths(t *testing.T, r result, target string) {
	t.Helper()
	want, have := map[string][]pathTruth{}, map[string][]pathTruth{}
	for _, f := range truthRows[pathTruth](t, r.stdout, "path") {
		want[f.Name] = append(want[f.Name], f)
	}
	type row struct {
		treeRow
		Made int64 `json:"exclusive_allocations"`
	}
	var above []string // by level: the innermost function of the target
	for _, x := range view[row](t, r.session, "calltree", "--type", target+".Item", "--min-share", "0") {
		for len(above) <= x.Level {
			above = append(above, "")
		}
		caller := ""
		if x.Level > 0 {
			caller = above[x.Level-1]
		}
		above[x.Level] = caller
		if _, isKnown := want[x.Name]; isKnown || strings.HasSuffix(x.Name, ".Main()") {
			above[x.Level] = x.Name
			have[x.Name] = append(have[x.Name], pathTruth{x.Name, caller, x.Made})
		} else if strings.HasPrefix(x.Name, target+".") && x.Made != 0 {
			t.Errorf("%+v below %q", x, caller)
		}
	}
	delete(have, "AsyncPaths.Program.Main()")
	if d := cmp.Diff(want, have); d != "" {
		t.Errorf("functions (-truth +session):\n%s", d)
	}
}
