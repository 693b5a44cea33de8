// Package replay holds the tests that give one recording of calls and exceptions both to timing.Counters and to the
// agent's real code (agent/test/replay_time.c), and compare every field of every timing. Recordings are simulated ones.
package replay
