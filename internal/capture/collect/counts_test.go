package collect_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/clrprof/clrprof/internal/capture/collect"
	"github.com/clrprof/clrprof/internal/capture/cpucounter"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/wire"
)

// TestCPUCounters: what CPU counters counted is at the nodes where the time is, and grows from slice to slice; of folded
// calls as well.
func TestCPUCounters(t *testing.T) {
	a := timedArena()
	a.Header.PID = uint32(os.Getpid()) // it lives
	a.Header.Counters = 2
	a.Header.CPUCounters[0] = wire.CPUCounter{Kind: wire.CounterFaults}
	a.Header.CPUCounters[1] = wire.CPUCounter{Kind: wire.CounterTaskClock, Inside: 3 * 1024, Outside: 512}
	main := a.Timing(1, 0, mainFunction, 0)
	work := a.Timing(1, main, workFunction, 0x1010)
	folded := a.Timing(1, 0, 0, 0)
	function := a.Timing(1, folded, workFunction, 0)
	calls(&a.Timings[main-1], 1, 1, 0, 300)
	calls(&a.Timings[work-1], 2, 2, 60, 90)
	a.Inclusives = []wire.Inclusive{{Times: 1, Calls: 1, Elapsed: 30, EachCalls: 1, EachElapsed: 30}}
	a.Timings[function-1].Inclusive = 1
	a.Counts = make([]wire.Counts, len(a.Timings))
	a.Counts[main-1].Tail = [wire.MaxCounters]uint64{5, 500}
	a.Counts[work-1] = wire.Counts{Lead: [wire.MaxCounters]uint64{2, 20}, Tail: [wire.MaxCounters]uint64{0, 30}}
	a.Counts[function-1] = wire.Counts{Inclusive: [wire.MaxCounters]uint64{7, 70}, Each: [wire.MaxCounters]uint64{8, 80}}
	r := newRecording(t, collect.Filter{})
	path := filepath.Join(r.dir, "1-1.arena")
	write(t, a, path)
	r.sync(5000)
	a.Counts[work-1].Tail[0] = 4
	a.Header.State, a.Header.EndNS, a.Header.EndTicks = uint32(wire.StateShutDown), 6000, 1_015_000
	write(t, a, path)
	r.sync(7000)
	s := r.unchecked()
	equal(t, "counters", get[session.CPUCounter](t)(s.CPUCounters()), []session.CPUCounter{
		{Process: 1, Position: 1, Name: "page-faults", Unit: "count"},
		{Process: 1, Position: 2, Name: "task-clock", Unit: "ns", Inside: 3, Outside: 0.5}})
	var counts []session.TimingCount
	var folds []session.TimingInclusiveCount
	if err := s.EachTimingCount(func(r *session.TimingCount) { counts = append(counts, *r) }); err != nil {
		t.Fatal(err)
	}
	if err := s.EachTimingInclusiveCount(func(r *session.TimingInclusiveCount) { folds = append(folds, *r) }); err != nil {
		t.Fatal(err)
	}
	equal(t, "counts", counts, []session.TimingCount{
		{Slice: 1, Timing: 1, Counters: quantity.Counters{5, 500}},
		{Slice: 1, Timing: 2, Counters: quantity.Counters{2, 20}},
		{Slice: 1, Timing: 3, Counters: quantity.Counters{0, 30}},
		{Slice: 2, Timing: 3, Counters: quantity.Counters{4}}})
	equal(t, "counts of folded calls", folds, []session.TimingInclusiveCount{{Slice: 1, Timing: 5,
		CountedFolds: session.CountedFolds{Counters: quantity.Counters{7, 70}, Each: quantity.Counters{8, 80}}}})
}

// TestSystemCallsName: the counter that says in which processes system calls were seen is the one that counts them.
func TestSystemCallsName(t *testing.T) {
	c, ok := cpucounter.Find(session.CounterSystemCalls)
	if !ok || c.Kind != wire.CounterCalls {
		t.Errorf("%+v", c)
	}
}
