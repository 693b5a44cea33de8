package sessiontest

import (
	"cmp"
	"errors"
	"math/rand/v2"
	"slices"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// Times are the tables of times.
type Times struct {
	ProcessTimes     []session.ProcessTime
	Timings          []session.Timing
	TimingValues     []session.TimingValue
	TimingInclusives []session.TimingInclusive // in order
	TimingExtremes   []session.TimingExtreme
	TimingRunning    []session.TimingRunning
	TimingBegan      []session.TimingBegan

	SystemEvents          []session.SystemEvent
	SystemEventCalls      []session.SystemEventCall
	SystemCalls           []session.SystemCall
	CPUCounters           []session.CPUCounter
	TimingCounts          []session.TimingCount          // in order
	TimingInclusiveCounts []session.TimingInclusiveCount // in order

	timings      map[session.Timing]session.TimingID // keyed with ID 0
	timingValues map[[2]int64]int                    // slice and timing to the position in TimingValues
}

func newTimes() Times {
	return Times{timings: map[session.Timing]session.TimingID{}, timingValues: map[[2]int64]int{}}
}

func (t *Times) write(w *session.Writer) error {
	slices.SortFunc(t.TimingValues, func(a, b session.TimingValue) int {
		return cmp.Or(cmp.Compare(a.Slice, b.Slice), cmp.Compare(a.Timing, b.Timing))
	})
	return errors.Join(w.ReplaceProcessTimes(t.ProcessTimes), w.InsertTimings(t.Timings),
		w.InsertTimingValues(t.TimingValues), w.InsertTimingInclusives(t.TimingInclusives),
		w.ReplaceTimingExtremes(t.TimingExtremes), w.ReplaceTimingRunning(t.TimingRunning),
		w.InsertTimingBegan(t.TimingBegan), w.InsertSystemEvents(t.SystemEvents),
		w.InsertSystemEventCalls(t.SystemEventCalls), w.ReplaceSystemCalls(t.SystemCalls),
		w.ReplaceCPUCounters(t.CPUCounters), w.InsertTimingCounts(t.TimingCounts),
		w.InsertTimingInclusiveCounts(t.TimingInclusiveCounts))
}

// Timed says that the calls of a process are timed, with probes that add inside to the tail of each call and outside to
// the caller's time before it.
func (b *Builder) Timed(p session.ProcessID, inside, outside float64) {
	b.ProcessTimes = append(b.ProcessTimes, session.ProcessTime{Process: p, Clock: session.ClockTSC,
		TicksPerSec: 2_500_000_000,
		Instrument:  session.InstrumentBoundary, Mechanism: session.MechanismRseq, Inside: inside, Outside: outside,
		ColdInside: 10 * inside, ColdOutside: 10 * outside, Agent: 5000})
}

// Interval is the time between two events of a thread.
type Interval struct {
	Elapsed q.Nanoseconds // as measured
	// the operating system acted in it, for half of the time: two thirds of that the thread was blocked
	Waited bool
	Slept  bool // and all of the time it was blocked
}

// off is how long the thread had no processor, and how long of this it could have run, in an interval to which probes
// added cost.
func (i Interval) off(cost q.Nanoseconds) (off, ready q.Nanoseconds) {
	if i.Slept {
		return i.Elapsed - cost, 0
	}
	if i.Waited {
		off = (i.Elapsed - cost) / 2
	}
	return off, off / 3
}

// Timing returns the timing of a thread at a stack, root first: the function of its last frame itself if own, else the
// call site there. No stack, or a pseudo function, has only the former.
func (b *Builder) Timing(t session.ThreadID, own bool, stack ...Frame) session.TimingID {
	process, node := b.Threads[t-1].Process, session.NodeID(0)
	for i, f := range stack {
		key := session.Node{Parent: node, Process: process, Function: f.Function, Instruction: b.instruction(f)}
		if own && i == len(stack)-1 {
			key.Instruction = 0
		}
		node = b.node(key)
	}
	key := session.Timing{Thread: t, Node: node}
	if b.timings[key] == 0 {
		b.timings[key] = session.TimingID(len(b.Timings) + 1)
		b.Timings = append(b.Timings, session.Timing{ID: b.timings[key], Thread: t, Node: node})
	}
	return b.timings[key]
}

// Value returns the value of a timing within a slice, to be added to before the next call of a method.
func (b *Builder) Value(slice session.SliceID, timing session.TimingID) *session.TimingValue {
	key := [2]int64{int64(slice), int64(timing)}
	at, ok := b.timingValues[key]
	if !ok {
		at = len(b.TimingValues)
		b.timingValues[key] = at
		b.TimingValues = append(b.TimingValues, session.TimingValue{Slice: slice, Timing: timing})
	}
	return &b.TimingValues[at]
}

func addInterval(v *session.TimingValue, i Interval, cost q.Nanoseconds) {
	v.Elapsed += i.Elapsed
	if i.Waited || i.Slept {
		off, ready := i.off(cost)
		v.OffCPU += off
		v.Blocked += off - ready
		v.Ready += ready
		v.Waited += i.Elapsed
		v.Intervals++
		v.Voluntary++
	}
}

// Run is a thread that calls functions one by one. What it records is what the seed of the idea would: each interval
// belongs to the stack at its end.
type Run struct {
	b      *Builder
	thread session.ThreadID
	cost   [2]q.Nanoseconds // that probes add to a tail and to a lead, whole nanoseconds here
	slice  session.SliceID
	open   []activation
}

// activation is a call that has not ended.
type activation struct {
	frame                Frame // Line: where it called last
	inclusive, exclusive [3]q.Nanoseconds
}

// values of an interval: elapsed, application and CPU, without what the probes added.
func (i Interval) values(cost q.Nanoseconds) [3]q.Nanoseconds {
	elapsed := i.Elapsed - cost
	if off, _ := i.off(cost); i.Waited || i.Slept {
		return [3]q.Nanoseconds{elapsed, 0, elapsed - off}
	}
	return [3]q.Nanoseconds{elapsed, elapsed, elapsed}
}

// Run begins the calls of a thread of a process that is Timed with whole nanoseconds.
func (b *Builder) Run(t session.ThreadID) *Run {
	r := &Run{b: b, thread: t, slice: 1}
	for _, p := range b.ProcessTimes {
		if p.Process == b.Threads[t-1].Process {
			r.cost = [2]q.Nanoseconds{q.Nanoseconds(p.Inside), q.Nanoseconds(p.Outside)}
		}
	}
	return r
}

func (r *Run) stack() []Frame {
	var stack []Frame
	for _, a := range r.open {
		stack = append(stack, a.frame)
	}
	return stack
}

// Depth is how many calls have not ended.
func (r *Run) Depth() int { return len(r.open) }

// In says in which slice the next events are.
func (r *Run) In(slice session.SliceID) *Run { r.slice = slice; return r }

// Call records that the function on top, from its given line, calls another, after an interval in itself. The first
// call of a thread has no interval and no line. Intervals are at least as long as the probes' part of them.
func (r *Run) Call(line int64, f session.FunctionID, i Interval) *Run {
	if n := len(r.open); n > 0 {
		top := &r.open[n-1]
		top.frame.Line = line
		add(&top.exclusive, i.values(r.cost[1]))
		v := r.b.Value(r.slice, r.b.Timing(r.thread, false, r.stack()...))
		v.Made++
		addInterval(v, i, r.cost[1])
	}
	r.open = append(r.open, activation{frame: Frame{Function: f}})
	r.b.Value(r.slice, r.b.Timing(r.thread, true, r.stack()...)).Calls++
	return r
}

// End records that the function on top ends, after an interval in itself.
func (r *Run) End(i Interval) *Run {
	timing := r.b.Timing(r.thread, true, r.stack()...)
	v := r.b.Value(r.slice, timing)
	v.Ended++
	addInterval(v, i, r.cost[0])
	n := len(r.open) - 1
	top := r.open[n]
	r.open = r.open[:n]
	add(&top.exclusive, i.values(r.cost[0]))
	add(&top.inclusive, top.exclusive)
	if n > 0 {
		add(&r.open[n-1].inclusive, top.inclusive)
	}
	r.b.extreme(timing, session.Extremes{ElapsedInclusive: only(top.inclusive[0]),
		ElapsedExclusive:     only(top.exclusive[0]),
		ApplicationInclusive: only(top.inclusive[1]), ApplicationExclusive: only(top.exclusive[1]),
		CPUInclusive: only(top.inclusive[2]), CPUExclusive: only(top.exclusive[2])})
	return r
}

// Fold records that the function on top, after an interval in itself, calls another one, which has no path of its own
// and ends after another interval.
func (r *Run) Fold(f session.FunctionID, before, within Interval) *Run {
	top := &r.open[len(r.open)-1]
	pseudo := func(name string) Frame { return Frame{Function: r.b.pseudo(r.b.Threads[r.thread-1].Process, name)} }
	root, end := pseudo(session.NameFolded), append(r.stack(), pseudo(session.NameTruncated))
	add(&top.exclusive, before.values(r.cost[1]))
	v := r.b.Value(r.slice, r.b.Timing(r.thread, true, r.stack()...))
	v.Made++
	addInterval(v, before, r.cost[1])
	pair := r.b.Timing(r.thread, true, root, Frame{Function: top.frame.Function}, Frame{Function: f})
	v = r.b.Value(r.slice, pair)
	v.Calls, v.Ended = v.Calls+1, v.Ended+1
	addInterval(v, within, r.cost[0])
	one := within.values(r.cost[0])
	r.b.extreme(pair, session.Extremes{ElapsedInclusive: only(one[0]), ElapsedExclusive: only(one[0]),
		ApplicationInclusive: only(one[1]),
		ApplicationExclusive: only(one[1]), CPUInclusive: only(one[2]), CPUExclusive: only(one[2])})
	add(&top.inclusive, one)
	whole := session.TimingInclusive{Slice: r.slice, Times: 1, Calls: 1, Elapsed: within.Elapsed}
	for _, t := range []session.TimingID{r.b.Timing(r.thread, true, root, Frame{Function: f}), pair,
		r.b.Timing(r.thread, true, end...)} {
		whole.Timing = t
		if whole.EachCalls, whole.EachElapsed = 0, 0; t == pair {
			whole.EachCalls, whole.EachElapsed = 1, within.Elapsed
		}
		r.b.TimingInclusives = append(r.b.TimingInclusives, whole)
	}
	slices.SortFunc(r.b.TimingInclusives, func(a, b session.TimingInclusive) int {
		return cmp.Or(cmp.Compare(a.Slice, b.Slice), cmp.Compare(a.Timing, b.Timing))
	})
	return r
}

// pseudo returns the pseudo function of a process with a name.
func (b *Builder) pseudo(p session.ProcessID, name string) session.FunctionID {
	for _, f := range b.Functions {
		if f.Process == p && f.Kind == session.FunctionPseudo && f.RawName == name {
			return f.ID
		}
	}
	id := session.FunctionID(len(b.Functions) + 1)
	b.Functions = append(b.Functions, session.Function{ID: id, Process: p, Kind: session.FunctionPseudo, RawName: name})
	return id
}

// Stop records that the recording ends, after an interval in the function on top: all calls that have not ended run on.
func (r *Run) Stop(i Interval) {
	for n := len(r.open); n > 0; n-- {
		timing := r.b.Timing(r.thread, true, r.stack()...)
		at := slices.IndexFunc(r.b.TimingRunning, func(t session.TimingRunning) bool { return t.Timing == timing })
		if at < 0 {
			at = len(r.b.TimingRunning)
			r.b.TimingRunning = append(r.b.TimingRunning, session.TimingRunning{Timing: timing})
		}
		r.b.TimingRunning[at].Calls++
		if n == len(r.open) && i.Elapsed > 0 {
			r.b.TimingRunning[at].Elapsed += i.Elapsed
			v := r.b.Value(r.slice, timing)
			v.Elapsed += i.Elapsed
			v.Waited += i.Elapsed // whether the system acted is not known: it counts in elapsed time only
			v.OffCPU += i.Elapsed
		}
		r.open = r.open[:n-1]
		i.Elapsed = 0
	}
	slices.SortFunc(r.b.TimingRunning, func(a, b session.TimingRunning) int { return cmp.Compare(a.Timing, b.Timing) })
}

func add(sum *[3]q.Nanoseconds, more [3]q.Nanoseconds) {
	for i, n := range more {
		sum[i] += n
	}
}

func only(n q.Nanoseconds) session.Range { return session.Range{Min: n, Max: n} }

// extreme widens the ranges of a timing.
func (b *Builder) extreme(timing session.TimingID, e session.Extremes) {
	at, ok := slices.BinarySearchFunc(b.TimingExtremes, timing, func(t session.TimingExtreme, id session.TimingID) int {
		return cmp.Compare(t.Timing, id)
	})
	if !ok {
		b.TimingExtremes = slices.Insert(b.TimingExtremes, at, session.TimingExtreme{Timing: timing, Extremes: e})
		return
	}
	have := &b.TimingExtremes[at].Extremes
	for _, r := range [][2]*session.Range{{&have.ElapsedInclusive, &e.ElapsedInclusive},
		{&have.ElapsedExclusive, &e.ElapsedExclusive},
		{&have.ApplicationInclusive, &e.ApplicationInclusive}, {&have.ApplicationExclusive, &e.ApplicationExclusive},
		{&have.CPUInclusive, &e.CPUInclusive}, {&have.CPUExclusive, &e.CPUExclusive}} {
		r[0].Min, r[0].Max = min(r[0].Min, r[1].Min), max(r[0].Max, r[1].Max)
	}
}

// RandomTimes is Random with the calls of all threads, some of which run at the end.
func RandomTimes(seed uint64) *Builder {
	b := Random(seed)
	r := rand.New(rand.NewPCG(seed, 3))
	for _, p := range b.Processes {
		b.Timed(p.ID, 10, 10)
	}
	for _, t := range b.Threads {
		var functions []session.FunctionID
		for _, f := range b.Functions {
			if f.Process == t.Process {
				functions = append(functions, f.ID)
			}
		}
		run := b.Run(t.ID)
		interval := func() Interval {
			return Interval{Elapsed: 10 + q.Nanoseconds(r.IntN(1000)), Waited: r.IntN(4) == 0}
		}
		for slice := range b.Slices {
			run.In(session.SliceID(slice + 1))
			for range r.IntN(60) {
				if d := run.Depth(); d == 0 || d < 12 && r.IntN(2) == 0 {
					line := int64(0)
					if d > 0 && b.Functions[run.open[d-1].frame.Function-1].File != 0 {
						line = b.Functions[run.open[d-1].frame.Function-1].Line + int64(r.IntN(3))
					}
					run.Call(line, functions[r.IntN(len(functions))], interval())
				} else {
					run.End(interval())
				}
			}
		}
		for r.IntN(2) == 0 && run.Depth() > 0 {
			run.End(interval())
		}
		run.Stop(Interval{Elapsed: q.Nanoseconds(r.IntN(500))})
	}
	return b
}

// Timed is a program whose times can be added up by hand: Main calls Work twice and Wait, which sleeps in the
// framework; Work calls itself; a second thread runs to the end and beyond. Probes add 10 ns to each tail and 20 to
// each lead.
func Timed() *Builder {
	b := New()
	b.Info[session.KeyMode] = session.ModeTime
	b.Slices = []session.Slice{{ID: 1, End: 500_000_000}, {ID: 2, Begin: 500_000_000, End: 1_000_000_000}}
	p := b.Process("Clock", 4343)
	b.Timed(p, 10, 20)
	main, worker := b.Thread(p, "main"), b.Thread(p, "worker")
	app, core := b.Module(p, "Clock.dll", true), b.Module(p, "System.Private.CoreLib.dll", false)
	entry := b.Function(app, "Clock.Program.Main()", "/src/Clock.cs", 5)
	work := b.Function(app, "Clock.Program.Work(int)", "/src/Clock.cs", 20)
	wait := b.Function(app, "Clock.Program.Wait()", "/src/Clock.cs", 30)
	sleep := b.Function(core, "System.Threading.Thread.Sleep(int)", "", 0)
	ns := func(n q.Nanoseconds) Interval { return Interval{Elapsed: n} }
	b.Run(main).Call(0, entry, ns(0)).
		Call(7, work, ns(1020)).Call(22, work, ns(220)).End(ns(310)).End(ns(410)).
		Call(8, work, ns(520)).End(ns(110)).
		In(2).Call(9, wait, ns(120)).Call(31, sleep, ns(70)).End(Interval{Elapsed: 100_000_010, Slept: true}).End(
		ns(60)).
		End(ns(510))
	b.Run(worker).In(2).Call(0, work, ns(0)).Call(22, wait, ns(1020)).Call(31, sleep, ns(120)).Stop(ns(300_000_000))
	return b
}

// Acted is Timed with some of what the operating system did, one by one.
func Acted() *Builder {
	b := Timed()
	add := func(timing int, e session.SystemEvent) {
		e.ID, e.Timing = session.SystemEventID(len(b.SystemEvents)+1), b.Timings[timing].ID
		b.SystemEvents = append(b.SystemEvents, e)
	}
	add(0, session.SystemEvent{End: 1_200_000, Length: 40_000, MinorFaults: 12})
	add(1, session.SystemEvent{End: 2_000_000, Length: 700_000, Preempted: 2, Ready: 600_000, MinorFaults: 1})
	add(2, session.SystemEvent{End: 9_000_000, Length: 5_000_000, Voluntary: 1, Blocked: 4_000_000, Ready: 50_000,
		Reads: 64})
	add(2, session.SystemEvent{End: 700_000_000, Length: 100_000_010, Voluntary: 1, Blocked: 99_000_000})
	add(3, session.SystemEvent{End: 600_000_000, Length: 10_000, MajorFaults: 1, Voluntary: 1, Blocked: 9_000})
	add(len(b.Timings)-1, session.SystemEvent{End: 800_000_000, Length: 200_000_000, Voluntary: 3,
		Blocked: 190_000_000})
	add(3, session.SystemEvent{End: 600_100_000, Length: 10_000, Writes: 8})
	add(1, session.SystemEvent{End: 10_000_000, Length: 5_000, Calls: 12, Migrations: 1})
	b.SystemEventCalls = []session.SystemEventCall{{Event: 8, Number: 0, Calls: 7}, {Event: 8, Number: 202, Calls: 4}}
	b.SystemCalls = []session.SystemCall{{Number: 0, Name: "read"}, {Number: 202, Name: "futex"}}
	add(1, session.SystemEvent{End: 11_000_000, Length: 5_000, Migrations: 2})
	return b
}
