package analysis

import (
	"math"

	"github.com/clrprof/clrprof/internal/analysis/calltree"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// times checks what the session says of times.
func (c *checker) times(d *Data, derived *session.Derived) error {
	if len(d.Times) == 0 && len(d.Timings) == 0 {
		return nil
	}
	c.timings(d)
	if len(d.Timings) == 0 {
		return nil
	}
	whole := d.measure().all()
	if err := c.calls(d, whole); err != nil {
		return err
	}
	c.timeSums(d, whole, derived)
	c.timeParents(derived)
	c.timeBounds(d, derived, d.inexact(whole))
	return c.extremes(d, whole)
}

// timings checks the recorded rows by themselves.
func (c *checker) timings(d *Data) {
	timed := map[session.ProcessID]bool{}
	for _, t := range d.Times {
		timed[t.Process] = true
		if t.TicksPerSec <= 0 || t.Gap < 0 || !(t.Inside >= 0 && t.Outside >= 0 && t.Uncertain >= 0) ||
			math.IsInf(t.Inside+t.Outside+t.Uncertain, 1) {
			c.add("timings", "process %d: %d ticks per second, probes of %g and %g ns", t.Process, t.TicksPerSec,
				t.Inside, t.Outside)
		}
		if !(t.Measured >= 0 && t.Least >= 0 && t.Least <= t.Most && t.FirstInside >= 0 && t.FirstOutside >= 0) ||
			math.IsInf(t.Most+t.FirstInside+t.FirstOutside, 1) {
			c.add("timings", "process %d: probes measured %d times, from %g to %g ns, first %g and %g", t.Process,
				t.Measured, t.Least, t.Most, t.FirstInside, t.FirstOutside)
		}
	}
	at := newIndex(d.Processes, func(r *session.Process) session.ProcessID { return r.ID })
	for _, t := range d.Times {
		if i, _ := at.find(t.Process); i == none {
			c.add("references", "process %d was timed and does not exist", t.Process)
		}
	}
	type key struct{ thread, node int32 }
	seen := make(map[key]bool, len(d.Timings))
	for i, t := range d.Timings {
		k := key{d.timingThread[i], d.timingNode[i]}
		if seen[k] {
			c.add("timings", "thread %d has two timings at node %d", t.Thread, t.Node)
		}
		seen[k] = true
		process := d.Threads[k.thread].Process
		if d.Nodes[k.node].Process != process {
			c.add("owners", "timing %d joins a node and a thread of different processes", t.ID)
		}
		if !timed[process] {
			c.add("references", "timing %d is of process %d, which was not timed", t.ID, process)
		}
	}
	d.values.each(func(slice, _ int32, v *session.TimingValue) {
		if slice == none {
			c.add("references", "a value of timing %d has no slice", v.Timing)
		}
		w := v.Waits
		if min(v.Calls, v.Ended, v.Made, w.Intervals, w.Voluntary, w.Preempted, w.Faults, w.Reads) < 0 ||
			min(v.Elapsed, v.Waited, v.OffCPU, v.Blocked, v.Ready) < 0 || v.Waited > v.Elapsed {
			c.add("timings", "timing %d in slice %d: %+v", v.Timing, v.Slice, *v)
		}
	})
	d.counts.check(c)
	d.inclusives.each(func(slice, _ int32, v *session.TimingInclusive) {
		if slice == none {
			c.add("references", "the time of folded calls of timing %d has no slice", v.Timing)
		}
		w := v.Waits
		if min(v.Times, v.Calls, v.EachCalls, w.Intervals, w.Voluntary, w.Preempted, w.Faults, w.Reads) < 0 ||
			v.Times > v.Calls ||
			min(v.Elapsed, v.Waited, v.OffCPU, v.Blocked, v.Ready, v.EachElapsed, v.EachWaited, v.EachOffCPU) < 0 {
			c.add("timings", "timing %d in slice %d: %+v", v.Timing, v.Slice, *v)
		}
	})
}

// uncertain is how many events of each thread may be half counted: a thread that was executing when its process ended
// was stopped anywhere, but not the thread that shut the process down. It is -1 for threads of processes that still
// run: their tables were copied while they changed.
func (d *Data) uncertain() []q.Count {
	out := make([]q.Count, len(d.Threads))
	alive := make([]int, len(d.Processes))
	for i, t := range d.Threads {
		if p := d.threadProcess[i]; p >= 0 && t.End >= d.Processes[p].End {
			alive[p]++
		}
	}
	for i, t := range d.Threads {
		p := d.threadProcess[i]
		switch {
		case p < 0:
		case d.Processes[p].EndState == session.EndRunning:
			out[i] = -1
		case t.End >= d.Processes[p].End && (alive[p] > 1 || d.Processes[p].EndState != session.EndExited):
			out[i] = 1
		}
	}
	return out
}

// calls checks that calls begin where they are made, and that those that did not end are running.
func (c *checker) calls(d *Data, whole []measured) error {
	type key struct{ thread, node int32 }
	of := make(map[key]int32, len(d.Timings))
	for i := range d.Timings {
		of[key{d.timingThread[i], d.timingNode[i]}] = int32(i)
	}
	running, known := make([]q.Count, len(d.Timings)), make([]bool, len(d.Timings))
	open := make([]int, len(d.Threads))
	for i, r := range d.TimingRunning {
		timing := d.runningOf[i]
		running[timing] += r.Calls
		if r.Elapsed > 0 {
			open[d.timingThread[timing]]++
		}
		if r.Calls <= 0 || r.Elapsed < 0 || r.Elapsed > whole[timing].waited {
			c.add("calls", "timing %d: %d calls run, since %d ns", r.Timing, r.Calls, r.Elapsed)
		}
	}
	if err := d.eachExtreme(func(timing int32, _ *bounds, _ int) { known[timing] = true }); err != nil {
		return err
	}
	begun := make([]q.Count, len(d.Timings)) // calls that began below this timing
	off := make([]q.Count, len(d.Threads))
	// folded calls, less those that were made anywhere
	folded, inside := make([]q.Count, len(d.Threads)), d.foldedNodes()
	for i, m := range whole {
		thread, node := d.timingThread[i], d.timingNode[i]
		off[thread] += difference(m.calls-m.ended, running[i])
		if known[i] != (m.ended > 0) {
			off[thread]++
		}
		if d.nodeInstruction[node] >= 0 && m.calls+m.ended+running[i] != 0 {
			c.add("calls", "timing %d is at a call site and has %d calls", d.Timings[i].ID, m.calls)
		}
		if p := d.tree.Parent[node]; p >= 0 && inside != nil && inside[node] {
			folded[thread] += m.calls
		} else if p >= 0 && m.calls != 0 {
			if caller, ok := of[key{thread, p}]; ok {
				begun[caller] += m.calls
			} else {
				off[thread] += m.calls
			}
		}
	}
	for i, m := range whole {
		thread := d.timingThread[i]
		if more := m.made - begun[i]; more > 0 && d.nodeInstruction[d.timingNode[i]] == none {
			folded[thread] -= more
		} else {
			off[thread] += difference(m.made, begun[i])
		}
	}
	for i, n := range folded {
		off[i] += difference(n, 0)
	}
	for i, allowed := range d.uncertain() {
		if allowed >= 0 && (off[i] > allowed || open[i] > 1) {
			c.add("calls", "thread %d: of %d calls it is not clear where they began or ended; %d functions were "+
				"the last", d.Threads[i].ID, off[i], open[i])
		}
	}
	return nil
}

func difference(a, b q.Count) q.Count { return max(a-b, b-a) }

// timeSums checks that every way to add up gives the same totals.
func (c *checker) timeSums(d *Data, whole []measured, v *session.Derived) {
	var total q.Time
	var calls, roots q.Count
	probes := d.probesOf()
	for i := range whole {
		total = total.Add(whole[i].correct(processOf(probes, d.threadProcess[d.timingThread[i]])).Time)
		calls += whole[i].calls
		if d.tree.Parent[d.timingNode[i]] == calltree.None {
			roots += whole[i].calls
		}
	}
	inexact := d.inexact(whole)
	same := func(what string, sum session.TimeValue, wantCalls bool) {
		off := sum.Exclusive.Sub(total)
		if off != (q.Time{}) && (inexact == 0 || !within(off, inexact)) || wantCalls && sum.Calls != calls {
			c.add("times", "%s add up to %+v in %d calls, the timings to %+v in %d", what, sum.Exclusive, sum.Calls,
				total, calls)
		}
	}
	same("functions", sumTimes(c, v.FunctionTimes, func(r *session.FunctionTime) *session.TimeValue {
		return &r.TimeValue
	}), true)
	same("modules", sumTimes(c, v.ModuleTimes, func(r *session.ModuleTime) *session.TimeValue {
		return &r.TimeValue
	}), true)
	same("paths", sumTimes(c, v.PathTimes, func(r *session.PathTime) *session.TimeValue { return &r.TimeValue }), true)
	same("calls", sumTimes(c, v.CallTimes, func(r *session.CallTime) *session.TimeValue { return &r.TimeValue }), true)
	same("threads", sumTimes(c, v.ThreadTimes, func(r *session.ThreadTime) *session.TimeValue {
		return &r.TimeValue
	}), true)
	same("processes", sumTimes(c, v.ProcessTimes, func(r *session.ProcessTimeValue) *session.TimeValue {
		return &r.TimeValue
	}), true)
	same("lines", sumTimes(c, v.LineTimes, func(r *session.LineTime) *session.TimeValue { return &r.TimeValue }), false)
	sites := sumTimes(c, v.InstructionTimes, func(r *session.InstructionTime) *session.TimeValue {
		return &r.TimeValue
	})
	var top session.TimeValue // what is below the roots, and what is at no instruction
	for _, r := range v.PathTimes {
		if r.Parent == 0 {
			top.Exclusive = top.Exclusive.Add(r.Inclusive)
		}
	}
	same("roots (inclusive)", top, false)
	for i := range whole {
		if d.nodeInstruction[d.timingNode[i]] == none {
			sites.Exclusive = sites.Exclusive.Add(
				whole[i].correct(processOf(probes, d.threadProcess[d.timingThread[i]])).Time)
			sites.Calls += whole[i].made
		}
	}
	sites.Calls += roots
	same("instructions and bodies", sites, !d.anyUncertain())
}

// timeBounds checks that no function was on the stack for longer than its process ran, all threads together, and for no
// longer when one function calls it than in all. Sums do not tell that: folded calls are measured for each function.
func (c *checker) timeBounds(d *Data, v *session.Derived, inexact q.Nanoseconds) {
	if inexact == math.MaxInt64 {
		return
	}
	raw := func(t q.Time) q.Nanoseconds { return t.Elapsed + t.Overhead }
	processes := map[session.ProcessID]q.Nanoseconds{}
	for i := range v.ProcessTimes {
		processes[v.ProcessTimes[i].Process] = raw(v.ProcessTimes[i].Exclusive)
	}
	process := map[session.FunctionID]session.ProcessID{}
	for i := range d.Functions {
		process[d.Functions[i].ID] = d.Functions[i].Process
	}
	functions := map[session.FunctionID]q.Nanoseconds{}
	for i := range v.FunctionTimes {
		r := &v.FunctionTimes[i]
		functions[r.Function] = raw(r.Inclusive)
		if most := processes[process[r.Function]]; raw(r.Inclusive) > most+inexact {
			c.add("times", "function %d takes %d ns, its process %d", r.Function, raw(r.Inclusive), most)
		}
	}
	for i := range v.CallTimes {
		r := &v.CallTimes[i]
		if most := functions[r.Callee]; raw(r.Inclusive) > most+inexact {
			c.add("times", "function %d takes %d ns, %d ns of them when function %d calls it", r.Callee, most,
				raw(r.Inclusive), r.Caller)
		}
	}
}

// inexact returns by how much sums over paths may differ from those over timings, where there are folded calls, whose
// time is measured twice: each of the two is rounded, and what the probes added is taken out of each as far as it goes.
// What ended in the middle is in one of them only.
func (d *Data) inexact(whole []measured) q.Nanoseconds {
	if d.inclusives.rows.Len() == 0 {
		return 0
	}
	if d.anyUncertain() || len(d.TimingRunning) > 0 {
		return math.MaxInt64
	}
	sum, probes := q.Nanoseconds(0), d.probesOf()
	add := func(timing int32, m *measured) {
		t := m.correct(processOf(probes, d.threadProcess[d.timingThread[timing]]))
		sum += t.clipped + t.loose
	}
	for i := range whole {
		add(int32(i), &whole[i])
		sum += 3 * 2 // of the timing, of its folded calls, and of each of them
	}
	d.eachMeasuredInclusive(func(timing int32, all, each *measured) {
		add(timing, all)
		add(timing, each)
	})
	return sum
}

func within(t q.Time, most q.Nanoseconds) bool {
	return max(t.Elapsed, t.Application, t.CPU, t.Overhead, t.OffCPU, t.Blocked, t.Ready) <= most &&
		min(t.Elapsed, t.Application, t.CPU, t.Overhead, t.OffCPU, t.Blocked, t.Ready) >= -most &&
		(most == math.MaxInt64 || t.Intervals == 0 && t.Voluntary == 0 && t.Preempted == 0 && t.Faults == 0 &&
			t.Reads == 0)
}

func (d *Data) anyUncertain() bool {
	for _, n := range d.uncertain() {
		if n != 0 {
			return true
		}
	}
	return false
}

// sumTimes adds up the exclusive times and the calls of a table, and checks each row.
func sumTimes[Row any](c *checker, rows []Row, value func(*Row) *session.TimeValue) session.TimeValue {
	var sum session.TimeValue
	for i := range rows {
		v := value(&rows[i])
		sum = addTimes(sum, *v)
		in, out := v.Inclusive, v.Exclusive
		if in.Application > in.Elapsed || out.Application > out.Elapsed || out.Elapsed > in.Elapsed ||
			out.Application > in.Application ||
			in.Application > in.CPU || in.CPU > in.Elapsed || out.Application > out.CPU || out.CPU > out.Elapsed ||
			out.CPU > in.CPU ||
			out.Overhead > in.Overhead || min(out.Application, out.Overhead) < 0 || v.Running > v.Calls {
			c.add("times", "a row has %+v", rows[i])
		}
	}
	return sum
}

// timeParents checks parent = self + children in the call tree.
func (c *checker) timeParents(v *session.Derived) {
	below := map[session.PathID]q.Time{}
	for _, r := range v.PathTimes {
		below[r.Parent] = below[r.Parent].Add(r.Inclusive)
	}
	for _, r := range v.PathTimes {
		if r.Inclusive != r.Exclusive.Add(below[r.ID]) {
			c.add("parents", "the time of path %d is not the sum of itself and its children", r.ID)
		}
	}
}
