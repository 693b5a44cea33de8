package analysis

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/session/sessiontest"
)

func source(t *testing.T, b *sessiontest.Builder, sel Selection) *Source {
	t.Helper()
	s := open(t, b, filepath.Join(t.TempDir(), "s"))
	t.Cleanup(func() { s.Close() })
	v, err := Open(s, sel)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func compared(t *testing.T, from, to *Source, view, column string) *Comparison {
	t.Helper()
	c, err := Compare(from, to, view, column)
	if err != nil {
		t.Fatalf("%s %s: %v", view, column, err)
	}
	return c
}

// TestCompareRandom: a session does not differ from itself; differences add up to the difference of the wholes, and
// are those of the other direction with the other sign.
func TestCompareRandom(t *testing.T) {
	differences := 0
	for seed := range uint64(12) {
		random := sessiontest.Random
		if seed%3 == 0 {
			random = sessiontest.RandomTimes
		}
		a, b := source(t, random(seed), Selection{}), source(t, random(seed+100), Selection{})
		for _, v := range comparedViews {
			for _, c := range v.columns {
				if has, err := a.dataSets(); err != nil || !has.has(&c) {
					continue
				}
				if self := compared(t, a, a, v.name, c.key); len(self.Changes) > 0 {
					t.Errorf("seed %d: %s %s: %d differences of a session from itself", seed, v.name, c.key, len(self.Changes))
				}
				if has, err := b.dataSets(); err != nil || !has.has(&c) {
					continue
				}
				there, back := compared(t, a, b, v.name, c.key), compared(t, b, a, v.name, c.key)
				sum := int64(0)
				for i := range there.Changes {
					x := &there.Changes[i]
					sum += x.Delta()
					at := slices.IndexFunc(back.Changes, func(y Change) bool { return y.Key == x.Key })
					if at < 0 || back.Changes[at].Delta() != -x.Delta() || back.Changes[at].InOld != x.InNew {
						t.Errorf("seed %d: %s %s: %+v is not so the other way round", seed, v.name, c.key, x)
					}
					if i > 0 && abs(x.Delta()) > abs(there.Changes[i-1].Delta()) {
						t.Errorf("seed %d: %s %s: %d after %d", seed, v.name, c.key, x.Delta(), there.Changes[i-1].Delta())
					}
				}
				if differences += len(there.Changes); there.AddsUp && sum != there.New-there.Old {
					t.Errorf("seed %d: %s %s: differences add up to %d, the wholes differ by %d", seed, v.name, c.key, sum, there.New-there.Old)
				}
			}
		}
	}
	if differences == 0 {
		t.Error("no two sessions differed")
	}
}

func abs(n int64) int64 { return max(n, -n) }

// TestCompareBuilds: a program that was built again after something was written above differs in nothing; what was
// added is new, and a line that moved is the same line.
func TestCompareBuilds(t *testing.T) {
	old := source(t, programBuild(0, 1), Selection{})
	for _, v := range comparedViews {
		if c := compared(t, old, source(t, programBuild(3, 1), Selection{}), v.name, ""); len(c.Changes) > 0 {
			t.Errorf("%s: %+v", v.name, c.Changes)
		}
	}
	b := programBuild(3, 1)
	n := len(b.SiteValues)
	for i := range b.SiteValues { // the first site allocates more, the last one nothing
		switch i {
		case 0:
			b.SiteValues[i].Bytes += 8
		case n - 1:
			b.SiteValues[i].Bytes, b.SiteValues[i].Allocations = 0, 0
		}
	}
	c := compared(t, old, source(t, b, Selection{}), "lines", "exclusive_bytes")
	var got []string
	for i := range c.Changes {
		x := &c.Changes[i]
		got = append(got, fmt.Sprintf("%s %d -> %d: %+d", x.Key, x.OldLine, x.Line, x.Delta()))
	}
	if diff := cmp.Diff([]string{"App.dll!App.Program.Main():+2 12 -> 15: -24", "App.dll!App.Program.Main():+0 10 -> 13: +8"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestCompareErrors: what one of the sessions does not have cannot be compared.
func TestCompareErrors(t *testing.T) {
	shop, timed := source(t, sessiontest.Shop(), Selection{}), source(t, sessiontest.Timed(), Selection{})
	var term *TermError
	for _, c := range []struct {
		from, to     *Source
		view, column string
		want         error
	}{
		{shop, timed, "functions", "", ErrNothingInCommon},
		{shop, timed, "functions", "elapsed_exclusive", ErrNoTime},
		{timed, shop, "functions", "elapsed_exclusive", ErrNoTime},
		{shop, timed, "types", "bytes", ErrNoMemory},
		{shop, shop, "threads", "", nil},
		{shop, shop, "types", "exclusive_bytes", nil},
	} {
		_, err := Compare(c.from, c.to, c.view, c.column)
		if c.want != nil && !errors.Is(err, c.want) || c.want == nil && !errors.As(err, &term) {
			t.Errorf("%s %s: %v", c.view, c.column, err)
		}
	}
	if several := source(t, sessiontest.Several(), Selection{Processes: []session.ProcessID{2}}); len(compared(t, several, several, "functions", "").Changes) > 0 {
		t.Error("a selection differs from itself")
	}
}
