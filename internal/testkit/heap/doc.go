// Package heap is the reference for what became of the objects of a garbage-collected heap: slow, plain and easy to
// believe. Tests compare the agent with it; nothing else uses it.
//
// # The problem
//
// An ObjectID is an address, and the garbage collector moves objects. The runtime does not tell of each object: before
// it moves anything it gives ranges (old start, new start, length) of adjacent survivors, in any order, in several
// batches, with server GC from several threads. What is in no range is dead, if its generation was collected at all.
//
// # The idea
//
// A recording is what a profiler gets, in the order in which it gets it: allocations, and for each collection the
// generations that it collects, where the generations are, the ranges, and where the generations are afterwards. The
// Tracker keeps a table of all objects, sorted by address, and at the end of each collection does what the
// documentation of MovedReferences says:
//
//	oldObjectIDRangeStart[i] <= oldObjectID < oldObjectIDRangeStart[i] + cObjectIDRangeLength[i]
//	newObjectID = newObjectIDRangeStart[i] + (oldObjectID - oldObjectIDRangeStart[i])
//
// SurvivingReferences gives the same ranges without a new start: nothing has moved. The generation of an object is that
// of its address by GetGenerationBounds, at the start of the collection for what it was and at its end for what it
// became. An object in no generation is on the frozen heap and never dies. One in a generation that was not collected
// survives where it is.
//
// # Invariants
//
// For each site, at any time: objects allocated = dead, by generation + objects in the table; the same in bytes. The
// table never holds two objects that overlap. Ranges of one collection do not overlap either and hold only objects of
// collected generations. A recording that breaks one of these is an error and not a guess.
//
// # Limits
//
// Every collection sorts and visits the whole table, so a recording should not keep more than a few million objects
// alive. Sites are numbered from 1 without large gaps (maxSite). Encoded recordings hold at most maxRows ranges in a
// batch and as many bounds.
package heap
