package session

import q "github.com/clrprof/clrprof/internal/quantity"

var processTimeTable = table[ProcessTime]{
	"process_time", "process_id, clock, ticks_per_second, instrument, mechanism, gap_ns, inside_ns, outside_ns, cold_inside_ns, cold_outside_ns, agent_time_ns, ready_measured, probes", "process_id",
	func(c *cells, r *ProcessTime) {
		integer(c, &r.Process)
		c.text(&r.Clock)
		c.int64(&r.TicksPerSec)
		c.text(&r.Instrument)
		c.text(&r.Mechanism)
		integer(c, &r.Gap)
		c.float64(&r.Inside)
		c.float64(&r.Outside)
		c.float64(&r.ColdInside)
		c.float64(&r.ColdOutside)
		integer(c, &r.Agent)
		c.bool(&r.MeasuresReady)
		c.text(&r.Probes)
	},
}

var timingTable = table[Timing]{
	"timing", "id, thread_id, node_id", "id",
	func(c *cells, r *Timing) {
		integer(c, &r.ID)
		integer(c, &r.Thread)
		integer(c, &r.Node)
	},
}

var timingValueTable = table[TimingValue]{
	"timing_value", "slice_id, timing_id, calls, ended, made, elapsed_ns, waited_ns, wait_intervals, voluntary, preempted, faults, reads, off_cpu_ns, blocked_ns, ready_ns",
	"slice_id, timing_id",
	func(c *cells, r *TimingValue) {
		integer(c, &r.Slice)
		integer(c, &r.Timing)
		integer(c, &r.Calls)
		integer(c, &r.Ended)
		integer(c, &r.Made)
		integer(c, &r.Elapsed)
		integer(c, &r.Waited)
		waits(c, &r.Waits)
	},
}

func waits(c *cells, w *q.Waits) {
	for _, p := range []*q.Count{&w.Intervals, &w.Voluntary, &w.Preempted, &w.Faults, &w.Reads} {
		integer(c, p)
	}
	for _, p := range []*q.Nanoseconds{&w.OffCPU, &w.Blocked, &w.Ready} {
		integer(c, p)
	}
}

var timingInclusiveTable = table[TimingInclusive]{
	"timing_inclusive", "slice_id, timing_id, times, calls, elapsed_ns, waited_ns, wait_intervals, voluntary, preempted, faults, reads, off_cpu_ns, " +
		"blocked_ns, ready_ns, each_calls, each_elapsed_ns, each_waited_ns, each_off_cpu_ns", "slice_id, timing_id",
	func(c *cells, r *TimingInclusive) {
		integer(c, &r.Slice)
		integer(c, &r.Timing)
		integer(c, &r.Times)
		integer(c, &r.Calls)
		integer(c, &r.Elapsed)
		integer(c, &r.Waited)
		waits(c, &r.Waits)
		integer(c, &r.EachCalls)
		integer(c, &r.EachElapsed)
		integer(c, &r.EachWaited)
		integer(c, &r.EachOffCPU)
	},
}

var timingExtremeTable = table[TimingExtreme]{
	"timing_extreme", "timing_id, min_elapsed_inclusive_ns, max_elapsed_inclusive_ns, min_elapsed_exclusive_ns, max_elapsed_exclusive_ns, " +
		"min_application_inclusive_ns, max_application_inclusive_ns, min_application_exclusive_ns, max_application_exclusive_ns, " +
		"min_cpu_inclusive_ns, max_cpu_inclusive_ns, min_cpu_exclusive_ns, max_cpu_exclusive_ns", "timing_id",
	func(c *cells, r *TimingExtreme) {
		integer(c, &r.Timing)
		extremes(c, &r.Extremes)
	},
}

var timingRunningTable = table[TimingRunning]{
	"timing_running", "timing_id, calls, elapsed_ns", "timing_id",
	func(c *cells, r *TimingRunning) {
		integer(c, &r.Timing)
		integer(c, &r.Calls)
		integer(c, &r.Elapsed)
	},
}

var timingBeganTable = table[TimingBegan]{
	"timing_began", "timing_id, calls, ticks", "timing_id",
	func(c *cells, r *TimingBegan) {
		integer(c, &r.Timing)
		integer(c, &r.Calls)
		c.int64(&r.Ticks)
	},
}

var functionAwaitTable = table[FunctionAwait]{
	"function_await", "function_id, suspensions, resumptions, awaited_ns, awaited_known", "function_id",
	func(c *cells, r *FunctionAwait) {
		integer(c, &r.Function)
		integer(c, &r.Suspensions)
		integer(c, &r.Resumptions)
		integer(c, &r.Awaited)
		c.bool(&r.Known)
	},
}

const (
	// timeColumns are the values of every derived table of times.
	timeColumns = ", calls, running, elapsed_inclusive, elapsed_exclusive, application_inclusive, application_exclusive, " +
		"cpu_inclusive, cpu_exclusive, overhead_inclusive, overhead_exclusive, wait_intervals_inclusive, wait_intervals_exclusive, voluntary_inclusive, voluntary_exclusive, " +
		"preempted_inclusive, preempted_exclusive, faults_inclusive, faults_exclusive, reads_inclusive, reads_exclusive, " +
		"off_cpu_inclusive, off_cpu_exclusive, blocked_inclusive, blocked_exclusive, ready_inclusive, ready_exclusive"

	// singleColumns are the values of those whose rows have calls of their own.
	singleColumns = ", nodes_elapsed_inclusive, nodes_application_inclusive, nodes_cpu_inclusive, min_elapsed_inclusive, max_elapsed_inclusive, " +
		"min_elapsed_exclusive, max_elapsed_exclusive, min_application_inclusive, max_application_inclusive, " +
		"min_application_exclusive, max_application_exclusive, min_cpu_inclusive, max_cpu_inclusive, min_cpu_exclusive, max_cpu_exclusive"
)

func extremes(c *cells, e *Extremes) {
	for _, r := range []*Range{&e.ElapsedInclusive, &e.ElapsedExclusive, &e.ApplicationInclusive, &e.ApplicationExclusive,
		&e.CPUInclusive, &e.CPUExclusive} {
		integer(c, &r.Min)
		integer(c, &r.Max)
	}
}

// timeValue visits timeColumns.
func timeValue(c *cells, v *TimeValue) {
	integer(c, &v.Calls)
	integer(c, &v.Running)
	i, e := &v.Inclusive, &v.Exclusive
	for _, p := range []*q.Nanoseconds{&i.Elapsed, &e.Elapsed, &i.Application, &e.Application, &i.CPU, &e.CPU, &i.Overhead, &e.Overhead} {
		integer(c, p)
	}
	for _, p := range []*q.Count{&i.Intervals, &e.Intervals, &i.Voluntary, &e.Voluntary, &i.Preempted, &e.Preempted,
		&i.Faults, &e.Faults, &i.Reads, &e.Reads} {
		integer(c, p)
	}
	for _, p := range []*q.Nanoseconds{&i.OffCPU, &e.OffCPU, &i.Blocked, &e.Blocked, &i.Ready, &e.Ready} {
		integer(c, p)
	}
}

// singleCalls visits singleColumns.
func singleCalls(c *cells, v *SingleCalls) {
	integer(c, &v.NodesElapsed)
	integer(c, &v.NodesApplication)
	integer(c, &v.NodesCPU)
	extremes(c, &v.Extremes)
}

var pathTimeTable = table[PathTime]{
	"path_time", "id, parent_id, level, process_id, function_id" + timeColumns + singleColumns, "id",
	func(c *cells, r *PathTime) {
		integer(c, &r.ID)
		integer(c, &r.Parent)
		c.int64(&r.Level)
		integer(c, &r.Process)
		integer(c, &r.Function)
		timeValue(c, &r.TimeValue)
		singleCalls(c, &r.SingleCalls)
	},
}

var callTimeTable = table[CallTime]{
	"call_time", "caller_id, callee_id" + timeColumns + singleColumns, "caller_id, callee_id",
	func(c *cells, r *CallTime) {
		integer(c, &r.Caller)
		integer(c, &r.Callee)
		timeValue(c, &r.TimeValue)
		singleCalls(c, &r.SingleCalls)
	},
}

var functionTimeTable = table[FunctionTime]{
	"function_time", "function_id" + timeColumns + singleColumns, "function_id",
	func(c *cells, r *FunctionTime) {
		integer(c, &r.Function)
		timeValue(c, &r.TimeValue)
		singleCalls(c, &r.SingleCalls)
	},
}

var moduleTimeTable = table[ModuleTime]{
	"module_time", "module_id" + timeColumns + singleColumns, "module_id",
	func(c *cells, r *ModuleTime) {
		integer(c, &r.Module)
		timeValue(c, &r.TimeValue)
		singleCalls(c, &r.SingleCalls)
	},
}

var lineTimeTable = table[LineTime]{
	"line_time", "function_id, line_id" + timeColumns, "function_id, line_id",
	func(c *cells, r *LineTime) {
		integer(c, &r.Function)
		integer(c, &r.Line)
		timeValue(c, &r.TimeValue)
	},
}

var instructionTimeTable = table[InstructionTime]{
	"instruction_time", "instruction_id" + timeColumns, "instruction_id",
	func(c *cells, r *InstructionTime) {
		integer(c, &r.Instruction)
		timeValue(c, &r.TimeValue)
	},
}

var threadTimeTable = table[ThreadTime]{
	"thread_time", "thread_id" + timeColumns, "thread_id",
	func(c *cells, r *ThreadTime) {
		integer(c, &r.Thread)
		timeValue(c, &r.TimeValue)
	},
}

var processTimeValueTable = table[ProcessTimeValue]{
	"process_time_value", "process_id" + timeColumns, "process_id",
	func(c *cells, r *ProcessTimeValue) {
		integer(c, &r.Process)
		timeValue(c, &r.TimeValue)
	},
}
