package heap

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/clrprof/clrprof/internal/wire"
)

// errRecording is wrapped by every error of a Tracker: the events contradict each other.
var errRecording = errors.New("impossible recording")

// maxSite bounds the numbers of sites, which index a table. A compiler that compiles itself has 200,000.
const maxSite = 1 << 22

// object is a row of the table.
type object struct {
	address, bytes uint64
	site           uint32 // 0: the thread has not said it yet
	thread         uint32
	born           uint32 // collections started before its birth
	frozen         bool
	survived       bool // the last collection, of its generation
}

// collection is what is known of a collection that has not ended.
type collection struct {
	start  GCStart
	ranges []Range
}

// Tracker follows the objects of a recording. The zero value is ready.
type Tracker struct {
	Reasons func(GCStart) bool // of which collections Result.Reasons tells; nil: of none
	Ending  uint32             // number of the collection with which the program began to end; 0: none

	table    []object // sorted by address when a collection has ended; new ones are appended
	result   Result
	ends     []uint64 // when each collection ended
	reported []Change // by site, less one: the last ones
	now      *collection
	freed    map[[2]uint32]wire.Population // by site and generation
	cohorts  map[Cohort]wire.Population    // that were alive when the program began to end
	ended    bool
}

// Result returns what is known after the events so far. It shares memory with the tracker.
func (t *Tracker) Result() *Result { return &t.result }

// Objects returns how many objects there are, dead ones that no collection has found included.
func (t *Tracker) Objects() int { return len(t.table) }

// Add follows one event.
func (t *Tracker) Add(e Event) error {
	var err error
	switch e := e.(type) {
	case Alloc:
		err = t.alloc(e)
	case Attributed:
		err = t.attribute(e)
	case GCStart:
		err = t.start(e)
	case Moved:
		err = t.survivors(e.Ranges)
	case Survived:
		err = t.survivors(e.Ranges)
		if slices.ContainsFunc(e.Ranges, func(r Range) bool { return r.From != r.To }) {
			err = errors.New("a survivor that stays has moved")
		}
	case GCEnd:
		err = t.end(e)
	case End:
		t.ended = true
		return nil
	}
	if err == nil && t.ended {
		err = errors.New("it goes on after its end")
	}
	if err != nil {
		return fmt.Errorf("%w: collection %d: %w", errRecording, len(t.result.GCs), err)
	}
	return nil
}

func (t *Tracker) site(number uint32) (*Site, error) {
	if number == 0 || number > maxSite {
		return nil, fmt.Errorf("site %d", number)
	}
	for uint32(len(t.result.Sites)) < number {
		t.result.Sites = append(t.result.Sites, Site{})
	}
	return &t.result.Sites[number-1], nil
}

func (t *Tracker) alloc(a Alloc) error {
	if t.now != nil {
		return fmt.Errorf("an object is allocated at %#x while threads are stopped", a.Address)
	}
	if a.Address%8 != 0 || a.Bytes%8 != 0 || a.Bytes == 0 || a.Address+a.Bytes < a.Address {
		return fmt.Errorf("an object of %d bytes at %#x", a.Bytes, a.Address)
	}
	if a.Thread == 0 {
		site, err := t.site(a.Site)
		if err != nil {
			return err
		}
		Add(&site.Allocated, a.Bytes)
	}
	t.table = append(t.table, object{address: a.Address, bytes: a.Bytes, site: a.Site, thread: a.Thread,
		born: uint32(len(t.result.GCs)), frozen: a.Frozen})
	return nil
}

// attribute looks from the newest object on: threads do not wait long.
func (t *Tracker) attribute(s Attributed) error {
	site, err := t.site(s.Site)
	if err != nil {
		return err
	}
	for i := len(t.table) - 1; i >= 0; i-- {
		if o := &t.table[i]; o.thread == s.Thread {
			o.site, o.thread = s.Site, 0
			Add(&site.Allocated, o.bytes)
			return nil
		}
	}
	return fmt.Errorf("thread %d has no object without a site", s.Thread)
}

func (t *Tracker) start(s GCStart) error {
	if t.now != nil {
		return errors.New("a collection starts in another one")
	}
	t.now = &collection{start: s}
	if !t.result.AliveKnown {
		t.result.GCs = append(t.result.GCs, GC{Collected: s.Collected, Induced: s.Induced})
	}
	return nil
}

func (t *Tracker) survivors(ranges []Range) error {
	if t.now == nil {
		return errors.New("ranges outside a collection")
	}
	t.now.ranges = append(t.now.ranges, ranges...)
	return nil
}

// generations is GetGenerationBounds, sorted, without empty bounds.
type generations []Bound

// sortBounds also checks that no address is in two generations. Lengths count, not what is reserved: at the start and
// the end of a collection they are exact.
func sortBounds(bounds []Bound) (generations, error) {
	g := slices.DeleteFunc(slices.Clone(bounds), func(b Bound) bool { return b.Length == 0 })
	slices.SortFunc(g, func(a, b Bound) int { return cmp.Compare(a.Start, b.Start) })
	for i, b := range g {
		if b.Generation >= wire.GenerationCount {
			return nil, fmt.Errorf("generation %d", b.Generation)
		}
		if i > 0 && g[i-1].Start+g[i-1].Length > b.Start {
			return nil, fmt.Errorf("%#x is in generations %d and %d", b.Start, g[i-1].Generation, b.Generation)
		}
	}
	return g, nil
}

// of is the generation of an address; false: none, it is frozen.
func (g generations) of(address uint64) (uint32, bool) {
	i, exact := slices.BinarySearchFunc(g, address, func(b Bound, a uint64) int { return cmp.Compare(b.Start, a) })
	if !exact {
		i--
	}
	if i < 0 || address-g[i].Start >= g[i].Length {
		return 0, false
	}
	return g[i].Generation, true
}

// find returns the range with an address in it.
func find(sorted []Range, address uint64) (Range, bool) {
	i, exact := slices.BinarySearchFunc(sorted, address, func(r Range, a uint64) int { return cmp.Compare(r.From, a) })
	if !exact {
		i--
	}
	if i < 0 || address-sorted[i].From >= sorted[i].Length {
		return Range{}, false
	}
	return sorted[i], true
}

// end is the heart: it decides for each object whether it is alive and where.
func (t *Tracker) end(e GCEnd) error {
	now := t.now
	if now == nil {
		return errors.New("no collection ends here")
	}
	t.now = nil
	if t.result.AliveKnown {
		return nil // what dies now has been reported as alive
	}
	t.ends = append(t.ends, e.NS)
	before, err := sortBounds(now.start.Bounds)
	if err != nil {
		return fmt.Errorf("bounds at the start: %w", err)
	}
	after, err := sortBounds(e.Bounds)
	if err != nil {
		return fmt.Errorf("bounds at the end: %w", err)
	}
	if err := t.sort(); err != nil {
		return fmt.Errorf("before: %w", err)
	}
	ranges, err := t.sortRanges(now.ranges, before, after)
	if err != nil {
		return err
	}
	kept := t.table[:0]
	for _, o := range t.table {
		alive, err := t.decide(&o, ranges, before, after)
		if err != nil {
			return err
		}
		if alive {
			kept = append(kept, o)
		}
	}
	t.table = kept
	if err := t.sort(); err != nil {
		return fmt.Errorf("after: %w", err)
	}
	t.changes()
	for _, b := range after {
		t.result.GCs[len(t.result.GCs)-1].Generations[b.Generation].Extent += b.Length
	}
	if t.Reasons != nil && t.Reasons(now.start) {
		t.reasons()
	}
	if t.isEnding() {
		t.cohorts, t.freed = t.living(after, 0), map[[2]uint32]wire.Population{}
	}
	if now.start.Final {
		t.alive(after)
	}
	return nil
}

// sort sorts the table and checks that objects do not overlap.
func (t *Tracker) sort() error {
	slices.SortFunc(t.table, func(a, b object) int { return cmp.Compare(a.address, b.address) })
	for i := 1; i < len(t.table); i++ {
		if p, o := t.table[i-1], t.table[i]; p.address+p.bytes > o.address {
			return fmt.Errorf("an object at %#x lies in the one of %d bytes at %#x", o.address, p.bytes, p.address)
		}
	}
	return nil
}

// sortRanges also counts the gaps in them, one for each row of bytes without an object. What stays in generation 2 is
// not looked at: who is there has come from another one.
func (t *Tracker) sortRanges(ranges []Range, before, after generations) ([]Range, error) {
	gap := func(r Range, at uint64) {
		was, _ := before.of(at)
		is, _ := after.of(at)
		if r.From != r.To || was != 2 || is != 2 {
			t.result.Untracked++
		}
	}
	ranges = slices.DeleteFunc(ranges, func(r Range) bool { return r.Length == 0 })
	slices.SortFunc(ranges, func(a, b Range) int { return cmp.Compare(a.From, b.From) })
	i := 0
	for n, r := range ranges {
		end := r.From + r.Length
		if n > 0 && ranges[n-1].From+ranges[n-1].Length > r.From || end < r.From {
			return nil, fmt.Errorf("the range of %d bytes at %#x overlaps another one", r.Length, r.From)
		}
		for i < len(t.table) && t.table[i].address < r.From {
			i++
		}
		at := r.From
		for ; i < len(t.table) && t.table[i].address < end; i++ {
			if t.table[i].address > at {
				gap(r, at)
			}
			at = t.table[i].address + t.table[i].bytes
		}
		if at > end {
			return nil, fmt.Errorf("the range of %d bytes at %#x ends inside an object", r.Length, r.From)
		}
		if at < end {
			gap(r, at)
		}
	}
	return ranges, nil
}

// decide moves a survivor and counts a dead object.
func (t *Tracker) decide(o *object, ranges []Range, before, after generations) (alive bool, err error) {
	gc := &t.result.GCs[len(t.result.GCs)-1]
	o.survived = false
	was, known := before.of(o.address)
	r, survives := find(ranges, o.address)
	if !known && !o.frozen {
		return false, fmt.Errorf("the object at %#x is in no generation", o.address)
	}
	if last, fits := before.of(o.address + o.bytes - 1); known && (!fits || last != was) {
		return false, fmt.Errorf("the object of %d bytes at %#x is not in one generation", o.bytes, o.address)
	}
	if known && o.frozen {
		return false, fmt.Errorf("the frozen object at %#x is in generation %d", o.address, was)
	}
	if known {
		Add(&gc.Generations[was].Before, o.bytes)
	}
	if !known || gc.Collected>>was&1 == 0 {
		if survives {
			return false, fmt.Errorf("the range at %#x holds an object that is not of a collected generation", r.From)
		}
		if known {
			Add(&gc.Generations[was].After, o.bytes)
		}
		return true, nil
	}
	if !survives {
		Add(&gc.Generations[was].Dead, o.bytes)
		return false, t.bury(o, was)
	}
	o.address = r.To + (o.address - r.From)
	o.survived = true
	is, known := after.of(o.address)
	if last, fits := after.of(o.address + o.bytes - 1); !known || !fits || is != last {
		return false, fmt.Errorf("an object of %d bytes at %#x is not in one generation", o.bytes, o.address)
	}
	Add(&gc.Generations[is].After, o.bytes)
	if is > was && was < 2 {
		Add(&gc.Generations[was].Promoted, o.bytes)
	}
	return true, nil
}

func (t *Tracker) bury(o *object, generation uint32) error {
	if o.thread != 0 {
		return fmt.Errorf("the object at %#x is dead, and thread %d holds it", o.address, o.thread)
	}
	if t.cohorts != nil && o.born < t.Ending {
		key := [2]uint32{o.site, generation}
		sum := t.freed[key]
		Add(&sum, o.bytes)
		t.freed[key] = sum
		Add(&t.result.GCs[len(t.result.GCs)-1].Generations[generation].Freed, o.bytes)
		return nil
	}
	site := &t.result.Sites[o.site-1]
	Add(&site.Dead[generation], o.bytes)
	survived := uint32(len(t.result.GCs)) - 1 - o.born
	site.ByCollections[CollectionsBucket(survived)]++
	if survived > 0 {
		site.ByTime[TimeBucket(t.ends[len(t.ends)-1]-t.ends[o.born])]++
	}
	return nil
}

// changes notes the sites whose counters changed since the last collection.
func (t *Tracker) changes() {
	for i, s := range t.result.Sites {
		if i == len(t.reported) {
			t.reported = append(t.reported, Change{})
		}
		now := Change{Site: uint32(i) + 1, Allocated: s.Allocated, Dead: s.Dead}
		if now.Allocated != t.reported[i].Allocated || now.Dead != t.reported[i].Dead {
			t.reported[i] = now
			now.GC = len(t.result.GCs)
			t.result.Changes = append(t.result.Changes, now)
		}
	}
}

// reasons counts all objects that are in a generation and have a site.
func (t *Tracker) reasons() {
	sums := map[uint32]Reason{}
	for _, o := range t.table {
		if o.frozen || o.site == 0 {
			continue
		}
		sum := sums[o.site]
		if o.survived {
			Add(&sum.Survived, o.bytes)
		} else {
			Add(&sum.Uncollected, o.bytes)
		}
		sums[o.site] = sum
	}
	for _, site := range slices.Sorted(maps.Keys(sums)) {
		sum := sums[site]
		sum.GC, sum.Site = len(t.result.GCs), site
		t.result.Reasons = append(t.result.Reasons, sum)
	}
}

// isEnding reports whether the program began to end with the collection that ends.
func (t *Tracker) isEnding() bool { return t.Ending != 0 && uint32(len(t.result.GCs)) == t.Ending }

// living are the cohorts of all objects that are in a generation, have a site, and were not born earlier.
func (t *Tracker) living(after generations, born uint32) map[Cohort]wire.Population {
	cohorts := map[Cohort]wire.Population{}
	for _, o := range t.table {
		if g, ok := after.of(o.address); ok && o.site != 0 && o.born >= born {
			key := Cohort{Site: o.site, Generation: g, Born: o.born}
			p := cohorts[key]
			Add(&p, o.bytes)
			cohorts[key] = p
		}
	}
	return cohorts
}

// alive makes the cohorts of what is alive at the end: what was alive when the program began to end, where it was then,
// and what was born later.
func (t *Tracker) alive(after generations) {
	born := uint32(0)
	if t.cohorts != nil {
		born = t.Ending
	}
	cohorts := t.living(after, born)
	maps.Copy(cohorts, t.cohorts)
	t.result.Alive, t.result.AliveKnown = SortCohorts(cohorts), true
	for key, objects := range t.freed {
		t.result.Freed = append(t.result.Freed, Freed{Site: key[0], Generation: key[1], Objects: objects})
	}
	slices.SortFunc(t.result.Freed, CompareFreed)
}

// CompareFreed orders by site and generation.
func CompareFreed(a, b Freed) int {
	return cmp.Or(cmp.Compare(a.Site, b.Site), cmp.Compare(a.Generation, b.Generation))
}

// SortCohorts makes a list of cohorts that were added up by site, generation and birth.
func SortCohorts(sums map[Cohort]wire.Population) []Cohort {
	list := make([]Cohort, 0, len(sums))
	for c, objects := range sums {
		c.Objects = objects
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b Cohort) int {
		return cmp.Or(cmp.Compare(a.Site, b.Site), cmp.Compare(a.Generation, b.Generation), cmp.Compare(a.Born, b.Born))
	})
	return list
}
