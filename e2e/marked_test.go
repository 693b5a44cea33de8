package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// TestMarked: what a program does between two marks of its own is between them in the session, exactly, also where both
// are in the same thousandth of a second; a budget after a mark has nothing of what came before it.
func TestMarked(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	dll := controlled(t, in, "Marked", "../testdata/targets/Marked")
	for i, flags := range [][]string{{"--memory"}, {"--lifetime"}, {"--time", "--memory"}} {
		for _, runtime := range in.InTurn(i) {
			t.Run(fmt.Sprint(runtime.Name, flags), func(t *testing.T) {
				t.Parallel()
				compareMarked(t, mustRecord(t, runtime.Command(dll), flags...), flags[0] == "--time")
			})
		}
	}
}

// TestOwnClock: a process with a clock of its own, which is a day ahead, begins when it does on everybody's clock, and
// its marks are between the right objects.
func TestOwnClock(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root makes time namespaces")
	}
	if err := exec.Command("unshare", "-T", "--monotonic", "86400", "true").Run(); err != nil {
		t.Skip("no time namespaces:", err)
	}
	in := dotnettest.Need(t)
	dll := controlled(t, in, "Marked", "../testdata/targets/Marked")
	for i, flags := range [][]string{{"--memory"}, {"--time", "--memory"}} {
		for _, runtime := range dotnettest.OneInTurn(in.Runtimes(), i) {
			t.Run(fmt.Sprint(runtime.Name, flags), func(t *testing.T) {
				t.Parallel()
				of := runtime.Command(dll)
				cmd := exec.Command("unshare", append([]string{"-T", "--monotonic", "86400"}, of.Args...)...)
				cmd.Env = of.Env
				r := mustRecord(t, cmd, flags...)
				compareMarked(t, r, flags[0] == "--time")
				type row struct {
					Begin int64 `json:"begin_ns"`
					End   int64 `json:"end_ns"`
				}
				span := query[row](t, r.session, "SELECT begin_ns, end_ns FROM process")
				const hour = 3_600_000_000_000
				if len(span) != 1 || span[0].Begin < 0 || span[0].End < span[0].Begin || span[0].End > hour {
					t.Errorf("%+v", span)
				}
			})
		}
	}
}

func compareMarked(t *testing.T, r result, times bool) {
	t.Helper()
	type row struct {
		Mark        string `json:"mark"`
		Allocations int    `json:"allocations"`
	}
	const sql = `SELECT m.name AS mark, sum(v.allocations) AS allocations
		FROM mark m JOIN slice s ON s.begin_ns = m.time_ns
		JOIN site_value v ON v.slice_id = s.id JOIN site x ON x.id = v.site_id JOIN type t ON t.id = x.type_id
		WHERE t.name = 'Marked.Counted' AND m.source = 'api' GROUP BY m.id`
	got := map[string]int{}
	for _, x := range query[row](t, r.session, sql) {
		got[x.Mark] = x.Allocations
	}
	spans := regexp.MustCompile(`(?m)^span (\S+) (\d+)$`).FindAllStringSubmatch(r.stdout, -1)
	if len(spans) != 5 || len(got) != len(spans)+1 || got["over"] != 5000 {
		t.Fatalf("%q: %v", r.stdout, got)
	}
	for i, span := range spans {
		if fmt.Sprint(got[span[1]]) != span[2] {
			t.Errorf("after mark %s: %d objects, want %s", span[1], got[span[1]], span[2])
		}
		if !times {
			continue
		}
		next := append(spans, []string{"", "over"})[i+1][1]
		calls := view[struct {
			Name  string `json:"name"`
			Calls int    `json:"calls"`
		}](t, r.session, "functions", "--mark", span[1]+".."+next, "--function", "Marked.Program.Allocate")
		if len(calls) == 0 || calls[0].Name != "Marked.Program.Allocate(int)" || calls[0].Calls != 1 {
			t.Errorf("between marks %s and %s: %+v", span[1], next, calls)
		}
	}
	budget := filepath.Join(t.TempDir(), "budget.toml")
	const limit = "[[limit]]\nmetric = \"allocations\"\ntypes = [\"Marked.Counted\"]\nmax = \"%d\"\n"
	for most, want := range map[int]int{5005: 0, 5004: 1} {
		if err := os.WriteFile(budget, fmt.Appendf(nil, limit, most), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := runHere("check", r.session, "--budget", budget, "--after-mark", "late"); got.exit != want {
			t.Errorf("at most %d after the mark: exit code %d, %s", most, got.exit, got.stdout)
		}
	}
}
