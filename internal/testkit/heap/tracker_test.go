package heap

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/wire"
)

// track follows the events and fails the test if they are impossible.
func track(t *testing.T, events ...Event) *Tracker {
	t.Helper()
	tracker := &Tracker{Reasons: func(s GCStart) bool { return s.Induced }}
	for i, e := range events {
		if err := tracker.Add(e); err != nil {
			t.Fatalf("event %d, %+v: %v", i, e, err)
		}
	}
	return tracker
}

// TestWorkedExample is the example of "Object Tracking in the Profiling API": ten objects, of which those at 09, 13 and
// 19 are dead, and three blocks of survivors. Addresses are those of the article, in units of 24 bytes.
//
// The article's table of blocks gives the second one, 10 → 08, the length 2, which is its number of objects. By the
// article's own formula, old <= o < old + length, the object at 12 would then be in no block and dead, though its first
// table moves it to 10. The formula is right: lengths are not numbers of objects but end where the last object ends,
// here at 13. So the length is 3.
func TestWorkedExample(t *testing.T) {
	const unit = 24
	before := []uint64{8, 9, 10, 12, 13, 15, 16, 17, 18, 19, 20}
	after := map[uint64]uint64{8: 7, 10: 8, 12: 10, 15: 11, 16: 12, 17: 13, 18: 14}
	blocks := []Range{{8, 7, 1}, {10, 8, 3}, {15, 11, 4}}

	tracker := new(Tracker)
	for i, start := range before[:10] {
		if err := tracker.Add(Alloc{Address: start * unit, Bytes: (before[i+1] - start) * unit, Site: uint32(i) +
			1}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range blocks {
		blocks[i].From, blocks[i].To, blocks[i].Length = blocks[i].From*unit, blocks[i].To*unit, blocks[i].Length*unit
	}
	bounds := []Bound{{Start: 7 * unit, Length: 13 * unit, Reserved: 100 * unit}}
	for _, e := range []Event{GCStart{Collected: 1, Bounds: bounds}, Moved{blocks}, GCEnd{1, bounds}} {
		if err := tracker.Add(e); err != nil {
			t.Fatal(err)
		}
	}

	where := map[uint64]uint64{}
	for _, o := range tracker.table {
		where[before[o.site-1]] = o.address / unit
	}
	if diff := cmp.Diff(after, where); diff != "" {
		t.Error(diff)
	}
	for i, site := range tracker.Result().Sites {
		_, alive := after[before[i]]
		if dead := site.Dead[0].Objects == 1; dead == alive {
			t.Errorf("object %02d: dead %v, alive %v", before[i], dead, alive)
		}
	}

	// With the length of the article's table the object at 12 lies behind the end of its block.
	blocks[1].Length = 2 * unit
	if _, found := find(blocks, 12*unit); found {
		t.Error("the formula finds object 12 in a block of length 2")
	}
}

func bound(generation uint32, start, length uint64) Bound {
	return Bound{Start: start, Length: length, Reserved: length, Generation: generation}
}

func stay(from, length uint64) Range { return Range{from, from, length} }

func objects(n, bytes uint64) wire.Population { return wire.Population{Objects: n, Bytes: bytes} }

// TestDeaths is a life of five objects through three collections, followed by hand.
func TestDeaths(t *testing.T) {
	first := []Bound{bound(0, 0x1000, 0x1000), bound(3, 0x8000, 0x4000), bound(4, 0xC000, 0)}
	second := []Bound{bound(1, 0x1000, 0x1000), bound(0, 0x2000, 0x1000), bound(3, 0x8000, 0x4000)}
	third := []Bound{bound(2, 0x1000, 0x1000), bound(1, 0x2000, 0x1000), bound(0, 0x4000, 0x1000),
		bound(3, 0x8000, 0x4000)}
	got := track(t,
		Alloc{Address: 0x1000, Bytes: 24, Site: 1},
		Alloc{Address: 0x1018, Bytes: 32, Site: 1},
		Alloc{Address: 0x8000, Bytes: 0x3000, Site: 2},
		Alloc{Address: 0x90000, Bytes: 40, Site: 3, Frozen: true},
		// A collection of generation 0 kills the object at 0x1000 and leaves the other one where it is, in what is now
		// generation 1. The large object is not collected.
		GCStart{Collected: 1, Bounds: first},
		Survived{[]Range{stay(0x1018, 32)}},
		GCEnd{1e6, second},
		Alloc{Address: 0x2000, Bytes: 48, Thread: 7},
		// Both small objects move, the new one into the place of the old.
		GCStart{Collected: 3, Induced: true, Bounds: second},
		Moved{[]Range{{0x2000, 0x1018, 48}, {0x1018, 0x2000, 32}}},
		GCEnd{3e6, third},
		Attributed{7, 2},
		// The last one kills the object of site 1, which went back to generation 1, and the large one.
		GCStart{Collected: 31, Induced: true, Final: true, Bounds: third},
		Survived{[]Range{stay(0x1018, 48)}},
		GCEnd{14e6, third},
		End{},
	).Result()
	want := &Result{
		Sites: []Site{
			{Allocated: objects(2, 56), Dead: [5]wire.Population{0: objects(1, 24), 1: objects(1, 32)},
				ByCollections: [8]uint64{0: 1, 2: 1}, ByTime: [8]uint64{2: 1}},
			{Allocated: objects(2, 0x3000+48), Dead: [5]wire.Population{3: objects(1, 0x3000)},
				ByCollections: [8]uint64{2: 1}, ByTime: [8]uint64{2: 1}},
			{Allocated: objects(1, 40)},
		},
		GCs: []GC{
			{Collected: 1, Generations: [5]wire.GCGeneration{
				{Before: objects(2, 56), Dead: objects(1, 24), Promoted: objects(1, 32), Extent: 0x1000},
				{After: objects(1, 32), Extent: 0x1000},
				3: {Before: objects(1, 0x3000), After: objects(1, 0x3000), Extent: 0x4000}}},
			{Collected: 3, Induced: true, Generations: [5]wire.GCGeneration{
				{Before: objects(1, 48), Promoted: objects(1, 48), Extent: 0x1000},
				{Before: objects(1, 32), After: objects(1, 32), Extent: 0x1000}, {After: objects(1, 48), Extent: 0x1000},
				{Before: objects(1, 0x3000), After: objects(1, 0x3000), Extent: 0x4000}}},
			{Collected: 31, Induced: true, Generations: [5]wire.GCGeneration{
				{Extent: 0x1000}, {Before: objects(1, 32), Dead: objects(1, 32), Extent: 0x1000},
				{Before: objects(1, 48), After: objects(1, 48), Extent: 0x1000},
				{Before: objects(1, 0x3000), Dead: objects(1, 0x3000), Extent: 0x4000}}},
		},
		Alive:      []Cohort{{Site: 2, Generation: 2, Born: 1, Objects: objects(1, 48)}},
		AliveKnown: true,
		Changes: []Change{
			{GC: 1, Site: 1, Allocated: objects(2, 56), Dead: [5]wire.Population{0: objects(1, 24)}},
			{GC: 1, Site: 2, Allocated: objects(1, 0x3000)},
			{GC: 1, Site: 3, Allocated: objects(1, 40)},
			{GC: 3, Site: 1, Allocated: objects(2, 56), Dead: [5]wire.Population{0: objects(1, 24), 1: objects(1, 32)}},
			{GC: 3, Site: 2, Allocated: objects(2, 0x3000+48), Dead: [5]wire.Population{3: objects(1, 0x3000)}},
		},
		Reasons: []Reason{ // that of thread 7 has no site in collection 2
			{GC: 2, Site: 1, Survived: objects(1, 32)},
			{GC: 2, Site: 2, Uncollected: objects(1, 0x3000)},
			{GC: 3, Site: 2, Survived: objects(1, 48)},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestUntracked(t *testing.T) {
	bounds, old := []Bound{bound(0, 0x1000, 0x1000)}, []Bound{bound(2, 0x1000, 0x1000)}
	// before, between, behind; and one without any object
	survived := Survived{[]Range{stay(0x1000, 0x78), stay(0x1100, 0x40)}}
	got := track(t,
		Alloc{Address: 0x1018, Bytes: 24, Site: 1},
		Alloc{Address: 0x1048, Bytes: 24, Site: 1},
		GCStart{Collected: 1, Bounds: bounds},
		survived,
		GCEnd{1, old},
		GCStart{Collected: 31, Bounds: old},
		survived, // nobody looks at what stays in generation 2
		GCEnd{2, old},
		GCStart{Collected: 31, Bounds: old},
		Moved{[]Range{{From: 0x1000, To: 0x1010, Length: 0x78}}},
		GCEnd{3, old},
	).Result()
	if got.Untracked != 4+3 {
		t.Errorf("%d gaps, want 7", got.Untracked)
	}
	if got.GCs[0].Generations[0].Before != objects(2, 48) || got.GCs[0].Generations[0].Dead.Objects != 0 {
		t.Errorf("%+v", got.GCs[0])
	}
}

func TestBuckets(t *testing.T) {
	for survived, want := range map[uint32]int{0: 0, 1: 1, 2: 2, 3: 3, 4: 3, 5: 4, 8: 4, 9: 5, 16: 5, 17: 6, 64: 6,
		65: 7, 1 << 31: 7} {
		if got := CollectionsBucket(survived); got != want {
			t.Errorf("%d collections: bucket %d, want %d", survived, got, want)
		}
	}
	for ns, want := range map[uint64]int{0: 0, 1e6 - 1: 0, 1e6: 1, 1e7 - 1: 1, 1e7: 2, 1e8: 3, 1e9: 4, 1e10: 5, 1e11: 6,
		1e12 - 1: 6, 1e12: 7, 1 << 63: 7} {
		if got := TimeBucket(ns); got != want {
			t.Errorf("%d ns: bucket %d, want %d", ns, got, want)
		}
	}
}

func TestImpossible(t *testing.T) {
	gen0 := []Bound{bound(0, 0x1000, 0x1000)}
	start := GCStart{Collected: 1, Bounds: gen0}
	at := func(address uint64) Alloc { return Alloc{Address: address, Bytes: 24, Site: 1} }
	for name, events := range map[string][]Event{
		"allocation in a collection": {start, at(0x1000)},
		"no bytes":                   {Alloc{Address: 0x1000, Site: 1}},
		"odd address":                {at(0x1001)},
		"no site":                    {Alloc{Address: 0x1000, Bytes: 24}},
		"collection in another":      {start, start},
		"ranges outside":             {Moved{}},
		"end without start":          {GCEnd{}},
		"after the end":              {End{}, at(0x1000)},
		"a survivor that stays goes": {start, Survived{[]Range{{0x1000, 0x1100, 24}}}},
		"unknown thread":             {Attributed{1, 1}},
		"objects overlap":            {at(0x1000), at(0x1010), start, GCEnd{1, gen0}},
		"objects come to overlap": {at(0x1000), at(0x1018), start,
			Moved{[]Range{stay(0x1000, 24), {0x1018, 0x1010, 24}}}, GCEnd{1, gen0}},
		"ranges overlap": {at(0x1000), start, Moved{[]Range{stay(0x1000, 24), stay(0x1010, 24)}},
			GCEnd{1, gen0}},
		"range ends in an object": {at(0x1000), start, Moved{[]Range{stay(0x1000, 16)}}, GCEnd{1, gen0}},
		"bounds overlap":          {GCStart{Bounds: []Bound{bound(0, 0, 16), bound(1, 8, 8)}}, GCEnd{}},
		"unknown generation":      {start, GCEnd{1, []Bound{bound(5, 0, 16)}}},
		"in no generation":        {at(0x3000), start, GCEnd{1, gen0}},
		"frozen in a generation":  {Alloc{Address: 0x1000, Bytes: 24, Site: 1, Frozen: true}, start, GCEnd{1, gen0}},
		"to no generation":        {at(0x1000), start, Moved{[]Range{{0x1000, 0x3000, 24}}}, GCEnd{1, gen0}},
		"range of another generation": {at(0x1000), GCStart{Collected: 2, Bounds: gen0},
			Moved{[]Range{stay(0x1000, 24)}},
			GCEnd{1, gen0}},
		"dead, and a thread holds it": {Alloc{Address: 0x1000, Bytes: 24, Thread: 1}, start, GCEnd{1, gen0}},
	} {
		t.Run(name, func(t *testing.T) {
			var err error
			tracker := new(Tracker)
			for i, e := range events {
				if err = tracker.Add(e); err != nil && i != len(events)-1 {
					t.Fatalf("event %d already: %v", i, err)
				}
			}
			if !errors.Is(err, errRecording) {
				t.Errorf("error %v", err)
			}
		})
	}
}
