package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// continuedTruth is what the target Continued knows of a function: all that its calls make.
type continuedTruth struct {
	Name  string
	Made  int64 `json:"made"`
	Calls int64
}

// TestContinued: what goes on on the stack of an async method that has ended is neither below it in the call tree, nor
// of the test that has ended there.
func TestContinued(t *testing.T) {
	t.Parallel()
	modes := [][]string{{"--memory"}, {"--time", "--memory"}, nil}
	o := dotnettest.Options{Framework: dotnettest.Net8}
	recordInTurn(t, "Continued", o, modes, 1, func(t *testing.T, r result, mode []string) {
		truth := truthRows[continuedTruth](t, r.stdout, "continued")
		compareContinuedTree(t, r.session, truth, slices.Contains(mode, "--time"))
		compareContinuedTests(t, r.session, truth)
		checkContinuedFramework(t, r.session)
	})
}

// compareContinuedTree looks for each function in one row of the call tree, which is not below those that ended.
func compareContinuedTree(t *testing.T, session string, truth []continuedTruth, timed bool) {
	t.Helper()
	type row struct {
		treeRow
		Made int64 `json:"inclusive_allocations"`
	}
	byName := map[string]continuedTruth{}
	for _, f := range truth {
		byName[f.Name] = f
	}
	var have []continuedTruth
	var above []string
	for _, x := range view[row](t, session, "calltree", "--type", "Continued.Item", "--min-share", "0") {
		above = append(above[:x.Level], x.Name)
		f, ok := byName[x.Name]
		if !ok {
			continue
		}
		have = append(have, continuedTruth{x.Name, x.Made, f.Calls})
		for _, of := range above[:x.Level] {
			if strings.Contains(of, "Program.Body(") || strings.Contains(of, "Program.First(") {
				t.Errorf("%s is below %q", x.Name, above)
			}
		}
	}
	checkContinued(t, "call tree", truth, have)
	if !timed {
		return
	}
	have = nil
	for _, x := range view[treeRow](t, session, "calltree", "--min-share", "0") {
		if f, ok := byName[x.Name]; ok {
			have = append(have, continuedTruth{x.Name, f.Made, int64(x.Calls)})
		}
	}
	checkContinued(t, "call tree with times", truth, have)
}

func checkContinued(t *testing.T, what string, want, have []continuedTruth) {
	t.Helper()
	rows := func(list []continuedTruth) map[string][]continuedTruth {
		m := map[string][]continuedTruth{}
		for _, f := range list {
			if f.Name == "Continued.Program.Numbers() [iterator]" {
				f.Calls = 0 // it is called once more, at its end
			}
			m[f.Name] = append(m[f.Name], f)
		}
		return m
	}
	if d := cmp.Diff(rows(want), rows(have)); d != "" {
		t.Errorf("%s (-truth +session):\n%s", what, d)
	}
}

// checkContinuedFramework looks at what the framework made when user code had ended: no user code called for it.
func checkContinuedFramework(t *testing.T, session string) {
	t.Helper()
	type row struct {
		Name     string
		Function string
		Made     int64 `json:"inclusive_allocations"`
		Own      int64 `json:"exclusive_allocations"`
	}
	made := int64(0)
	for _, name := range []string{"functions", "lines"} {
		for _, x := range view[row](t, session, name, "--my-code", "--type", "System.Tuple<object>") {
			made = max(made, x.Made, x.Own)
			if strings.HasPrefix(x.Name+x.Function, "Continued.") {
				t.Errorf("%s --my-code: %+v", name, x)
			}
		}
	}
	if made != 300 {
		t.Errorf("at most %d tuples in a row, want 300", made)
	}
}

// compareContinuedTests compares what the tests made.
func compareContinuedTests(t *testing.T, session string, truth []continuedTruth) {
	t.Helper()
	type test struct {
		Name string
		Made int64 `json:"inclusive_allocations"`
	}
	want, have := map[string]int64{}, map[string]int64{}
	for _, f := range truth {
		if strings.Contains(f.Name, "First") || strings.Contains(f.Name, "Second") {
			want[f.Name] = f.Made
			continue
		}
		want["(outside of tests)"] += f.Made
	}
	want["(outside of tests)"] -= want["Continued.Program.Second()"] // which the fixture calls
	for _, x := range view[test](t, session, "tests", "--type", "Continued.Item") {
		have[x.Name] = x.Made
	}
	if d := cmp.Diff(want, have); d != "" {
		t.Errorf("tests (-truth +session):\n%s", d)
	}
	beside := view[test](t, session, "tests", "--type", "Continued.Beside")
	if d := cmp.Diff([]test{{"(outside of tests)", 1}}, beside); d != "" {
		t.Errorf("of a type that no test makes (-want +have):\n%s", d)
	}
}
