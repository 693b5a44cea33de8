package e2e

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// TestTimeExterns: calls of functions without IL, by DllImport and UnsafeAccessor, are rows of their own where probes
// see calls, with what they call back below them; hooks, and --instrument mine, have them in their callers. Error codes
// come back as they would otherwise.
func TestTimeExterns(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	for i, tt := range []struct {
		name  string
		flags []string
		args  []string
	}{
		{"time", timeOnly, nil},
		{"memory", []string{"--time", "--memory"}, nil},
		{"mine", []string{"--time", "--instrument", "mine"}, nil},
		{"hooks", boundaryHooks, []string{"native"}},
	} {
		for j, w := range []way{timeTiered, timeOptimized, timeDebug, timeHurried} {
			for _, runtime := range crossed(in, i, j) {
				t.Run(tt.name+"/"+w.name+"/"+runtime.Name, func(t *testing.T) {
					t.Parallel()
					cmd := runtime.Command(dotnettest.Target(t, "Externs", w.options), append([]string{"500"}, tt.args...)...)
					cmd.Env = append(cmd.Env, w.env...)
					r := mustRecordTime(t, cmd, tt.flags...)
					if tt.name == "mine" {
						if got := readRecordedTime(t, r.session); len(got.externs) != 0 {
							t.Errorf("calls of functions without IL: %v", got.externs)
						}
						return
					}
					compareCalls(t, r, "Externs.dll")
				})
			}
		}
	}
}

// TestTimeExternsReported: what a function without IL did is nobody's code, so it counts for the line that called it.
func TestTimeExternsReported(t *testing.T) {
	t.Parallel()
	runtime := dotnettest.Need(t).Newest()
	r := mustRecordTime(t, runtime.Command(dotnettest.Target(t, "Externs", dotnettest.Options{}), "500"), timeOnly...)
	sleeps := query[struct {
		Kind    string
		Elapsed int64
	}](t, r.session, `SELECT f.kind, sum(v.elapsed_ns) AS elapsed FROM timing_value v JOIN timing t ON t.id = v.timing_id
		JOIN node n ON n.id = t.node_id JOIN function f ON f.id = n.function_id WHERE f.raw_name = 'usleep' GROUP BY f.id`)
	if len(sleeps) != 1 || sleeps[0].Kind != session.FunctionExtern || sleeps[0].Elapsed < 20_000_000 {
		t.Errorf("functions that slept for 20 ms: %+v", sleeps)
	}
	var summary struct {
		Waits []struct{ Name, From string } `json:"waits_by_blocked"`
	}
	if err := json.Unmarshal([]byte(run(t, "report", r.session, "--json").stdout), &summary); err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(summary.Waits, func(w struct{ Name, From string }) bool {
		return strings.HasSuffix(w.Name, ".usleep(uint)")
	})
	if at < 0 || !strings.HasPrefix(summary.Waits[at].From, "Uses.Sleep Program.cs:") {
		t.Errorf("where the program waits: %+v", summary.Waits)
	}
}
