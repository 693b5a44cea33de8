// Package launch starts a command under the agent.
//
// The environment does the work: the .NET runtime reads CORECLR_ENABLE_PROFILING and loads the library that
// CORECLR_PROFILER_PATH names, and so does the runtime of every .NET child process, since the environment is
// inherited. The agent finds the directory for its arena in CLRPROF_ARENAS.
//
// That directory is the only thing shared with the target. It is readable by the user alone, its lock is held while
// the collector lives, and a directory whose lock is free belongs to a collector that was killed: the next run
// removes it (see NewDirectory).
package launch
