package pprof

import (
	"bytes"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/pprof/profile"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// convert writes a profile and reads it with the library of the format.
func convert(t *testing.T, s *session.Session, sel analysis.Selection) (*profile.Profile, error) {
	t.Helper()
	var file bytes.Buffer
	if err := Write(&file, s, sel, Options{}); err != nil {
		return nil, err
	}
	p, err := profile.Parse(&file)
	if err != nil {
		t.Fatal(err)
	}
	return p, p.CheckValid()
}

// TestNames: the sample types as other profilers name them, in the same order.
func TestNames(t *testing.T) {
	for names, want := range map[Names][]string{
		Clrprof: {"allocations", "bytes", "gen0_objects", "gen0_bytes", "gen1_objects", "gen1_bytes", "gen2_objects",
			"gen2_bytes",
			"loh_objects", "loh_bytes", "poh_objects", "poh_bytes", "alive_objects", "alive_bytes",
			"period allocations", "default bytes"},
		Dotnet: {"alloc_samples", "alloc_size", "gen0_objects", "gen0_bytes", "gen1_objects", "gen1_bytes",
			"gen2_objects", "gen2_bytes",
			"loh_objects", "loh_bytes", "poh_objects", "poh_bytes", "inuse_objects", "inuse_space",
			"period alloc_samples", "default alloc_size"},
		Go: {"alloc_objects", "alloc_space", "gen0_objects", "gen0_bytes", "gen1_objects", "gen1_bytes", "gen2_objects",
			"gen2_bytes",
			"loh_objects", "loh_bytes", "poh_objects", "poh_bytes", "inuse_objects", "inuse_space", "period space",
			"default alloc_space"},
	} {
		var file bytes.Buffer
		if err := Write(&file, open(t, sessiontest.Aging()), analysis.Selection{}, Options{Names: names}); err != nil {
			t.Fatal(err)
		}
		p, err := profile.Parse(&file)
		if err != nil {
			t.Fatal(err)
		}
		var have []string
		for _, v := range p.SampleType {
			have = append(have, v.Type)
		}
		have = append(have, "period "+p.PeriodType.Type, "default "+p.DefaultSampleType)
		if diff := cmp.Diff(want, have); diff != "" {
			t.Errorf("%s (-want +got):\n%s", names, diff)
		}
	}
}

// TestLabels: samples have the labels that are asked for, and the same values.
func TestLabels(t *testing.T) {
	s := open(t, sessiontest.Shop())
	for _, c := range []struct{ asked, want []string }{
		{nil, []string{"process", "process_id", "thread", "thread_id", "type"}}, {[]string{}, nil},
		{[]string{"type", "thread_id"}, []string{"thread_id", "type"}},
	} {
		var file bytes.Buffer
		if err := Write(&file, s, analysis.Selection{}, Options{Labels: c.asked}); err != nil {
			t.Fatal(err)
		}
		p, err := profile.Parse(&file)
		if err != nil {
			t.Fatal(err)
		}
		total := int64(0)
		for _, sample := range p.Sample {
			total += sample.Value[1]
			have := slices.Sorted(maps.Keys(sample.Label))
			have = slices.Sorted(slices.Values(slices.AppendSeq(have, maps.Keys(sample.NumLabel))))
			if diff := cmp.Diff(c.want, have, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("%v (-want +got):\n%s", c.asked, diff)
			}
		}
		if total != 391_656 {
			t.Errorf("%v: %d bytes", c.asked, total)
		}
	}
}
