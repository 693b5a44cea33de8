package speedscope

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// file is what speedscope's file-format-spec.ts says of files with sampled profiles.
type file struct {
	Schema   string `json:"$schema"`
	Exporter string `json:"exporter"`
	Name     string `json:"name"`
	Active   int    `json:"activeProfileIndex"`
	Shared   struct {
		Frames []frame `json:"frames"`
	} `json:"shared"`
	Profiles []profile `json:"profiles"`
}

type profile struct {
	Type    string  `json:"type"`
	Name    string  `json:"name"`
	Unit    string  `json:"unit"`
	Start   int64   `json:"startValue"`
	End     int64   `json:"endValue"`
	Samples [][]int `json:"samples"`
	Weights []int64 `json:"weights"`
}

// sum checks a profile and adds it up.
func (f *file) sum(t *testing.T, p profile) int64 {
	t.Helper()
	total := int64(0)
	if p.Type != "sampled" || p.Start != 0 || len(p.Samples) != len(p.Weights) || p.Samples == nil || p.Weights == nil {
		t.Errorf("%s: %s from %d, %d samples and %d weights", p.Name, p.Type, p.Start, len(p.Samples), len(p.Weights))
	}
	for i, stack := range p.Samples {
		total += p.Weights[i]
		if len(stack) == 0 || p.Weights[i] <= 0 {
			t.Errorf("%s: a stack of %d frames and weight %d", p.Name, len(stack), p.Weights[i])
		}
		for _, n := range stack {
			if n < 0 || n >= len(f.Shared.Frames) || f.Shared.Frames[n].Name == "" {
				t.Errorf("%s: frame %d", p.Name, n)
			}
		}
	}
	if total != p.End {
		t.Errorf("%s adds up to %d and ends at %d", p.Name, total, p.End)
	}
	return total
}

func written(t *testing.T, b *sessiontest.Builder, sel analysis.Selection, value string) (*session.Session, *file) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s.clrprof")
	if err := b.Write(path); err != nil {
		t.Fatal(err)
	}
	s, err := session.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	var first, second bytes.Buffer
	if err := errors.Join(Write(&first, s, sel, value), Write(&second, s, sel, value)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("two files differ")
	}
	var f file
	d := json.NewDecoder(&first)
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		t.Fatal(err)
	}
	if f.Schema != schema || f.Active < 0 || f.Active >= len(f.Profiles) || f.Shared.Frames == nil {
		t.Errorf("%+v", f)
	}
	return s, &f
}

// TestSums reads files back: each profile adds up to what the session has of the value, in all and by thread.
func TestSums(t *testing.T) {
	builders := map[string]*sessiontest.Builder{"timed": sessiontest.Timed(), "aging": sessiontest.Aging(),
		"several": sessiontest.Several(), "empty": sessiontest.Empty()}
	for seed := range uint64(10) {
		builders[fmt.Sprint("random ", seed)] = sessiontest.Random(seed)
		builders[fmt.Sprint("times ", seed)] = sessiontest.RandomTimes(seed)
	}
	for name, b := range builders {
		s, f := written(t, b, analysis.Selection{}, "")
		samples, err := analysis.Samples(s, analysis.Selection{})
		if err != nil {
			t.Fatal(err)
		}
		want, threads := map[string]int64{}, map[string]int64{}
		err = samples.Each(func(x *analysis.Sample) error {
			for i, v := range samples.Values {
				want[v.Name] += x.Values[i]
			}
			if n := x.Values[samples.Default]; n != 0 {
				threads[fmt.Sprintf("%s, thread %d %s", samples.Values[samples.Default].Name, x.Thread.OSID,
					x.Thread.Name)] += n
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		src, err := analysis.Open(s, analysis.Selection{})
		if err != nil {
			t.Fatal(err)
		}
		total, err := src.Total()
		if err != nil {
			t.Fatal(err)
		}
		if want["bytes"] != int64(total.Bytes) || want["allocations"] != int64(total.Allocations) {
			t.Errorf("%s: samples have %d bytes, the session %d", name, want["bytes"], total.Bytes)
		}
		units := map[string]string{}
		for i, p := range f.Profiles {
			n := f.sum(t, p)
			if i >= len(samples.Values) {
				if n != threads[p.Name] {
					t.Errorf("%s: %s has %d, the session %d", name, p.Name, n, threads[p.Name])
				}
				delete(threads, p.Name)
				continue
			}
			if units[p.Name] = p.Unit; n != want[p.Name] {
				t.Errorf("%s: %s has %d, the session %d", name, p.Name, n, want[p.Name])
			}
		}
		if f.Profiles[f.Active].Name != samples.Values[samples.Default].Name || len(threads) > 1 {
			t.Errorf("%s: active is %d; not there: %v", name, f.Active, threads)
		}
		if name == "timed" {
			if diff := cmp.Diff(map[string]string{"calls": "none", "elapsed": "nanoseconds",
				"application": "nanoseconds", "cpu": "nanoseconds"}, units); diff != "" {
				t.Error(diff)
			}
		}
	}
}

// TestSelection: the file's name says what is selected; a span has no values that are differences; one value can be
// chosen.
func TestSelection(t *testing.T) {
	_, f := written(t, sessiontest.Several(), analysis.Selection{Processes: []session.ProcessID{2}}, "allocations")
	if f.Name != "s.clrprof: Only process 101 (Worker)." || f.Profiles[0].Name != "allocations" ||
		f.sum(t, f.Profiles[0]) != 120 {
		t.Errorf("%+v", f)
	}
	if root := f.Shared.Frames[f.Profiles[0].Samples[0][0]]; root.Name != "Worker (101)" || root.File != "" {
		t.Errorf("%+v", root)
	}
	_, f = written(t, sessiontest.Aging(), analysis.Selection{From: 1e9}, "")
	for _, p := range f.Profiles {
		if p.Name == "alive_bytes" {
			t.Error("alive is there, which can be less than zero")
		}
	}
}
