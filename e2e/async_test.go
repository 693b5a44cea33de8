package e2e

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// treeRow is a row of the view calltree.
type treeRow struct {
	Name    string `json:"name"`
	Level   int    `json:"level"`
	Calls   int    `json:"calls"`
	Elapsed int64  `json:"elapsed_exclusive"`
	Type    string `json:"type"` // of the view callers
}

// TestAsyncTree: what an async method does after it has waited is below the function that called it, not below the
// pool, and all times together are those of the stacks as they were.
func TestAsyncTree(t *testing.T) {
	t.Parallel()
	for _, runtime := range dotnettest.NeedRuntimes(t, 8) {
		t.Run(runtime.Name, func(t *testing.T) {
			r := mustRecordTime(t, runtime.Command(dotnettest.Target(t, "Problems", dotnettest.Options{}), "async"),
				"--time")
			s := newSandbox(t)
			report := func(how string, view ...string) (rows []treeRow) {
				shown := s.run(slices.Concat([]string{"report", r.session}, view, []string{"--async", how, "--json"})...)
				if err := json.Unmarshal([]byte(shown.stdout), &rows); err != nil {
					t.Fatal(err, shown.stderr)
				}
				return rows
			}
			tree := func(how string) (rows []treeRow, elapsed int64) {
				rows = report(how, "calltree")
				for _, row := range rows {
					elapsed += row.Elapsed
				}
				return rows, elapsed
			}
			logical, elapsed := tree("logical")
			physical, want := tree("physical")
			if elapsed != want {
				t.Errorf("%d ns in all, want %d", elapsed, want)
			}
			roots, runs := 0, 0
			for _, row := range physical {
				if strings.HasSuffix(row.Name, "Mail.Deliver() [async]") {
					runs += row.Calls
					if row.Level == 1 {
						roots++
					}
				}
			}
			if roots != 1 || runs != 16 { // eight calls, and each goes on once
				t.Errorf("%d runs, of which on %d paths of the pool", runs, roots)
			}
			found, itself := 0, int64(0)
			for i, row := range logical {
				switch {
				case strings.Contains(row.Name, "Deliver() ["):
					t.Errorf("%+v", row)
				case strings.HasSuffix(row.Name, "Mail.Deliver()"):
					found, itself = found+1, row.Elapsed
					above := i
					for logical[above].Level >= row.Level {
						above--
					}
					if !strings.HasSuffix(logical[above].Name, "Mail.Send(int)") || row.Calls != 8 {
						t.Errorf("%+v below %+v", row, logical[above])
					}
				}
			}
			if found != 1 {
				t.Errorf("Deliver is on %d paths", found)
			}
			for _, row := range report("logical", "callers", "Mail.Deliver") {
				switch {
				case row.Type == "caller" && !strings.HasSuffix(row.Name, "Mail.Send(int)"):
					t.Errorf("called by %+v", row)
				case row.Type != "callee" && (row.Calls != 8 || row.Elapsed != itself):
					t.Errorf("%+v, want 8 calls and %d ns", row, itself)
				}
			}
		})
	}
}
