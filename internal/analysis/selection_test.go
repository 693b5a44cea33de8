package analysis

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// TestFit: a span of time is what it says, or refused with the shortest one that could be.
func TestFit(t *testing.T) {
	const ms, s = q.Nanoseconds(1e6), q.Nanoseconds(1e9)
	slices := []session.Slice{{ID: 1, Begin: 0, End: s + 3*ms}, {ID: 2, Begin: s + 3*ms, End: 2*s + ms},
		{ID: 3, Begin: 2*s + ms, End: 3400 * ms},
		{ID: 4, Begin: 3400 * ms, End: 3400 * ms}} // what came after the end
	for _, tt := range []struct {
		from, to         q.Nanoseconds
		wantFrom, wantTo q.Nanoseconds
		refused          string
	}{
		{0, 0, 0, 0, ""},
		{s, 2 * s, s + 3*ms, 2*s + ms, ""},
		{s + 3*ms, 2*s + ms, s + 3*ms, 2*s + ms, ""},
		{0, s, 0, s + 3*ms, ""},
		{2 * s, 0, 2*s + ms, 0, ""},
		{2 * s, 60 * s, 2*s + ms, 0, ""},
		{2 * s, 3350 * ms, 2*s + ms, 0, ""},
		{0, 4 * s, 0, 0, ""},
		{200 * ms, 0, 0, 0, "--from 0s --to 3.4s"},
		{1500 * ms, 1600 * ms, 0, 0, "--from 1.003s --to 2.001s"},
		{s, 2500 * ms, 0, 0, "--from 0s --to 3.4s"},
		{s + 3*ms, 1500 * ms, 0, 0, "--from 1.003s --to 2.001s"},
		{2500 * ms, 0, 0, 0, "--from 2.001s --to 3.4s"},
	} {
		got, err := Selection{From: tt.from, To: tt.to}.Fit(slices)
		switch {
		case tt.refused != "":
			if !errors.Is(err, ErrSplitsSlice) || !strings.HasSuffix(err.Error(), tt.refused) {
				t.Errorf("%s to %s: %v, want one that ends with %q", tt.from, tt.to, err, tt.refused)
			}
		case err != nil || got.From != tt.wantFrom || got.To != tt.wantTo:
			t.Errorf("%s to %s: %s to %s, %v, want %s to %s", tt.from, tt.to, got.From, got.To, err, tt.wantFrom,
				tt.wantTo)
		}
	}
	if _, err := (Selection{From: 9 * s}).Fit(slices); !errors.Is(err, ErrNoSlice) {
		t.Errorf("after the end: %v", err)
	}
}

// TestSpanReadsItsSlices: what lies outside of a span is not even read, so damage there does not matter.
func TestSpanReadsItsSlices(t *testing.T) {
	b := sessiontest.Several()
	last := len(b.SiteValues) - 1
	at := b.Slices[b.SiteValues[last].Slice-1].Begin
	if at == 0 {
		t.Fatal("the last value is in the first slice")
	}
	b.SiteValues[last].Site = 999
	path := filepath.Join(t.TempDir(), "s")
	if err := b.Write(path); err != nil {
		t.Fatal(err)
	}
	s, err := session.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	d, err := Load(s)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.SiteAmounts(); !errors.Is(err, session.ErrCorrupt) {
		t.Errorf("the whole: %v", err)
	}
	if _, err := part(t, d, Selection{To: at}).SiteAmounts(); err != nil {
		t.Errorf("the span before: %v", err)
	}
}
