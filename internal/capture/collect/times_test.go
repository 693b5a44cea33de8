package collect_test

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/capture/collect"
	"github.com/clrprof/clrprof/internal/capture/instrument"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/wiretest"
	"github.com/clrprof/clrprof/internal/wire"
)

// Functions of a timed arena. Function n has code from 0x1000 × n on.
const (
	mainFunction = 1 + iota // instrumented, as are work and back
	workFunction
	sleepFunction // a boundary
	backFunction
	otherFunction // not hooked
)

// timedArena is a process with two threads whose calls are timed by a clock of 3 GHz: n ns are 3n ticks. At 1 µs on the
// Monotonic clock it shows 1,000,000.
func timedArena() *wiretest.Arena {
	a := wiretest.New()
	a.Header.Data, a.Header.Clock, a.Header.Instrument, a.Header.Mechanism =
		wire.DataTime, wire.ClockTSC, wire.InstrumentBoundary, wire.MechanismRseq
	a.Header.TicksPerSec, a.Header.BeginTicks, a.Header.BeginNS = 3_000_000_000, 1_000_000, 1000
	a.Add(wire.Process{Executable: []byte("/usr/bin/dotnet"), CommandLine: []byte("dotnet\x00App.dll\x00")},
		wire.Thread{ID: 1, OSID: 11, Managed: 0x1000, BeginNS: 1000},
		wire.Thread{ID: 2, OSID: 12, Managed: 0x2000, BeginNS: 1500},
		wire.Module{ID: 1, MVID: mvid, Path: "/srv/App.dll", Name: "App.dll"})
	for i, name := range []string{"Main", "Work", "Sleep", "Back", "Other"} {
		id, flags := uint32(i+1), []uint32{wire.FunctionInstrumented, wire.FunctionInstrumented, wire.FunctionBoundary,
			wire.FunctionInstrumented, 0}[i]
		a.Add(wire.Function{ID: id, Module: 1, Token: 0x06000000 + id, Flags: flags, TypeNames: []string{"App"},
			Name: name, Signature: []byte{0, 0, 1}},
			wire.Body{ID: id, Function: id, Ranges: []wire.Range{{Address: 0x1000 * uint64(id), Size: 0x1000}}})
	}
	return a
}

// calls sets what a timing counted. All calls that ended took the same time, without what they called.
func calls(x *wire.Timing, began, ended, lead, tail uint64) *wire.Timing {
	x.Calls, x.Ended, x.LeadElapsed, x.TailElapsed = began, ended, lead, tail
	if ended > 0 {
		x.Min = [2]uint64{tail / ended, tail / ended}
		x.Max = x.Min
	}
	return x
}

// tree makes the timings of TestTimeTree.
func tree(a *wiretest.Arena) {
	main := a.Timing(1, 0, mainFunction, 0)
	work := a.Timing(1, main, workFunction, 0x1010)
	a.Timing(1, work, workFunction, 0x2020) // recursion
	second := a.Timing(1, main, workFunction, 0x1030)
	sleep := a.Timing(1, second, sleepFunction, 0x2040)
	a.Timing(1, sleep, backFunction, 0)      // called back from below the boundary
	a.Timing(1, main, workFunction, 0x5010)  // through code that is not hooked
	folded := a.Timing(1, 0, 0, 0)           // the root of folded calls
	a.Timing(2, 0, workFunction, 0)          // another thread
	a.Timing(1, main, workFunction, 0x5020)  // another place in the same code: the same node
	a.Timing(2, 9, workFunction, 0xFFFF0000) // from nowhere
	function := a.Timing(1, folded, workFunction, 0)
	pair := a.Timing(1, function, sleepFunction, 0)
	for i, n := range []uint32{second, function, pair} {
		a.Inclusives = append(a.Inclusives, wire.Inclusive{Times: 1, Calls: 2, Elapsed: 300 * uint64(i+1), Waited: 30,
			Waits:     wire.Waits{Intervals: 1, Preempted: 1, Ready: 9},
			EachCalls: uint64(i), EachElapsed: 600 * uint64(i)})
		a.Timings[n-1].Inclusive = uint32(i + 1)
	}
	a.IPs = append(a.IPs, wire.IP{Address: 0x1030, Function: mainFunction, Body: mainFunction, Flags: wire.IPManaged})
	a.Timings[second-1].IP = wire.IPFirst // one return address is described by the agent
}

// TestTimeTree: where each timing is in the session's tree, and what of it counts where.
func TestTimeTree(t *testing.T) {
	a := timedArena()
	tree(a)
	leads := []uint64{0, 30, 33, 36, 39, 42, 45, 0, 0, 51, 54, 0, 0}
	for i := range a.Timings {
		n := uint64(i + 1)
		if n != 8 && n != 12 {
			calls(&a.Timings[i], n, n, leads[i], 300*n)
		}
	}
	a.Timings[3].Folded = 13 // those of the pair
	a.Header.State, a.Header.EndNS, a.Header.EndTicks = uint32(wire.StateShutDown), 4000, 1_009_000
	r := newRecording(t, collect.Filter{})
	write(t, a, filepath.Join(r.dir, "1-1.arena"))
	r.sync(5000)
	s := r.unchecked() // the times of calls and what they call are not one story here
	node := func(id, parent session.NodeID, f session.FunctionID, i session.InstructionID) session.Node {
		return session.Node{ID: id, Parent: parent, Process: 1, Function: f, Instruction: i}
	}
	const folded, truncated = 6, 7
	equal(t, "nodes", get[session.Node](t)(s.Nodes()), []session.Node{
		node(1, 0, mainFunction, 0),
		node(2, 0, mainFunction, 2), node(3, 2, workFunction, 0), // instruction 1 is the one that the agent described
		node(4, 2, workFunction, 3), node(5, 4, workFunction, 0),
		node(6, 0, mainFunction, 1), node(7, 6, workFunction, 0),
		node(8, 6, workFunction, 4), node(9, 8, sleepFunction, 0),
		node(10, 9, backFunction, 0),
		node(11, 1, workFunction, 0),
		node(12, 0, folded, 0),
		node(13, 0, workFunction, 0),
		node(14, 13, workFunction, 0),
		node(15, 12, workFunction, 0), node(16, 15, sleepFunction, 0),
		node(17, 7, truncated, 0),
	})
	instruction := func(id session.InstructionID, f session.FunctionID, address session.Address) session.Instruction {
		return session.Instruction{ID: id, Function: f, Body: session.BodyID(f), Address: address,
			NativeOffset: int64(address) - 0x1000*int64(f), ILOffset: -1}
	}
	equal(t, "instructions", get[session.Instruction](t)(s.Instructions()),
		[]session.Instruction{instruction(1, mainFunction, 0x1030), instruction(2, mainFunction, 0x1010),
			instruction(3, workFunction, 0x2020), instruction(4, workFunction, 0x2040)})
	var timings []session.Timing
	for n := session.NodeID(1); n <= 17; n++ {
		thread := session.ThreadID(1)
		if n == 13 || n == 14 {
			thread = 2
		}
		timings = append(timings, session.Timing{ID: session.TimingID(n), Thread: thread, Node: n})
	}
	equal(t, "timings", get[session.Timing](t)(s.Timings()), timings)
	value := func(id session.TimingID, calls, made quantity.Count, elapsed quantity.Nanoseconds) session.TimingValue {
		return session.TimingValue{Slice: 1, Timing: id, Calls: calls, Ended: calls, Made: made, Elapsed: elapsed}
	}
	equal(t, "values", get[session.TimingValue](t)(s.TimingValues()), []session.TimingValue{
		value(1, 1, 7+10, 100+15+17), // and the calls through code that is not hooked
		value(2, 0, 2, 10), value(3, 2, 0, 200),
		value(4, 0, 3, 11), value(5, 3, 0, 300),
		value(6, 0, 4, 12), value(7, 4, 13, 400), // the caller counts folded calls
		value(8, 0, 5, 13), value(9, 5, 6, 500+14), // and the calls from below the boundary
		value(10, 6, 0, 600),
		value(11, 7+10, 0, 700+1000),
		value(13, 9, 11, 900+18), value(14, 11, 0, 1100),
		value(16, 13, 0, 1300),
	})
	inclusive := func(id session.TimingID, elapsed quantity.Nanoseconds, each quantity.Count) session.TimingInclusive {
		return session.TimingInclusive{Slice: 1, Timing: id, Times: 1, Calls: 2, Elapsed: elapsed, Waited: 10,
			Waits: quantity.Waits{Intervals: 1, Preempted: 1, OffCPU: 3, Ready: 3}, EachCalls: each,
			EachElapsed: 200 * quantity.Nanoseconds(each)}
	}
	equal(t, "time of folded calls", get[session.TimingInclusive](t)(s.TimingInclusives()),
		[]session.TimingInclusive{inclusive(15, 200, 1), inclusive(16, 300, 2), inclusive(17, 100, 0)})
	equal(t, "running", get[session.TimingRunning](t)(s.TimingRunning()), nil)
	equal(t, "process", get[session.ProcessTime](t)(s.ProcessTimes()),
		[]session.ProcessTime{{Process: 1, Clock: session.ClockTSC, TicksPerSec: 3e9,
			Instrument: session.InstrumentBoundary, Mechanism: session.MechanismRseq, Probes: session.ProbesHooks}})
	if f := get[session.Function](t)(s.Functions())[truncated-1]; f.RawName != session.NameTruncated ||
		f.Kind != session.FunctionPseudo {
		t.Errorf("%+v", f)
	}
}

// TestTimeSlices: a slice holds by how much the converted sums grew, also when a part of a nanosecond is left over.
func TestTimeSlices(t *testing.T) {
	a := timedArena()
	a.Header.PID = uint32(os.Getpid()) // it runs
	a.Header.Overhead = wire.Overhead{Inside: 30 << 10, Outside: 60 << 10, ColdInside: 1536, ColdOutside: 1}
	a.Header.GapTicks, a.Header.Mechanism = 4501, wire.MechanismNone
	main := a.Timing(1, 0, mainFunction, 0)
	work := a.Timing(1, main, workFunction, 0x1010)
	a.Timings[main-1].Calls = 1
	calls(&a.Timings[work-1], 2, 1, 101, 100) // 33 2/3 ns, 33 1/3 ns
	a.Clocks = []wire.Clock{{Depth: 2, Capacity: 4, Calls: 3, Elapsed: 201, Last: 1_000_201}}
	a.Activations = []wire.Activation{{Timing: main}, {Timing: work}, {}, {}}
	r := newRecording(t, collect.Filter{})
	path := filepath.Join(r.dir, "1-1.arena")
	write(t, a, path)
	r.sync(2000)

	a.Header.Mechanism = wire.MechanismGap
	x := calls(&a.Timings[work-1], 3, 2, 1000, 200) // 333 1/3, 66 2/3
	x.LeadWaited, x.LeadWaits = 600, 1
	x.Min, x.Max = [2]uint64{10, 11}, [2]uint64{100, 111}
	a.Waits = []wire.Waits{{Intervals: 1, Voluntary: 2, Preempted: 3, Faults: 4, Reads: 5, Blocked: 300, Ready: 270}}
	write(t, a, path)
	r.sync(3000)
	r.sync(4000) // nothing new

	a.Header.PID, a.Header.State, a.Header.EndNS, a.Header.EndTicks = wiretest.NoPID, uint32(
		wire.StateShutDown), 4500, 1_010_500
	calls(x, 3, 3, 1000, 401) // 133 2/3
	x.TailWaited, x.TailWaits = 201, 2
	x.Min, x.Max, x.Acted = [2]uint64{10, 11}, [2]uint64{100, 111}, 1
	a.Acted = []wire.Acted{{Min: [6]uint64{9, 10, 0, 0, 5, 6}, Max: [6]uint64{301, 302, 122, 133, 200, 210}},
		{Min: [6]uint64{2101, 1700, 1100, 1100, 1500, 1501}, Max: [6]uint64{2101, 1700, 1100, 1100, 1500, 1501}}}
	a.Waits = append(a.Waits, wire.Waits{Intervals: 1, Preempted: 1})
	calls(&a.Timings[main-1], 1, 1, 0, 700)
	a.Timings[main-1].Min, a.Timings[main-1].Max, a.Timings[main-1].Acted = [2]uint64{math.MaxUint64,
		math.MaxUint64}, [2]uint64{}, 2
	a.Clocks[0] = wire.Clock{Capacity: 4, Calls: 4, Elapsed: 2101, Last: 1_010_499, Own: 2999}
	a.Clocks = append(a.Clocks, wire.Clock{Own: 2})
	write(t, a, path)
	r.sync(5000)
	calls(x, 9, 9, 9000, 9000) // what comes after the end is not the process's
	write(t, a, path)
	r.sync(6000)
	s := r.unchecked()

	equal(t, "process", get[session.ProcessTime](t)(s.ProcessTimes()),
		[]session.ProcessTime{{Process: 1, Clock: session.ClockTSC, TicksPerSec: 3e9,
			Instrument: session.InstrumentBoundary,
			Mechanism:  session.MechanismGap, Gap: 1500, Inside: 10, Outside: 20, ColdInside: 0.5,
			ColdOutside: 1.0 / 1024 / 3, Agent: 1000, Probes: session.ProbesHooks}})
	const mainSelf, mainSite, workSelf = 1, 2, 3
	equal(t, "timings", get[session.Timing](t)(s.Timings()),
		[]session.Timing{{ID: 1, Thread: 1, Node: 1}, {ID: 2, Thread: 1, Node: 2}, {ID: 3, Thread: 1, Node: 3}})
	equal(t, "values", get[session.TimingValue](t)(s.TimingValues()), []session.TimingValue{
		{Slice: 1, Timing: mainSelf, Calls: 1},
		{Slice: 1, Timing: mainSite, Made: 2, Elapsed: 33},
		{Slice: 1, Timing: workSelf, Calls: 2, Ended: 1, Elapsed: 33},
		{Slice: 2, Timing: mainSite, Made: 1, Elapsed: 300, Waited: 200, Waits: quantity.Waits{Intervals: 1,
			Voluntary: 2, Preempted: 3, Faults: 4, Reads: 5, OffCPU: 190, Blocked: 100, Ready: 90}},
		{Slice: 2, Timing: workSelf, Calls: 1, Ended: 1, Elapsed: 33},
		{Slice: 4, Timing: mainSelf, Ended: 1, Elapsed: 233},
		{Slice: 4, Timing: workSelf, Ended: 1, Elapsed: 133 - 66, Waited: 67,
			Waits: quantity.Waits{Intervals: 1, Preempted: 1}},
	})
	one := func(min, max quantity.Nanoseconds) session.Range { return session.Range{Min: min, Max: max} }
	equal(t, "extremes", get[session.TimingExtreme](t)(s.TimingExtremes()), []session.TimingExtreme{
		{Timing: mainSelf, Extremes: session.Extremes{ElapsedInclusive: one(700, 700), ElapsedExclusive: one(566, 566),
			ApplicationInclusive: one(366, 366), ApplicationExclusive: one(366, 366), CPUInclusive: one(500, 500),
			CPUExclusive: one(500, 500)}},
		{Timing: workSelf, Extremes: session.Extremes{ElapsedInclusive: one(3, 100), ElapsedExclusive: one(3, 100),
			ApplicationInclusive: one(0, 40), ApplicationExclusive: one(0, 44), CPUInclusive: one(1, 66),
			CPUExclusive: one(2, 70)}},
	})
	equal(t, "running", get[session.TimingRunning](t)(s.TimingRunning()), nil)
}

// TestTimeOneNode: two timings that are one node add up; the extremes are those of both.
func TestTimeOneNode(t *testing.T) {
	a := timedArena()
	main := a.Timing(1, 0, mainFunction, 0)
	for i, address := range []uint64{0x5010, 0x5020} {
		x := calls(&a.Timings[a.Timing(1, main, workFunction, address)-1], 1, 1, 1, 3*uint64(100+i))
		a.Acted = append(a.Acted, wire.Acted{Min: [6]uint64{x.Min[0], x.Min[1], 0, x.Min[1], 0, x.Min[1]},
			Max: [6]uint64{x.Max[0], x.Max[1], 0, x.Max[1], 0, x.Max[1]}})
		x.Min, x.Max, x.Acted = [2]uint64{math.MaxUint64, math.MaxUint64}, [2]uint64{}, uint32(i+1)
	}
	a.Timing(1, main, workFunction, 0x5030) // not called yet: it has no extremes
	calls(&a.Timings[main-1], 1, 1, 0, 0)
	a.Timings[main-1].Min, a.Timings[main-1].Max = [2]uint64{605, 2}, [2]uint64{605, 2}
	s := record(t, a, collect.Filter{})
	equal(t, "values", get[session.TimingValue](t)(s.TimingValues()), []session.TimingValue{
		{Slice: 1, Timing: 1, Calls: 1, Ended: 1, Made: 2, Elapsed: 0}, // two thirds of a nanosecond
		{Slice: 1, Timing: 2, Calls: 2, Ended: 2, Elapsed: 201},
	})
	have := get[session.TimingExtreme](t)(s.TimingExtremes())
	if len(have) != 2 || have[1].ElapsedInclusive != (session.Range{Min: 100, Max: 101}) ||
		have[1].ApplicationInclusive != (session.Range{}) {
		t.Errorf("%+v", have)
	}
}

// TestTimeNotedLate: the extremes of a call that were noted only after it was counted are in the session, though
// nothing else changed.
func TestTimeNotedLate(t *testing.T) {
	for name, late := range map[string]func(*wiretest.Arena, *wire.Timing){
		"first": func(_ *wiretest.Arena, x *wire.Timing) { x.Min, x.Max = [2]uint64{300, 300}, [2]uint64{300, 300} },
		"first in which the system acted": func(a *wiretest.Arena, x *wire.Timing) {
			a.Acted, x.Acted = []wire.Acted{{Min: [6]uint64{300, 300}, Max: [6]uint64{300, 300}}}, 1
		},
	} {
		a := timedArena()
		a.Header.PID = uint32(os.Getpid())
		main := &a.Timings[a.Timing(1, 0, mainFunction, 0)-1]
		calls(main, 1, 1, 0, 300)
		main.Min, main.Max = [2]uint64{math.MaxUint64, math.MaxUint64}, [2]uint64{}
		r := newRecording(t, collect.Filter{})
		path := filepath.Join(r.dir, "1-1.arena")
		write(t, a, path)
		r.sync(2000)
		late(a, main)
		a.Header.PID, a.Header.State, a.Header.EndNS, a.Header.EndTicks = wiretest.NoPID, uint32(
			wire.StateShutDown), 4500, 1_010_500
		write(t, a, path)
		r.sync(3000)
		have := get[session.TimingExtreme](t)(r.unchecked().TimingExtremes())
		if len(have) != 1 || have[0].ElapsedInclusive != (session.Range{Min: 100, Max: 100}) {
			t.Errorf("%s: %+v", name, have)
		}
	}
}

// runningArena is inside two calls of Work in thread 1, called by Main, and in one of Main in thread 2, which has
// ended.
func runningArena() *wiretest.Arena {
	a := timedArena()
	main := a.Timing(1, 0, mainFunction, 0)
	work := a.Timing(1, main, workFunction, 0x1010)
	inner := a.Timing(1, work, workFunction, 0x2020)
	other := a.Timing(2, 0, mainFunction, 0)
	calls(&a.Timings[main-1], 1, 0, 0, 0)
	calls(&a.Timings[work-1], 5, 4, 300, 1200)
	calls(&a.Timings[inner-1], 1, 0, 60, 0)
	calls(&a.Timings[other-1], 1, 0, 0, 0)
	a.Activations = []wire.Activation{{}, {Timing: main}, {Timing: work}, {Timing: inner}, {}, {Timing: other}, {}}
	a.Clocks = []wire.Clock{{Depth: 3, Capacity: 3, Activations: 1, Last: 1_003_000},
		{Depth: 1, Capacity: 2, Activations: 5, Last: 1_001_800}}
	return a
}

// TestTimeRunning: what is open at the end, in a process that exited, one that was killed, and one that runs on.
func TestTimeRunning(t *testing.T) {
	for _, c := range []struct {
		name            string
		change          func(a *wiretest.Arena)
		first, second   quantity.Nanoseconds // open in the innermost call of each thread
		inner, elapsed2 quantity.Nanoseconds
	}{
		{"exited", func(a *wiretest.Arena) {
			a.Header.State, a.Header.EndNS, a.Header.EndTicks = uint32(wire.StateShutDown), 4000, 1_009_000
		}, 2000, 2400, 0, 0}, // 6000 and 7200 ticks
		{"killed", func(a *wiretest.Arena) {}, 3000, 3400, 0, 0}, // found dead at 5 µs: 1,012,000 ticks
		{"running", func(a *wiretest.Arena) { a.Header.PID = uint32(os.Getpid()) }, 3000, 3400, 0, 0},
		{"a thread that ended", func(a *wiretest.Arena) {
			a.Add(wire.ThreadEnd{Managed: 0x2000, EndNS: 1500}) // 1,001,500 ticks: before its last event
		}, 3000, 0, 0, 0},
		{"events after the shutdown", func(a *wiretest.Arena) {
			a.Header.State, a.Header.EndNS, a.Header.EndTicks = uint32(wire.StateShutDown), 2000, 1_002_100
		}, 0, 100, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := runningArena()
			c.change(a)
			r := newRecording(t, collect.Filter{})
			write(t, a, filepath.Join(r.dir, "1-1.arena"))
			if err := r.recorder.SyncLast(5000); err != nil {
				t.Fatal(err)
			}
			s := r.unchecked()
			equal(t, "running", get[session.TimingRunning](t)(s.TimingRunning()),
				[]session.TimingRunning{{Timing: 1, Calls: 1}, {Timing: 3, Calls: 1},
					{Timing: 5, Calls: 1, Elapsed: c.first}, {Timing: 6, Calls: 1, Elapsed: c.second}})
			equal(t, "values", get[session.TimingValue](t)(s.TimingValues()),
				[]session.TimingValue{{Slice: 1, Timing: 1, Calls: 1}, {Slice: 1, Timing: 2, Made: 5, Elapsed: 100},
					{Slice: 1, Timing: 3, Calls: 5, Ended: 4, Elapsed: 400},
					{Slice: 1, Timing: 4, Made: 1, Elapsed: 20},
					{Slice: 1, Timing: 5, Calls: 1, Elapsed: c.first, Waited: c.first,
						Waits: quantity.Waits{OffCPU: c.first}},
					{Slice: 1, Timing: 6, Calls: 1, Elapsed: c.second, Waited: c.second,
						Waits: quantity.Waits{OffCPU: c.second}}})
		})
	}
}

// TestTimeRunsOn: an ordinary sync writes nothing of what is open in a process that runs.
func TestTimeRunsOn(t *testing.T) {
	a := runningArena()
	a.Header.PID = uint32(os.Getpid())
	r := newRecording(t, collect.Filter{})
	path := filepath.Join(r.dir, "1-1.arena")
	write(t, a, path)
	r.sync(2000)
	// The innermost call ends, and 6,000 ticks of it are not counted twice.
	calls(&a.Timings[2], 1, 1, 60, 6000)
	a.Clocks[0].Depth, a.Clocks[0].Last = 2, 1_009_000
	write(t, a, path)
	if err := r.recorder.SyncLast(5000); err != nil {
		t.Fatal(err)
	}
	s := r.unchecked()
	equal(t, "running", get[session.TimingRunning](t)(s.TimingRunning()),
		[]session.TimingRunning{{Timing: 1, Calls: 1}, {Timing: 3, Calls: 1, Elapsed: 1000},
			{Timing: 6, Calls: 1, Elapsed: 3400}})
	sum := quantity.Nanoseconds(0)
	for _, v := range get[session.TimingValue](t)(s.TimingValues()) {
		sum += v.Elapsed
	}
	if want := quantity.Nanoseconds(100 + 400 + 20 + 2000 + 1000 + 3400); sum != want {
		t.Errorf("%d ns, want %d", sum, want)
	}
}

// TestTimeExec: a process that was replaced by exec ended when the next one of its id began.
func TestTimeExec(t *testing.T) {
	first, second := runningArena(), timedArena()
	second.Header.StartNS = 3000
	first.Header.PID, second.Header.PID = uint32(os.Getpid()), uint32(os.Getpid())
	r := newRecording(t, collect.Filter{})
	write(t, first, filepath.Join(r.dir, "1-1000.arena"))
	write(t, second, filepath.Join(r.dir, "1-3000.arena"))
	if err := r.recorder.SyncLast(5000); err != nil {
		t.Fatal(err)
	}
	running := get[session.TimingRunning](t)(r.unchecked().TimingRunning())
	if n := len(running); n != 4 || running[2].Elapsed != 1000 { // 1,006,000 - 1,003,000 ticks
		t.Errorf("%+v", running)
	}
}

// TestTimeKilledWithin: a thread was killed between the additions to two counters.
func TestTimeKilledWithin(t *testing.T) {
	a := runningArena()
	a.Timings[1].LeadWaited, a.Timings[1].LeadWaits = 900, 1 // more than elapsed
	a.Timings[1].TailWaited, a.Timings[1].TailWaits = 1500, 2
	a.Waits = []wire.Waits{{Intervals: 6}, {Intervals: 5}} // more than calls
	a.Timings[2].Ended = 2                                 // more than began; without extremes
	r := newRecording(t, collect.Filter{})
	write(t, a, filepath.Join(r.dir, "1-1.arena"))
	r.sync(5000)
	s := r.unchecked()
	values := get[session.TimingValue](t)(s.TimingValues())
	for i, want := range []session.TimingValue{{Slice: 1, Timing: 2, Made: 5, Elapsed: 100, Waited: 100,
		Waits: quantity.Waits{Intervals: 5}},
		{Slice: 1, Timing: 3, Calls: 5, Ended: 4, Elapsed: 400, Waited: 400, Waits: quantity.Waits{Intervals: 4}}} {
		if values[i+1] != want {
			t.Errorf("%+v, want %+v", values[i+1], want)
		}
	}
	for _, x := range get[session.TimingExtreme](t)(s.TimingExtremes()) {
		if x.Timing == 5 {
			t.Errorf("%+v", x)
		}
	}
}

// unchecked ends the recording and opens the session, of which the numbers are made up too freely for all checks.
func (r *recordingTest) unchecked() *session.Session {
	r.t.Helper()
	err := r.writer.SetState(session.Recorded)
	r.checkSums()
	if err := errors.Join(err, r.recorder.Close(), r.writer.Close()); err != nil {
		r.t.Fatal(err)
	}
	s, err := session.Open(r.path)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { s.Close() })
	return s
}

func TestTimeLosses(t *testing.T) {
	a := timedArena()
	a.Header.Losses[wire.LossCallsFolded] = wire.LossEntry{Events: 3, Objects: 7}
	a.Header.Losses[wire.LossCallsUnmatched] = wire.LossEntry{Events: 2, Objects: 2}
	a.Header.Losses[wire.LossCallsCut] = wire.LossEntry{Events: 4, Objects: 4}
	a.Header.Losses[wire.LossClockBackwards] = wire.LossEntry{Events: 5}
	a.Header.Losses[wire.LossNotHooked] = wire.LossEntry{Events: 1, Objects: 1}
	a.Header.Losses[wire.LossWaits] = wire.LossEntry{Events: 6}
	losses := get[session.Loss](t)(record(t, a, collect.Filter{}).Losses())
	equal(t, "losses", losses, []session.Loss{{Process: 1, Reason: session.LossCallsCut, Events: 4},
		{Process: 1, Reason: session.LossCallsFolded, Events: 7},
		{Process: 1, Reason: session.LossCallsUnmatched, Events: 2},
		{Process: 1, Reason: session.LossClockBackwards, Events: 5},
		{Process: 1, Reason: session.LossNotHooked, Events: 1},
		{Process: 1, Reason: session.LossWaits, Events: 6}})
	for _, l := range losses {
		if l.IsMissing() || strings.Contains(l.Meaning(), "does not know") || l.Unit() == "event" {
			t.Errorf("%s: %s, %s", l.Reason, l.Unit(), l.Meaning())
		}
	}
}

// TestProbesMeasuredAgain: what was measured while the program ran counts, once it was measured some times.
func TestProbesMeasuredAgain(t *testing.T) {
	for _, x := range []struct {
		repeated uint64
		want     session.ProcessTime
	}{
		{7, session.ProcessTime{Inside: 10, Outside: 20, Uncertain: 30, Measured: 7, Least: 30, Most: 40}},
		{16, session.ProcessTime{Inside: 12, Outside: 24, Uncertain: 36 + 10.0/4, Measured: 16, Least: 30, Most: 40,
			FirstInside: 10, FirstOutside: 20}},
	} {
		a := timedArena()
		a.Header.Overhead = wire.Overhead{Inside: 30 << 10, Outside: 60 << 10, Uncertain: 90 << 10, Repeated: x.repeated,
			LaterInside: 36 << 10, LaterOutside: 72 << 10, Least: 90 << 10, Most: 120 << 10}
		r := newRecording(t, collect.Filter{})
		write(t, a, filepath.Join(r.dir, "1-1.arena"))
		r.sync(2000)
		r.sync(3000)
		have := get[session.ProcessTime](t)(r.unchecked().ProcessTimes())[0]
		have = session.ProcessTime{Inside: have.Inside, Outside: have.Outside, Uncertain: have.Uncertain,
			Measured: have.Measured, Least: have.Least, Most: have.Most, FirstInside: have.FirstInside,
			FirstOutside: have.FirstOutside}
		equal(t, "probes", []session.ProcessTime{have}, []session.ProcessTime{x.want})
	}
}

// TestTimeCorrupt: what no agent writes is an error, not a panic.
func TestTimeCorrupt(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(a *wiretest.Arena)
	}{
		{"no clock", func(a *wiretest.Arena) { a.Header.Clock = 0 }},
		{"a clock of another kind", func(a *wiretest.Arena) { a.Header.Clock = 4 }},
		{"an unknown instrumentation", func(a *wiretest.Arena) { a.Header.Instrument = 4 }},
		{"an unknown mechanism", func(a *wiretest.Arena) { a.Header.Mechanism = 4 }},
		{"a clock that stands", func(a *wiretest.Arena) { a.Header.TicksPerSec = 0 }},
		{"a clock that flies", func(a *wiretest.Arena) { a.Header.TicksPerSec = math.MaxUint64 }},
		{"a slow clock", func(a *wiretest.Arena) { a.Header.TicksPerSec = 1; a.Timings[0].TailElapsed = maxTicks }},
		{"a gap of years", func(a *wiretest.Arena) { a.Header.GapTicks = math.MaxUint64 }},
		{"probes of seconds", func(a *wiretest.Arena) { a.Header.Overhead.Outside = 1 << 60 }},
		{"later probes of seconds", func(a *wiretest.Arena) { a.Header.Overhead.LaterInside = 1 << 60 }},
		{"less than the least", func(a *wiretest.Arena) { a.Header.Overhead.Least = 1 }},
		{"measured too often", func(a *wiretest.Arena) { a.Header.Overhead.Repeated = math.MaxUint64 }},
		{"cold probes of seconds", func(a *wiretest.Arena) { a.Header.Overhead.ColdInside = 1 << 60 }},
		{"its own caller", func(a *wiretest.Arena) { a.Timings[1].Parent = 2 }},
		{"a later caller", func(a *wiretest.Arena) { a.Timings[1].Parent = math.MaxUint32 }},
		{"a caller in another thread", func(a *wiretest.Arena) { a.Timings[1].Thread = 2 }},
		{"an unknown thread", func(a *wiretest.Arena) { a.Timings[0].Thread = 77 }},
		{"no thread", func(a *wiretest.Arena) { a.Timings[0].Thread = 0 }},
		{"an unknown function", func(a *wiretest.Arena) { a.Timings[1].Function = 77 }},
		{"an unknown instruction", func(a *wiretest.Arena) { a.Timings[1].IP = 77 }},
		{"time before a root", func(a *wiretest.Arena) { a.Timings[0].LeadElapsed = 1 }},
		{"more calls than there are", func(a *wiretest.Arena) { a.Timings[1].Calls = math.MaxUint64 }},
		{"more calls in sum than there are", func(a *wiretest.Arena) {
			a.Timings[1].Calls, a.Timings[2].Calls = 1<<59, 1<<59
		}},
		{"more time than there is", func(a *wiretest.Arena) { a.Timings[1].TailElapsed = math.MaxUint64 }},
		{"more time before than there is", func(a *wiretest.Arena) { a.Timings[1].LeadElapsed = math.MaxUint64 }},
		{"more time in sum than there is", func(a *wiretest.Arena) {
			a.Header.TicksPerSec = 1e9
			a.Timings[1].TailElapsed, a.Timings[2].TailElapsed = maxTicks-1, maxTicks-1
		}},
		{"a call of years", func(a *wiretest.Arena) {
			calls(&a.Timings[1], 1, 1, 0, 0)
			a.Timings[1].Max[1] = math.MaxUint64
		}},
		{"unknown extremes", func(a *wiretest.Arena) { calls(&a.Timings[1], 1, 1, 0, 0).Acted = 9 }},
		{"unknown time of folded calls", func(a *wiretest.Arena) { a.Timings[1].Inclusive = 9 }},
		{"more folded calls than there are", func(a *wiretest.Arena) {
			a.Timings[1].Inclusive, a.Inclusives = 1, []wire.Inclusive{{Calls: math.MaxUint64}}
		}},
		{"unknown waits", func(a *wiretest.Arena) { a.Timings[1].TailWaits = 9 }},
		{"unknown waits before", func(a *wiretest.Arena) { a.Timings[1].LeadWaits = math.MaxUint32 }},
		{"more reads than there are", func(a *wiretest.Arena) {
			a.Timings[1].TailWaits, a.Waits = 1, []wire.Waits{{Reads: math.MaxUint64}}
		}},
		{"calls beyond the table", func(a *wiretest.Arena) { a.Clocks[0].Activations = math.MaxUint64 - 1 }},
		{"calls at the end of the table", func(a *wiretest.Arena) { a.Clocks[0].Activations = 5 }},
		{"more calls than there is room for", func(a *wiretest.Arena) { a.Clocks[0].Depth = math.MaxUint32 }},
		{"a call of no timing", func(a *wiretest.Arena) { a.Activations[3].Timing = 0 }},
		{"a call of an unknown timing", func(a *wiretest.Arena) { a.Activations[3].Timing = 5 }},
		{"an agent that took years", func(a *wiretest.Arena) { a.Clocks[0].Own = math.MaxUint64 }},
		{"an end in years", func(a *wiretest.Arena) { a.Header.EndTicks = math.MaxUint64 }},
		{"a clock from before", func(a *wiretest.Arena) {
			a.Header.BeginNS, a.Header.TicksPerSec = math.MaxUint64, 1<<60-1
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRecording(t, collect.Filter{})
			a := runningArena()
			c.change(a)
			write(t, a, filepath.Join(r.dir, "1-1.arena"))
			if err := r.recorder.Sync(5000); !errors.Is(err, wire.ErrCorrupt) ||
				!strings.Contains(err.Error(), "arena") {
				t.Error(err)
			}
			if err := errors.Join(r.recorder.Close(), r.writer.Close()); err != nil {
				t.Error(err)
			}
		})
	}
}

// maxTicks is the most that a counter can hold.
const maxTicks = 1 << 60

// TestTimeOverwritten: what was read once changes under the reader.
func TestTimeOverwritten(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(a *wiretest.Arena)
		fails  bool
	}{
		{"the places of timings", func(a *wiretest.Arena) {
			for i := range a.Timings {
				x := &a.Timings[i]
				x.Parent, x.Function, x.Thread, x.IP, x.ReturnAddress = 77, 77, 77, 77, 77
			}
		}, false},
		{"a counter that shrinks", func(a *wiretest.Arena) { a.Timings[1].Calls-- }, true},
		{"time that shrinks", func(a *wiretest.Arena) { a.Timings[1].TailElapsed -= 3 }, true},
		{"another clock", func(a *wiretest.Arena) { a.Header.TicksPerSec++ }, true},
	} {
		r := newRecording(t, collect.Filter{})
		a := runningArena()
		a.Header.PID = uint32(os.Getpid())
		path := filepath.Join(r.dir, "1-1.arena")
		write(t, a, path)
		r.sync(2000)
		c.change(a)
		write(t, a, path)
		if err := r.recorder.Sync(3000); errors.Is(err, wire.ErrCorrupt) != c.fails {
			t.Errorf("%s: %v", c.name, err)
		}
		if values := get[session.TimingValue](t)(r.unchecked().TimingValues()); len(values) != 6 {
			t.Errorf("%s: %+v", c.name, values)
		}
	}
}

// TestTimeFewerTimings: the target takes back what it had published.
func TestTimeFewerTimings(t *testing.T) {
	r := newRecording(t, collect.Filter{})
	a := runningArena()
	a.Header.PID = uint32(os.Getpid())
	path := filepath.Join(r.dir, "1-1.arena")
	write(t, a, path)
	r.sync(2000)
	a.Timings = a.Timings[:2]
	write(t, a, path)
	if err := r.recorder.Sync(3000); !errors.Is(err, wire.ErrCorrupt) {
		t.Error(err)
	}
	r.unchecked()
}

// TestTimeAndMemory: stacks of allocations keep the frames whose calls are timed, and are the same tree.
func TestTimeAndMemory(t *testing.T) {
	const place = 0x10
	for _, c := range []struct {
		name  string
		stack []uint32
		want  string
	}{
		{"all the user's", []uint32{mainFunction, workFunction}, "Main/Work"},
		{"the framework at its root", []uint32{sleepFunction, mainFunction, workFunction}, "Main/Work"},
		{"called from user's code", []uint32{mainFunction, sleepFunction}, "Main/Sleep"},
		{"called by the framework", []uint32{mainFunction, sleepFunction, sleepFunction}, "Main/Sleep"},
		{"called back", []uint32{mainFunction, sleepFunction, sleepFunction, backFunction, sleepFunction},
			"Main/Sleep/Back/Sleep"},
		{"not hooked", []uint32{mainFunction, otherFunction, workFunction, otherFunction}, "Main/Work"},
		{"the framework through code that is not hooked", []uint32{mainFunction, otherFunction, sleepFunction},
			"Main/Sleep"},
		{"the framework alone", []uint32{sleepFunction, otherFunction, sleepFunction}, "(excluded)"},
		{"not hooked alone", []uint32{otherFunction}, "(excluded)"},
		{"native code", []uint32{0, mainFunction, 0, workFunction}, "Main/Work"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := timedArena()
			a.Header.Data |= wire.DataMemory
			a.Add(wire.Type{ID: 1, Kind: wire.TypeOther})
			node := uint32(0)
			for _, f := range c.stack {
				ip := a.IP(0x1000*uint64(f)+place, f, f)
				if f == 0 {
					a.IPs[ip].Flags = 0
				}
				node = a.Node(node, ip)
			}
			a.Site(1, node, 1, 3, 96)
			s := record(t, a, instrument.NewRules(nil, []string{"*"})) // what is timed has been decided by the agent
			if have := pathsOf(t, s)[get[session.Site](t)(s.Sites())[0].Node]; have != c.want {
				t.Errorf("%s, want %s", have, c.want)
			}
			if have := total(t, s); have != (quantity.Amount{Allocations: 3, Bytes: 96}) {
				t.Errorf("%+v", have)
			}
		})
	}
}

// pathsOf returns the names of the functions from the root to each node.
func pathsOf(t *testing.T, s *session.Session) map[session.NodeID]string {
	t.Helper()
	names, paths := map[session.FunctionID]string{}, map[session.NodeID]string{}
	for _, f := range get[session.Function](t)(s.Functions()) {
		names[f.ID] = f.RawName
	}
	for _, n := range get[session.Node](t)(s.Nodes()) {
		paths[n.ID] = names[n.Function]
		if n.Parent != 0 {
			paths[n.ID] = paths[n.Parent] + "/" + names[n.Function]
		}
	}
	return paths
}

// TestTimeJoinsMemory: an allocation at a call site and a call from there are at one node, whichever is met first.
func TestTimeJoinsMemory(t *testing.T) {
	a := timedArena()
	a.Header.Data, a.Header.PID = wire.DataTime|wire.DataMemory, uint32(os.Getpid())
	a.Add(wire.Type{ID: 1, Kind: wire.TypeOther})
	main := a.Timing(1, 0, mainFunction, 0)
	a.Timing(1, main, workFunction, 0x1010)
	r := newRecording(t, collect.Filter{})
	path := filepath.Join(r.dir, "1-1.arena")
	write(t, a, path)
	r.sync(2000)
	top := a.Node(0, a.IP(0x1010, mainFunction, mainFunction))
	a.Site(1, top, 1, 1, 24)
	a.Site(1, a.Node(top, a.IP(0x2020, workFunction, workFunction)), 1, 1, 24)
	a.Site(1, a.Node(a.Node(0, a.IP(0x3010, sleepFunction, sleepFunction)), a.IP(0x1010, mainFunction, mainFunction)),
		1, 1, 24)
	a.Timing(1, 2, sleepFunction, 0x2020)
	write(t, a, path)
	r.sync(3000)
	s := r.unchecked()
	equal(t, "nodes", get[session.Node](t)(s.Nodes()), []session.Node{
		{ID: 1, Process: 1, Function: mainFunction}, {ID: 2, Process: 1, Function: mainFunction, Instruction: 1},
		{ID: 3, Parent: 2, Process: 1, Function: workFunction},
		{ID: 4, Parent: 2, Process: 1, Function: workFunction, Instruction: 2},
		{ID: 5, Parent: 4, Process: 1, Function: sleepFunction}})
	var nodes []session.NodeID
	for _, site := range get[session.Site](t)(s.Sites()) {
		nodes = append(nodes, site.Node)
	}
	equal(t, "sites", nodes, []session.NodeID{2, 4, 2})
	if n := len(get[session.Instruction](t)(s.Instructions())); n != 3 {
		t.Errorf("%d instructions", n)
	}
}

// TestTimeRecover: when a process that was killed is looked at much later, it lived at the last event of its threads.
func TestTimeRecover(t *testing.T) {
	dir, path := filepath.Join(t.TempDir(), "arenas"), filepath.Join(t.TempDir(), "s.clrprof")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, runningArena(), filepath.Join(dir, "40000000-3e8.arena"))
	found, err := collect.Recover(dir, path, false, nil, nil)
	if found.Running || err != nil {
		t.Fatal(found, err)
	}
	if err := found.Session.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := session.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	equal(t, "running", get[session.TimingRunning](t)(s.TimingRunning()),
		[]session.TimingRunning{{Timing: 1, Calls: 1}, {Timing: 3, Calls: 1},
			{Timing: 5, Calls: 1}, {Timing: 6, Calls: 1, Elapsed: 400}})
	if info, err := s.Info(); err != nil || info[session.KeyMode] != session.ModeTime {
		t.Errorf("%v, %v", info, err)
	}
}

// TestMode: what the processes recorded, together.
func TestMode(t *testing.T) {
	for _, c := range []struct {
		data []uint32
		want string
	}{
		{[]uint32{wire.DataMemory}, session.ModeMemory},
		{[]uint32{wire.DataMemory, wire.DataMemory | wire.DataLifetime}, session.ModeLifetime},
		{[]uint32{wire.DataTime}, session.ModeTime},
		{[]uint32{wire.DataTime, wire.DataMemory}, session.ModeMemoryTime},
		{[]uint32{wire.DataTime | wire.DataMemory | wire.DataLifetime}, session.ModeLifetimeTime},
	} {
		r := newRecording(t, collect.Filter{})
		for i, data := range c.data {
			a := timedArena()
			a.Header.Data = data
			write(t, a, filepath.Join(r.dir, []string{"1-1.arena", "2-2.arena"}[i]))
		}
		r.sync(5000)
		if have := r.recorder.Mode(); have != c.want {
			t.Errorf("%v: %s, want %s", c.data, have, c.want)
		}
		r.unchecked()
	}
}

// TestTimeMany: more timings than are written at once, with everything, in two slices.
func TestTimeMany(t *testing.T) {
	const chains, length = 150, 100
	r := newRecording(t, collect.Filter{})
	a := timedArena()
	a.Capacity = 1 << 24
	a.Header.PID = uint32(os.Getpid())
	a.Waits = []wire.Waits{{Intervals: 1, Voluntary: 2, Blocked: 27}}
	main := a.Timing(1, 0, mainFunction, 0)
	calls(&a.Timings[main-1], 1, 1, 0, 3)
	fill := func(from uint64) {
		for n := from; n < from+chains; n++ {
			parent := main
			for depth := range length { // the first call of a chain is at a place of its own
				parent = a.Timing(1, parent, workFunction, []uint64{0x1001 + n, 0x2020}[min(depth, 1)])
				calls(&a.Timings[parent-1], 1, 1, 6, 30+3*n)
			}
			a.Timings[parent-1].TailWaited, a.Timings[parent-1].TailWaits = 30, 1
		}
	}
	path := filepath.Join(r.dir, "1-1.arena")
	fill(0)
	write(t, a, path)
	r.sync(2000)
	fill(chains - 50) // fifty at the same places: another timing of the arena is not always another one of the session
	for i := range a.Timings[:main+length] {
		a.Timings[i].TailElapsed += 300
		a.Timings[i].Max[0] += 300
		a.Timings[i].Calls++
		a.Timings[i].Ended++
	}
	write(t, a, path)
	r.sync(3000)
	s := r.unchecked()
	var want, got session.TimingValue
	for i := range a.Timings {
		x := &a.Timings[i]
		want.Calls += quantity.Count(x.Calls)
		want.Elapsed += quantity.Nanoseconds(x.TailElapsed/3 + x.LeadElapsed/3)
		want.Waited += quantity.Nanoseconds(x.TailWaited / 3)
		want.Voluntary += quantity.Count(2 * x.TailWaits)
	}
	ended := map[session.TimingID]bool{}
	perSlice := map[session.SliceID]int{}
	for _, v := range get[session.TimingValue](t)(s.TimingValues()) {
		got.Calls += v.Calls
		got.Elapsed += v.Elapsed
		got.Waited += v.Waited
		got.Voluntary += v.Voluntary
		perSlice[v.Slice]++
		if v.Ended > 0 {
			ended[v.Timing] = true
		}
	}
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if len(perSlice) != 2 || min(perSlice[1], perSlice[2]) < 1<<14 {
		t.Errorf("rows of slices: %v", perSlice)
	}
	extremes := get[session.TimingExtreme](t)(s.TimingExtremes())
	for _, e := range extremes {
		if !ended[e.Timing] {
			t.Errorf("timing %d has extremes and no calls", e.Timing)
		}
	}
	if len(extremes) != len(ended) {
		t.Errorf("%d timings have calls that ended, %d have extremes", len(ended), len(extremes))
	}
	if want := 1 + length*(2*chains-50); len(ended) != want {
		t.Errorf("%d functions have calls, want %d", len(ended), want)
	}
	timings, nodes := get[session.Timing](t)(s.Timings()), get[session.Node](t)(s.Nodes())
	for i, x := range timings {
		if x.ID != session.TimingID(i+1) || int(x.Node) > len(nodes) {
			t.Errorf("timing %d: %+v", i+1, x)
		}
	}
}

// TestTimeTellsHowFar: at the end the recorder says how far it is, always further.
func TestTimeTellsHowFar(t *testing.T) {
	const timings = 40_000
	r := newRecording(t, collect.Filter{})
	a := timedArena()
	a.Capacity = 1 << 24
	parent := a.Timing(1, 0, mainFunction, 0)
	calls(&a.Timings[parent-1], 1, 1, 0, 3)
	for n := range timings {
		calls(&a.Timings[a.Timing(1, parent, workFunction, 0x1001+uint64(n%1000)<<32)-1], 1, 1, 6, 30)
	}
	write(t, a, filepath.Join(r.dir, "1-1.arena"))
	var reported []int
	r.recorder.OnEnd(func(percent int) { reported = append(reported, percent) })
	r.sync(2000)
	r.unchecked()
	if len(reported) < 8 || !slices.IsSorted(reported) || reported[0] > 25 || reported[len(reported)-1] < 50 || reported[len(reported)-1] > 100 {
		t.Errorf("%d", reported)
	}
}
