package timing

import (
	"encoding/binary"

	"github.com/clrprof/clrprof/internal/wire"
)

// Recording is what happened in the threads of a process, in the order in which it happened, for a replay to the agent
// (agent/test/replay_time.c). Its encoding is a header of 7 numbers and events of 13, each of 64 bits, little-endian.
type Recording struct {
	Limits   Limits
	Overhead wire.Overhead
	Base     uint64 // no stack pointer is above
	Flags    uint64
	Events   []ThreadEvent
}

// ThreadEvent is an event of a thread, by its number from 1.
type ThreadEvent struct {
	Thread int
	Event
}

// Flags of a recording: what the agent meets besides.
const (
	FlagTSC        = 1 << iota // the clock is the time-stamp counter
	FlagFalseAlarm             // the operating system seems to have acted and has not
	FlagGap                    // long intervals are looked at
	FlagBlocks                 // see Counters.Blocks
)

const recordingMagic = 0x32656d6974726c63 // "clrtime2"

// Append encodes the recording at the end of b, without what a profiler does not get.
func (r *Recording) Append(b []byte) []byte {
	n := 0
	for _, e := range r.Events {
		if e.Kind != KindVanished {
			n++
		}
	}
	b = numbers(b, recordingMagic, uint64(n), uint64(r.Limits.Timings), r.Overhead.Inside, r.Overhead.Outside,
		r.Base, r.Flags)
	for _, e := range r.Events {
		if e.Kind != KindVanished {
			b = numbers(b, uint64(e.Kind), uint64(e.Class), uint64(e.Function), e.CallerSP, e.ReturnAddress, e.Clock,
				e.OS.Voluntary,
				e.OS.Preempted, e.OS.Faults, e.OS.Reads, e.OS.Blocked, e.OS.Ready, uint64(e.Thread))
		}
	}
	return b
}

func numbers(b []byte, list ...uint64) []byte {
	for _, n := range list {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	return b
}
