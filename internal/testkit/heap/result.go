package heap

import "github.com/clrprof/clrprof/internal/wire"

// Result is what a recording says of the objects. Two results are of the same heap if they are equal.
type Result struct {
	Sites      []Site // by number, less one
	GCs        []GC
	Alive      []Cohort // after the final GC, sorted by site, generation, birth
	AliveKnown bool     // there was a final GC
	Freed      []Freed  // of those that were alive when the program began to end, sorted by site and generation
	Changes    []Change // from each collection to the next, sorted by collection and site
	Reasons    []Reason // of the collections that Tracker.Reasons asks for, sorted by collection and site
	Untracked  uint64   // gaps without an object inside ranges of survivors, over all collections
}

// Site is what became of the objects of one site.
type Site struct {
	Allocated wire.Population
	// by the generation in which they were when they were found dead
	Dead          [wire.GenerationCount]wire.Population
	ByCollections [wire.AgeGCBuckets]uint64   // the dead, by the collections that they survived
	ByTime        [wire.AgeTimeBuckets]uint64 // those of them that survived any, by the time since the first
}

// GC is one collection.
type GC struct {
	Collected   uint32
	Induced     bool
	Generations [wire.GenerationCount]wire.GCGeneration
}

// Change is what a site's counters are at the end of a collection, if one of them is not what it was at the end of the
// one before.
type Change struct {
	GC        int // from 1
	Site      uint32
	Allocated wire.Population
	Dead      [wire.GenerationCount]wire.Population
}

// Reason is how many objects of a site there are after a collection, and why.
type Reason struct {
	GC          int // from 1
	Site        uint32
	Uncollected wire.Population // their generation was not collected
	Survived    wire.Population // they are in a range
}

// Cohort is the objects of one site, born between the same two collections, in one generation.
type Cohort struct {
	Site, Generation, Born uint32 // Born: collections before
	Objects                wire.Population
}

// Freed is the objects of one site that were alive when the program began to end, and were found dead later in one
// generation. They are alive at the end, and no deaths of their site.
type Freed struct {
	Site, Generation uint32
	Objects          wire.Population
}

// most is the greatest number of survived collections in each bucket of wire.Ages but the last.
var most = [wire.AgeGCBuckets - 1]uint32{0, 1, 2, 4, 8, 16, 64}

// CollectionsBucket is the bucket of ages of an object that survived so many collections.
func CollectionsBucket(survived uint32) int {
	for i, m := range most {
		if survived <= m {
			return i
		}
	}
	return wire.AgeGCBuckets - 1
}

// TimeBucket is the bucket of ages of an object that became so old: under 1 ms, 10 ms, and so on.
func TimeBucket(ns uint64) int {
	bucket := 0
	for limit := uint64(1e6); bucket < wire.AgeTimeBuckets-1 && ns >= limit; limit *= 10 {
		bucket++
	}
	return bucket
}

// Add counts one more object.
func Add(p *wire.Population, bytes uint64) {
	p.Objects++
	p.Bytes += bytes
}
