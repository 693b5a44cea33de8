package e2e

import (
	"path/filepath"
	"testing"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// ends are the columns of lifetimes that all views of them have.
type ends struct {
	Instances          int64 `json:"instances"`
	Bytes              int64 `json:"bytes"`
	Gen0Instances      int64 `json:"gen0_instances"`
	Gen0Bytes          int64 `json:"gen0_bytes"`
	Gen1Instances      int64 `json:"gen1_instances"`
	Gen1Bytes          int64 `json:"gen1_bytes"`
	Gen2Instances      int64 `json:"gen2_instances"`
	Gen2Bytes          int64 `json:"gen2_bytes"`
	LOHInstances       int64 `json:"loh_instances"`
	LOHBytes           int64 `json:"loh_bytes"`
	POHInstances       int64 `json:"poh_instances"`
	POHBytes           int64 `json:"poh_bytes"`
	AliveInstances     int64 `json:"alive_instances"`
	AliveBytes         int64 `json:"alive_bytes"`
	BeforeObjects      int64 `json:"before_objects"`
	DeadObjects        int64 `json:"dead_objects"`
	SurvivingObjects   int64 `json:"surviving_objects"`
	RootedObjects      int64 `json:"rooted_objects"`
	ReachableObjects   int64 `json:"reachable_objects"`
	UncollectedObjects int64 `json:"uncollected_objects"`
	PauseNS            int64 `json:"pause_ns"`
}

func (e ends) objects() int64 {
	return e.Gen0Instances + e.Gen1Instances + e.Gen2Instances + e.LOHInstances + e.POHInstances + e.AliveInstances
}

func (e ends) bytes() int64 {
	return e.Gen0Bytes + e.Gen1Bytes + e.Gen2Bytes + e.LOHBytes + e.POHBytes + e.AliveBytes
}

// TestLifetimeSmoke records the sample program with lifetimes: nothing is lost, the session is sound, in every view
// born is what died and what is alive, and no two views differ.
func TestLifetimeSmoke(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	dll, err := in.Compile([]string{filepath.Join("..", "samples", "orderbook")}, t.TempDir(), dotnettest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, w := range []way{tiered, serverGC} {
		for _, runtime := range in.InTurn(i) {
			t.Run(runtime.Name+"/"+w.name, func(t *testing.T) {
				t.Parallel()
				cmd := runtime.Command(dll)
				cmd.Env = append(cmd.Env, w.env...)
				r := mustRecord(t, cmd, "--lifetime")
				total := checkConservation(t, r.session)
				checkAlive(t, r.session, total)
				checkCollections(t, r.session, total)
			})
		}
	}
}

// checkConservation compares all views of lifetimes with each other and returns their total.
func checkConservation(t *testing.T, path string) ends {
	t.Helper()
	total := query[ends](t, path, "SELECT sum(instances) AS instances, sum(bytes) AS bytes, sum(gen0_instances) AS "+
		"gen0_instances, sum(gen0_bytes) AS gen0_bytes,"+
		" sum(gen1_instances) AS gen1_instances, sum(gen1_bytes) AS gen1_bytes, sum(gen2_instances) AS "+
		"gen2_instances, sum(gen2_bytes) AS gen2_bytes,"+
		" sum(loh_instances) AS loh_instances, sum(loh_bytes) AS loh_bytes, sum(poh_instances) AS poh_instances, "+
		"sum(poh_bytes) AS poh_bytes,"+
		" sum(alive_instances) AS alive_instances, sum(alive_bytes) AS alive_bytes FROM lifetime")[0]
	allocated := query[amount](t, path,
		"SELECT sum(allocations) AS allocations, sum(bytes) AS bytes FROM site_value")[0]
	if total.Instances != allocated.Allocations || total.Bytes != allocated.Bytes {
		t.Errorf("types: %d objects and %d bytes, %d and %d allocated", total.Instances, total.Bytes,
			allocated.Allocations, allocated.Bytes)
	}
	if total.Gen0Instances == 0 || total.AliveInstances == 0 {
		t.Errorf("nothing died young or nothing is alive: %+v", total)
	}
	for _, by := range []analysis.By{analysis.ByType, analysis.BySite, analysis.ByFunction, analysis.ByLine} {
		var sum ends
		for _, row := range view[ends](t, path, "lifetime", "--by", string(by)) {
			if row.Instances != row.objects() || row.Bytes != row.bytes() || row.AliveInstances < 0 ||
				row.AliveBytes < 0 {
				t.Errorf("by %s: does not add up: %+v", by, row)
			}
			for to, from := range map[*int64]int64{&sum.Instances: row.Instances, &sum.Bytes: row.Bytes,
				&sum.Gen0Instances: row.Gen0Instances, &sum.Gen0Bytes: row.Gen0Bytes,
				&sum.Gen1Instances: row.Gen1Instances, &sum.Gen1Bytes: row.Gen1Bytes,
				&sum.Gen2Instances: row.Gen2Instances, &sum.Gen2Bytes: row.Gen2Bytes,
				&sum.LOHInstances: row.LOHInstances, &sum.LOHBytes: row.LOHBytes,
				&sum.POHInstances: row.POHInstances, &sum.POHBytes: row.POHBytes,
				&sum.AliveInstances: row.AliveInstances, &sum.AliveBytes: row.AliveBytes} {
				*to += from
			}
		}
		if sum != total {
			t.Errorf("by %s: the rows add up to %+v, the types to %+v", by, sum, total)
		}
	}
	return total
}

// checkAlive compares what is alive with what the last collection found reachable. The program has one thread that
// allocates, and it has ended by then.
func checkAlive(t *testing.T, path string, total ends) {
	t.Helper()
	reachable := query[amount](t, path, "SELECT sum(objects) AS allocations, sum(bytes) AS bytes FROM alive")[0]
	frozen := query[amount](t, path, "SELECT coalesce(sum(allocations), 0) AS allocations, coalesce(sum(bytes), 0) "+
		"AS bytes FROM allocations WHERE frozen")[0]
	if total.AliveInstances != reachable.Allocations+frozen.Allocations || total.AliveBytes != reachable.Bytes+
		frozen.Bytes {
		t.Errorf("alive are %d objects and %d bytes, reachable %+v, frozen %+v", total.AliveInstances, total.AliveBytes,
			reachable, frozen)
	}
	var born int64
	last := query[struct{ N int }](t, path, "SELECT max(number) AS n FROM gc")[0].N
	for _, row := range view[ends](t, path, "diff-gcs", "0", itoa(last)) {
		born += row.Instances
	}
	if born != reachable.Allocations {
		t.Errorf("diff-gcs over the whole run has %d objects, reachable are %d", born, reachable.Allocations)
	}
}

// checkCollections compares the collections with the deaths, and looks at why objects survived.
func checkCollections(t *testing.T, path string, total ends) {
	t.Helper()
	var dead int64
	for _, row := range view[ends](t, path, "gcs") {
		dead += row.DeadObjects
		if row.PauseNS <= 0 || row.DeadObjects > row.BeforeObjects {
			t.Errorf("collection %+v", row)
		}
	}
	if want := total.Instances - total.AliveInstances; dead != want {
		t.Errorf("collections found %d objects dead, the sites %d", dead, want)
	}
	rooted := int64(0)
	for _, row := range view[ends](t, path, "survivors", "--depth", "1") {
		if row.SurvivingObjects != row.RootedObjects+row.ReachableObjects+row.UncollectedObjects {
			t.Errorf("survivors: %+v", row)
		}
		rooted += row.RootedObjects
	}
	if rooted == 0 {
		t.Error("no root holds anything")
	}
	ages := query[amount](t, path, "SELECT sum(objects) AS allocations FROM ages WHERE measure = 'gcs'")[0]
	if ages.Allocations != total.Instances-total.AliveInstances {
		t.Errorf("%d objects have an age, %d died", ages.Allocations, total.Instances-total.AliveInstances)
	}
}
