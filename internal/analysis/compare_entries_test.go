package analysis_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/analysistest"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// opened opens a hand-made session, whole.
func opened(t *testing.T, b *sessiontest.Builder) *analysis.Source {
	t.Helper()
	s := analysistest.Open(t, b, filepath.Join(t.TempDir(), "s.clrprof"))
	src, err := analysis.Open(s, analysis.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// compared are the changes of a comparison, by name: before and after.
func compared(t *testing.T, from, to *analysis.Source, view, column string) map[string][2]int64 {
	t.Helper()
	c, err := analysis.Compare([]*analysis.Source{from}, []*analysis.Source{to}, view, column)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][2]int64{}
	for i := range c.Changes {
		x := c.At(i)
		out[x.Name] = [2]int64{x.Old, x.New}
	}
	return out
}

// TestCompareEntries: what tests and endpoints did is compared by their names and routes, with what was done outside, so
// that it adds up to the whole; sessions of a program that has neither are refused.
func TestCompareEntries(t *testing.T) {
	for view, b := range map[string]func() *sessiontest.Builder{"tests": sessiontest.Samples["tested"],
		"endpoints": sessiontest.Samples["served"]} {
		more := b()
		for i := range more.SiteValues { // each allocation once more
			v := &more.SiteValues[i]
			v.Amount = v.Add(v.Amount)
		}
		from, to := opened(t, b()), opened(t, more)
		if same := compared(t, from, from, view, ""); len(same) != 0 {
			t.Errorf("%s: a session differs from itself: %v", view, same)
		}
		changes := compared(t, from, to, view, "inclusive_bytes")
		var before, after int64
		for name, v := range changes {
			if v[1] != 2*v[0] || name == "" {
				t.Errorf("%s: %q has %v", view, name, v)
			}
			before, after = before+v[0], after+v[1]
		}
		var want int64 // all, whichever entry point or process it is of
		for _, v := range b().SiteValues {
			want += int64(v.Bytes)
		}
		if before != want || after != 2*want || want == 0 || len(changes) < 3 {
			t.Errorf("%s: %d and %d of %d: %v", view, before, after, want, changes)
		}
	}
	shop := opened(t, sessiontest.Shop())
	for _, view := range []string{"tests", "endpoints"} {
		if _, err := analysis.Compare([]*analysis.Source{shop}, []*analysis.Source{shop}, view, ""); !errors.Is(err,
			analysis.ErrNoEntries) {
			t.Errorf("%s: %v", view, err)
		}
	}
}

// TestCompareGCs: collections are compared by their generation, and add up to those of the session.
func TestCompareGCs(t *testing.T) {
	b := sessiontest.Aging()
	b.GCs = append([]session.GC{}, b.GCs...)
	want := map[string][2]int64{}
	for i := range b.GCs {
		b.GCs[i].Pause += 1000
		name := "generation " + string(rune('0'+b.GCs[i].Generation))
		if b.GCs[i].Induced {
			name += ", induced"
		}
		v := want[name]
		want[name] = [2]int64{v[0] + int64(b.GCs[i].Pause) - 1000, v[1] + int64(b.GCs[i].Pause)}
	}
	from, to := opened(t, sessiontest.Aging()), opened(t, b)
	if diff := cmp.Diff(want, compared(t, from, to, "gcs", "pause_ns")); diff != "" || len(want) == 0 {
		t.Errorf("(-sums +compared)\n%s", diff)
	}
	if same := compared(t, from, to, "gcs", ""); len(same) != 0 {
		t.Errorf("as many collections differ: %v", same)
	}
	shop := opened(t, sessiontest.Shop())
	if _, err := analysis.Compare([]*analysis.Source{shop}, []*analysis.Source{shop}, "gcs", ""); !errors.Is(err,
		analysis.ErrNoLifetime) {
		t.Error(err)
	}
}
