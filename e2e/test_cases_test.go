package e2e

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// caseRow is a row of the view of tests.
type caseRow struct {
	Name        string
	Kind        string
	Allocations int64  `json:"inclusive_allocations"`
	Bytes       int64  `json:"inclusive_bytes"`
	Exclusive   *int64 `json:"exclusive_allocations"`
}

// casesOf are the widgets that each case of a test of testdata/targets/TestCases makes.
var casesOf = map[string]int64{
	"Inline(10)":                   10,
	"Inline(500), 2 calls":         1000,
	"Inline(11)":                   11,
	`Texts("a\"\n", -3)`:           3,
	"Texts(null, 7)":               7,
	"Objects(?, ?, ?) #1":          2,
	"Objects(?, ?, ?) #2":          6,
	"Many(1, 2, 3, 4, 5, 6, …) #1": 1,
	"Recurses(4)":                  10,
	"Waits(20)":                    20,
	"Together(300)":                300,
	"Together(299)":                299,
	"Quiet(1)":                     0,
	"Values('x', true, 1.5, 0.1, 18446744073709551615)": 4,
}

// TestTestCases: each case of a test has what was made in its calls, on its thread, up to its return: in parallel,
// recursive, ended by an exception, of all frameworks.
func TestTestCases(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	frameworks, err := in.Compile([]string{"../testdata/targets/TestFrameworks"}, "", dotnettest.Options{Library: true})
	if err != nil {
		t.Fatal(err)
	}
	dll, err := in.Compile([]string{"../testdata/targets/TestCases"}, "",
		dotnettest.Options{References: []string{frameworks}})
	if err != nil {
		t.Fatal(err)
	}
	for i, runtime := range dotnettest.NeedRuntimes(t, 8) {
		for n, mode := range [][]string{{"--memory"}, {"--lifetime"}, {"--time", "--memory"}} {
			if dotnettest.Quick() && n != i%3 {
				continue
			}
			t.Run(strings.Join(mode, " ")+"/"+runtime.Name, func(t *testing.T) {
				t.Parallel()
				r := recordOnce(t, runtime.Command(dll), append(mode, "--test-cases")...)
				if r.exit != 0 {
					t.Fatalf("exit code %d\n%s%s", r.exit, r.stdout, r.stderr)
				}
				checkTables(t, r.session)
				checkCases(t, r.session, runtime.Major())
			})
		}
	}
}

// checkCases compares the view of tests with casesOf, and what each test made by itself with the sum of its cases.
func checkCases(t *testing.T, path string, major int) {
	t.Helper()
	const widget = 24
	have, sums, tests := map[string]int64{}, map[string]int64{}, map[string]int64{}
	for _, row := range view[caseRow](t, path, "tests") {
		method, _, _ := strings.Cut(strings.TrimPrefix(row.Name, "Cases.Tests."), "(")
		if row.Kind != "case" {
			tests[method] = row.Allocations
			continue
		}
		if row.Exclusive != nil {
			t.Errorf("%s: it is not known what the test did itself, and has %d", row.Name, *row.Exclusive)
		}
		sums[method] += row.Allocations
		if method == "Throws" || method == "Waits" || method == "Together" {
			continue // exceptions, state machines and barriers are made, too
		}
		if have[strings.TrimPrefix(row.Name, "Cases.Tests.")] = row.Allocations; row.Bytes != widget*row.Allocations {
			t.Errorf("%s: %d bytes of %d widgets", row.Name, row.Bytes, row.Allocations)
		}
	}
	want := map[string]int64{}
	for name, n := range casesOf {
		if !strings.HasPrefix(name, "Waits") && !strings.HasPrefix(name, "Together") {
			want[name] = n
		}
	}
	if d := cmp.Diff(want, have); d != "" {
		t.Errorf("cases (-want +have)\n%s", d)
	}
	for method, n := range sums {
		if method == "Waits" {
			if rest := tests[method] - n; rest < 100 {
				t.Errorf("%s: %d objects in all, %d up to the return: 100 widgets came later", method, tests[method], n)
			}
		} else if method == "Throws" && major >= 9 {
			// An exception's trace, two arrays, grows while the runtime looks for a handler in the functions that called
			// the test, which is still on the thread's stack then.
			if n != tests[method]+2 {
				t.Errorf("%s: %d objects in all, %d in its cases", method, tests[method], n)
			}
		} else if tests[method] != n {
			t.Errorf("%s: %d objects in all, %d in its cases", method, tests[method], n)
		}
	}
	if sums["Throws"] < 10 || sums["Together"] < 599 || sums["Waits"] < 20 || tests["Alone"] != 5 || sums["NoTest"] != 0 {
		t.Errorf("cases %v, tests %v", sums, tests)
	}
}
