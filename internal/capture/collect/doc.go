// Package collect reads arenas, and what the system reports about their processes, into a recording.
//
// Problem: the target can die at any moment, and so can the collector. In both cases, what was counted until then
// must be readable. A run can be long, so the session is cut into slices of time.
//
// Idea: everything in an arena except the counters only grows. A Recorder remembers how far it has read each arena.
// Sync passes to the recording what is new, and the counters of each site, which makes one slice and one transaction.
// The last Sync, after the target's end, makes the sums exact. Package recording knows the structure of a session;
// only this package knows that of an arena.
//
// Ids: those of an arena belong to one process; the recording gives those of the session. The agent describes a thing
// again when its memory was reused or unloaded; the recording has one row for equal descriptions.
//
// Times: the agent counts calls and intervals by timings, one for each function, thread and place from which it was
// called. They become nodes of the tree that the stacks of allocations are in, so that each place of a call has its
// own exclusive time. Counters stay ticks until they are added up, because a sum of converted numbers would lose a
// part of a nanosecond in each. What is open when a process, or the recording, ends is added once, at the very end:
// until then it is not known to which function it will belong.
package collect
