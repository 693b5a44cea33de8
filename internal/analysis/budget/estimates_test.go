package budget

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/analysistest"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// sampled is a session in which so many samples of objects of 100 bytes were taken: each stands for 102,400 bytes.
func sampled(t *testing.T, samples q.Count) *session.Session {
	t.Helper()
	b := sessiontest.New()
	p := b.Process("App", 7)
	m, main := b.Module(p, "App.dll", true), b.Thread(p, "main")
	f := sessiontest.Frame{Function: b.Function(m, "App.Main()", "/src/App.cs", 10), Line: 12}
	b.Allocate(1, main, b.Type(m, "App.Order"), samples, 100*q.Bytes(samples), f)
	return analysistest.Open(t, b.Sampled(1024), filepath.Join(t.TempDir(), "s.clrprof"))
}

// TestEstimates: a limit on what samples stand for is broken where all of the interval is beyond it, held where none of
// it is, and unknown else, and of too few samples no number is told. The intervals are those of 95 %: of 100 samples
// ± 22 %, so some 8 to 12.5 MB.
func TestEstimates(t *testing.T) {
	for _, tt := range []struct {
		samples, before q.Count
		limit           string
		want            State
		says            string
	}{
		{100, 0, `max = "8000000"`, Broken, "≈"},
		{100, 0, `max = "9000000"`, Unknown, "does not say"},
		{100, 0, `max = "11000000"`, Unknown, "does not say"},
		{100, 0, `max = "13000000"`, Held, "≈"},
		{5, 0, `max = "2000000"`, Held, "fewer than 10 samples"},
		{5, 0, `max = "600000"`, Unknown, "fewer than 10 samples"},
		{100, 100, `grow = "10%"`, Unknown, "before"},
		{300, 100, `grow = "10%"`, Broken, "before"},
		{100, 300, `grow = "10%"`, Held, "before"},
	} {
		b, err := Parse("[[limit]]\nmetric = \"bytes\"\n" + tt.limit + "\n")
		if err != nil {
			t.Fatal(err)
		}
		var olds []*session.Session
		if tt.before > 0 {
			olds = append(olds, sampled(t, tt.before))
		}
		v, err := b.Judge(context.Background(), []*session.Session{sampled(t, tt.samples)}, olds)
		if err != nil || len(v) != 1 || v[0].State != tt.want || !strings.Contains(v[0].Why, tt.says) {
			t.Errorf("%d samples, %d before, %s: %+v, %v; want %s", tt.samples, tt.before, tt.limit, v, err, tt.want)
			continue
		}
		var text strings.Builder
		if err := Write(&text, "json", v, Around{}); err != nil || !strings.Contains(text.String(), `"estimated": true`) ||
			(tt.samples < 10) != strings.Contains(text.String(), `"value": null`) {
			t.Errorf("%v: %s", err, text.String())
		}
	}
	b, err := Parse("[[limit]]\nmetric = \"findings\"\nmax = \"0\"\n")
	if err != nil {
		t.Fatal(err)
	}
	v, err := b.Judge(context.Background(), []*session.Session{sampled(t, 100)}, nil)
	if err != nil || v[0].State != Unknown {
		t.Errorf("findings of samples: %+v, %v", v, err)
	}
	if _, err := Draft([]*session.Session{sampled(t, 100)}, 0.1); err == nil {
		t.Error("a first budget is made of estimates")
	}
}
