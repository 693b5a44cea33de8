package heapsim

import (
	"cmp"
	"slices"
)

// piece is a part of an area that belongs to one generation. It ends where the next one begins, or where the area is
// used up to.
type piece struct {
	start      uint64
	generation uint32
}

// area is a row of addresses for objects.
type area struct {
	kind               kind
	start, used, limit uint64
	pieces             []piece
	objects            []*object // by address
	units              int       // of the space
}

func (a *area) last() piece { return a.pieces[len(a.pieces)-1] }

func (a *area) pieceEnd(i int) uint64 {
	if i+1 < len(a.pieces) {
		return a.pieces[i+1].start
	}
	return a.used
}

// generation is that of the piece at an address.
func (a *area) generation(address uint64) uint32 {
	g := a.pieces[0].generation
	for _, p := range a.pieces[1:] {
		if p.start <= address {
			g = p.generation
		}
	}
	return g
}

// index is where an object with the address is, or would be.
func (a *area) index(address uint64) int {
	i, _ := slices.BinarySearchFunc(a.objects, address, func(o *object, at uint64) int {
		return cmp.Compare(o.address, at)
	})
	return i
}

// gap finds the first room for so many bytes from an address on.
func (a *area) gap(from, bytes uint64) (at uint64, ok bool) {
	at = max(from, a.start)
	i := a.index(at)
	if i > 0 {
		at = max(at, a.objects[i-1].end())
	}
	for ; i < len(a.objects); i++ {
		if a.objects[i].address-at >= bytes {
			return at, true
		}
		at = a.objects[i].end()
	}
	return at, at <= a.limit && a.limit-at >= bytes
}

func (a *area) insert(o *object, at uint64) {
	o.address, o.area = at, a
	a.objects = slices.Insert(a.objects, a.index(at), o)
	a.used = max(a.used, o.end())
}

// space gives addresses to areas, in units.
type space struct {
	base, unit uint64
	taken      []bool
}

// take returns the first address of so many units in a row. The first free ones from a certain one on are taken, so
// addresses are used again soon.
func (s *space) take(units, from int) uint64 {
	at := min(from, len(s.taken))
	for run := 0; run < units; run++ {
		if at+run < len(s.taken) && s.taken[at+run] {
			at, run = at+run+1, -1
		}
	}
	for len(s.taken) < at+units {
		s.taken = append(s.taken, false)
	}
	for i := range units {
		s.taken[at+i] = true
	}
	return s.base + uint64(at)*s.unit
}

func (s *space) give(address uint64, units int) {
	first := int((address - s.base) / s.unit)
	clear(s.taken[first : first+units])
}

// newArea makes an area with room for an object of so many bytes.
func (s *simulation) newArea(k kind, bytes uint64) *area {
	units := 1
	switch {
	case k != small:
		units = largeSize
	case s.Segments:
		units = segmentSize
	}
	units = max(units, int((bytes+headBytes+s.UnitBytes-1)/s.UnitBytes))
	from := 0
	if s.oneIn(4) {
		from = s.r.IntN(len(s.space.taken) + 20)
	}
	first := s.space.take(units, from)
	a := &area{kind: k, start: first + headBytes, used: first + headBytes, limit: first + uint64(units)*s.UnitBytes,
		units: units}
	a.pieces = []piece{{a.start, k.generation()}}
	s.areas = append(s.areas, a)
	return a
}

// release gives an empty area's addresses back.
func (s *simulation) release(a *area) {
	s.space.give(a.start-headBytes, a.units)
	s.areas = slices.DeleteFunc(s.areas, func(x *area) bool { return x == a })
}
