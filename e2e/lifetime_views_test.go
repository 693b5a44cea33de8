package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/present/report"
	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// lives is a row of the views lifetime and diff-gcs.
type lives struct {
	Name      string `json:"name"`
	Instances int64  `json:"instances"`
	Bytes     int64  `json:"bytes"`
	Gen0      int64  `json:"gen0_instances"`
	Gen1      int64  `json:"gen1_instances"`
	Gen2      int64  `json:"gen2_instances"`
	LOH       int64  `json:"loh_instances"`
	POH       int64  `json:"poh_instances"`
	Alive     int64  `json:"alive_instances"`
	Gen0B     int64  `json:"gen0_bytes"`
	Gen1B     int64  `json:"gen1_bytes"`
	Gen2B     int64  `json:"gen2_bytes"`
	LOHB      int64  `json:"loh_bytes"`
	POHB      int64  `json:"poh_bytes"`
	AliveB    int64  `json:"alive_bytes"`
}

func (l lives) dead() made {
	return made{l.Gen0 + l.Gen1 + l.Gen2 + l.LOH + l.POH, l.Gen0B + l.Gen1B + l.Gen2B + l.LOHB + l.POHB}
}

func (l lives) alive() made { return made{l.Alive, l.AliveB} }

// gcRow is a row of the view gcs.
type gcRow struct {
	Number     int   `json:"number"`
	Generation int   `json:"generation"`
	Induced    int   `json:"induced"`
	Before     int64 `json:"before_objects"`
	Dead       int64 `json:"dead_objects"`
	DeadBytes  int64 `json:"dead_bytes"`
	Survived   int64 `json:"survived_objects"`
	Pause      int64 `json:"pause_ns"`
	Agent      int64 `json:"agent_ns"`
}

// livesBy is what rows of lifetimes are grouped by.
var livesBy = []analysis.By{analysis.ByType, analysis.BySite, analysis.ByFunction, analysis.ByLine}

// checkLives asserts that every row of every view of lives adds up, that all rows together are what was allocated, and,
// if no collection was cut off, that the collections found as many dead, but for what was freed while a process ended.
func checkLives(t *testing.T, path string, complete bool) {
	t.Helper()
	total := query[amount](t, path, "SELECT sum(allocations) AS allocations, sum(bytes) AS bytes FROM site_value")[0]
	o := openViews(t, path)
	var dead made
	for _, by := range livesBy {
		var all made
		dead = made{}
		for _, row := range rows[lives](t, o, "lifetime", report.Options{By: by}) {
			m := made{row.Instances, row.Bytes}
			if row.dead().plus(row.alive()) != m || row.Alive < 0 || row.AliveB < 0 {
				t.Errorf("lifetime --by %s: dead and alive are not all of %+v", by, row)
			}
			all = all.plus(m)
			dead = dead.plus(row.dead())
		}
		if want := (made{total.Allocations, total.Bytes}); all != want {
			t.Errorf("lifetime --by %s adds up to %+v, allocated were %+v", by, all, want)
		}
	}
	var found made
	for _, gc := range rows[gcRow](t, o, "gcs", report.Options{}) {
		found = found.plus(made{gc.Dead, gc.DeadBytes})
		if gc.Before != gc.Dead+gc.Survived || gc.Agent > gc.Pause {
			t.Errorf("a collection does not add up: %+v", gc)
		}
	}
	freed := query[amount](t, path, "SELECT coalesce(sum(objects), 0) AS allocations, coalesce(sum(bytes), 0) AS bytes FROM gc_freed")[0]
	found = found.plus(made{-freed.Allocations, -freed.Bytes})
	if complete && found != dead {
		t.Errorf("the collections found %+v dead, of the types are %+v", found, dead)
	}
}

// recordLifetimes records the target with known lifetimes.
func recordLifetimes(t *testing.T, runtime dotnettest.Runtime, w way, flags ...string) (r result, truth []lifetimeTruth,
	gcs []gcTruth) {
	t.Helper()
	target := runtime.Command(dotnettest.Target(t, "LifetimeTruth", w.options), "1000")
	target.Env = append(append(target.Env, largeBudget), w.env...)
	r = mustRecord(t, target, append([]string{"--lifetime"}, flags...)...)
	if _, err := dotnettest.ParseTruth(strings.NewReader(r.stdout)); err != nil {
		t.Fatal(err)
	}
	return r, truthRows[lifetimeTruth](t, r.stdout, "lifetime"), truthRows[gcTruth](t, r.stdout, "gc")
}

// shown is a type's name as views show it.
func (f lifetimeTruth) shown() string { return strings.ReplaceAll(f.Name, "System.Int32", "int") }

func (f lifetimeTruth) dead() int64 { return f.Gen0 + f.Gen1 + f.Gen2 + f.LOH + f.POH }

// TestLifetimeTruth compares the views with objects whose lifetime is known by construction.
func TestLifetimeTruth(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	for i, w := range dotnettest.Some(lifetimeWays) {
		for _, runtime := range in.InTurn(i) {
			t.Run(w.name+"/"+runtime.Name, func(t *testing.T) {
				t.Parallel()
				r, truth, gcs := recordLifetimes(t, runtime, w)
				checkLifetimeView(t, r.session, truth)
				checkAgesView(t, r.session, truth, len(gcs)+1)
				checkGCsView(t, r.session, runtime, append(gcs, gcTruth{Number: len(gcs) + 1, Generation: 2}))
				checkDiff(t, r.session, truth)
			})
		}
	}
}

func checkLifetimeView(t *testing.T, path string, truth []lifetimeTruth) {
	t.Helper()
	rows := byID(view[lives](t, path, "lifetime"), func(l lives) string { return l.Name })
	for _, f := range truth {
		row := rows[f.shown()]
		got := lifetime{row.Gen0, row.Gen1, row.Gen2, row.LOH, row.POH, row.Alive}
		gotBytes := lifetime{row.Gen0B, row.Gen1B, row.Gen2B, row.LOHB, row.POHB, row.AliveB}
		wantBytes := lifetime{f.Gen0 * f.Size, f.Gen1 * f.Size, f.Gen2 * f.Size, f.LOH * f.Size, f.POH * f.Size,
			f.Alive * f.Size}
		if got != f.lifetime || gotBytes != wantBytes {
			t.Errorf("%s: the truth is %+v of %d bytes each; the view says %+v, bytes %+v", f.Name, f.lifetime, f.Size,
				got, gotBytes)
		}
	}
}

// ageKeys are the columns of ages in collections, as the view ages has them.
var ageKeys = []string{"0", "1", "2", "3", "5", "9", "17", "65"}

func checkAgesView(t *testing.T, path string, truth []lifetimeTruth, collections int) {
	t.Helper()
	rows := byID(view[map[string]any](t, path, "ages"), func(row map[string]any) string {
		return fmt.Sprint(row["name"])
	})
	for _, f := range truth {
		for i, key := range ageKeys {
			wantDead, wantAlive := int64(0), int64(0)
			if f.dead() > 0 && ageBucket(f.Survived) == i {
				wantDead = f.dead()
			}
			if f.Alive > 0 && ageBucket(collections-f.Born) == i {
				wantAlive = f.Alive
			}
			row := rows[f.shown()]
			if row["gcs_"+key] != float64(wantDead) || row["alive_gcs_"+key] != float64(wantAlive) {
				t.Errorf("%s: of age %s are %v dead, %v alive; want %d, %d", f.Name, key, row["gcs_"+key],
					row["alive_gcs_"+key], wantDead, wantAlive)
			}
		}
	}
}

func checkGCsView(t *testing.T, path string, runtime dotnettest.Runtime, want []gcTruth) {
	t.Helper()
	rows := view[gcRow](t, path, "gcs")
	if len(rows) != len(want) {
		t.Fatalf("%d collections, want %d", len(rows), len(want))
	}
	for i, row := range rows {
		induced := 1
		if runtime.Major() < 9 && want[i].Compacting {
			induced = 0 // it does not say
		}
		if row.Number != want[i].Number || row.Generation != want[i].Generation || row.Induced != induced ||
			row.Pause <= 0 {
			t.Errorf("collection %d is %+v, want %+v", i+1, row, want[i])
		}
	}
}

// checkDiff asks for what was born between two neighbouring collections and is alive.
func checkDiff(t *testing.T, path string, truth []lifetimeTruth) {
	t.Helper()
	last := query[struct{ N int }](t, path, "SELECT max(number) AS n FROM gc")[0].N
	for _, f := range truth {
		for _, from := range []int{f.Born - 1, f.Born, f.Born + 1} {
			if from < 1 || from+1 > last {
				continue
			}
			rows := view[lives](t, path, "diff-gcs", fmt.Sprint(from), fmt.Sprint(from+1))
			want := int64(0)
			if from == f.Born {
				want = f.Alive
			}
			if got := byID(rows, func(l lives) string { return l.Name })[f.shown()].Instances; got != want {
				t.Errorf("%s: %d were born between collections %d and %d and are alive, want %d", f.Name, got, from,
					from+1, want)
			}
		}
	}
}

// TestLifetimeWithoutFinalGC: what no collection has found dead is alive, and the report says that it may not be.
func TestLifetimeWithoutFinalGC(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	for _, runtime := range in.Runtimes() {
		t.Run(runtime.Name, func(t *testing.T) {
			r, truth, gcs := recordLifetimes(t, runtime, way{}, "--final-gc=false")
			for i, f := range truth {
				if f.AtEnd {
					truth[i].lifetime = lifetime{Alive: f.dead()}
				}
			}
			checkLifetimeView(t, r.session, truth)
			checkGCsView(t, r.session, runtime, gcs)
			for _, name := range []string{"summary", "lifetime"} {
				text := run(t, "report", r.session, name)
				if !strings.Contains(text.stdout+text.stderr, "not collected at the end") ||
					strings.Contains(text.stdout+text.stderr, "reachable at the end") {
					t.Errorf("%s does not say what alive means:\n%s%s", name, text.stdout, text.stderr)
				}
			}
		})
	}
}

// TestLifetimeSaysWhatIsOff: the runtime turns background GC off, and clrprof says so.
func TestLifetimeSaysWhatIsOff(t *testing.T) {
	t.Parallel()
	r, _, _ := recordLifetimes(t, dotnettest.Need(t).Newest(), way{})
	for _, name := range []string{"summary", "lifetime", "gcs"} {
		text := run(t, "report", r.session, name)
		if !strings.Contains(text.stdout+text.stderr, "Background GC was off") {
			t.Errorf("%s does not say that background GC was off:\n%s%s", name, text.stdout, text.stderr)
		}
	}
}
