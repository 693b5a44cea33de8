package chrome

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/quantity"
)

// TestLongest: of too many events the longest are kept, in their order, and of equally long ones all or none.
func TestLongest(t *testing.T) {
	for _, tt := range []struct {
		lengths, want []int64
		most          int
		least         int64
	}{
		{[]int64{3, 1, 2}, []int64{3, 1, 2}, 3, 0},
		{[]int64{3, 1, 2}, []int64{3, 2}, 2, 2},
		{[]int64{2, 5, 2, 4, 2}, []int64{5, 4}, 3, 3},
		{[]int64{7, 7}, nil, 1, 8},
		{nil, nil, 0, 0},
	} {
		var all []analysis.PlacedEvent
		for _, n := range tt.lengths {
			var e analysis.PlacedEvent
			e.Length = quantity.Nanoseconds(n)
			all = append(all, e)
		}
		kept, left, least := longest(all, tt.most)
		var have []int64
		for i := range kept {
			have = append(have, int64(kept[i].Length))
		}
		if diff := cmp.Diff(tt.want, have); diff != "" || left != len(all)-len(kept) || least != tt.least {
			t.Errorf("%v, at most %d: %d left out, less than %d\n%s", tt.lengths, tt.most, left, least, diff)
		}
	}
}
