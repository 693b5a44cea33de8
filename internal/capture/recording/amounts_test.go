package recording

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/clrprof/clrprof/internal/quantity"
)

// TestAmounts: what is set is there, however large, and what is not set is nothing.
func TestAmounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var a amounts
		want := map[int]quantity.Amount{}
		number := rapid.OneOf(rapid.Int64Range(-2, 3), rapid.Int64(),
			rapid.Int64Range(math.MaxUint32-2, math.MaxUint32+2))
		site := rapid.IntRange(0, 3*sitesOfPage)
		for range rapid.IntRange(0, 50).Draw(t, "times") {
			i, v := site.Draw(t, "site"), quantity.Amount{Allocations: quantity.Count(number.Draw(t, "objects")),
				Bytes: quantity.Bytes(number.Draw(t, "bytes"))}
			a.set(i, v)
			want[i] = v
		}
		for i := range 4 * sitesOfPage {
			if got := a.at(i); got != want[i] {
				t.Fatalf("site %d: %v, want %v", i, got, want[i])
			}
		}
	})
}

// TestAmountsAreSmall: sites of which only some pages have something take little memory.
func TestAmountsAreSmall(t *testing.T) {
	var a amounts
	const sites = 1 << 20
	for i := range sites {
		a.set(i, quantity.Amount{})
	}
	a.set(sites-1, quantity.Amount{Allocations: 1, Bytes: 24})
	used := 0
	for _, p := range a.pages {
		if p != nil {
			used++
		}
	}
	if used != 1 || len(a.large) != 0 {
		t.Errorf("%d pages and %d large ones for one small amount", used, len(a.large))
	}
}
