package heapsim

import (
	"slices"

	"github.com/clrprof/clrprof/internal/testkit/heap"
	"github.com/clrprof/clrprof/internal/wire"
)

// Rand draws numbers; *rand.Rand of math/rand/v2 is one.
type Rand interface {
	IntN(n int) int // 0 ≤ result < n
}

// Options say what kind of heap it is.
type Options struct {
	Collections int
	Allocations int    // at most so many between two collections
	Sites       int    // who allocates
	Segments    bool   // as before .NET 7
	Pinned      bool   // there is a pinned object heap: since .NET 5
	Base        uint64 // lowest address, a multiple of 8
	UnitBytes   uint64 // of a region of small objects; those of large ones have 8 of it, or as many as needed
}

// Draw returns options at random: some hundred objects between two of some ten collections, or fewer between more.
func Draw(r Rand) Options {
	units := []uint64{4 << 10, 16 << 10, 64 << 10, 1 << 20, 4 << 20}
	bases := []uint64{8, 0x10_0000_0000, 0x7f12_3400_0000, 0x7f12_33FF_F000, 0x7f12_33FF_FFF8, 0x7e00_0000_0000}
	o := Options{
		Collections: r.IntN(30), Allocations: 1 + r.IntN(300), Sites: 1 + r.IntN(40), Segments: r.IntN(3) == 0,
		Pinned: r.IntN(4) != 0, Base: bases[r.IntN(len(bases))], UnitBytes: units[r.IntN(len(units))],
	}
	if r.IntN(8) == 0 { // some objects become very old
		o.Collections, o.Allocations = 100, 1+r.IntN(30)
	}
	return o
}

const (
	threads     = 4    // that may be about to say a site
	maxUnits    = 2000 // of one object: with 4 MiB nearly 8 GiB
	headBytes   = 0x28 // of a region, before its first object
	segmentSize = 64   // units of a segment
	largeSize   = 8    // units of an area for large or pinned objects
)

type object struct {
	address, bytes uint64
	site, thread   uint32
	born           int // collections before
	pinned         bool
	area           *area
}

func (o *object) end() uint64 { return o.address + o.bytes }

type simulation struct {
	Options
	r        Rand
	emit     func(heap.Event)
	areas    []*area
	space    space
	frozen   uint64 // next address on the frozen heap
	waiting  [threads]*object
	now      uint64
	ends     []uint64
	gcs      int // collections started
	truth    heap.Result
	reported []heap.Site // at the end of the last collection
}

// Run simulates a heap, tells what happens and returns what became of the objects.
func Run(o Options, r Rand, emit func(heap.Event)) *heap.Result {
	s := &simulation{Options: o, r: r, emit: emit, space: space{base: o.Base, unit: o.UnitBytes}}
	s.frozen = s.space.take(segmentSize, 0) + 8
	for range o.Collections {
		s.mutate()
		s.collect(s.generation(), s.oneIn(3), false)
	}
	for !s.truth.AliveKnown { // others come before the one that was asked for
		s.mutate()
		if s.oneIn(3) {
			s.collect(s.generation(), s.oneIn(2), true)
		} else {
			s.collect(2, true, true)
		}
	}
	s.mutate()
	if s.oneIn(4) {
		s.collect(s.generation(), s.oneIn(2), false)
		s.mutate()
	}
	emit(heap.End{})
	return &s.truth
}

func (s *simulation) oneIn(n int) bool { return s.r.IntN(n) == 0 }

// generation draws which generation is collected next, with those below it.
func (s *simulation) generation() int {
	switch n := s.r.IntN(10); {
	case n < 5:
		return 0
	case n < 8:
		return 1
	}
	return 2
}

// mutate is what the program does between two collections.
func (s *simulation) mutate() {
	for range s.r.IntN(s.Allocations + 1) {
		s.allocate()
		if s.oneIn(8) {
			s.attribute(s.r.IntN(threads))
		}
	}
	if s.oneIn(2) {
		for i := range threads {
			s.attribute(i)
		}
	}
}

func (s *simulation) attribute(thread int) {
	o := s.waiting[thread]
	if o == nil {
		return
	}
	s.waiting[thread] = nil
	o.site, o.thread = s.drawSite(), 0
	heap.Add(&s.site(o.site).Allocated, o.bytes)
	s.emit(heap.Attributed{Thread: uint32(thread) + 1, Site: o.site})
}

// drawSite prefers low numbers: some sites allocate much.
func (s *simulation) drawSite() uint32 { return uint32(s.r.IntN(1+s.r.IntN(s.Sites))) + 1 }

func (s *simulation) site(number uint32) *heap.Site {
	for len(s.truth.Sites) < int(number) {
		s.truth.Sites = append(s.truth.Sites, heap.Site{})
	}
	return &s.truth.Sites[number-1]
}

func (s *simulation) allocate() {
	o := &object{bytes: s.drawBytes(), born: s.gcs, pinned: s.oneIn(30)}
	k := s.drawKind(o)
	a := heap.Alloc{Frozen: k == frozen}
	if k == frozen {
		o.bytes = min(o.bytes, 128)
		o.address = s.frozen
		s.frozen += o.bytes
		if s.frozen > s.space.base+(segmentSize-1)*s.UnitBytes {
			return // the frozen heap is full
		}
	} else {
		s.place(o, k)
	}
	if thread := s.r.IntN(threads * 10); thread < threads && s.waiting[thread] == nil && k != frozen {
		o.thread = uint32(thread) + 1
		s.waiting[thread] = o
	} else {
		o.site = s.drawSite()
		if k == frozen {
			o.site += uint32(s.Sites) // a site has objects of one kind
		}
		heap.Add(&s.site(o.site).Allocated, o.bytes)
	}
	a.Address, a.Bytes, a.Site, a.Thread = o.address, o.bytes, o.site, o.thread
	s.emit(a)
}

// drawBytes returns mostly small sizes, sometimes the smallest, sometimes those of several areas.
func (s *simulation) drawBytes() uint64 {
	switch n := s.r.IntN(100); {
	case n < 30:
		return 24
	case n < 90:
		return 24 + 8*uint64(s.r.IntN(20))
	case n < 96:
		return 24 + 8*uint64(s.r.IntN(int(s.UnitBytes/64)))
	case n < 99:
		return s.UnitBytes/2 + 8*uint64(s.r.IntN(int(s.UnitBytes/2)))
	}
	return s.UnitBytes * uint64(1+s.r.IntN(maxUnits))
}

func (s *simulation) drawKind(o *object) kind {
	switch n := s.r.IntN(50); {
	case o.bytes >= s.UnitBytes/2 || n == 0:
		return large
	case n == 1 && s.Pinned:
		return pinned
	case n == 2:
		return frozen
	}
	return small
}

// place finds room for a new object: in an area of generation 0 or of its kind, or in a new one.
func (s *simulation) place(o *object, k kind) {
	var open []*area
	for _, a := range s.areas {
		if a.kind == k && (k != small || a.last().generation == 0) {
			open = append(open, a)
		}
	}
	for range min(len(open), 2) {
		a := open[s.r.IntN(len(open))]
		if s.oneIn(10) {
			if at, ok := a.gap(a.last().start, o.bytes); ok {
				a.insert(o, at)
				return
			}
		}
		if a.limit-a.used >= o.bytes {
			a.insert(o, a.used)
			return
		}
	}
	a := s.newArea(k, o.bytes)
	a.insert(o, a.start)
}

// bounds are those of all pieces, in any order.
func (s *simulation) bounds() []heap.Bound {
	var bounds []heap.Bound
	shared := s.Segments && s.oneIn(2) // may the pieces of an area claim the same reserve?
	for _, a := range s.areas {
		for i, p := range a.pieces {
			end := a.pieceEnd(i)
			b := heap.Bound{Start: p.start, Length: end - p.start, Reserved: end - p.start, Generation: p.generation}
			if shared || i == len(a.pieces)-1 {
				b.Reserved = a.limit - p.start
			}
			bounds = append(bounds, b)
		}
	}
	slices.Reverse(bounds)
	if s.oneIn(2) {
		shuffle(s.r, bounds)
	}
	return bounds
}

func shuffle[T any](r Rand, list []T) {
	for i := len(list) - 1; i > 0; i-- {
		j := r.IntN(i + 1)
		list[i], list[j] = list[j], list[i]
	}
}

// kind is what an area is for.
type kind int

const (
	small kind = iota
	large
	pinned
	frozen
)

// generation is that of the objects of an area that is not for small ones.
func (k kind) generation() uint32 {
	switch k {
	case large:
		return wire.GenerationLarge
	case pinned:
		return wire.GenerationPinned
	}
	return 0
}
