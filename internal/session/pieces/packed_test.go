package pieces

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestPacked: rows are what was set last, those that are kept apart and those that are not, and all zero after Reset.
func TestPacked(t *testing.T) {
	type row struct {
		small [2]uint32
		large *[3]uint64
	}
	rapid.Check(t, func(t *rapid.T) {
		var p Packed[[2]uint32, [3]uint64]
		var want []row
		for range rapid.IntRange(0, 30).Draw(t, "steps") {
			switch step := rapid.IntRange(0, 9).Draw(t, "step"); {
			case step < 4 || len(want) == 0:
				w := [2]uint32{rapid.Uint32Range(0, largeForm<<FormShift-1).Draw(t, "first"),
					rapid.Uint32().Draw(t, "second")}
				p.Add(w)
				want = append(want, row{small: w})
			case step < 9:
				i := rapid.IntRange(0, len(want)-1).Draw(t, "row")
				large := [3]uint64{rapid.Uint64().Draw(t, "number"), math.MaxUint64, uint64(i)}
				p.SetLarge(i, large)
				want[i] = row{large: &large}
			default:
				n := rapid.SampledFrom([]int{0, 1, len(want), pieceRows + 1}).Draw(t, "rows")
				p.Reset(n)
				want = make([]row, n)
			}
		}
		if p.Len() != len(want) {
			t.Fatalf("%d rows of %d", p.Len(), len(want))
		}
		for i, w := range want {
			small, large := p.At(i)
			if (large == nil) != (w.large == nil) || (large == nil && *small != w.small) ||
				(large != nil && *large != *w.large) {
				t.Fatalf("row %d: %v, %v, want %v", i, *small, large, w)
			}
		}
	})
}
