package replay

import (
	"path/filepath"
	"testing"

	"github.com/clrprof/clrprof/internal/testkit/differ"
	"github.com/clrprof/clrprof/internal/testkit/heap"
)

// compareEvents lets tracker and agent follow events made by hand.
func compareEvents(t *testing.T, events func(emit func(heap.Event))) *heap.Result {
	t.Helper()
	dir := scratch(t)
	path := filepath.Join(t.TempDir(), "recording")
	tracker := new(heap.Tracker)
	if err := write(path, events, tracker); err != nil {
		t.Fatal(err)
	}
	if err := run(build(t, ""), dir, []string{"CLRPROF_ROOTS=off"}, path); err != nil {
		t.Fatal(err)
	}
	got, err := readArena(filepath.Join(dir, "recording"))
	if err != nil {
		t.Fatal(err)
	}
	got.nothingLost(t)
	if diff := differ.Of(tracker.Result(), &got.result); diff != "" {
		t.Errorf("tracker (-) and agent (+) differ: %s", diff)
	}
	return tracker.Result()
}

// TestManyRegions is a heap of 40 GiB in 10,000 regions, and collections with as many ranges in one batch: more than
// the agent has room for at first.
func TestManyRegions(t *testing.T) {
	const regions, size = 10_000, 4 << 20
	start := func(i int) uint64 { return 0x7f00_0000_0000 + uint64(i)*size + 0x28 }
	r := compareEvents(t, func(emit func(heap.Event)) {
		var born, bounds []heap.Bound
		var stay, ranges []heap.Range
		for i := range regions {
			bounds = append(bounds, heap.Bound{Start: start(i), Length: 0x200, Reserved: size - 0x28,
				Generation: uint32(i % 3)})
			born = append(born, bounds[i])
			born[i].Generation = 0
			stay = append(stay, heap.Range{From: start(i) + 0x18, To: start(i) + 0x18, Length: 0x100})
			emit(heap.Alloc{Address: start(i) + 0x18, Bytes: 0x100, Site: uint32(i%7) + 1})
			if i%3 != 0 { // every third region changes places with its neighbour, and one of them dies out
				to := i ^ 1
				ranges = append(ranges, heap.Range{From: start(i) + 0x18, To: start(to) + 0x20, Length: 0x100})
			}
		}
		emit(heap.GCStart{Collected: 1, Bounds: born})
		emit(heap.Survived{Ranges: stay})
		emit(heap.GCEnd{NS: 1, Bounds: bounds})
		emit(heap.GCStart{Collected: 31, Bounds: bounds})
		emit(heap.Moved{Ranges: ranges})
		emit(heap.GCEnd{NS: 2, Bounds: bounds})
		emit(heap.GCStart{Collected: 31, Induced: true, Asked: true, Final: true, Bounds: bounds})
		emit(heap.GCEnd{NS: 3, Bounds: bounds})
		emit(heap.End{})
	})
	if dead := r.GCs[1].Generations[0].Dead.Objects; dead != (regions+2)/3 {
		t.Errorf("%d dead in generation 0", dead)
	}
}

// TestHugeObjects has arrays of 4, 24 and nearly 32 GiB among small objects of a large object heap, which move by less
// than their size.
func TestHugeObjects(t *testing.T) {
	const base = 0x7e00_0000_0000
	sizes := []uint64{24, 4<<30 + 24, 100_000, 24<<30 + 16, 24, 32<<30 - 8, 32}
	compareEvents(t, func(emit func(heap.Event)) {
		bounds := []heap.Bound{{Start: base, Length: 80 << 30, Reserved: 100 << 30, Generation: 3}}
		at := uint64(base)
		var down []heap.Range
		for i, bytes := range sizes {
			emit(heap.Alloc{Address: at, Bytes: bytes, Site: uint32(i) + 1})
			if i > 0 {
				down = append(down, heap.Range{From: at, To: at - sizes[0], Length: bytes})
			}
			at += bytes
		}
		emit(heap.GCStart{Collected: 31, Bounds: bounds})
		emit(heap.Moved{Ranges: down})
		emit(heap.GCEnd{NS: 1, Bounds: bounds})
		emit(heap.GCStart{Collected: 31, Bounds: bounds})
		emit(heap.Survived{Ranges: []heap.Range{{From: base, To: base, Length: sizes[1]}}})
		emit(heap.GCEnd{NS: 2, Bounds: bounds})
		emit(heap.GCStart{Collected: 31, Induced: true, Asked: true, Final: true, Bounds: bounds})
		emit(heap.Survived{Ranges: []heap.Range{{From: base, To: base, Length: sizes[1]}}})
		emit(heap.GCEnd{NS: 3, Bounds: bounds})
		emit(heap.End{})
	})
}

// TestShift has a range whose destination is the next one's source, over and over: all objects move up by one
// place, and then down again.
func TestShift(t *testing.T) {
	const base, n, bytes = 0x7f12_33F0_0028, 100_000, 24 // over the end of a chunk of the shadow
	compareEvents(t, func(emit func(heap.Event)) {
		bounds := []heap.Bound{{Start: base, Length: (n + 1) * bytes, Reserved: 8 << 20}}
		for i := range uint64(n) {
			emit(heap.Alloc{Address: base + i*bytes, Bytes: bytes, Site: uint32(i%100) + 1})
		}
		for gc := range uint64(4) {
			emit(heap.GCStart{Collected: 1, Bounds: bounds})
			var ranges []heap.Range
			for i := range uint64(n) {
				from, to := base+(i+gc%2)*bytes, base+(i+1-gc%2)*bytes
				ranges = append(ranges, heap.Range{From: from, To: to, Length: bytes})
			}
			emit(heap.Moved{Ranges: ranges})
			emit(heap.GCEnd{NS: gc, Bounds: bounds})
		}
		emit(heap.GCStart{Collected: 1, Bounds: bounds})
		emit(heap.GCEnd{NS: 9, Bounds: bounds})
		emit(heap.End{})
	})
}

// TestAges has objects that survived 0, 1, 2, … 70 collections when all die at once: every border of the buckets.
func TestAges(t *testing.T) {
	const base, most = 0x7f12_3400_0028, 70
	r := compareEvents(t, func(emit func(heap.Event)) {
		bounds := []heap.Bound{{Start: base, Length: 24 * (most + 1), Reserved: 4 << 20}}
		for i := range uint64(most + 1) {
			emit(heap.Alloc{Address: base + 24*i, Bytes: 24, Site: 1})
			emit(heap.GCStart{Collected: 1, Bounds: bounds})
			if i < most {
				emit(heap.Survived{Ranges: []heap.Range{{From: base, To: base, Length: 24 * (i + 1)}}})
			}
			emit(heap.GCEnd{NS: i * 1e6, Bounds: bounds})
		}
		emit(heap.End{})
	})
	if diff := differ.Of([8]uint64{1, 1, 1, 2, 4, 8, 48, 6}, r.Sites[0].ByCollections); diff != "" {
		t.Error(diff)
	}
}
