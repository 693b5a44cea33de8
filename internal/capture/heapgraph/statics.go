package heapgraph

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"
	"unicode/utf16"
)

// place is a static field as the agent tells it.
type place struct {
	slot   uint64 // 0: not known
	object int32
	static Static
}

// readStatics reads the static fields, without those that hold no object of the snapshot: a field of a type that is no
// class can be a number.
func (h *Heap) readStatics(in *input) []place {
	var out []place
	for {
		p := place{slot: in.u64()}
		object := in.u64()
		p.static.Type, p.static.Field = in.u32(), in.u32()
		p.static.OfThread = in.u32() != 0
		n := in.u32()
		if in.err != nil || object == 0 {
			break
		}
		if n > maxName {
			in.fail("a name of %d characters", n)
			break
		}
		p.static.Name = in.utf16(n)
		if p.object = h.find(object); p.object >= 0 {
			out = append(out, p)
		}
	}
	h.StaticsLeftOut = in.u64()
	return out
}

// utf16 reads n characters.
func (in *input) utf16(n uint32) string {
	if in.err == nil && in.left < int64(n)*2 {
		in.err = ErrIncomplete
	}
	if in.err != nil {
		return ""
	}
	units := make([]uint16, n)
	for i := range units {
		units[i] = binary.LittleEndian.Uint16(in.bytes(2))
	}
	return string(utf16.Decode(units))
}

// placeStatics finds which objects the places of the fields are in. A field whose place is in no object, or in one that
// does not refer to what the field is said to hold, is left out: the agent was wrong about it.
func (h *Heap) placeStatics(places []place) {
	for i := range places {
		places[i].static.Object, places[i].static.Holder = places[i].object, h.around(places[i].slot)
	}
	slices.SortFunc(places, func(a, b place) int { return cmp.Compare(a.static.Holder, b.static.Holder) })
	refers := map[int32]bool{} // the references of the holder of place i
	for i, p := range places {
		holder := p.static.Holder
		if holder >= 0 && (i == 0 || places[i-1].static.Holder != holder) {
			clear(refers)
			for _, to := range h.References(holder) {
				refers[to] = true
			}
		}
		if p.slot == 0 || holder >= 0 && refers[p.object] {
			h.Statics = append(h.Statics, p.static)
		}
	}
	slices.SortFunc(h.Statics, func(a, b Static) int {
		return cmp.Or(cmp.Compare(a.Object, b.Object), cmp.Compare(a.Holder, b.Holder), cmp.Compare(a.Type, b.Type),
			cmp.Compare(a.Field, b.Field), strings.Compare(a.Name, b.Name))
	})
	h.Statics = slices.Compact(h.Statics)
}

// inTables returns the objects that the runtime's own tables of static fields refer to: arrays in which the places of
// fields are, among the objects that roots hold. Such a table is a root, as far as anybody is concerned: it retains
// nothing but itself. From .NET 9 on, the tables of a thread are in an array of that thread, which is a table, too.
func (h *Heap) inTables(top []int32) []int32 {
	isTable, ofThread := map[int32]bool{}, map[int32]bool{}
	for _, s := range h.Statics {
		if s.Holder >= 0 {
			isTable[s.Holder] = true
			ofThread[s.Holder] = ofThread[s.Holder] || s.OfThread
		}
	}
	var out []int32
	for _, i := range top {
		if isTable[i] {
			out = append(out, h.References(i)...)
			continue
		}
		for _, to := range h.References(i) {
			if ofThread[to] && h.Type[to] == h.Type[i] { // object[] in an object[]
				out = append(append(out, to), h.References(to)...)
			}
		}
	}
	return out
}

// around returns the object that an address is in, or -1.
func (h *Heap) around(address uint64) int32 {
	i, found := slices.BinarySearch(h.Address, address)
	if !found {
		i--
	}
	if address == 0 || i < 0 || address-h.Address[i] >= h.Size[i] {
		return -1
	}
	return int32(i)
}

// StaticOn returns the last object of a root path, by its position, that a static field holds there, and the field
// (index in Statics), -1 if none does. The object before it must be the one that the field's place is in, where that
// is known.
func (h *Heap) StaticOn(path []int32) (position, field int) {
	for position = len(path) - 1; position >= 0; position-- {
		at, _ := slices.BinarySearchFunc(h.Statics, path[position], func(s Static, object int32) int {
			return cmp.Compare(s.Object, object)
		})
		for ; at < len(h.Statics) && h.Statics[at].Object == path[position]; at++ {
			holder := h.Statics[at].Holder
			if holder < 0 || position > 0 && holder == path[position-1] {
				return position, at
			}
		}
	}
	return -1, -1
}

// Held says which static field retains most bytes of a group of objects, and how many.
type Held struct {
	Field int // index in Statics
	Bytes int64
}

// HeldTypes returns for each type of which a static field retains objects the field that retains most bytes of it.
func (g *Graph) HeldTypes() map[uint32]Held { return g.held(g.Type) }

// HeldSites does the same for allocation sites.
func (g *Graph) HeldSites() map[uint32]Held { return g.held(g.Site) }

func (g *Graph) held(key []uint32) map[uint32]Held {
	type pair struct {
		key   uint32
		field int32
	}
	sums := map[pair]int64{}
	for v, field := range g.fields() {
		if i := g.tree.object[v]; field >= 0 {
			sums[pair{key[i], field}] += int64(g.Size[i])
		}
	}
	out := map[uint32]Held{}
	for p, bytes := range sums {
		have, ok := out[p.key]
		if !ok || bytes > have.Bytes || bytes == have.Bytes && int(p.field) < have.Field {
			out[p.key] = Held{int(p.field), bytes}
		}
	}
	return out
}

// fields returns for each vertex of the dominator tree the nearest static field that retains it, -1: none. A dominator
// has a smaller number than what it dominates.
func (g *Graph) fields() []int32 {
	first := make([]int32, len(g.Address)) // by object: its first static field, and 1; 0: none
	for at := len(g.Statics) - 1; at >= 0; at-- {
		first[g.Statics[at].Object] = int32(at) + 1
	}
	of := make([]int32, len(g.tree.object))
	of[0] = -1
	for v := 1; v < len(of); v++ {
		of[v] = of[g.tree.idom[v]]
		if at := first[g.tree.object[v]]; at != 0 {
			of[v] = at - 1
		}
	}
	return of
}
