package e2e

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/dotnettest"
)

// marked are the marks at a function: of its calls, and of its returns.
type marked struct {
	Calls   int64 `json:"calls"`
	Returns int64 `json:"returns"`
}

// TestMarkAt: each call and each return of a function is marked, once, whatever is recorded, and whatever the runtime makes of its code; a call
// that ends by an exception, or does not end, has no mark at its return. With time all calls are recorded as ever.
func TestMarkAt(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	memory, together := []string{"--memory"}, []string{"--time", "--memory"}
	for _, tt := range []struct {
		target []string
		flags  [][]string
		ways   []way
	}{
		{[]string{"TimeCalls", "300", "1", "40"}, [][]string{byProbes, memory, timeOnly, boundaryHooks, together}, []way{timeTiered, timeOptimized, timeHurried, timeDebug}},
		{[]string{"TimeExceptions", "20"}, [][]string{timeOnly, byProbes, memory, byHooks}, []way{timeOptimized, timeTiered}},
	} {
		for i, w := range tt.ways {
			for k, runtime := range in.InTurn(i) {
				if runtime.Major() < 5 {
					continue
				}
				flags := tt.flags[(i+k)%len(tt.flags)]
				t.Run(strings.Join(append(tt.target, flags...), " ")+"/"+w.name+"/"+runtime.Name, func(t *testing.T) {
					t.Parallel()
					module := tt.target[0] + ".dll"
					cmd := runtime.Command(dotnettest.Target(t, tt.target[0], w.options), tt.target[1:]...)
					cmd.Env = append(cmd.Env, w.env...)
					r := record(t, cmd, append([]string{"--memory-limit", "1G", "--mark-at", module, "--mark-at", module + ":after"}, flags...)...)
					if r.exit != 0 {
						t.Fatalf("exit code %d\n%s%s", r.exit, r.stdout, r.stderr)
					}
					if flags[0] == "--time" {
						checkTimeSession(t, r.session)
						if flags[len(flags)-1] == "il" {
							compareOwnCalls(t, r, module)
						} else {
							compareCalls(t, r, module)
						}
					} else {
						sound(t, r.session)
					}
					compareMarks(t, r, module)
				})
			}
		}
	}
}

// compareMarks compares the marks at functions with what the target knows of its calls. Overloads have one name.
func compareMarks(t *testing.T, r result, module string) {
	t.Helper()
	type function struct {
		Token int64  `json:"token"`
		Name  string `json:"name"`
	}
	names := map[int64]string{}
	for _, f := range query[function](t, r.session, `SELECT DISTINCT f.token, f.raw_type || '.' || f.raw_name AS name
		FROM function f JOIN module m ON m.id = f.module_id WHERE m.name = '`+module+`'`) {
		names[f.Token] = f.Name
	}
	have := map[string]marked{}
	for _, m := range query[struct {
		Name string `json:"name"`
		N    int64  `json:"n"`
	}](t, r.session, "SELECT name, count(*) AS n FROM mark WHERE source = 'function' GROUP BY name") {
		name, returned := strings.CutSuffix(m.Name, " end")
		sum := have[name]
		if returned {
			sum.Returns += m.N
		} else {
			sum.Calls += m.N
		}
		have[name] = sum
	}
	want, unknown := map[string]marked{}, map[string]bool{}
	for _, row := range truthRowsIfAny[callTruth](t, r.stdout, "uncounted") {
		unknown[names[int64(row.Token)]] = true
	}
	for _, row := range truthRows[callTruth](t, r.stdout, "calls") {
		if name := names[int64(row.Token)]; row.Module == module && row.Calls > 0 {
			want[name] = marked{want[name].Calls + row.Calls, want[name].Returns + row.Calls - row.Thrown - row.Running}
		}
	}
	for name := range have {
		if _, told := want[name]; unknown[name] || !told {
			delete(have, name) // of the classes that count
			delete(want, name)
		}
	}
	if len(want) < 10 {
		t.Errorf("the target told of %d functions", len(want))
	}
	if d := cmp.Diff(want, have); d != "" {
		t.Errorf("marks (-truth +session): %s", d)
	}
}
