package budget

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/clrprof/clrprof/internal/analysis/analysistest"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/session/sessiontest"
)

// TestDraft: a session holds the budget that is made of it, with headroom to spare and not much more, and does not hold
// one made of half of it.
func TestDraft(t *testing.T) {
	for name, build := range sessiontest.Samples {
		s := analysistest.Open(t, build(), filepath.Join(t.TempDir(), name+".clrprof"))
		text, err := Draft([]*session.Session{s}, 0.1)
		if name == "empty" {
			if !errors.Is(err, ErrNothing) {
				t.Errorf("%v: %s", err, text)
			}
			continue
		}
		if err != nil {
			t.Fatal(name, err)
		}
		again, err := Draft([]*session.Session{s}, 0.1)
		if err != nil || again != text {
			t.Errorf("%s: two drafts differ, %v", name, err)
		}
		b, err := Parse(text)
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, text)
		}
		verdicts, err := b.Judge(context.Background(), []*session.Session{s}, nil)
		if err != nil {
			t.Fatal(name, err)
		}
		for _, v := range verdicts {
			losses, err := s.Losses()
			if err != nil {
				t.Fatal(err)
			}
			if v.State != Held && !(v.State == Unknown && len(losses) > 0) {
				t.Errorf("%s: %s is %s: %s", name, v.Title, v.State, v.Why)
			}
			if v.Metric == metricFindings {
				if v.Limit != v.Value {
					t.Errorf("%s: %d findings, and %d are allowed", name, v.Value, v.Limit)
				}
				continue
			}
			if float64(v.Limit) < 1.1*float64(v.Value) && v.unit != count || float64(v.Limit) > 1.17*float64(v.Value)+
				1024 {
				t.Errorf("%s: %s: the limit is %d for %d", name, v.Title, v.Limit, v.Value)
			}
		}
	}
}

func TestRoundUp(t *testing.T) {
	for v, want := range map[float64]int64{0.2: 1, 7.1: 8, 99.5: 100, 100: 100, 101: 105, 999: 1000, 1024: 1050,
		12_345: 12_500, 12_501: 13_000} {
		if got := roundUp(v); got != want {
			t.Errorf("%v: %d, want %d", v, got, want)
		}
	}
}
