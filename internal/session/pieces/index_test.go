package pieces

import (
	"testing"

	"pgregory.net/rapid"
)

// TestIndex: all rows are found and nothing else is, also where many hashes begin, or end, with the same bits.
func TestIndex(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spread := rapid.SampledFrom([]uint64{0x9e3779b97f4a7c15, 1, 1 << 40}).Draw(t, "spread")
		hash := func(key uint64) uint64 { return key * spread }
		var rows List[uint64]
		hashOf := func(row uint32) uint64 { return hash(*rows.At(int(row))) }
		var x Index
		find := func(key uint64) (uint32, bool) {
			return x.Find(hash(key), func(row uint32) bool { return *rows.At(int(row)) == key })
		}
		n := rapid.SampledFrom([]int{0, 1, leastSlots, 3 * leastSlots, mostSlots + 9}).Draw(t, "rows")
		for i := range n {
			key := uint64(2 * i)
			if row, ok := find(key); ok {
				t.Fatalf("%d is row %d before it is added", key, row)
			}
			rows.Add(key)
			x.Add(hash(key), uint32(i), hashOf)
		}
		for i := range n {
			if row, ok := find(uint64(2 * i)); !ok || row != uint32(i) {
				t.Fatalf("%d is row %d, %t, of %d", 2*i, row, ok, n)
			}
			if row, ok := find(uint64(2*i + 1)); ok {
				t.Fatalf("%d is row %d", 2*i+1, row)
			}
		}
	})
}

// TestIndexSize: however many rows there are, each takes 9 bytes at most, and 7.5 as a mean.
func TestIndexSize(t *testing.T) {
	var x Index
	hash := func(row uint32) uint64 { return uint64(row) * 0x9e3779b97f4a7c15 }
	sum, counted := 0.0, 0
	const most = 1 << 18
	for row := range uint32(most) {
		x.Add(hash(row), row, hash)
		if row < 1<<12 || row%(1<<10) != 0 {
			continue
		}
		slots := 0
		for i, p := range x.parts {
			if i == 0 || p != x.parts[i-1] {
				slots += len(p.tags)
			}
		}
		each := 5 * float64(slots) / float64(row+1)
		if each > 9 {
			t.Fatalf("%d rows take %.1f bytes each", row+1, each)
		}
		sum, counted = sum+each, counted+1
	}
	if mean := sum / float64(counted); mean > 7.5 {
		t.Errorf("a row takes %.2f bytes", mean)
	}
}
