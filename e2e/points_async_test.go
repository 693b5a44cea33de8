package e2e

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// pointModes are the ways of recording that count objects, of which the last two count calls, too.
var pointModes = [][]string{{"--memory"}, {"--lifetime"}, {"--time", "--memory"}, {"--time", "--memory", "--instrument", "all"}}

// TestPointsAsync: of an async method or an iterator, a pattern of its name means what starts it, and one of its
// MoveNext its own code, before and after a wait, on any thread.
func TestPointsAsync(t *testing.T) {
	t.Parallel()
	flags := []string{
		"--stop-at", "PointsAsync.Phases/<Load>*.MoveNext:top:process", "--start-at", "PointsAsync.Phases/<Load>*.MoveNext:bottom:process",
		"--pause-at", "PointsAsync.Phases/<Items>*.MoveNext:top:thread", "--resume-at", "PointsAsync.Phases/<Items>*.MoveNext:bottom:thread",
		"--stop-at", "PointsAsync.Phases.Starts:top:thread", "--start-at", "PointsAsync.Phases.Starts:bottom:thread",
	}
	for i, runtime := range dotnettest.NeedRuntimes(t, 5) {
		dll := dotnettest.Target(t, "PointsAsync", dotnettest.Options{})
		for j, mode := range dotnettest.Some(pointModes) {
			w := []way{timeTiered, timeOptimized}[(i+j)%2]
			t.Run(runtime.Name+"/"+strings.Join(mode, " ")+"/"+w.name, func(t *testing.T) {
				t.Parallel()
				cmd := runtime.Command(dll, "4")
				cmd.Env = append(cmd.Env, w.env...)
				r := record(t, cmd, slices.Concat(flags, mode)...)
				type made struct{ Objects int64 }
				comparePointsMade(t, r, "PointsAsync", truthRows[made](t, r.stdout, "type")[0].Objects, mode)
			})
		}
	}
}

// TestPointsTails: a call that ends by one with the prefix tail. gets to its last point when what it called has returned,
// where calls are recorded, and else before that.
func TestPointsTails(t *testing.T) {
	t.Parallel()
	flags := []string{"--stop-at", "PointsTails.Ends:top:process", "--start-at", "PointsTails.Ends:after:process"}
	for _, runtime := range dotnettest.NeedRuntimes(t, 8) {
		dll := dotnettest.Target(t, "PointsTails", dotnettest.Options{Framework: dotnettest.Net8})
		for _, mode := range pointModes[:3] {
			t.Run(runtime.Name+"/"+strings.Join(mode, " "), func(t *testing.T) {
				t.Parallel()
				records := "objects"
				if mode[0] == "--time" {
					records = "calls"
				}
				cmd := runtime.Command(dll, records, "4")
				cmd.Env = append(cmd.Env, timeOptimized.env...)
				r := record(t, cmd, slices.Concat(flags, mode)...)
				made, err := strconv.ParseInt(strings.TrimSpace(r.stdout), 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				comparePointsMade(t, r, "PointsTails", made, mode)
			})
		}
	}
}

// comparePointsMade: of the objects that a target makes those are in the session that it makes while it is recorded, and so
// are the calls that make them, where calls are recorded.
func comparePointsMade(t *testing.T, r result, target string, made int64, mode []string) {
	t.Helper()
	if r.exit != 0 {
		t.Fatalf("exit code %d\n%s%s", r.exit, r.stdout, r.stderr)
	}
	if lost := losses(t, r.session); len(lost) != 0 {
		t.Errorf("lost: %v", lost)
	}
	checkSaid(t, r.stderr, map[string]int{"was called": 0})
	type count struct {
		In    int64 `json:"in"`
		Out   int64 `json:"out"`
		Calls int64 `json:"calls"`
	}
	sums := query[count](t, r.session, `SELECT
		(SELECT coalesce(sum(instances), 0) FROM types WHERE name = '`+target+`.In') AS "in",
		(SELECT coalesce(sum(instances), 0) FROM types WHERE name = '`+target+`.Out') AS "out",
		(SELECT coalesce(sum(v.calls), 0) FROM function_time v JOIN function f ON f.id = v.function_id
			WHERE f.raw_name = 'Make') AS calls`)
	want := count{In: made}
	if mode[0] == "--time" {
		soundTime(t, r.session)
		want.Calls = made
	} else {
		sound(t, r.session)
	}
	if len(sums) != 1 || sums[0] != want {
		t.Errorf("recorded %+v, not %+v", sums, want)
	}
}
