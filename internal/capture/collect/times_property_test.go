package collect_test

import (
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/clrprof/clrprof/internal/capture/collect"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/wiretest"
	"github.com/clrprof/clrprof/internal/wire"
)

// program is a made-up program of two threads. It counts in an arena, as an agent does, and in a table by what is on
// the stack, from which the session's rows follow directly.
type program struct {
	a       *wiretest.Arena
	now     uint64 // ticks
	threads [2]thread
	truth   map[string]*counted // by thread and stack
	known   map[wire.Timing]uint32
}

type thread struct {
	last  uint64
	stack []call
}

// call has not ended.
type call struct {
	timing   uint32
	function uint32
	path     string    // of the function itself
	below    [2]uint64 // in calls that it made and that ended
	total    [2]uint64 // of the intervals that passed in it and in what it called: elapsed, application
	acted    bool      // in one of them
}

// counted is what the session should have of a timing, times in ticks.
type counted struct {
	calls, ended, made, elapsed, waited, switches uint64
	min, max                                      [4]uint64
}

func newProgram() *program {
	p := &program{a: timedArena(), now: 1_000_000, truth: map[string]*counted{}, known: map[wire.Timing]uint32{}}
	p.a.Header.TicksPerSec = 2_700_000_000
	for i := range p.threads {
		p.a.Clocks = append(p.a.Clocks, wire.Clock{Capacity: 16, Activations: uint64(16 * i)})
		p.a.Activations = append(p.a.Activations, make([]wire.Activation, 16)...)
		p.threads[i].last = p.now
	}
	return p
}

func (p *program) of(thread int, path string) *counted {
	key := fmt.Sprint(thread, " ", path)
	if p.truth[key] == nil {
		p.truth[key] = &counted{min: [4]uint64{1 << 62, 1 << 62, 1 << 62, 1 << 62}}
	}
	return p.truth[key]
}

// pass ends an interval of a thread, at a stack.
func (p *program) pass(i int, path string, ticks uint64, acted bool) (waited uint64) {
	t := &p.threads[i]
	p.now += ticks
	ticks = p.now - t.last
	t.last = p.now
	p.a.Clocks[i].Last = p.now
	if acted {
		waited = ticks
	}
	for k := range t.stack {
		t.stack[k].total[0] += ticks
		t.stack[k].total[1] += ticks - waited
		t.stack[k].acted = t.stack[k].acted || acted
	}
	if len(t.stack) > 0 {
		c := p.of(i, path)
		c.elapsed += ticks
		c.waited += waited
		if acted {
			c.switches++
		}
	}
	return waited
}

func (p *program) waits(number *uint32, ticks uint64) {
	if *number == 0 {
		p.a.Waits = append(p.a.Waits, wire.Waits{})
		*number = uint32(len(p.a.Waits))
	}
	w := &p.a.Waits[*number-1]
	w.Intervals++
	w.Voluntary++
	w.Blocked += ticks
}

// enter calls a function from an address.
func (p *program) enter(i int, function uint32, address, ticks uint64, acted bool) {
	t := &p.threads[i]
	site, parent, before := "", uint32(0), t.last
	if n := len(t.stack); n > 0 {
		top := t.stack[n-1]
		parent, site = top.timing, top.path
		if function == sleepFunction && top.function == sleepFunction {
			return // not recorded
		}
		if top.function == sleepFunction {
			address = 0
		}
		if address/0x1000 == uint64(top.function) {
			site += fmt.Sprintf("@%x", address)
		}
	} else {
		address = 0
	}
	key := wire.Timing{Parent: parent, Function: function, ReturnAddress: address, Thread: uint32(i + 1)}
	if p.known[key] == 0 {
		p.known[key] = p.a.Timing(key.Thread, parent, function, address)
	}
	waited := p.pass(i, site, ticks, acted)
	x := &p.a.Timings[p.known[key]-1]
	x.Calls++
	c := call{timing: p.known[key], function: function, path: fmt.Sprint("/", function)}
	if len(t.stack) > 0 {
		x.LeadElapsed += t.last - before
		x.LeadWaited += waited
		if acted {
			p.waits(&x.LeadWaits, waited)
		}
		p.of(i, site).made++
		c.path = fmt.Sprint(site, "/", function)
	}
	p.of(i, c.path).calls++
	p.a.Activations[16*i+len(t.stack)] = wire.Activation{Timing: c.timing}
	t.stack = append(t.stack, c)
	p.a.Clocks[i].Depth++
}

// leave ends the innermost call.
func (p *program) leave(i int, ticks uint64, acted bool) {
	t := &p.threads[i]
	top, before := &t.stack[len(t.stack)-1], t.last
	waited := p.pass(i, top.path, ticks, acted)
	x := &p.a.Timings[top.timing-1]
	x.TailElapsed += t.last - before
	x.TailWaited += waited
	if acted {
		p.waits(&x.TailWaits, waited)
	}
	x.Ended++
	c := p.of(i, top.path)
	c.ended++
	for k, v := range [4]uint64{top.total[0], top.total[0] - top.below[0], top.total[1], top.total[1] - top.below[1]} {
		c.min[k], c.max[k] = min(c.min[k], v), max(c.max[k], v)
	}
	p.extremes(x, top)
	total := top.total
	t.stack = t.stack[:len(t.stack)-1]
	p.a.Clocks[i].Depth--
	if n := len(t.stack); n > 0 {
		t.stack[n-1].below[0] += total[0]
		t.stack[n-1].below[1] += total[1]
	}
}

// extremes notes those of a call as the agent does. Waiting is without a processor here.
func (p *program) extremes(x *wire.Timing, c *call) {
	values := [6]uint64{c.total[0], c.total[0] - c.below[0], c.total[1], c.total[1] - c.below[1], c.total[1],
		c.total[1] - c.below[1]}
	if !c.acted {
		for k := range x.Min {
			x.Min[k], x.Max[k] = min(x.Min[k], values[k]), max(x.Max[k], values[k])
		}
		return
	}
	if x.Acted == 0 {
		const none = math.MaxUint64
		p.a.Acted = append(p.a.Acted, wire.Acted{Min: [6]uint64{none, none, none, none, none, none}})
		x.Acted = uint32(len(p.a.Acted))
	}
	row := &p.a.Acted[x.Acted-1]
	for k, v := range values {
		row.Min[k], row.Max[k] = min(row.Min[k], v), max(row.Max[k], v)
	}
}

// end ends the process.
func (p *program) end(ticks uint64) {
	p.now += ticks
	p.a.Header.PID, p.a.Header.State, p.a.Header.EndNS, p.a.Header.EndTicks = wiretest.NoPID, uint32(
		wire.StateShutDown), 1<<40, p.now
	for i, t := range p.threads {
		if n := len(t.stack); n > 0 {
			c := p.of(i, t.stack[n-1].path)
			c.elapsed += p.now - t.last
			c.waited += p.now - t.last
		}
	}
}

// TestTimeProperty: whatever a program calls, and whenever it is looked at, the session says what was called, and what
// of it up to then.
func TestTimeProperty(t *testing.T) {
	dir := arenaDirectory(t)
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		r := &recordingTest{t: t, dir: filepath.Join(dir, fmt.Sprint(n)),
			path: filepath.Join(dir, fmt.Sprint(n)+".clrprof")}
		r.begin(collect.Filter{})
		p := newProgram()
		p.a.Header.PID = uint32(os.Getpid())
		path := filepath.Join(r.dir, "1-1.arena")
		ticks := rapid.Uint64Range(0, 5000)
		var looks []map[string]row // what had been counted when it was looked at
		for step := range rapid.IntRange(0, 120).Draw(rt, "steps") {
			i, acted := rapid.IntRange(0, 1).Draw(rt, "thread"), rapid.IntRange(0, 3).Draw(rt, "acted") == 0
			d, what := ticks.Draw(rt, "ticks"), rapid.IntRange(0, 10).Draw(rt, "what")
			depth := len(p.threads[i].stack)
			switch {
			case what == 0:
				write(t, p.a, path)
				r.sync(quantity.Nanoseconds(1000 * (step + 1)))
				looks = append(looks, p.counted())
			case what < 6 && depth < 12:
				f := rapid.SampledFrom([]uint32{mainFunction, workFunction, sleepFunction, backFunction}).Draw(rt,
					"function")
				if depth == 0 && f == sleepFunction {
					f = workFunction
				}
				at := rapid.SampledFrom([]uint64{0x1010, 0x1020, 0x2010, 0x2020, 0x3010, 0x4010, 0x5010, 0xFFFF}).Draw(
					rt, "address")
				p.enter(i, f, at, d, acted)
			case depth > 0:
				p.leave(i, d, acted)
			}
		}
		p.end(ticks.Draw(rt, "rest"))
		write(t, p.a, path)
		r.sync(1 << 40)
		s := r.finish()
		want := p.wanted()
		if diff := cmp.Diff(want, recorded(t, s, want)); diff != "" {
			rt.Fatal(diff)
		}
		for i, want := range looks {
			if diff := cmp.Diff(want, countedUntil(t, s, session.SliceID(i+1))); diff != "" {
				rt.Fatalf("look %d of %d: %s", i+1, len(looks), diff)
			}
		}
		if t.Failed() {
			rt.FailNow()
		}
	})
}

// row is all that a session has of a timing.
type row struct {
	Calls, Ended, Made, Switches quantity.Count
	Elapsed, Waited              quantity.Nanoseconds
	Extremes                     session.Extremes
	Running                      quantity.Count
}

// wanted is by thread and stack. What is zero has no row.
func (p *program) wanted() map[string]row {
	out := map[string]row{}
	for key, c := range p.truth {
		ns := func(ticks uint64) quantity.Nanoseconds { return quantity.Nanoseconds(ticks * 10 / 27) }
		r := row{Calls: quantity.Count(c.calls), Ended: quantity.Count(c.ended), Made: quantity.Count(c.made),
			Switches: quantity.Count(c.switches),
			Elapsed:  ns(c.elapsed), Waited: ns(c.waited), Running: quantity.Count(c.calls - c.ended)}
		if c.ended > 0 {
			between := func(i int) session.Range { return session.Range{Min: ns(c.min[i]), Max: ns(c.max[i])} }
			r.Extremes = session.Extremes{ElapsedInclusive: between(0), ElapsedExclusive: between(1),
				ApplicationInclusive: between(2), ApplicationExclusive: between(3),
				CPUInclusive: between(2), CPUExclusive: between(3)}
		}
		out[key] = r
	}
	return out
}

// counted is what has been counted so far, of what a look always sees all.
func (p *program) counted() map[string]row {
	out := map[string]row{}
	for key, r := range p.wanted() {
		if r = (row{Calls: r.Calls, Ended: r.Ended, Made: r.Made, Elapsed: r.Elapsed}); r != (row{}) {
			out[key] = r
		}
	}
	return out
}

// countedUntil is the same, from the slices of a session up to one.
func countedUntil(t *testing.T, s *session.Session, last session.SliceID) map[string]row {
	t.Helper()
	keys, out := timingKeys(t, s), map[string]row{}
	for _, v := range get[session.TimingValue](t)(s.TimingValues()) {
		if v.Slice <= last {
			r := out[keys[v.Timing]]
			r.Calls, r.Ended, r.Made, r.Elapsed = r.Calls+v.Calls, r.Ended+v.Ended, r.Made+v.Made, r.Elapsed+v.Elapsed
			out[keys[v.Timing]] = r
		}
	}
	maps.DeleteFunc(out, func(_ string, r row) bool { return r == row{} })
	return out
}

// timingKeys are the keys of a session's timings in the program's truth.
func timingKeys(t *testing.T, s *session.Session) map[session.TimingID]string {
	t.Helper()
	at := map[session.InstructionID]string{0: ""}
	for _, i := range get[session.Instruction](t)(s.Instructions()) {
		at[i.ID] = fmt.Sprintf("@%x", i.Address)
	}
	paths := map[session.NodeID]string{}
	for _, n := range get[session.Node](t)(s.Nodes()) {
		paths[n.ID] = fmt.Sprint(paths[n.Parent], "/", n.Function, at[n.Instruction])
	}
	keys := map[session.TimingID]string{}
	for _, x := range get[session.Timing](t)(s.Timings()) {
		keys[x.ID] = fmt.Sprint(x.Thread-1, " ", paths[x.Node])
	}
	return keys
}

// recorded is the same as wanted, from a session. Waited time is rounded to stay within elapsed time in each slice:
// where it is right but for that, it is that of want.
func recorded(t *testing.T, s *session.Session, want map[string]row) map[string]row {
	t.Helper()
	keys, out := timingKeys(t, s), map[string]row{}
	for _, v := range get[session.TimingValue](t)(s.TimingValues()) {
		r := out[keys[v.Timing]]
		r.Calls, r.Ended, r.Made, r.Switches = r.Calls+v.Calls, r.Ended+v.Ended, r.Made+v.Made, r.Switches+v.Intervals
		r.Elapsed, r.Waited = r.Elapsed+v.Elapsed, r.Waited+v.Waited
		if v.Voluntary != v.Intervals || v.Waited > v.Elapsed {
			t.Errorf("%+v", v)
		}
		out[keys[v.Timing]] = r
	}
	for _, v := range get[session.TimingRunning](t)(s.TimingRunning()) {
		r := out[keys[v.Timing]]
		r.Running = v.Calls
		out[keys[v.Timing]] = r
	}
	for _, v := range get[session.TimingExtreme](t)(s.TimingExtremes()) {
		r := out[keys[v.Timing]]
		r.Extremes = v.Extremes
		out[keys[v.Timing]] = r
	}
	for key, r := range out {
		if want[key].Waited-r.Waited == 1 {
			r.Waited++
			out[key] = r
		}
	}
	return out
}
