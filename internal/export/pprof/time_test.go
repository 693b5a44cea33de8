package pprof

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// TestTopEqualsFunctionTimes opens the profile with go tool pprof and compares flat and cumulative times with the
// exclusive and inclusive ones of the functions, and flat calls with their calls.
func TestTopEqualsFunctionTimes(t *testing.T) {
	builders := map[string]*sessiontest.Builder{"timed": sessiontest.Timed()}
	for seed := range uint64(3) { // with allocations too
		builders[fmt.Sprint("random ", seed)] = sessiontest.RandomTimes(seed)
	}
	for name, b := range builders {
		for i := range b.Functions { // pprof adds up functions of the same name, and changes odd ones
			b.Functions[i].Name = fmt.Sprint("F", i)
		}
		s := open(t, b)
		path := filepath.Join(t.TempDir(), "p.pb.gz")
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(Write(f, s, analysis.Selection{}, Options{}), f.Close()); err != nil {
			t.Fatal(err)
		}
		values, err := s.FunctionTimes()
		if err != nil || len(values) == 0 {
			t.Fatal(len(values), err)
		}
		elapsed, application, calls := map[string]flatCum{}, map[string]flatCum{}, map[string]int64{}
		add := func(to map[string]flatCum, name string, v flatCum) {
			if v != (flatCum{}) { // pprof leaves these out
				to[name] = v
			}
		}
		for _, v := range values {
			function := b.Functions[v.Function-1].Name
			add(elapsed, function, flatCum{int64(v.Exclusive.Elapsed), int64(v.Inclusive.Elapsed)})
			add(application, function, flatCum{int64(v.Exclusive.Application), int64(v.Inclusive.Application)})
			calls[function] = int64(v.Calls)
		}
		for index, want := range map[string]map[string]flatCum{"elapsed": elapsed, "application": application} {
			have := topOf(t, path, index, "ns")
			for function, v := range have {
				if v == (flatCum{}) {
					delete(have, function)
				}
			}
			if diff := cmp.Diff(want, have); diff != "" {
				t.Errorf("%s: %s (-views +pprof):\n%s", name, index, diff)
			}
		}
		for function, v := range topOf(t, path, "calls", "count") {
			if v.Flat != calls[function] {
				t.Errorf("%s: %s has %d calls, in the views %d", name, function, v.Flat, calls[function])
			}
		}
	}
}

// TestTimeProfile: the lines and labels of the one sample that is the end of Main, and the types of values.
func TestTimeProfile(t *testing.T) {
	p, err := convert(t, open(t, sessiontest.Timed()), analysis.Selection{Threads: []session.ThreadID{1}})
	if err != nil {
		t.Fatal(err)
	}
	var types []string
	for _, v := range p.SampleType {
		types = append(types, v.Type+"/"+v.Unit)
	}
	if diff := cmp.Diff([]string{"calls/count", "elapsed/nanoseconds", "application/nanoseconds", "cpu/nanoseconds"},
		types); diff != "" {
		t.Error(diff)
	}
	if p.DefaultSampleType != "elapsed" || p.PeriodType.Type != "calls" {
		t.Error(p.DefaultSampleType, p.PeriodType)
	}
	found := false
	for _, s := range p.Sample {
		line := s.Location[0].Line[0]
		if len(s.Location) == 1 && line.Line == 5 { // Clock.cs:5, where Main is declared
			found = true
			if diff := cmp.Diff([]int64{1, 500, 500, 500}, s.Value); diff != "" || s.Label["thread"][0] != "main" ||
				s.Label["type"] != nil {
				t.Error(diff, s.Label)
			}
		}
	}
	if !found {
		t.Error("no sample for the end of Main")
	}
}
