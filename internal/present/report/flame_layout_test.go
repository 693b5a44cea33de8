package report

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestGreatest: the n-th greatest of a list is the n-th of the sorted one, whatever its order was.
func TestGreatest(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		list := make([]int64, 1+random.IntN(50))
		for i := range list {
			list[i] = random.Int64N(1 + random.Int64N(40))
		}
		if random.IntN(3) == 0 {
			slices.Sort(list)
		}
		sorted := slices.Clone(list)
		slices.Sort(sorted)
		slices.Reverse(sorted)
		n := 1 + random.IntN(len(list))
		if got := greatest(slices.Clone(list), n); got != sorted[n-1] {
			t.Fatalf("number %d of %v is %d, want %d", n, sorted, got, sorted[n-1])
		}
	}
}

// TestColorsOfTrees: the colours of nodes with all that they called are those that a sum over every subtree gives, in
// trees that are deep, wide or both, and of many colours.
func TestColorsOfTrees(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 0))
		n, wide := 1+random.IntN(200), 1+random.IntN(200)
		parent, c := make([]int32, n), &flameColors{first: make([]int32, n+1)}
		for i := range 1 + random.IntN(40) {
			c.names = append(c.names, fmt.Sprint(i))
		}
		want := make([]map[uint32]int64, n)
		for i := range n {
			parent[i] = int32(i - 1 - random.IntN(min(wide, i+1)))
			want[i] = map[uint32]int64{}
			for range random.IntN(4) {
				own := ownColor{random.Uint32N(uint32(len(c.names))), 1 + random.Int64N(5)}
				c.list = append(c.list, own)
				for up := int32(i); up >= 0; up = parent[up] {
					want[up][own.color] += own.bytes
				}
			}
			c.first[i+1] = int32(len(c.list))
		}
		for i, got := range c.ofTrees(parent) {
			var best colored
			for color := range uint32(len(c.names)) {
				n := want[i][color]
				if best.all += n; n > best.bytes {
					best.color, best.bytes = color, n
				}
			}
			if got != best {
				t.Fatalf("seed %d: node %d has %+v, want %+v of %v", seed, i, got, best, want[i])
			}
		}
	}
}
