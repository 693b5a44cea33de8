// Package launch starts a command under the agent.
//
// The environment does the work: the .NET runtime reads CORECLR_ENABLE_PROFILING and loads the library that
// CORECLR_PROFILER_PATH names. The runtime of every .NET child process does the same, because it inherits the
// environment. The agent finds the directory for its arena in CLRPROF_ARENAS.
//
// That directory is the only thing shared with the target. Only the user can read it. The collector holds its lock
// for as long as it lives. A directory whose lock is free belongs to a collector that was killed, and the next run
// removes it (see NewDirectory).
package launch
