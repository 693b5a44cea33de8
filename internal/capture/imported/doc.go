// Package imported makes sessions of files that other tools recorded: nettrace, as dotnet-trace and dotnet-monitor
// write it.
//
// Problem: what such a file has is in other words than what an agent tells. Its stacks are addresses, and which methods
// these are in comes only at its end. It has samples of allocations, not counts, and it lacks most of what a session
// can have.
//
// Idea: read the file once, and keep of it what is different: stacks, sites, methods, and for each sample its time and
// its site. Then tell a recording.Process of it, as any source does: names first, then slices in the order of time. A
// sample stands for as many objects as one of clrprof attach --sampled does, so everything behind the session shows
// estimates, and nothing behind it knows that a file was imported.
//
// A module's file is only looked at if it is the one that was loaded, which its symbols tell: the id of the PDB is in
// the events. Of another build at the same path nothing is taken.
//
// Limits: named below. What exceeds one is counted as lost, and what cannot be true of any file is an error, as files
// come from anywhere. Samples of processors, and all other kinds of events, are left out and counted (Result.LeftOut).
package imported
