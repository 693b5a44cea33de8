package e2e

import (
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/present/report"
	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// endOf is what became of the objects of one of Ending's types.
type endOf struct {
	Name              string
	Gen0, Gen2, Alive int64
}

// freedRow is a row of lifetime with what was freed while the program ended.
type freedRow struct {
	Name  string `json:"name"`
	Freed int64  `json:"freed_instances"`
}

// TestEnding: what a program held when it began to end is what is alive at the end, whatever it lets go of until it has
// ended; and what a program held that only seemed to end is not.
func TestEnding(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	dll := dotnettest.Target(t, "Ending", dotnettest.Options{Framework: dotnettest.Net8, Web: true})
	held := []endOf{{Name: "Ending.Farewell", Gen0: 300}, {Name: "Ending.Forgotten", Gen0: 100},
		{Name: "Ending.Garbage", Gen0: 5000}, {Name: "Ending.Last", Alive: 40}, {Name: "Ending.Session", Alive: 1000},
		{Name: "Ending.Spilled", Gen2: 500}}
	// What a handler of ProcessExit makes comes after the last collection, and is left out.
	exited := slices.DeleteFunc(slices.Clone(held), func(e endOf) bool {
		return e.Name == "Ending.Farewell" || e.Name == "Ending.Last"
	})
	// A small program has no collection before its end.
	small := slices.Clone(held)
	for i := range small {
		if small[i].Name == "Ending.Spilled" {
			small[i].Gen0, small[i].Gen2 = small[i].Gen2, 0
		}
	}
	twice := []endOf{{Name: "Ending.Farewell", Gen0: 600}, {Name: "Ending.Garbage", Gen0: 10000},
		{Name: "Ending.Last", Alive: 80}, {Name: "Ending.Session", Gen2: 2000}, {Name: "Ending.Spilled", Gen2: 1000}}
	for i, end := range []struct {
		how, sign string
		exit      int
		want      []endOf
	}{
		{"host", "host", 3, held}, {"signal", "signal", 3, held}, {"other-host", "", 3, twice},
		{"return", "", 3, exited}, {"exit", "", 3, exited}, {"terminated", "", 128 + int(syscall.SIGTERM), exited},
		{"small-return", "exit", 3, small}, {"small-exit", "exit", 3, small},
	} {
		for _, runtime := range in.InTurn(i) {
			if runtime.Major() < 8 {
				continue // its objects cannot be held while it goes on
			}
			if end.how == "terminated" && runtime.Major() > 9 {
				continue // it dies of the signal, without handlers of ProcessExit
			}
			t.Run(end.how+"/"+runtime.Name, func(t *testing.T) {
				t.Parallel()
				cmd := runtime.Command(dll, end.how)
				cmd.Env = append(cmd.Environ(), largeBudget)
				r := record(t, cmd)
				if r.exit != end.exit || r.stdout != "" {
					t.Errorf("exit code %d, %q", r.exit, r.stdout)
				}
				checkSession(t, r.session)
				have := query[endOf](t, r.session, `SELECT name, sum(gen0_instances) AS gen0,
					sum(gen2_instances) AS gen2, sum(alive_instances) AS alive FROM lifetime
					WHERE name LIKE 'Ending.%' AND name NOT LIKE '%Program%' AND name NOT LIKE '%Cache' GROUP BY name`)
				if d := cmp.Diff(end.want, have); d != "" {
					t.Errorf("(-truth +session): %s", d)
				}
				ended := query[struct {
					Sign  string
					Freed int64
				}](t, r.session, `SELECT e.sign, (SELECT coalesce(sum(f.objects), 0) FROM gc_freed f JOIN gc g ON g.id = f.gc_id
					WHERE g.process_id = e.process_id) AS freed FROM process_ending e`)
				checkFreed(t, r.session, end.sign != "")
				if end.sign == "" && len(ended) != 0 ||
					end.sign != "" && (len(ended) != 1 || ended[0].Sign != end.sign || ended[0].Freed < 1000) {
					t.Errorf("the program began to end by %+v, want %q", ended, end.sign)
				}
			})
		}
	}
}

// checkFreed checks that the sessions are what Ending freed, by type and in the view, or nothing if it was not seen to end.
func checkFreed(t *testing.T, path string, ended bool) {
	t.Helper()
	byType := query[endOf](t, path, `SELECT t.name, sum(f.objects) AS alive FROM site_freed f
		JOIN site s ON s.id = f.site_id JOIN type t ON t.id = s.type_id
		WHERE t.name LIKE 'Ending.%' AND t.name NOT LIKE '%Program%' AND t.name NOT LIKE '%Cache' GROUP BY 1`)
	freed, want := []endOf{}, int64(0)
	if ended {
		freed, want = []endOf{{Name: "Ending.Session", Alive: 1000}}, 1000
	}
	if d := cmp.Diff(freed, byType); d != "" {
		t.Errorf("freed (-truth +session): %s", d)
	}
	shown := int64(0)
	for _, row := range rows[freedRow](t, openViews(t, path), "lifetime", report.Options{
		Columns: []string{"name", "freed_instances"}}) {
		if strings.HasSuffix(row.Name, "Session") {
			shown += row.Freed
		}
	}
	if shown != want {
		t.Errorf("lifetime shows %d sessions that were freed, want %d", shown, want)
	}
}
