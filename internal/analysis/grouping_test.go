package analysis

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestSortRows: rows come in the order in which comparing all their numbers puts them, and have one key exactly if
// these are the same; also where the bounds of the columns are too large for one key.
func TestSortRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bounds := rapid.SliceOfN(rapid.SampledFrom([]int{1, 5, 3000, math.MaxInt32}), 1, 5).Draw(t, "bounds")
		all := rapid.IntRange(1, 60).Draw(t, "all")
		values := make([][]int32, len(bounds))
		keys := make([]keyColumn, len(bounds))
		for i, bound := range bounds {
			values[i] = rapid.SliceOfN(rapid.Int32Range(none, int32(min(bound, 3)-1)), all, all).Draw(t, "values")
			keys[i] = keyColumn{func(row int32) int32 {
				if n := values[i][row]; n > 1 {
					return int32(bound) - n + 1 // up to the greatest
				} else {
					return n
				}
			}, bound}
		}
		rows := rowsWith(all, func(int32) bool { return rapid.Bool().Draw(t, "has") })
		compare := func(x, y int32) int {
			for _, k := range keys {
				if c := cmp.Compare(k.of(x), k.of(y)); c != 0 {
					return c
				}
			}
			return 0
		}
		want := slices.Clone(rows)
		slices.SortStableFunc(want, compare)
		got := sortRows(rows, keys...)
		for i, x := range got {
			if x.row != want[i] {
				t.Fatalf("position %d is row %d, want %d", i, x.row, want[i])
			}
			if i > 0 && (compare(got[i-1].row, x.row) == 0) != (got[i-1].key == x.key) {
				t.Fatalf("rows %d and %d: keys %d and %d", got[i-1].row, x.row, got[i-1].key, x.key)
			}
		}
		of, first := groupRows(rows, all, keys...)
		next := int32(0)
		for i := range int32(all) {
			leader := slices.IndexFunc(rows, func(r int32) bool { return compare(r, i) == 0 })
			switch {
			case !slices.Contains(rows, i):
				if of[i] != none {
					t.Fatalf("row %d, which is left out, is in group %d", i, of[i])
				}
			case rows[leader] == i:
				if of[i] != next || first[next] != i {
					t.Fatalf("row %d begins group %d of %v, want %d", i, of[i], first, next)
				}
				next++
			case of[i] != of[rows[leader]]:
				t.Fatalf("row %d is in group %d, row %d in %d", i, of[i], rows[leader], of[rows[leader]])
			}
		}
		if int(next) != len(first) {
			t.Fatalf("%d groups, want %d", len(first), next)
		}
	})
}
