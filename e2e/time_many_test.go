package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// TestManyCalls: of millions of calls that are shorter than their probes, calls are exact; what is said of times is not
// more than is known of them. That the times are right is no test: bench and docs/design/0004-time.md have figures.
func TestManyCalls(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	r := mustRecordTime(t, in.Newest().Command(dotnettest.Target(t, "ManyCalls", dotnettest.Options{}), "1500"), timeOnly...)
	want := truthRows[struct{ Calls int64 }](t, r.stdout, "many")[0].Calls
	have := query[struct{ Calls int64 }](t, r.session,
		"SELECT calls Calls FROM function_times WHERE name LIKE 'Report.Price(%'")
	if len(have) != 1 || have[0].Calls != want {
		t.Errorf("calls %v, want %d", have, want)
	}
	var summary struct {
		Findings    []string `json:"findings"`
		Uncertainty float64  `json:"probe_uncertainty"`
		CPU         float64  `json:"cpu"`
	}
	shown := newSandbox(t).run("report", r.session, "--json")
	if err := json.Unmarshal([]byte(shown.stdout), &summary); err != nil {
		t.Fatal(err, shown.stderr)
	}
	unknown := summary.Uncertainty >= summary.CPU
	if len(summary.Findings) == 0 || unknown != strings.Contains(summary.Findings[0], "is not known") {
		t.Errorf("± %.0f of %.0f ns of CPU time are known:\n%s", summary.Uncertainty, summary.CPU,
			strings.Join(summary.Findings, "\n"))
	}
	for _, f := range summary.Findings {
		if unknown && strings.Contains(f, "Console.WriteLine") {
			t.Errorf("a finding: %s", f)
		}
	}
}
