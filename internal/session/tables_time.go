package session

import q "github.com/clrprof/clrprof/internal/quantity"

var processTimeTable = tableOf("process_time", func(c *cells, r *ProcessTime) {
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
	c.float64(&r.Uncertain)
	integer(c, &r.GCPauses)
	integer(c, &r.GCPaused)
	integer(c, &r.GCLongest)
	integer(c, &r.Measured)
	c.float64(&r.Least)
	c.float64(&r.Most)
	c.float64(&r.FirstInside)
	c.float64(&r.FirstOutside)
})

var timingTable = tableOf("timing", func(c *cells, r *Timing) {
	integer(c, &r.ID)
	integer(c, &r.Thread)
	integer(c, &r.Node)
}).directly(func(c [][]int64, at int, r *Timing) int64 {
	id, thread, node := c[0][at], c[1][at], c[2][at]
	*r = Timing{TimingID(id), ThreadID(thread), NodeID(node)}
	return id | thread | node
})

var timingValueTable = tableOf("timing_value", func(c *cells, r *TimingValue) {
	integer(c, &r.Slice)
	integer(c, &r.Timing)
	integer(c, &r.Calls)
	integer(c, &r.Ended)
	integer(c, &r.Made)
	integer(c, &r.Elapsed)
	integer(c, &r.Waited)
	waits(c, &r.Waits)
}).directly(func(c [][]int64, at int, r *TimingValue) int64 {
	*r = TimingValue{SliceID(c[0][at]), TimingID(c[1][at]), q.Count(c[2][at]), q.Count(c[3][at]), q.Count(c[4][at]),
		q.Nanoseconds(c[5][at]), q.Nanoseconds(c[6][at]), waitsAt(c[7:], at)}
	return c[1][at]
})

func waits(c *cells, w *q.Waits) {
	for _, p := range []*q.Count{&w.Intervals, &w.Voluntary, &w.Preempted, &w.Faults, &w.Reads} {
		integer(c, p)
	}
	for _, p := range []*q.Nanoseconds{&w.OffCPU, &w.Blocked, &w.Ready} {
		integer(c, p)
	}
}

// waitsAt is waits for a function direct.
func waitsAt(c [][]int64, at int) q.Waits {
	return q.Waits{Intervals: q.Count(c[0][at]), Voluntary: q.Count(c[1][at]), Preempted: q.Count(c[2][at]),
		Faults: q.Count(c[3][at]), Reads: q.Count(c[4][at]), OffCPU: q.Nanoseconds(c[5][at]),
		Blocked: q.Nanoseconds(c[6][at]), Ready: q.Nanoseconds(c[7][at])}
}

var timingInclusiveTable = tableOf("timing_inclusive", func(c *cells, r *TimingInclusive) {
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
})

var systemEventTable = tableOf("system_event", func(c *cells, r *SystemEvent) {
	integer(c, &r.ID)
	integer(c, &r.Timing)
	integer(c, &r.End)
	integer(c, &r.Length)
	for _, n := range []*q.Count{&r.Voluntary, &r.Preempted, &r.MinorFaults, &r.MajorFaults, &r.Reads, &r.Writes} {
		integer(c, n)
	}
	integer(c, &r.Blocked)
	integer(c, &r.Ready)
	integer(c, &r.Calls)
	integer(c, &r.Migrations)
})

var systemEventCallTable = tableOf("system_event_call", func(c *cells, r *SystemEventCall) {
	integer(c, &r.Event)
	c.int64(&r.Number)
	integer(c, &r.Calls)
})

var systemCallTable = tableOf("system_call", func(c *cells, r *SystemCall) {
	c.int64(&r.Number)
	c.text(&r.Name)
})

var cpuCounterTable = tableOf("cpu_counter", func(c *cells, r *CPUCounter) {
	integer(c, &r.Process)
	c.int64(&r.Position)
	c.text(&r.Name)
	c.text(&r.Unit)
	c.float64(&r.Inside)
	c.float64(&r.Outside)
})

var timingCountTable = tableOf("timing_count", func(c *cells, r *TimingCount) {
	integer(c, &r.Slice)
	integer(c, &r.Timing)
	counters(c, r.Counters[:])
})

var timingInclusiveCountTable = tableOf("timing_inclusive_count", func(c *cells, r *TimingInclusiveCount) {
	integer(c, &r.Slice)
	integer(c, &r.Timing)
	counters(c, r.Counters[:firstCounters])
	counters(c, r.Each[:firstCounters])
	counters(c, r.Counters[firstCounters:])
	counters(c, r.Each[firstCounters:])
})

// firstCounters is how many CPU counters sessions had at first: in chunks of that time both kinds have so many columns.
const firstCounters = 4

func counters(c *cells, v []q.Count) {
	for i := range v {
		integer(c, &v[i])
	}
}

var timingExtremeTable = tableOf("timing_extreme", func(c *cells, r *TimingExtreme) {
	integer(c, &r.Timing)
	extremes(c, &r.Extremes)
})

var timingRunningTable = tableOf("timing_running", func(c *cells, r *TimingRunning) {
	integer(c, &r.Timing)
	integer(c, &r.Calls)
	integer(c, &r.Elapsed)
})

var timingBeganTable = tableOf("timing_began", func(c *cells, r *TimingBegan) {
	integer(c, &r.Timing)
	integer(c, &r.Calls)
	c.int64(&r.Ticks)
})

var functionAwaitTable = tableOf("function_await", func(c *cells, r *FunctionAwait) {
	integer(c, &r.Function)
	integer(c, &r.Suspensions)
	integer(c, &r.Resumptions)
	integer(c, &r.Awaited)
	c.bool(&r.Known)
})

func extremes(c *cells, e *Extremes) {
	for _, r := range []*Range{&e.ElapsedInclusive, &e.ElapsedExclusive, &e.ApplicationInclusive,
		&e.ApplicationExclusive,
		&e.CPUInclusive, &e.CPUExclusive} {
		integer(c, &r.Min)
		integer(c, &r.Max)
	}
}

// timeValue visits the values of every derived table of times.
func timeValue(c *cells, v *TimeValue) {
	integer(c, &v.Calls)
	integer(c, &v.Running)
	i, e := &v.Inclusive, &v.Exclusive
	for _, p := range []*q.Nanoseconds{&i.Elapsed, &e.Elapsed, &i.Application, &e.Application, &i.CPU, &e.CPU,
		&i.Overhead, &e.Overhead} {
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

// counted visits what CPU counters counted, at the end of every derived table of times.
func counted(c *cells, v *TimeValue) {
	if c.mode == readCells && c.next == c.last { // they are not selected: columnList
		return
	}
	for n := range v.Inclusive.Counters {
		integer(c, &v.Inclusive.Counters[n])
		integer(c, &v.Exclusive.Counters[n])
	}
}

// singleCalls visits those of tables whose rows have calls of their own.
func singleCalls(c *cells, v *SingleCalls) {
	integer(c, &v.NodesElapsed)
	integer(c, &v.NodesApplication)
	integer(c, &v.NodesCPU)
	extremes(c, &v.Extremes)
}

var pathTimeTable = tableOf("path_time", func(c *cells, r *PathTime) {
	integer(c, &r.ID)
	integer(c, &r.Parent)
	c.int64(&r.Level)
	integer(c, &r.Process)
	integer(c, &r.Function)
	timeValue(c, &r.TimeValue)
	singleCalls(c, &r.SingleCalls)
	counted(c, &r.TimeValue)
})

// pathCallsTable is pathTimeTable for who reads its first columns alone.
var pathCallsTable = tableOf("path_time", func(c *cells, r *PathTime) {
	integer(c, &r.ID)
	integer(c, &r.Parent)
	c.int64(&r.Level)
	integer(c, &r.Process)
	integer(c, &r.Function)
	integer(c, &r.Calls)
})

var callTimeTable = tableOf("call_time", func(c *cells, r *CallTime) {
	integer(c, &r.Caller)
	integer(c, &r.Callee)
	timeValue(c, &r.TimeValue)
	singleCalls(c, &r.SingleCalls)
	counted(c, &r.TimeValue)
})

var functionTimeTable = tableOf("function_time", func(c *cells, r *FunctionTime) {
	integer(c, &r.Function)
	timeValue(c, &r.TimeValue)
	singleCalls(c, &r.SingleCalls)
	counted(c, &r.TimeValue)
})

var moduleTimeTable = tableOf("module_time", func(c *cells, r *ModuleTime) {
	integer(c, &r.Module)
	timeValue(c, &r.TimeValue)
	singleCalls(c, &r.SingleCalls)
	counted(c, &r.TimeValue)
})

var lineTimeTable = tableOf("line_time", func(c *cells, r *LineTime) {
	integer(c, &r.Function)
	integer(c, &r.Line)
	timeValue(c, &r.TimeValue)
	counted(c, &r.TimeValue)
})

var instructionTimeTable = tableOf("instruction_time", func(c *cells, r *InstructionTime) {
	integer(c, &r.Instruction)
	timeValue(c, &r.TimeValue)
	counted(c, &r.TimeValue)
})

var threadTimeTable = tableOf("thread_time", func(c *cells, r *ThreadTime) {
	integer(c, &r.Thread)
	timeValue(c, &r.TimeValue)
	counted(c, &r.TimeValue)
})

var processTimeValueTable = tableOf("process_time_value", func(c *cells, r *ProcessTimeValue) {
	integer(c, &r.Process)
	timeValue(c, &r.TimeValue)
	counted(c, &r.TimeValue)
})

var userTimeTable = tableOf("user_time", func(c *cells, r *UserTime) {
	integer(c, &r.Function)
	integer(c, &r.FromFunction)
	integer(c, &r.FromLine)
	integer(c, &r.Elapsed)
	integer(c, &r.Application)
	integer(c, &r.CPU)
	integer(c, &r.Overhead)
	for _, p := range []*q.Count{&r.Intervals, &r.Voluntary, &r.Preempted, &r.Faults, &r.Reads} {
		integer(c, p)
	}
	integer(c, &r.OffCPU)
	integer(c, &r.Blocked)
	integer(c, &r.Ready)
	counters(c, r.Counters[:])
})
