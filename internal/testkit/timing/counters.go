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
	Acted       []wire.Acted
	Inclusives  []wire.Inclusive
	Activations []wire.Activation // the first is next to the root
	Losses      [wire.LossCount]uint64
	// .NET 9: exceptions unwind finally blocks that were entered normally, like calls of their functions
	Blocks bool

	limits    Limits
	overhead  wire.Overhead
	unwinding []unwinding
	quiet     bool   // a dispatcher runs
	quietSP   uint64 // CallerSP of the last one
	numbers   map[timingKey]uint32
	sums      wire.Waits // of all intervals
	levels    []level    // by activation
	folds     folds
	begun     bool   // there was an event
	os        OS     // since the end of the last interval
	open      uint64 // ticks from the last event to the end
}

// unwinding is a function that an exception unwinds, or a filter or finally block that runs because of one, or what the
// runtime called while a dispatcher ran.
type unwinding struct {
	depth    int
	ends     bool   // of a function: its call is the innermost activation
	block    bool   // a block, or what was called
	filter   bool   // a filter
	called   bool   // what was called
	recorded bool   // of that: it is an activation
	frame    uint64 // of a finally block: CallerSP of KindFinally; of what was called: its own
	quietSP  uint64 // of a block: of the dispatcher that runs it
}

type timingKey struct {
	parent, function uint32
	address          uint64
}

// level is what is known of an activation beside it.
type level struct {
	before                wire.Waits // sums when it began
	childWaited, childOff uint64     // in calls that it made and that ended
}

// NewCounters starts a thread.
func NewCounters(limits Limits, overhead wire.Overhead) *Counters {
	return &Counters{limits: limits, overhead: overhead, numbers: map[timingKey]uint32{},
		folds: folds{budget: budget{limits: limits}}}
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
		c.block(unwinding{filter: true})
	case KindUnwind:
		c.endToldBefore(e)
		c.endBoundary(e)
		c.push(unwinding{ends: c.isTop(e) && !c.isAsked()})
	case KindFinally:
		c.endInside(e)
		c.block(unwinding{frame: e.CallerSP})
	case KindFilterEnd, KindFinallyEnd:
		c.blockEnd(e)
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
	return c.top().Flags &^ wire.ActivationFolded
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

// isAsked says whether a filter runs, and no recorded call inside of it. An exception that leaves the filter is
// reported as one that leaves the filter's function, which is not gone, and may be the innermost one.
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
	c.endCalled(e)
	if e.CallerSP >= c.quietSP {
		c.quiet, c.quietSP = false, 0 // the exception was handled by native code
	}
	c.quiet = c.quiet && c.depth() > 0 // what is called where nothing is recorded needs no note
	called := c.quiet && e.isOfProgram() && c.beginCalled(e)
	switch {
	case e.Class == Dispatcher:
		c.quiet, c.quietSP = true, e.CallerSP
	case c.quiet:
	case c.flags()&wire.ActivationBoundary == 0 || e.Class == Instrumented:
		c.enter(e)
		if called {
			c.unwinding[len(c.unwinding)-1].recorded = true
		}
	}
}

// beginCalled lets what the runtime called run while a dispatcher does, which goes on afterwards.
func (c *Counters) beginCalled(e Event) bool {
	c.forget()
	n := 0
	for _, u := range c.unwinding {
		if u.called {
			n++
		}
	}
	if n == c.limits.Called {
		if e.Class != Dispatcher {
			c.Losses[wire.LossCallsNested]++
		}
		return false
	}
	if last := len(c.unwinding) - 1; e.Class == Dispatcher && last >= 0 && !c.unwinding[last].block {
		return false // native code has caught the exception for which calls had been unwound
	}
	c.push(unwinding{block: true, called: true, frame: e.CallerSP, quietSP: c.quietSP})
	c.quiet, c.quietSP = false, 0
	return true
}

// innermostBlock is the number of those up to the innermost block, or to what was called; 0: none runs.
func (c *Counters) innermostBlock() int {
	n := len(c.unwinding)
	for n > 0 && !c.unwinding[n-1].block {
		n--
	}
	return n
}

// endCalled lets a dispatcher go on that makes a call: what was called in its middle has ended.
func (c *Counters) endCalled(e Event) {
	for i, u := range c.unwinding {
		if u.called && u.frame <= e.CallerSP {
			c.quiet, c.quietSP = true, u.quietSP
			c.unwinding = c.unwinding[:i]
			return
		}
	}
}

// endToldBefore ends a call of which the unwinding began, though another frame is unwound now, and not because of what
// a block of it did. Without Blocks that is one of which the end of the unwinding was not reported, since native code
// caught the exception. With it, another frame of the same function may be that of the call, and the one before, a
// block's.
func (c *Counters) endToldBefore(e Event) {
	c.forget()
	n := len(c.unwinding)
	if n == 0 || c.unwinding[n-1].block {
		return
	}
	u := c.unwinding[n-1]
	if c.Blocks {
		c.unwinding = c.unwinding[:n-1]
	}
	if !u.ends || u.depth != c.depth() || c.Blocks && c.isTop(e) {
		return
	}
	c.endNow(e.Clock)
	c.forget()
}

// endInside ends the calls inside of the frame whose block is about to run.
func (c *Counters) endInside(e Event) {
	for c.depth() > 0 && c.top().CallerSP <= e.CallerSP {
		c.endNow(e.Clock)
	}
	c.forget()
	c.leaveBlocks(e.CallerSP)
}

// leaveBlocks drops finally blocks of frames inside of this one, which an exception has left, and what was reported of
// their frames because of the exceptions that they ran for. What was reported last is about this frame itself.
func (c *Counters) leaveBlocks(frame uint64) {
	kept := len(c.unwinding)
	for i, u := range slices.Backward(c.unwinding) {
		if u.filter || u.block && u.frame >= frame {
			break
		}
		if u.called {
			kept = i
		} else if u.block {
			kept = i
			if i > 0 && !c.unwinding[i-1].block {
				kept = i - 1
			}
		}
	}
	if kept == len(c.unwinding) {
		return
	}
	last := c.unwinding[len(c.unwinding)-1]
	for len(c.unwinding) > kept {
		c.dropLast()
	}
	if !last.block {
		c.unwinding = append(c.unwinding, last)
	}
}

// endBoundary ends the call of a framework function, if an exception has come to the instrumented function that made
// it. Which calls of framework functions are unwound is not known from the events, since not all are recorded.
func (c *Counters) endBoundary(e Event) {
	if c.flags()&wire.ActivationBoundary != 0 && !c.isAsked() && e.Class != NotHooked && c.function(2) == e.Function {
		c.endNow(e.Clock)
	}
	c.forget()
}

// forget drops what has ended in another way while an exception unwound it.
func (c *Counters) forget() {
	for n := len(c.unwinding); n > 0; n-- {
		u := c.unwinding[n-1]
		// else it is not known: it may have jumped to what is not hooked, and throws
		over := u.recorded && c.quietSP == 0
		if u.depth < c.depth() || u.depth == c.depth() && !over {
			return
		}
		c.dropLast()
	}
}

// dropLast drops what was noted last. If that is something that the runtime called while a dispatcher ran, that one
// goes on, unless an exception has left what was called: then another one does.
func (c *Counters) dropLast() {
	n := len(c.unwinding) - 1
	u := c.unwinding[n]
	c.unwinding = c.unwinding[:n]
	if u.called && c.quietSP == 0 {
		c.quiet, c.quietSP = true, u.quietSP
	}
}

// unwound ends the call that the last Unwind was about.
func (c *Counters) unwound(e Event) {
	c.forget()
	n := len(c.unwinding)
	if c.Blocks || n == 0 || c.unwinding[n-1].block {
		return
	}
	u := c.unwinding[n-1]
	c.unwinding = c.unwinding[:n-1]
	if u.ends && u.depth == c.depth() {
		c.endNow(e.Clock)
	}
}

// catch drops the Unwind that was reported of the function too.
func (c *Counters) catch(e Event) {
	c.endInside(e)
	if n := len(c.unwinding); n > 0 && !c.unwinding[n-1].block {
		c.unwinding = c.unwinding[:n-1]
	}
	c.quiet, c.quietSP = false, 0
}

func (c *Counters) push(u unwinding) {
	u.depth = c.depth()
	c.unwinding = append(c.unwinding, u)
	if n := len(c.unwinding); n > c.limits.Unwinding {
		oldest := slices.IndexFunc(c.unwinding, func(u unwinding) bool { return !u.called })
		c.unwinding = slices.Delete(c.unwinding, oldest, oldest+1)
	}
}

// block lets the program's own code run in the middle of the dispatcher's.
func (c *Counters) block(u unwinding) {
	c.forget()
	u.block, u.quietSP = true, c.quietSP
	c.push(u)
	c.quiet = false
}

// blockEnd drops all exceptions that the block has handled itself, and ends what an exception left that no filter lets
// out.
func (c *Counters) blockEnd(e Event) {
	c.forget()
	n := len(c.unwinding) - 1
	for n >= 0 {
		if u := c.unwinding[n]; u.block && !u.called && u.filter == (e.Kind == KindFilterEnd) {
			break
		}
		n--
	}
	if n < 0 { // it was forgotten, and so is what came after it
		n = c.innermostBlock()
		if n > 0 && !c.unwinding[n-1].called {
			n = 0
		}
		c.unwinding = c.unwinding[:n]
	} else {
		u := c.unwinding[n]
		c.unwinding = c.unwinding[:n]
		for c.depth() > u.depth {
			c.endNow(e.Clock)
		}
		c.quietSP = u.quietSP
	}
	c.quiet = true
}

// enter begins a call that is recorded. What the thread did in no recorded function belongs to nobody.
func (c *Counters) enter(e Event) {
	ticks, waits := c.interval(e.Clock)
	number, folded := c.timing(e)
	var flags uint32
	if folded {
		flags |= wire.ActivationFolded
		c.Timings[c.top().Timing-1].Folded++
		c.tail(ticks, waits)
		c.foldBegin(number)
	} else if c.depth() > 0 {
		c.lead(number, ticks, waits)
	}
	if e.Class == Boundary {
		flags |= wire.ActivationBoundary
	}
	c.Clock.Calls++
	c.Timings[number-1].Calls++
	c.Activations = append(c.Activations, wire.Activation{CallerSP: e.CallerSP, Timing: number, Flags: flags,
		Elapsed: c.Clock.Elapsed, Waited: c.Clock.Waited, Acted: c.Clock.Acted, Calls: c.Clock.Calls})
	c.levels = append(c.levels, level{before: c.sums})
}

// number returns the number of a timing, and makes it if there is none.
func (c *Counters) number(key timingKey) uint32 {
	if n := c.numbers[key]; n != 0 {
		return n
	}
	const none = math.MaxUint64
	c.Timings = append(c.Timings, wire.Timing{Parent: key.parent, Function: key.function, ReturnAddress: key.address,
		Min: [2]uint64{none, none}})
	c.numbers[key] = uint32(len(c.Timings))
	return c.numbers[key]
}

func (c *Counters) lead(number uint32, ticks uint64, waits wire.Waits) {
	t := &c.Timings[number-1]
	t.LeadElapsed += ticks
	c.count(ticks, waits, &t.LeadWaited, &t.LeadWaits)
}

// tail adds an interval to the innermost call.
func (c *Counters) tail(ticks uint64, waits wire.Waits) {
	t := &c.Timings[c.top().Timing-1]
	t.TailElapsed += ticks
	c.count(ticks, waits, &t.TailWaited, &t.TailWaits)
}

func (c *Counters) count(ticks uint64, waits wire.Waits, waited *uint64, number *uint32) {
	c.Clock.Elapsed += ticks
	if waits.Intervals == 0 {
		return
	}
	c.Clock.Acted++
	c.Clock.Waited += ticks
	*waited += ticks
	add(&c.sums, waits)
	c.wait(number, waits)
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
	a, l := *c.top(), c.levels[c.depth()-1]
	c.extremes(&a, &l)
	c.Timings[a.Timing-1].Ended++
	elapsed, waited, off := c.Clock.Elapsed-a.Elapsed, c.Clock.Waited-a.Waited, off(c.sums)-off(l.before)
	if a.Flags&wire.ActivationFolded != 0 {
		c.foldEnd(&a, &l)
	}
	c.Activations, c.levels = c.Activations[:c.depth()-1], c.levels[:c.depth()-1]
	if c.depth() > 0 {
		caller, l := c.top(), &c.levels[c.depth()-1]
		caller.ChildElapsed += elapsed
		caller.Children++
		l.childWaited += waited
		l.childOff += off
	}
}

func off(w wire.Waits) uint64 { return w.Blocked + w.Ready }

// extremes takes one call that ended into the minimum and maximum.
func (c *Counters) extremes(a *wire.Activation, l *level) {
	t := &c.Timings[a.Timing-1]
	less := func(a, b uint64) uint64 { return a - min(a, b) }
	elapsed := c.Clock.Elapsed - a.Elapsed
	inclusive := less(elapsed, (c.overhead.Inside+(c.Clock.Calls-a.Calls)*(c.overhead.Inside+c.overhead.Outside))>>10)
	exclusive := less(elapsed-a.ChildElapsed, (c.overhead.Inside+a.Children*c.overhead.Outside)>>10)
	if c.Clock.Acted == a.Acted {
		for i, value := range [2]uint64{inclusive, exclusive} {
			t.Min[i], t.Max[i] = min(t.Min[i], value), max(t.Max[i], value)
		}
		return
	}
	if t.Acted == 0 {
		const none = math.MaxUint64
		c.Acted = append(c.Acted, wire.Acted{Min: [6]uint64{none, none, none, none, none, none}})
		t.Acted = uint32(len(c.Acted))
	}
	x := &c.Acted[t.Acted-1]
	waited, off := c.Clock.Waited-a.Waited, off(c.sums)-off(l.before)
	for i, value := range [6]uint64{inclusive, exclusive, less(inclusive, waited),
		less(exclusive, waited-l.childWaited), less(inclusive, off),
		less(exclusive, off-l.childOff)} {
		x.Min[i], x.Max[i] = min(x.Min[i], value), max(x.Max[i], value)
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
	waits = c.os.waits(ticks)
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
