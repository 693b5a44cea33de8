package analysis

import (
	"math/bits"
	"slices"
)

// numbering gives each key a number, in the order in which they are first met. The zero numbering has none.
type numbering[K comparable] struct {
	of   map[K]int32
	list []K // by number
}

// number returns the number of a key.
func (n *numbering[K]) number(key K) int32 {
	at, known := n.of[key]
	if !known {
		if n.of == nil {
			n.of = map[K]int32{}
		}
		at = int32(len(n.list))
		n.of[key], n.list = at, append(n.list, key)
	}
	return at
}

// keyNumbers are the numbers of the keys of rows, by position. A key is made, and looked up, when it is first asked
// for.
type keyNumbers struct {
	numbering *numbering[string]
	key       func(at int32) string
	of        []int32 // and one more; 0: not known yet
}

func newKeyNumbers(n *numbering[string], rows int, key func(at int32) string) *keyNumbers {
	return &keyNumbers{n, key, make([]int32, rows)}
}

// number returns the number of the key of a row.
func (k *keyNumbers) number(at int32) int32 {
	n := &k.of[at]
	if *n == 0 {
		*n = k.numbering.number(k.key(at)) + 1
	}
	return *n - 1
}

// pair is two numbers that together name something.
type pair struct{ above, name int32 }

// pairNumbering is a numbering of pairs. There can be millions, so it is a table in which one look is one place in
// memory.
type pairNumbering struct {
	slots []pairSlot // twice as many as pairs at least, a power of two
	list  []pair     // by number
	next  int32      // what was numbered one after the other often comes so again
}

type pairSlot struct {
	pair
	number int32 // and one more; 0: it is free
}

// number returns the number of a pair.
func (n *pairNumbering) number(key pair) int32 {
	if n.next < int32(len(n.list)) && n.list[n.next] == key {
		n.next++
		return n.next - 1
	}
	if 2*len(n.list) >= len(n.slots) {
		n.grow(max(64, 2*len(n.slots)))
	}
	slot := n.find(key)
	if slot.number == 0 {
		n.list = append(n.list, key)
		*slot = pairSlot{key, int32(len(n.list))}
	}
	n.next = slot.number
	return slot.number - 1
}

// expect makes room for so many pairs in all.
func (n *pairNumbering) expect(pairs int) {
	if least := 1 << bits.Len(uint(2*pairs)); least > len(n.slots) {
		n.grow(least)
		n.list = slices.Grow(n.list, pairs-len(n.list))
	}
}

// find returns the slot of a pair, or the free one in which it belongs.
func (n *pairNumbering) find(key pair) *pairSlot {
	const golden = 0x9e3779b97f4a7c15 // 2⁶⁴ divided by the golden ratio: products of it are all over the place
	hash := (uint64(uint32(key.above))<<32 | uint64(uint32(key.name))) * golden
	hash = (hash ^ hash>>32) * golden
	for at := hash >> (64 - bits.Len(uint(len(n.slots)-1))); ; at = (at + 1) & uint64(len(n.slots)-1) {
		if s := &n.slots[at]; s.number == 0 || s.pair == key {
			return s
		}
	}
}

func (n *pairNumbering) grow(slots int) {
	n.slots = make([]pairSlot, slots)
	for i, key := range n.list {
		*n.find(key) = pairSlot{key, int32(i) + 1}
	}
}
