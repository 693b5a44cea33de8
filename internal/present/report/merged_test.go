package report

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// TestMerged: the rows below a group are those of the view itself, each once, and a group has their sums.
func TestMerged(t *testing.T) {
	sessions, several := sessiontest.Various(5, 5), 0
	for _, name := range slices.Sorted(mapsKeys(sessions)) {
		b := sessions[name]
		s := complete(t, b, filepath.Join(t.TempDir(), "s"))
		for view, groupings := range map[string][]analysis.By{"types": {analysis.ByModule, analysis.ByNamespace},
			"threads": {analysis.ByName}} {
			values := []string{"bytes", "instances"}
			switch {
			case view == "threads" && len(b.ProcessTimes) > 0:
				values = []string{"elapsed_inclusive", "calls"}
			case view == "threads":
				values[1] = "allocations"
			case len(b.SiteValues) == 0:
				continue
			}
			columns := append([]string{"name", "process_id"}, values...)
			rows := map[any]int{}
			key := func(r map[string]any) any { return [4]any{r["name"], r["process_id"], r[values[0]], r[values[1]]} }
			for _, r := range viewObjects(t, s, view, Options{Depth: 1}, columns) {
				rows[key(r)]++
			}
			for _, by := range groupings {
				left, sum := map[any]int{}, map[string]float64{}
				closed := func() {
					for _, v := range values {
						if sum[v] != 0 {
							t.Errorf("%s: %s by %s: %v is left of a group's %s", name, view, by, sum[v], v)
						}
					}
				}
				for k, n := range rows {
					left[k] = n
				}
				for _, r := range viewObjects(t, s, view, Options{By: by}, append([]string{"level"}, columns...)) {
					sign := -1.0
					if r["level"].(float64) == 0 {
						closed()
						sign = 1
						several++
					} else {
						left[key(r)]--
					}
					for _, v := range values {
						if n, ok := r[v].(float64); ok {
							sum[v] += sign * n
						}
					}
				}
				closed()
				for k, n := range left {
					if n != 0 {
						t.Errorf("%s: %s by %s: %v is there %d times less", name, view, by, k, n)
					}
				}
			}
		}
	}
	if several == 0 {
		t.Error("there were no groups")
	}
}
