package timing

import (
	"math"
	"slices"

	"github.com/clrprof/clrprof/internal/wire"
)

// Counters is the time of one thread as the agent keeps it: a counter pair of one timing for each interval, and a stack
// of activations, which it finds by CallerSP and function alone. Make one with NewCounters.
type Counters struct {
	Clock       wire.Clock
	Timings     []wire.Timing
	Waits       []wire.Waits
	Activations []wire.Activation // the first is next to the root
	Losses      [wire.LossCount]uint64

	limits    Limits
	overhead  wire.Overhead
	unwinding []unwinding
	quiet     bool   // a dispatcher runs
	quietSP   uint64 // CallerSP of the last one
	numbers   map[timingKey]uint32
	truncated int    // timings of function 0
	begun     bool   // there was an event
	os        OS     // since the end of the last interval
	open      uint64 // ticks from the last event to the end
}

// unwinding is a function that an exception unwinds, or a filter or finally block that runs because of one.
type unwinding struct {
	depth   int
	ends    bool   // of a function: its call is the innermost activation
	block   bool   // a block
	filter  bool   // a filter
	quietSP uint64 // of a block: of the dispatcher that runs it
}

type timingKey struct {
	parent, function uint32
	address          uint64
}

// NewCounters starts a thread.
func NewCounters(limits Limits, overhead wire.Overhead) *Counters {
	return &Counters{limits: limits, overhead: overhead, numbers: map[timingKey]uint32{}}
}

// Add takes the thread's next event.
func (c *Counters) Add(e Event) {
	if e.Kind == KindVanished {
		return
	}
	c.os.add(e.OS)
	switch e.Kind {
	case KindEnter:
		c.call(e)
	case KindLeave, KindTailcall:
		for c.depth() > 0 && c.top().CallerSP < e.CallerSP {
			c.endUnseen()
		}
		if c.depth() > 0 && c.top().CallerSP == e.CallerSP {
			c.endNow(e.Clock)
		}
	case KindFilter:
		c.block(true)
	case KindUnwind:
		c.endCaughtNatively(e)
		c.endBoundary(e)
		c.push(unwinding{ends: c.isTop(e) && !c.isAsked()})
	case KindFinally:
		c.endBoundary(e)
		c.block(false)
	case KindFilterEnd, KindFinallyEnd:
		c.blockEnd(e.Kind == KindFilterEnd)
	case KindUnwound:
		c.unwound(e)
	case KindCatch:
		c.catch(e)
	case KindEnd:
		if c.depth() > 0 {
			c.open = e.Clock - min(e.Clock, c.Clock.Last)
		}
	}
}

func (c *Counters) depth() int { return len(c.Activations) }

func (c *Counters) top() *wire.Activation { return &c.Activations[len(c.Activations)-1] }

// flags are those of the innermost activation. Code that is not recorded is like a boundary.
func (c *Counters) flags() uint32 {
	if c.depth() == 0 {
		return wire.ActivationBoundary
	}
	return c.top().Flags
}

// function is that of the innermost activation (1), of its caller (2) and so on; 0: there is none.
func (c *Counters) function(n int) uint32 {
	if c.depth() < n {
		return 0
	}
	return c.Timings[c.Activations[c.depth()-n].Timing-1].Function
}

// isTop says whether the innermost activation is that of an instrumented function with this id.
func (c *Counters) isTop(e Event) bool {
	return e.Class == Instrumented && c.flags() == 0 && c.function(1) == e.Function
}

// isAsked says whether a filter runs, and no recorded call inside of it. An exception that leaves the filter is told as
// one that leaves the filter's function, which is not gone, and may be the innermost one.
func (c *Counters) isAsked() bool {
	for _, u := range slices.Backward(c.unwinding) {
		if u.filter {
			return u.depth == c.depth()
		}
	}
	return false
}

// call takes an Enter: does a recorded call begin?
func (c *Counters) call(e Event) {
	if !c.begun {
		c.begun, c.Clock.Last = true, e.Clock
	}
	for c.depth() > 0 && c.top().CallerSP <= e.CallerSP {
		c.endUnseen()
	}
	if e.CallerSP >= c.quietSP {
		c.quiet = false // the exception was handled by native code
	}
	switch {
	case e.Class == Dispatcher:
		c.quiet, c.quietSP = true, e.CallerSP
	case c.flags()&wire.ActivationTruncated != 0:
		c.Losses[wire.LossCallsFolded]++
	case c.quiet:
	case c.flags()&wire.ActivationBoundary == 0 || e.Class == Instrumented:
		c.enter(e)
	}
}

// endCaughtNatively ends a call of which the unwinding began and did not end, though another one is unwound now, and not
// because of what a block of it did: native code caught the exception, and the end of the last call is not told then.
func (c *Counters) endCaughtNatively(e Event) {
	c.forget()
	if n := len(c.unwinding); n > 0 && c.unwinding[n-1].ends && c.unwinding[n-1].depth == c.depth() {
		c.endNow(e.Clock)
		c.forget()
	}
}

// endBoundary ends the call of a framework function, if an exception has come to the instrumented function that made it.
// Which calls of framework functions are unwound cannot be told from the events, since not all are recorded.
func (c *Counters) endBoundary(e Event) {
	if c.flags()&wire.ActivationBoundary != 0 && !c.isAsked() && e.Class != NotHooked && c.function(2) == e.Function {
		c.endNow(e.Clock)
	}
	c.forget()
}

// forget drops what has ended in another way while an exception unwound it.
func (c *Counters) forget() { c.drop(c.depth()) }

func (c *Counters) drop(above int) {
	for n := len(c.unwinding); n > 0 && c.unwinding[n-1].depth > above; n-- {
		c.unwinding = c.unwinding[:n-1]
	}
}

// unwound ends the call that the last Unwind was about. In a filter, of which an exception is never seen outside, .NET 9
// tells of one more than there are.
func (c *Counters) unwound(e Event) {
	c.forget()
	n := len(c.unwinding)
	if n == 0 || c.unwinding[n-1].block {
		return
	}
	u := c.unwinding[n-1]
	c.unwinding = c.unwinding[:n-1]
	if u.ends && u.depth == c.depth() {
		c.endNow(e.Clock)
	}
}

// catch drops the Unwind that was told of the function too.
func (c *Counters) catch(e Event) {
	c.endBoundary(e)
	if n := len(c.unwinding); n > 0 && !c.unwinding[n-1].block {
		c.unwinding = c.unwinding[:n-1]
	}
	c.quiet = false
}

func (c *Counters) push(u unwinding) {
	u.depth = c.depth()
	c.unwinding = append(c.unwinding, u)
	if n := len(c.unwinding); n > c.limits.Unwinding {
		c.unwinding = slices.Delete(c.unwinding, 0, 1)
	}
}

// block lets the program's own code run in the middle of the dispatcher's.
func (c *Counters) block(filter bool) {
	c.forget()
	c.push(unwinding{block: true, filter: filter, quietSP: c.quietSP})
	c.quiet = false
}

// blockEnd drops all exceptions that the block has handled itself.
func (c *Counters) blockEnd(filter bool) {
	c.forget()
	for n := len(c.unwinding); n > 0; n-- {
		u := c.unwinding[n-1]
		c.unwinding = c.unwinding[:n-1]
		if u.block && u.filter == filter {
			c.quietSP = u.quietSP
			break
		}
	}
	c.quiet = true
}

// enter begins a call that is recorded. What the thread did in no recorded function belongs to nobody.
func (c *Counters) enter(e Event) {
	ticks, waits := c.interval(e.Clock)
	number, folded, flags := c.timing(e)
	if c.depth() > 0 {
		if folded {
			c.Timings[c.top().Timing-1].Folded++
			c.tail(ticks, waits)
		} else {
			c.lead(number, ticks, waits)
		}
	}
	if flags == 0 && e.Class == Boundary {
		flags = wire.ActivationBoundary
	}
	c.Clock.Calls++
	c.Timings[number-1].Calls++
	c.Activations = append(c.Activations, wire.Activation{CallerSP: e.CallerSP, Timing: number, Flags: flags,
		Elapsed: c.Clock.Elapsed, Waited: c.Clock.Waited, Calls: c.Clock.Calls})
}

// timing returns the number of the timing of a call that begins, and whether it is folded.
func (c *Counters) timing(e Event) (number uint32, folded bool, flags uint32) {
	key := timingKey{function: e.Function}
	if c.depth() > 0 {
		key.parent = c.top().Timing
		if c.flags()&wire.ActivationBoundary == 0 {
			key.address = e.ReturnAddress
		}
	}
	if c.depth() >= c.limits.Depth {
		c.Losses[wire.LossCallsFolded]++
		return c.truncatedTiming(), true, wire.ActivationTruncated
	}
	if c.numbers[key] != 0 || len(c.Timings) < c.limits.Timings || c.depth() == 0 {
		return c.number(key), false, 0
	}
	return c.number(timingKey{parent: c.truncatedTiming(), function: e.Function}), true, 0
}

// truncatedTiming returns the number of the timing into which a call of the innermost activation is folded.
func (c *Counters) truncatedTiming() uint32 {
	if c.depth() == 0 {
		return c.number(timingKey{})
	}
	if parent := c.Timings[c.top().Timing-1].Parent; parent != 0 && c.Timings[parent-1].Function == 0 {
		return parent // the caller is folded itself
	}
	key := timingKey{parent: c.Activations[min(c.depth(), c.limits.FoldDepth)-1].Timing}
	if c.numbers[key] == 0 && c.truncated >= c.limits.Truncated {
		key.parent = c.Activations[0].Timing
	}
	if c.numbers[key] == 0 {
		c.truncated++
	}
	return c.number(key)
}

// number returns the number of a timing, and makes it if there is none.
func (c *Counters) number(key timingKey) uint32 {
	if n := c.numbers[key]; n != 0 {
		return n
	}
	const none = math.MaxUint64
	c.Timings = append(c.Timings, wire.Timing{Parent: key.parent, Function: key.function, ReturnAddress: key.address,
		Min: [4]uint64{none, none, none, none}})
	c.numbers[key] = uint32(len(c.Timings))
	return c.numbers[key]
}

func (c *Counters) lead(number uint32, ticks uint64, waits wire.Waits) {
	t := &c.Timings[number-1]
	c.Clock.Elapsed += ticks
	t.LeadElapsed += ticks
	if waits.Intervals != 0 {
		c.Clock.Waited += ticks
		t.LeadWaited += ticks
		c.wait(&t.LeadWaits, waits)
	}
}

// tail adds an interval to the innermost call.
func (c *Counters) tail(ticks uint64, waits wire.Waits) {
	t := &c.Timings[c.top().Timing-1]
	c.Clock.Elapsed += ticks
	t.TailElapsed += ticks
	if waits.Intervals != 0 {
		c.Clock.Waited += ticks
		t.TailWaited += ticks
		c.wait(&t.TailWaits, waits)
	}
}

// endUnseen ends the innermost call, which is gone since some event before. The time since the last event belongs to
// whoever runs now.
func (c *Counters) endUnseen() {
	c.Timings[c.top().Timing-1].Unmatched++
	c.Losses[wire.LossCallsUnmatched]++
	c.end()
	kept := c.unwinding[:0]
	for _, u := range c.unwinding {
		if u.depth <= c.depth() || !u.ends { // others are not about this call, and go on
			u.depth = min(u.depth, c.depth())
			kept = append(kept, u)
		}
	}
	c.unwinding = kept
}

// endNow ends the innermost call, and an interval with it.
func (c *Counters) endNow(clock uint64) {
	c.tail(c.interval(clock))
	c.end()
}

func (c *Counters) end() {
	a := *c.top()
	t := &c.Timings[a.Timing-1]
	c.Activations = c.Activations[:c.depth()-1]
	elapsed, waited := c.Clock.Elapsed-a.Elapsed, c.Clock.Waited-a.Waited
	c.extremes(t, elapsed, waited, &a)
	t.Ended++
	if c.depth() > 0 {
		caller := c.top()
		caller.ChildElapsed += elapsed
		caller.ChildWaited += waited
		caller.Children++
	}
}

// extremes takes one call that ended into the minimum and maximum.
func (c *Counters) extremes(t *wire.Timing, elapsed, waited uint64, a *wire.Activation) {
	calls := c.Clock.Calls - a.Calls
	inclusive := (c.overhead.Inside + calls*(c.overhead.Inside+c.overhead.Outside)) >> 10
	exclusive := (c.overhead.Inside + a.Children*c.overhead.Outside) >> 10
	less := func(a, b uint64) uint64 { return a - min(a, b) }
	own, ownWaited := elapsed-a.ChildElapsed, waited-a.ChildWaited
	for i, value := range [4]uint64{less(elapsed, inclusive), less(own, exclusive), less(elapsed-waited, inclusive), less(own-ownWaited, exclusive)} {
		t.Min[i] = min(t.Min[i], value)
		t.Max[i] = max(t.Max[i], value)
	}
}

// interval ends one.
func (c *Counters) interval(clock uint64) (ticks uint64, waits wire.Waits) {
	if clock < c.Clock.Last {
		c.Losses[wire.LossClockBackwards]++
	} else {
		ticks = clock - c.Clock.Last
	}
	c.Clock.Last = clock
	if o := c.os; o.Acted() {
		waits = wire.Waits{Intervals: 1, Voluntary: o.Voluntary, Preempted: o.Preempted, Faults: o.Faults, Reads: o.Reads, OffNS: o.OffNS}
	}
	c.os = OS{}
	return ticks, waits
}

func (c *Counters) wait(number *uint32, waits wire.Waits) {
	if *number == 0 {
		c.Waits = append(c.Waits, wire.Waits{})
		*number = uint32(len(c.Waits))
	}
	add(&c.Waits[*number-1], waits)
}
