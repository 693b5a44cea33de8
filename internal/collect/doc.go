// Package collect reads arenas, and what the system says of their processes, into a recording.
//
// Problem: the target can die at any moment, and so can the collector; whichever does, what was counted until then
// must be readable. And a run can be long, so the session is cut into slices of time.
//
// Idea: everything in an arena but the counters only grows. A Recorder remembers how far it has read each arena, and
// Sync tells the recording what is new, and for each site what its counters are, which makes one slice and one
// transaction. The last Sync, after the target's end, makes the sums exact. What a session is made of, package
// recording knows; what an arena is made of, only this one.
//
// Ids: those of an arena belong to one process; the recording gives those of the session. The agent describes a thing
// again when its memory was reused or unloaded; the recording has one row for equal descriptions.
//
// Times: the agent counts calls and intervals by timings, one for each function, thread and place from which it was
// called. They become nodes of the tree that the stacks of allocations are in, so that each place of a call has its
// own exclusive time. Counters stay ticks until they are added up, because a sum of converted numbers would lose a part
// of a nanosecond in each. What is open when a process, or the recording, ends is added once, at the very end: until
// then nobody can know to which function it will belong.
package collect
