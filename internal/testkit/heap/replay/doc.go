// Package replay holds the tests that give one recording of a garbage-collected heap both to the reference tracker and
// to the agent's real code (agent/test/replay.c), and compare every counter of every site and collection. Recordings
// are simulated ones, and those of real runtimes, which a variant of the agent writes (agent/test/record.c).
package replay
