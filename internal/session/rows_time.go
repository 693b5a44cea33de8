package session

import q "github.com/clrprof/clrprof/internal/quantity"

// TimingID identifies a timing: thread × node.
type TimingID uint32

// Clocks of time data.
const (
	ClockTSC       = "tsc"       // the processor's time-stamp counter
	ClockMonotonic = "monotonic" // CLOCK_MONOTONIC
	ClockCNTVCT    = "cntvct"    // the virtual counter of the generic timer (arm64)
)

// What of the code is hooked.
const (
	InstrumentBoundary = "boundary" // framework code where instrumented code called it
	InstrumentMine     = "mine"     // no framework code: its time belongs to its caller
	InstrumentAll      = "all"      // everything
)

// How threads learn that the operating system acted in an interval.
const (
	MechanismNone = ""     // not asked
	MechanismRseq = "rseq" // restartable sequences
	MechanismPerf = "perf" // context-switch records of a perf event
	MechanismGap  = "gap"  // long intervals are looked at
)

// How calls were seen.
const (
	ProbesUnknown = ""      // the session is older
	ProbesHooks   = "hooks" // the runtime's
	ProbesIL      = "il"    // put into the code of what was recorded
)

// ProcessTime is a row of the table process_time.
type ProcessTime struct {
	Process     ProcessID
	Clock       string
	TicksPerSec int64
	Instrument  string
	Mechanism   string // that most threads have
	Gap         q.Nanoseconds
	Inside      float64 // nanoseconds of probes in the tail of a call, as measured in the process
	Outside     float64 // and in the caller's time at a call
	ColdInside  float64
	ColdOutside float64
	Agent       q.Nanoseconds // that the agent took for itself in the threads, which is part of no time

	MeasuresReady bool   // the time in which a thread could have run is what the kernel says, not an estimate
	Probes        string // how calls were seen

	Uncertain float64 // nanoseconds by which Inside and Outside together may be wrong, up or down; 0: it is older

	GCPauses  q.Count       // pauses for garbage collections while the process was recorded; 0 in an older session
	GCPaused  q.Nanoseconds // how long all of them took
	GCLongest q.Nanoseconds // and the longest

	Measured     q.Count // how often Inside and Outside were measured while the program ran; 0: only at the start
	Least, Most  float64 // of these, Inside and Outside together
	FirstInside  float64 // Inside as measured at the start, which is taken out of minima and maxima; 0: that is Inside
	FirstOutside float64 // and Outside
}

// Timing is a row of the table timing.
type Timing struct {
	ID     TimingID
	Thread ThreadID
	Node   NodeID
}

// TimingValue is a row of the table timing_value: exclusive time as measured, with what the probes added.
type TimingValue struct {
	Slice   SliceID
	Timing  TimingID
	Calls   q.Count       // that began
	Ended   q.Count       // of these and of those of earlier slices: that ended
	Made    q.Count       // calls made from here
	Elapsed q.Nanoseconds // raw
	Waited  q.Nanoseconds // of these: in intervals in which the operating system acted
	q.Waits
}

// Range is the smallest and the largest of values of single calls.
type Range struct {
	Min, Max q.Nanoseconds
}

// Extremes are the ranges of single calls that ended, without what the probes added.
type Extremes struct {
	ElapsedInclusive     Range
	ElapsedExclusive     Range
	ApplicationInclusive Range
	ApplicationExclusive Range
	CPUInclusive         Range
	CPUExclusive         Range
}

// TimingInclusive is a row of the table timing_inclusive: the time of folded calls, which have no paths, within a
// slice, with what the probes added. Calls are counted when they end, or at the end of the recording.
type TimingInclusive struct {
	Slice   SliceID
	Timing  TimingID
	Times   q.Count       // calls whose time it is
	Calls   q.Count       // these, and all calls within them
	Elapsed q.Nanoseconds // raw
	Waited  q.Nanoseconds // of these: in intervals in which the operating system acted
	q.Waits
	EachCalls   q.Count // of a pair of functions: as Calls, but for each call by itself, also within another one
	EachElapsed q.Nanoseconds
	EachWaited  q.Nanoseconds
	EachOffCPU  q.Nanoseconds
}

// SystemEvent is a row of the table system_event: an interval of a thread in which the operating system acted. It is
// among those whose sums a TimingValue has.
type SystemEvent struct {
	ID          SystemEventID
	Timing      TimingID
	End         q.Nanoseconds // when the interval ended
	Length      q.Nanoseconds // raw, without pauses
	Voluntary   q.Count
	Preempted   q.Count
	MinorFaults q.Count
	MajorFaults q.Count
	Reads       q.Count // blocks
	Writes      q.Count
	Blocked     q.Nanoseconds
	Ready       q.Nanoseconds
	Calls       q.Count // of the system
	Migrations  q.Count // to another processor
}

// SystemEventCall is a row of the table system_event_call: how often a system call was made in an event.
type SystemEventCall struct {
	Event  SystemEventID
	Number int64
	Calls  q.Count
}

// SystemCall is a row of the table system_call: the name of a system call.
type SystemCall struct {
	Number int64
	Name   string // "": it is not known
}

// CounterSystemCalls is the name of the CPU counter of system calls: where it is read, an interval in which there was
// one counts in Time.Elapsed and not in Time.Application.
const CounterSystemCalls = "system-calls"

// CPUCounter is a row of the table cpu_counter: a CPU counter that was read at each event of the threads of a process.
type CPUCounter struct {
	Process  ProcessID
	Position int64 // from 1 on
	Name     string
	Unit     string  // count or ns
	Inside   float64 // what the probes add at each call, as ProcessTime has it of time
	Outside  float64
}

// TimingCount is a row of the table timing_count: what CPU counters counted in the time of a TimingValue.
type TimingCount struct {
	Slice  SliceID
	Timing TimingID
	q.Counters
}

// TimingInclusiveCount is a row of the table timing_inclusive_count: what CPU counters counted in the time of a
// TimingInclusive.
type TimingInclusiveCount struct {
	Slice  SliceID
	Timing TimingID
	CountedFolds
}

// CountedFolds are what CPU counters counted in folded calls.
type CountedFolds struct {
	q.Counters
	Each q.Counters // as TimingInclusive.EachElapsed
}

// TimingExtreme is a row of the table timing_extreme.
type TimingExtreme struct {
	Timing TimingID
	Extremes
}

// TimingRunning is a row of the table timing_running.
type TimingRunning struct {
	Timing  TimingID
	Calls   q.Count
	Elapsed q.Nanoseconds // the interval that had not ended; also in the TimingValue of the last slice
}

// NameMoveNext is the name of the function that runs a state machine, as that of an async method, in metadata.
const NameMoveNext = "MoveNext"

// NamesSuspend are the names in metadata of the functions that it calls to wait.
var NamesSuspend = []string{"AwaitUnsafeOnCompleted", "AwaitOnCompleted"}

// TimingBegan is a row of the table timing_began: when the calls of functions began that suspend and resume async
// methods.
type TimingBegan struct {
	Timing TimingID
	Calls  q.Count
	Ticks  int64 // from the beginning of each to the end of the process, in sum and modulo 2^64
}

// FunctionAwait is a row of the table function_await: how often the state machine of an async method waited, and for
// how long.
type FunctionAwait struct {
	Function    FunctionID
	Suspensions q.Count
	Resumptions q.Count
	Awaited     q.Nanoseconds // what had not ended was awaited to the end of the process
	Known       bool          // Awaited is
}

// TimeValue holds the columns that all derived tables of times have.
type TimeValue struct {
	Calls   q.Count
	Running q.Count // of these: had not ended
	q.Times
}

// SingleCalls holds the columns of derived tables whose rows have calls of their own. The average of one call is
// NodesElapsed / Calls; Inclusive counts a call within a call of the same function once, NodesElapsed both.
type SingleCalls struct {
	NodesElapsed     q.Nanoseconds
	NodesApplication q.Nanoseconds
	NodesCPU         q.Nanoseconds
	Extremes         // zero if no call ended
}

// PathTime is a row of the table path_time; its first columns are those of PathValue.
type PathTime struct {
	ID       PathID
	Parent   PathID
	Level    int64
	Process  ProcessID
	Function FunctionID
	TimeValue
	SingleCalls
}

// CallTime is a row of the table call_time. Caller is 0 where the callee was a root.
type CallTime struct {
	Caller FunctionID
	Callee FunctionID
	TimeValue
	SingleCalls
}

// FunctionTime is a row of the table function_time.
type FunctionTime struct {
	Function FunctionID
	TimeValue
	SingleCalls
}

// ModuleTime is a row of the table module_time.
type ModuleTime struct {
	Module ModuleID
	TimeValue
	SingleCalls
}

// LineTime is a row of the table line_time. Line is 0 for the time of a function's body that belongs to no call.
type LineTime struct {
	Function FunctionID
	Line     LineID
	TimeValue
}

// InstructionTime is a row of the table instruction_time.
type InstructionTime struct {
	Instruction InstructionID
	TimeValue
}

// ThreadTime is a row of the table thread_time.
type ThreadTime struct {
	Thread ThreadID
	TimeValue
}

// ProcessTimeValue is a row of the table process_time_value.
type ProcessTimeValue struct {
	Process ProcessID
	TimeValue
}

// UserTime is a row of the derived table user_time: the exclusive time of user code, and of what it calls.
type UserTime struct {
	Function     FunctionID // that of the place, or framework code that it called; 0: called by no user code
	FromFunction FunctionID // the place in user code
	FromLine     LineID     // 0: it is not known
	q.Time
}
