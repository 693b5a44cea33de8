package analysis

import (
	"math/bits"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// awaitSession is a session of async methods, with times.
type awaitSession struct {
	*asyncSession
	await session.FunctionID
	end   uint64 // of the process, in ticks
}

func newAwaitSession(end uint64) *awaitSession {
	a := &awaitSession{asyncSession: newAsyncSession(), end: end}
	a.await = a.Function(2, "AwaitUnsafeOnCompleted", "", 0)
	a.Functions[a.await-1].RawName = "AwaitUnsafeOnCompleted"
	a.Functions[a.await-1].RawType = "System.Runtime.CompilerServices.AsyncTaskMethodBuilder"
	a.Timed(1, 0, 0)
	a.Processes[0].EndState = session.EndExited
	return a
}

// call records a call that takes no time.
func (a *awaitSession) call(t session.ThreadID, at uint64, stack ...session.FunctionID) {
	var frames []sessiontest.Frame
	for _, f := range stack {
		frames = append(frames, sessiontest.Frame{Function: f})
	}
	timing := a.Timing(t, true, frames...)
	v := a.Value(1, timing)
	v.Calls, v.Ended = v.Calls+1, v.Ended+1
	if name := a.Functions[stack[len(stack)-1]-1].RawName; name != session.NameMoveNext &&
		name != "AwaitUnsafeOnCompleted" {
		return
	}
	for i := range a.TimingBegan {
		if r := &a.TimingBegan[i]; r.Timing == timing {
			r.Calls, r.Ticks = r.Calls+1, r.Ticks+int64(a.end-at)
			return
		}
	}
	a.TimingBegan = append(a.TimingBegan, session.TimingBegan{Timing: timing, Calls: 1, Ticks: int64(a.end - at)})
}

// awaits returns what is known of a session's waits.
func (a *awaitSession) awaits(t testing.TB, dir string) []session.FunctionAwait {
	s := open(t, a.Builder, filepath.Join(dir, "a"))
	defer s.Close()
	v, err := Open(s, Selection{})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := v.FunctionAwaits()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// TestAwaits: the difference of two sums is the sum of the differences, whatever waits for how long, goes on where, and
// waits at the end.
func TestAwaits(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		const length = 1 << 44 // ticks
		end := rapid.Uint64Min(length).Draw(rt, "end")
		a := newAwaitSession(end)
		begin := end - length
		want, sum := session.FunctionAwait{Function: a.machine, Known: true}, uint64(0)
		for range rapid.IntRange(1, 30).Draw(rt, "calls") {
			at := begin + rapid.Uint64Range(0, length/4).Draw(rt, "start")
			stack := []session.FunctionID{a.main, a.load, a.start, a.machine}
			thread := a.thread
			a.call(thread, at, stack...)
			for range rapid.IntRange(0, 5).Draw(rt, "waits") {
				at += rapid.Uint64Range(0, length/32).Draw(rt, "ran")
				a.call(thread, at, append(stack, a.await)...)
				want.Suspensions++
				if rapid.IntRange(0, 9).Draw(rt, "goes on") == 0 {
					sum += end - at
					break
				}
				waited := rapid.Uint64Range(0, length/32).Draw(rt, "waited")
				at, sum = at+waited, sum+waited
				want.Resumptions++
				stack, thread = rapid.SampledFrom([][]session.FunctionID{{a.machine}, {a.resume, a.machine},
					{a.main, a.use, a.machine}}).Draw(rt, "stack"), a.pool
				a.call(thread, at, stack...)
			}
		}
		have := a.awaits(t, dir)
		if want.Suspensions == 0 {
			if len(have) != 0 {
				rt.Fatalf("%+v without a wait", have)
			}
			return
		}
		hi, lo := bits.Mul64(sum, 1_000_000_000)
		ns, _ := bits.Div64(hi, lo, 2_500_000_000)
		want.Awaited = q.Nanoseconds(ns)
		if len(have) != 1 || have[0] != want {
			rt.Fatalf("%+v, want %+v", have, want)
		}
	})
}

// TestAwaitsUnknown: how long a method waited is not known if a call may be missing, and nothing if calls are not
// recorded that say where it began.
func TestAwaitsUnknown(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*awaitSession)
		rows   int
		known  bool
	}{
		"all is recorded": {func(*awaitSession) {}, 1, true},
		"killed":          {func(a *awaitSession) { a.Processes[0].EndState = session.EndDied }, 1, false},
		"paused": {func(a *awaitSession) {
			a.Pauses = []session.Pause{{ID: 1, Level: session.LevelThread, Process: 1, Thread: 1, End: 1}}
		}, 1, false},
		"all paused": {func(a *awaitSession) {
			a.Pauses = []session.Pause{{ID: 1, Level: session.LevelGlobal, End: 1}}
		}, 1, false},
		"calls without a path": {func(a *awaitSession) {
			a.Losses = []session.Loss{{Process: 1, Reason: session.LossCallsFolded, Events: 1}}
		}, 1, false},
		"a function without probes": {func(a *awaitSession) {
			a.Losses = []session.Loss{{Process: 1, Reason: session.LossNotProbed, Events: 1}}
		}, 1, false},
		"one without probes, all starts known": {func(a *awaitSession) {
			a.Losses = []session.Loss{{Process: 1, Reason: session.LossNotProbed, Events: 1}}
			a.call(a.thread, 9, a.main, a.load)
		}, 1, true},
		"one without probes, a start missing": {func(a *awaitSession) {
			a.Losses = []session.Loss{{Process: 1, Reason: session.LossNotProbed, Events: 1}}
			a.call(a.thread, 9, a.main, a.load)
			a.call(a.thread, 9, a.main, a.load)
		}, 1, false},
		"another loss": {func(a *awaitSession) {
			a.Losses = []session.Loss{{Process: 1, Reason: session.LossMarks, Events: 1}}
		}, 1, true},
		"no framework": {func(a *awaitSession) {
			a.ProcessTimes[0].Instrument = session.InstrumentMine
		}, 1, false},
		"more resumptions":          {func(a *awaitSession) { a.call(a.pool, 90, a.machine) }, 1, false},
		"the start is unknown":      {func(a *awaitSession) { a.Functions[a.start-1].RawName = "Other" }, 0, false},
		"no suspension is reported": {func(a *awaitSession) { a.Functions[a.await-1].RawName = "Other" }, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAwaitSession(100)
			a.call(a.thread, 10, a.main, a.load, a.start, a.machine)
			a.call(a.thread, 20, a.main, a.load, a.start, a.machine, a.await)
			a.call(a.pool, 70, a.machine)
			c.change(a)
			have := a.awaits(t, t.TempDir())
			if len(have) != c.rows || c.rows > 0 && (have[0].Known != c.known || c.known != (have[0].Awaited == 20)) {
				t.Errorf("%+v", have)
			}
		})
	}
}
