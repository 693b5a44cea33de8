package analysis

import (
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// agentCall is a call as the agent follows it, in ticks.
type agentCall struct {
	frame                 sessiontest.Frame
	timing                session.TimingID
	elapsed, waited       int64 // inclusive
	ownElapsed, ownWaited int64
	calls                 int64 // recorded calls in it
	children              int64 // of these: made by itself
}

// agentThread counts as the agent does: in ticks, with overhead in 1/1024 of a tick, which it takes out of each call
// as a whole and as far as it goes; the collector makes nanoseconds of sums. Intervals may be shorter than their
// probes.
type agentThread struct {
	b               *sessiontest.Builder
	thread          session.ThreadID
	inside, outside int64
	open            []*agentCall
	sums            map[session.TimingID]*session.TimingValue // times are ticks
	extremes        map[session.TimingID]*session.Extremes
}

const agentTicks = 2_500_000_000 // per second

func nanoseconds(ticks int64) q.Nanoseconds { return q.Nanoseconds(ticks * 2 / 5) } // of 2.5 GHz, rounded down

func (a *agentThread) sum(timing session.TimingID) *session.TimingValue {
	if a.sums[timing] == nil {
		a.sums[timing] = &session.TimingValue{}
	}
	return a.sums[timing]
}

func (a *agentThread) timing(own bool) session.TimingID {
	var stack []sessiontest.Frame
	for _, c := range a.open {
		stack = append(stack, c.frame)
	}
	return a.b.Timing(a.thread, own, stack...)
}

// interval gives an interval to the timing at its end, and to all calls around it.
func (a *agentThread) interval(t *rapid.T, timing session.TimingID) {
	ticks, waited := int64(rapid.IntRange(0, 400).Draw(t, "ticks")), rapid.IntRange(0, 3).Draw(t, "os") == 0
	v, top := a.sum(timing), a.open[len(a.open)-1]
	v.Elapsed += q.Nanoseconds(ticks)
	top.ownElapsed += ticks
	for _, c := range a.open {
		c.elapsed += ticks
	}
	if waited {
		v.Intervals++
		v.Waited += q.Nanoseconds(ticks)
		v.OffCPU += q.Nanoseconds(ticks) // as all values of the sum, in ticks here
		v.Blocked += q.Nanoseconds(ticks)
		top.ownWaited += ticks
		for _, c := range a.open {
			c.waited += ticks
		}
	}
}

func (a *agentThread) call(t *rapid.T, f session.FunctionID) {
	if n := len(a.open); n > 0 {
		top := a.open[n-1]
		top.frame.Line = a.b.Functions[top.frame.Function-1].Line + rapid.Int64Range(0, 2).Draw(t, "line")
		site := a.timing(false)
		a.interval(t, site)
		a.sum(site).Made++
		top.children++
		for _, c := range a.open {
			c.calls++
		}
	}
	a.open = append(a.open, &agentCall{frame: sessiontest.Frame{Function: f}})
	c := a.open[len(a.open)-1]
	c.timing = a.timing(true)
	a.sum(c.timing).Calls++
}

func (a *agentThread) end(t *rapid.T) {
	c := a.open[len(a.open)-1]
	a.interval(t, c.timing)
	a.sum(c.timing).Ended++
	a.open = a.open[:len(a.open)-1]
	in, own := (a.inside+c.calls*(a.inside+a.outside))/1024, (a.inside+c.children*a.outside)/1024
	one := func(ticks, overhead int64) session.Range {
		n := nanoseconds(max(0, ticks-overhead))
		return session.Range{Min: n, Max: n}
	}
	e := extent{session.Extremes{ElapsedInclusive: one(c.elapsed, in), ElapsedExclusive: one(c.ownElapsed, own),
		ApplicationInclusive: one(c.elapsed-c.waited, in), ApplicationExclusive: one(c.ownElapsed-c.ownWaited, own),
		CPUInclusive: one(c.elapsed-c.waited, in), CPUExclusive: one(c.ownElapsed-c.ownWaited, own)}, true}
	if have := a.extremes[c.timing]; have != nil {
		e = e.Add(extent{*have, true})
	}
	a.extremes[c.timing] = &e.Extremes
}

// write fills the tables, as the collector does.
func (a *agentThread) write() {
	for _, timing := range a.b.Timings {
		if sum := a.sums[timing.ID]; sum != nil {
			v := a.b.Value(1, timing.ID)
			v.Calls, v.Ended, v.Made, v.Intervals, v.Voluntary =
				sum.Calls, sum.Ended, sum.Made, sum.Intervals, sum.Intervals
			v.Elapsed, v.Waited = nanoseconds(int64(sum.Elapsed)), nanoseconds(int64(sum.Waited))
			v.OffCPU, v.Blocked = nanoseconds(int64(sum.OffCPU)), nanoseconds(int64(sum.Blocked))
		}
		if e := a.extremes[timing.ID]; e != nil {
			a.b.TimingExtremes = append(a.b.TimingExtremes, session.TimingExtreme{Timing: timing.ID, Extremes: *e})
		}
	}
}

// TestCheckToleratesRounding: with any probes, also such that are much slower than they were measured to be, or
// faster, minimum ≤ average ≤ maximum up to what slack explains.
func TestCheckToleratesRounding(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		b := sessiontest.New()
		p := b.Process("Agent", 1)
		inside, outside := rapid.Int64Range(0, 400<<10).Draw(rt, "inside"), rapid.Int64Range(0, 400<<10).Draw(rt,
			"outside")
		scale := 1e9 / float64(agentTicks) / 1024
		b.Timed(p, float64(inside)*scale, float64(outside)*scale)
		m := b.Module(p, "A.dll", true)
		for i := range 3 {
			b.Function(m, "F()", "/src/a.cs", int64(10*(i+1)))
		}
		a := &agentThread{b: b, thread: b.Thread(p, "main"), inside: inside, outside: outside,
			sums: map[session.TimingID]*session.TimingValue{}, extremes: map[session.TimingID]*session.Extremes{}}
		for range rapid.IntRange(0, 200).Draw(rt, "events") {
			if len(a.open) > 0 && (len(a.open) > 6 || rapid.Bool().Draw(rt, "end")) {
				a.end(rt)
			} else {
				a.call(rt, session.FunctionID(rapid.IntRange(1, 3).Draw(rt, "function")))
			}
		}
		for len(a.open) > 0 {
			a.end(rt)
		}
		a.write()
		s := open(rt, b, filepath.Join(dir, "a"))
		defer s.Close()
		if found, err := Check(s); err != nil || len(found) > 0 {
			rt.Fatal(found, err)
		}
	})
}
