package pprof

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// TestLifetimes compares the totals of the profile's values with the sample's own.
func TestLifetimes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.clrprof")
	if err := sessiontest.Aging().Write(path); err != nil {
		t.Fatal(err)
	}
	s, err := session.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	p, err := convert(t, s, analysis.Selection{Processes: []session.ProcessID{1}})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	for _, sample := range p.Sample {
		for i, v := range sample.Value {
			got[p.SampleType[i].Type] += v
		}
	}
	want := map[string]int64{"allocations": 1116, "bytes": 276_624, "gen0_objects": 1000, "gen0_bytes": 64_000,
		"gen1_objects": 40, "gen1_bytes": 1280,
		"gen2_objects": 30, "gen2_bytes": 1440, "loh_objects": 2, "loh_bytes": 200_000, "poh_objects": 0,
		"poh_bytes": 0, "alive_objects": 44, "alive_bytes": 9904}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
