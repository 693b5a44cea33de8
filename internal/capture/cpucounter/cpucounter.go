// Package cpucounter knows the processor's and the kernel's counters of a thread, by name, and whether this machine
// allows reading them.
//
// The kernel's counters come from getrusage(2) and the clock of the thread's processor time. Every user may read
// them, and they include system calls. The processor's counters are read by perf events (perf_event_open(2)), of user
// mode only: on most systems perf_event_paranoid leaves more than that to root, and a number should not have two
// meanings. System calls and migrations are reported only by the kernel's own perf events, for which a user needs
// that permission.
package cpucounter

import (
	"fmt"
	"strings"

	"github.com/clrprof/clrprof/internal/wire"
)

// Counter is one of them.
type Counter struct {
	Name     string
	Unit     string // count or ns
	Meaning  string
	Hardware bool   // the processor counts it
	Kind     uint32 // where the agent reads it: wire.CounterFaults and so on
	Type     uint32 // of a perf event: perf_event_attr.type
	Config   uint64 // and config; of a tracepoint this machine says it: see Here
}

// Types of perf events (linux/perf_event.h).
const (
	typeHardware   = 0
	typeSoftware   = 1
	typeTracepoint = 2
	typeCache      = 3
)

// Operations and results of a cache, as they are in the config of a perf event.
const (
	cacheRead   = 0 << 8
	cacheAccess = 0 << 16
	cacheMiss   = 1 << 16
)

// Caches.
const (
	cacheL1Data       = 0
	cacheL1Code       = 1
	cacheLast         = 2
	cacheDataPages    = 3
	cacheCodePages    = 4
	perfUserFaults    = 2 // PERF_COUNT_SW_PAGE_FAULTS
	perfMigrations    = 4 // PERF_COUNT_SW_CPU_MIGRATIONS
	unitCount, unitNS = "count", "ns"
)

// All returns all counters: first what the kernel counts, then what processors count.
func All() []Counter {
	kernel := func(name, unit, meaning string, kind uint32) Counter {
		return Counter{Name: name, Unit: unit, Meaning: meaning, Kind: kind}
	}
	event := func(name, meaning string, kind uint32, config uint64) Counter {
		return Counter{Name: name, Unit: unitCount, Meaning: meaning, Hardware: kind != typeSoftware,
			Kind: wire.CounterPerf, Type: kind, Config: config}
	}
	return []Counter{
		kernel("page-faults", unitCount, "page faults, including those in system calls", wire.CounterFaults),
		kernel("minor-faults", unitCount, "of these: without the disk", wire.CounterMinorFaults),
		kernel("major-faults", unitCount, "of these: with the disk", wire.CounterMajorFaults),
		kernel("context-switches", unitCount, "how often the thread lost its processor", wire.CounterSwitches),
		kernel("voluntary-switches", unitCount, "of these: because it waited", wire.CounterVoluntary),
		kernel("preemptions", unitCount, "of these: because another thread was given the processor",
			wire.CounterPreempted),
		kernel("block-reads", unitCount, "blocks of 512 bytes that were read from a disk", wire.CounterReads),
		kernel("block-writes", unitCount, "blocks that will be written to a disk: counted when memory of a file is "+
			"changed",
			wire.CounterWrites),
		kernel("task-clock", unitNS, "processor time, as the kernel counts it", wire.CounterTaskClock),
		event("user-page-faults", "page faults of the program's own instructions (a perf event)", typeSoftware,
			perfUserFaults),
		{Name: "system-calls", Unit: unitCount, Meaning: "system calls; one that is restarted after a signal " +
			"counts again",
			Kind: wire.CounterCalls, Type: typeTracepoint},
		{Name: "migrations", Unit: unitCount, Meaning: "moves of the thread to another processor",
			Kind: wire.CounterMigrations, Type: typeSoftware, Config: perfMigrations},

		event("cycles", "cycles of the processor, at its current rate", typeHardware, 0),
		event("instructions", "instructions that were completed", typeHardware, 1),
		event("cache-references", "accesses to the last-level cache, as the processor's maker defines them", typeHardware, 2),
		event("cache-misses", "of these: that went to memory", typeHardware, 3),
		event("branches", "branches that were completed", typeHardware, 4),
		event("branch-misses", "of these: that were not as predicted", typeHardware, 5),
		event("bus-cycles", "cycles of the bus", typeHardware, 6),
		event("stalled-cycles-frontend", "cycles in which no instructions came", typeHardware, 7),
		event("stalled-cycles-backend", "cycles in which instructions waited for what they need", typeHardware, 8),
		event("ref-cycles", "cycles at the processor's nominal rate", typeHardware, 9),
		event("l1-data-loads", "reads from the first data cache", typeCache, cacheL1Data|cacheRead|cacheAccess),
		event("l1-data-misses", "reads that it did not have", typeCache, cacheL1Data|cacheRead|cacheMiss),
		event("l1-code-misses", "instructions that the first cache did not have", typeCache,
			cacheL1Code|cacheRead|cacheMiss),
		event("last-cache-loads", "reads from the last cache", typeCache, cacheLast|cacheRead|cacheAccess),
		event("last-cache-misses", "reads that it did not have", typeCache, cacheLast|cacheRead|cacheMiss),
		event("data-page-misses", "reads of pages that were not in the processor's translation buffer (TLB)",
			typeCache, cacheDataPages|cacheRead|cacheMiss),
		event("code-page-misses", "the same of instructions", typeCache, cacheCodePages|cacheRead|cacheMiss),
	}
}

// Find returns the counter with a name.
func Find(name string) (Counter, bool) {
	for _, c := range All() {
		if c.Name == name {
			return c, true
		}
	}
	return Counter{}, false
}

// Of returns the counter that an agent says it reads; false: there is none.
func Of(w *wire.CPUCounter) (Counter, bool) {
	for _, c := range All() {
		if c.Kind == w.Kind && (c.Kind != wire.CounterPerf || c.Type == w.Type && c.Config == w.Config) {
			return c, true
		}
	}
	return Counter{}, false
}

// Variable is what the agent gets for counters: CLRPROF_COUNTERS.
func Variable(list []Counter) string {
	var out []string
	for _, c := range list {
		out = append(out, fmt.Sprintf("%d:%d:%d", c.Kind, c.Type, c.Config))
	}
	return strings.Join(out, ",")
}
