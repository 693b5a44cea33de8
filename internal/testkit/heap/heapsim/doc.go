// Package heapsim is a made-up garbage-collected heap that reports what a profiler would get, as a recording of
// package heap, and knows what became of each object.
//
// # Why
//
// Real runtimes do the common things millions of times and the rare ones seldom: a region with pinned objects that goes
// back to generation 0, a survivor in the place where another survivor was, a compacted large object heap. Here all of
// it happens all the time, and at random: what is right for every recording of this package does not rest on habits of
// a runtime.
//
// # The heap
//
// It consists of areas, each with its objects in the order of their addresses, and with pieces that belong to
// generations. With regions (.NET 7 and later) an area has one piece; with segments, generations 2, 1 and 0 are
// consecutive pieces of one area. New objects come into generation 0, into an area for large or one for pinned objects,
// or onto the frozen heap; behind the last one or in a gap. Areas that became empty are given back, and others may come
// into their place.
//
// # A collection
//
// It collects generation 0, or 0 and 1, or all. For each object of those it is drawn whether it dies. Each area is
// swept, then nothing moves, or compacted, then what is not pinned moves, in rows of neighbours, down in its area or
// into gaps of any area, collected or not, in any order. Then each area that was collected gets a generation, mostly
// the next, sometimes the same or a lower one, whether its objects moved or not. The ranges of survivors are reported
// in any order and in several batches, unmoved ones by either callback.
//
// The truth is counted on the objects themselves as they die, without addresses, ranges or bounds.
//
// # Limits
//
// One call of Run holds all its objects, and looks for gaps by walking: made for some thousand objects at a time.
// References between objects are not simulated.
package heapsim
