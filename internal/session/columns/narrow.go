package columns

import (
	"math"
	"slices"
)

// Narrow is a column in memory, each value in as few bytes as the widest needs: none, if all are the same.
type Narrow struct {
	same int64 // the value of all rows, if there is none of these:
	of8  []int8
	of16 []int16
	of32 []int32
	of64 []int64
}

// NewNarrow returns the column with some values, which it does not keep.
func NewNarrow(values []int64) Narrow {
	if len(values) == 0 {
		return Narrow{}
	}
	least, most := values[0], values[0]
	for _, v := range values {
		least, most = min(least, v), max(most, v)
	}
	switch {
	case least == most:
		return Narrow{same: least}
	case least >= math.MinInt8 && most <= math.MaxInt8:
		return Narrow{of8: converted[int8](values)}
	case least >= math.MinInt16 && most <= math.MaxInt16:
		return Narrow{of16: converted[int16](values)}
	case least >= math.MinInt32 && most <= math.MaxInt32:
		return Narrow{of32: converted[int32](values)}
	}
	return Narrow{of64: slices.Clone(values)}
}

func converted[To int8 | int16 | int32](values []int64) []To {
	out := make([]To, len(values))
	for i, v := range values {
		out[i] = To(v)
	}
	return out
}

// At returns the value of a row.
func (n *Narrow) At(row int) int64 {
	switch {
	case n.of8 != nil:
		return int64(n.of8[row])
	case n.of16 != nil:
		return int64(n.of16[row])
	case n.of32 != nil:
		return int64(n.of32[row])
	case n.of64 != nil:
		return n.of64[row]
	}
	return n.same
}
