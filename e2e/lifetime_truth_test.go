package e2e

import (
	"bufio"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
	"github.com/clrprof/clrprof/internal/wire"
)

// largeBudget is so large that no garbage collection comes by itself while the target LifetimeTruth runs.
const largeBudget = "COMPlus_GCgen0size=1000000"

// lifetime says in which generation the objects of a type died, in objects.
type lifetime struct {
	Gen0, Gen1, Gen2, LOH, POH, Alive int64
}

// lifetimeTruth is what the target says of a type; testdata/targets/README.md has the table.
type lifetimeTruth struct {
	Kind     string `json:"truth"`
	Name     string `json:"name"`
	Size     int64  `json:"size"`
	Born     int    `json:"born"`
	Survived int    `json:"survived"`
	AtEnd    bool   `json:"at_end"`
	lifetime
}

// gcTruth is what the target says of one collection, or of all: then Gen0 to Gen2 are GC.CollectionCount.
type gcTruth struct {
	Kind             string `json:"truth"`
	Number           int    `json:"number"`
	Generation       int    `json:"generation"`
	Compacting       bool   `json:"compacting"` // that was asked for
	Gen0, Gen1, Gen2 int
}

// truthRows returns the rows of one kind that a target printed, of which there is at least one.
func truthRows[Row any](t *testing.T, stdout, kind string) []Row {
	t.Helper()
	rows := truthRowsIfAny[Row](t, stdout, kind)
	if len(rows) == 0 {
		t.Fatalf("the target has no truth about %s:\n%s", kind, stdout)
	}
	return rows
}

// truthRowsIfAny returns the rows of one kind that a target printed.
func truthRowsIfAny[Row any](t *testing.T, stdout, kind string) []Row {
	t.Helper()
	var rows []Row
	for lines := bufio.NewScanner(strings.NewReader(stdout)); lines.Scan(); {
		if !strings.HasPrefix(lines.Text(), `{"truth":"`+kind+`",`) {
			continue
		}
		var row Row
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		rows = append(rows, row)
	}
	return rows
}

// lifetimeWays are the ways in which the target with known lifetimes is run.
var lifetimeWays = []way{
	{name: "tiered"},
	{name: "optimized", env: []string{"COMPlus_TieredCompilation=0"}},
	{name: "debug", options: debugBuild},
	{name: "server", env: server},
	{name: "server debug", options: debugBuild, env: server},
}

// TestLifetimeTruthInArena compares what the agent counts with objects whose lifetime is known by construction.
func TestLifetimeTruthInArena(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	agent := oracle(t)
	for i, w := range lifetimeWays {
		for _, runtime := range in.InTurn(i) {
			t.Run(w.name+"/"+runtime.Name, func(t *testing.T) {
				t.Parallel()
				target := runtime.Command(dotnettest.Target(t, "LifetimeTruth", w.options), "1000")
				arenas := attachAgent(t, target, agent,
					append(slices.Clip(w.env), largeBudget, "CLRPROF_ROOTS=every")...)
				stdout := runTarget(t, target)
				l := readArena(t, arenas)
				l.checkConserved(t)
				l.checkLifetimes(t, truthRows[lifetimeTruth](t, stdout, "lifetime"))
				l.checkGCs(t, runtime, truthRows[gcTruth](t, stdout, "gc"), truthRows[gcTruth](t, stdout, "gcs")[0])
			})
		}
	}
}

// ageBucket is the bucket of an age in GCs.
func ageBucket(survived int) int {
	for i, most := range []int{0, 1, 2, 4, 8, 16, 64} {
		if survived <= most {
			return i
		}
	}
	return wire.AgeGCBuckets - 1
}

func (l *arenaLifetime) checkLifetimes(t *testing.T, truth []lifetimeTruth) {
	t.Helper()
	for _, row := range truth {
		var got lifetime
		var bytes uint64
		var ages [wire.AgeGCBuckets]uint64
		for _, s := range l.sites {
			if l.fullName(s.typ) != row.Name {
				continue
			}
			for i, n := range []*int64{&got.Gen0, &got.Gen1, &got.Gen2, &got.LOH, &got.POH} {
				*n += int64(s.dead[i].Objects)
			}
			got.Alive += int64(s.aliveSum().Objects)
			bytes += s.allocated.Bytes
			for i, n := range s.deadAges {
				ages[i] += n
			}
		}
		all := row.Gen0 + row.Gen1 + row.Gen2 + row.LOH + row.POH
		if got != row.lifetime || int64(bytes) != (all+row.Alive)*row.Size {
			t.Errorf("%s: the truth is %+v of %d bytes each; it is said %+v, %d bytes", row.Name, row.lifetime,
				row.Size, got, bytes)
		}
		var want [wire.AgeGCBuckets]uint64
		if row.Survived >= 0 {
			want[ageBucket(row.Survived)] = uint64(all)
		}
		if ages != want {
			t.Errorf("%s: ages in collections %v, want %v: %d", row.Name, ages, want, row.Survived)
		}
	}
}

// checkGCs compares the collections with those that the target asked for, and one at the end.
func (l *arenaLifetime) checkGCs(t *testing.T, runtime dotnettest.Runtime, truth []gcTruth, counts gcTruth) {
	t.Helper()
	truth = append(truth, gcTruth{Kind: "gc", Number: len(truth) + 1, Generation: 2})
	if len(l.gcs) != len(truth) {
		t.Fatalf("%d collections, want %d and the last one", len(l.gcs), len(truth)-1)
	}
	var got gcTruth
	for i, gc := range l.gcs {
		want := uint32(1)<<(truth[i].Generation+1) - 1
		// Before .NET 9 the runtime does not tell a profiler that a collection was asked for, if it was to compact.
		induced := runtime.Major() >= 9 || !truth[i].Compacting
		if gc.Collected&7 != want || int(gc.Number) != truth[i].Number || (gc.Induced == 1) != induced {
			t.Errorf("collection %d: %+v, want %+v", i+1, gc, truth[i])
		}
		got.Gen0 += int(gc.Collected & 1)
		got.Gen1 += int(gc.Collected >> 1 & 1)
		got.Gen2 += int(gc.Collected >> 2 & 1)
		if i > 0 && gc.StartNS < l.gcs[i-1].DoneNS || gc.EndNS < gc.StartNS || gc.DoneNS < gc.EndNS ||
			gc.SuspendNS > gc.StartNS || gc.SuspendNS == 0 {
			t.Errorf("collection %d: the times are not in order: %+v", i+1, gc)
		}
	}
	if got.Gen0 != counts.Gen0+1 || got.Gen1 != counts.Gen1+1 || got.Gen2 != counts.Gen2+1 {
		t.Errorf("collections %+v, GC.CollectionCount says %+v, to which the last one comes", got, counts)
	}
}
