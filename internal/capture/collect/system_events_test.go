package collect_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/clrprof/clrprof/internal/capture/collect"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/wiretest"
	"github.com/clrprof/clrprof/internal/wire"
)

// eventArena is a process whose Main calls Work, with the numbers of their timings.
func eventArena() (a *wiretest.Arena, main, work uint32) {
	a = timedArena()
	a.Header.PID = uint32(os.Getpid()) // it lives
	a.Header.SystemEvents = wire.EventSched | wire.EventFaults | wire.EventIO
	main = a.Timing(1, 0, mainFunction, 0)
	work = a.Timing(1, main, workFunction, 0x1010)
	calls(&a.Timings[main-1], 1, 1, 0, 300)
	calls(&a.Timings[work-1], 2, 2, 60, 90)
	return a, main, work
}

// TestSystemEvents: an event is of the timing that has its interval, each once, with its times on the session's clock.
func TestSystemEvents(t *testing.T) {
	a, main, work := eventArena()
	a.SystemEvents = []wire.SystemEvent{
		{End: 1_000_300, Length: 30, Timing: work, Lead: 1, Voluntary: 1, MajorFaults: 2, Reads: 8, Blocked: 15, Ready: 6},
		{End: 1_000_600, Length: 90, Timing: work, MinorFaults: 3, Writes: 16, Calls: 7, Migrations: 2,
			Named: 2}}
	a.SystemCalls = []wire.SystemCall{{Number: 0, Count: 4}, {Number: 1 << 20, Count: 2}, {Number: 7}} // the last is to come
	r := newRecording(t, collect.Filter{})
	path := filepath.Join(r.dir, "1-1.arena")
	write(t, a, path)
	r.sync(5000)
	a.SystemEvents = append(a.SystemEvents, wire.SystemEvent{End: 1_000_900, Length: 120, Timing: main, Preempted: 4,
		Calls: 1, Named: 1})
	a.SystemCalls[2].Count = 1
	a.Header.State, a.Header.EndNS, a.Header.EndTicks = uint32(wire.StateShutDown), 6000, 1_015_000
	a.Header.Losses[wire.LossSystemEvents].Events = 5
	write(t, a, path)
	r.sync(7000)
	s := r.unchecked()
	equal(t, "events", get[session.SystemEvent](t)(s.SystemEvents()), []session.SystemEvent{
		{ID: 1, Timing: 2, End: 1100, Length: 10, Voluntary: 1, MajorFaults: 2, Reads: 8, Blocked: 5, Ready: 2},
		{ID: 2, Timing: 3, End: 1200, Length: 30, MinorFaults: 3, Writes: 16, Calls: 7, Migrations: 2},
		{ID: 3, Timing: 1, End: 1300, Length: 40, Preempted: 4, Calls: 1}})
	equal(t, "their calls", get[session.SystemEventCall](t)(s.SystemEventCalls()), []session.SystemEventCall{
		{Event: 2, Number: 0, Calls: 4}, {Event: 2, Number: 1 << 20, Calls: 2}, {Event: 3, Number: 7, Calls: 1}})
	equal(t, "their names", get[session.SystemCall](t)(s.SystemCalls()), []session.SystemCall{
		{Number: 0, Name: "read"}, {Number: 7, Name: "poll"}, {Number: 1 << 20}})
	for i, row := range get[session.Timing](t)(s.Timings()) { // Main, the place in it that calls Work, and Work
		node := get[session.Node](t)(s.Nodes())[row.Node-1]
		if want := []session.FunctionID{1, 1, 2}[i]; node.Function != want || (node.Instruction != 0) != (i == 1) {
			t.Errorf("timing %d is at %+v", row.ID, node)
		}
	}
	losses := get[session.Loss](t)(s.Losses())
	if len(losses) != 1 || losses[0].Reason != session.LossSystemEvents || losses[0].Events != 5 {
		t.Errorf("losses %+v", losses)
	}
}

// TestSystemEventsCorrupt: the target can overwrite its arena.
func TestSystemEventsCorrupt(t *testing.T) {
	for _, e := range []wire.SystemEvent{{Timing: 0}, {Timing: 3}, {Timing: 1, Lead: 1}, {Timing: 1, Length: 1 << 63},
		{Timing: 1, Blocked: 1 << 63}, {Timing: 1, End: 1 << 63}, {Timing: 1, Calls: 9, Named: 4}, {Timing: 1, Calls: 2, Named: 2},
		{Timing: 1, Calls: 9, Named: 2}, {Timing: 1, Calls: 9, Named: 3}} {
		a, _, _ := eventArena()
		a.SystemCalls = []wire.SystemCall{{Number: 1, Count: 3}, {Number: 1, Count: 1}, {Number: 2}}
		a.SystemEvents = []wire.SystemEvent{e}
		r := newRecording(t, collect.Filter{})
		write(t, a, filepath.Join(r.dir, "1-1.arena"))
		if err := r.recorder.Sync(5000); !errors.Is(err, wire.ErrCorrupt) {
			t.Errorf("%+v: %v", e, err)
		}
	}
}
