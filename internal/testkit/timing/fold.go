package timing

import (
	"slices"

	"github.com/clrprof/clrprof/internal/wire"
)

// budget is how many paths there are, and who gets the next one.
type budget struct {
	limits           Limits
	paths, recursive int
	granted          int         // paths of calls that had shown to be expensive
	free             bool        // no path is left for whoever comes first
	levels           map[int]int // paths out of the shares of levels
	unspent          uint64      // elapsed time of folded calls since the last grant
}

// The agent's constants.
const (
	freePart   = 2
	ownLevels  = 32
	levelPart  = 128
	mostGrants = 16
	firstPrice = 2048
	prices     = 32
	deeper     = 8
	cheap      = 3
)

// price is the time of folded calls on a level of the tree for a path.
func (b *budget) price(level int) uint64 {
	p := uint64(firstPrice) << min(b.granted/max(b.limits.Timings/prices, 1), prices)
	return p << min(max(level/deeper-cheap+1, 0), deeper)
}

// earn returns how many paths a folded call earns that ended on a level, made by a call with a path and so many grants.
func (b *budget) earn(level int, elapsed uint64, granted uint32) uint32 {
	each := b.price(level)
	b.unspent += elapsed
	more := b.unspent / each
	b.unspent %= each
	return uint32(min(more+uint64(granted), mostGrants))
}

// open reports whether a call made on a level has a path without a grant.
func (b *budget) open(level int) bool {
	return !b.free || level < ownLevels && b.levels[level] <= b.limits.Timings/levelPart
}

// room reports whether a call made on a level of the tree gets a path. The last two say what is known of it: its caller
// has grants, and its function is on the stack.
func (b *budget) room(level int, granted bool, onStack func() bool) bool {
	if b.paths >= b.limits.Timings || !granted && !b.open(level) {
		return false
	}
	if !granted && onStack() {
		if b.recursive >= b.limits.Recursive {
			return false
		}
		b.recursive++
	}
	b.use(level, granted)
	return true
}

func (b *budget) use(level int, granted bool) {
	b.paths++
	if granted {
		b.granted++
	} else if b.free {
		if b.levels == nil {
			b.levels = map[int]int{}
		}
		b.levels[level]++
	}
	b.free = b.free || b.paths >= b.limits.Timings/freePart
}

// folds is how calls without a path of their own are counted.
type folds struct {
	budget
	calls     uint64
	truncated uint32 // number of the root of their timings, 0: there are none yet
	marks     []mark // of the outermost activations
}

// mark says that a call is noted in the timings of folded calls.
type mark struct {
	call           uint64 // Activation.Calls
	edge, function uint32 // numbers of timings; edge 0: a root's
}

// Folded is the number of calls without a path of their own.
func (c *Counters) Folded() uint64 { return c.folds.calls }

// timing returns the number of the timing of a call that begins, and whether it is folded.
func (c *Counters) timing(e Event) (number uint32, folded bool) {
	f := &c.folds
	if c.depth() == 0 {
		if c.numbers[timingKey{function: e.Function}] == 0 {
			f.use(0, false)
		}
		return c.number(timingKey{function: e.Function}), false
	}
	if c.top().Flags&wire.ActivationFolded == 0 {
		key := timingKey{parent: c.top().Timing, function: e.Function}
		if c.flags()&wire.ActivationBoundary == 0 {
			key.address = e.ReturnAddress
		}
		if c.numbers[key] != 0 || c.room(e.Function) {
			return c.number(key), false
		}
	}
	f.calls++
	return c.foldedCall(e.Function), true
}

// room says whether there is room for one more path, which ends with a function that is called now.
func (c *Counters) room(function uint32) bool {
	f, caller := &c.folds, &c.Timings[c.top().Timing-1]
	granted := caller.Present != 0
	if !f.room(c.depth(), granted, func() bool { return c.onStack(function) }) {
		return false
	}
	if granted {
		caller.Present--
	}
	return true
}

func (c *Counters) onStack(function uint32) bool {
	if c.folds.recursive >= c.limits.Recursive {
		c.mark()
	}
	return slices.ContainsFunc(c.Activations, func(a wire.Activation) bool {
		return c.Timings[a.Timing-1].Function == function
	})
}

func (c *Counters) inclusive(number uint32) *wire.Inclusive {
	at := &c.Timings[number-1].Inclusive
	if *at == 0 {
		c.Inclusives = append(c.Inclusives, wire.Inclusive{})
		*at = uint32(len(c.Inclusives))
	}
	return &c.Inclusives[*at-1]
}

func (c *Counters) foldedFunction(function uint32) uint32 {
	c.folds.truncated = c.number(timingKey{})
	number := c.number(timingKey{parent: c.folds.truncated, function: function})
	c.inclusive(number)
	return number
}

func (c *Counters) foldedPair(caller, function uint32) uint32 {
	number := c.number(timingKey{parent: caller, function: function})
	if c.Timings[number-1].Callee == 0 {
		callee := c.foldedFunction(function)
		c.inclusive(number)
		c.Timings[number-1].Callee = callee
	}
	return number
}

func (c *Counters) foldedCall(function uint32) uint32 {
	caller := c.Timings[c.top().Timing-1].Callee
	if c.top().Flags&wire.ActivationFolded == 0 {
		c.mark()
		c.inclusive(c.top().Timing)
		caller = c.folds.marks[c.depth()-1].function
	}
	return c.foldedPair(caller, function)
}

// mark notes all calls on the stack, none of which is folded.
func (c *Counters) mark() {
	f := &c.folds
	same := min(len(f.marks), c.depth())
	for same > 0 && f.marks[same-1].call != c.Activations[same-1].Calls {
		same--
	}
	for _, m := range f.marks[same:] {
		c.Timings[m.function-1].Present--
		if m.edge != 0 {
			c.Timings[m.edge-1].Present--
		}
	}
	f.marks = f.marks[:same]
	for i, a := range c.Activations[same:] {
		m := mark{call: a.Calls}
		function := c.Timings[a.Timing-1].Function
		if i+same == 0 {
			m.function = c.foldedFunction(function)
		} else {
			m.edge = c.foldedPair(f.marks[i+same-1].function, function)
			m.function = c.Timings[m.edge-1].Callee
			c.Timings[m.edge-1].Present++
		}
		c.Timings[m.function-1].Present++
		f.marks = append(f.marks, m)
	}
}

func (c *Counters) foldBegin(number uint32) {
	x := &c.Timings[number-1]
	x.Present++
	c.Timings[x.Callee-1].Present++
}

func (c *Counters) foldEnd(a *wire.Activation, l *level) {
	x := &c.Timings[a.Timing-1]
	each := c.inclusive(a.Timing)
	each.EachCalls += 1 + c.Clock.Calls - a.Calls
	each.EachElapsed += c.Clock.Elapsed - a.Elapsed
	each.EachWaited += c.Clock.Waited - a.Waited
	each.EachOff += off(c.sums) - off(l.before)
	if x.Present--; x.Present == 0 {
		c.addInclusive(a.Timing, a, l, 0)
	}
	if x := &c.Timings[x.Callee-1]; x.Present == 1 {
		c.addInclusive(c.Timings[a.Timing-1].Callee, a, l, 0)
	}
	c.Timings[x.Callee-1].Present--
	if caller := c.Activations[c.depth()-2]; caller.Flags&wire.ActivationFolded == 0 {
		c.addInclusive(caller.Timing, a, l, 0)
		x := &c.Timings[caller.Timing-1]
		x.Present = c.folds.earn(c.depth(), c.Clock.Elapsed-a.Elapsed, x.Present)
	}
}

// addInclusive adds a call to the time of what was on the stack with it. Open is of an interval that has not ended.
func (c *Counters) addInclusive(number uint32, a *wire.Activation, l *level, open uint64) {
	v := c.inclusive(number)
	v.Times++
	v.Calls += 1 + c.Clock.Calls - a.Calls
	v.Elapsed += c.Clock.Elapsed - a.Elapsed + open
	v.Waited += c.Clock.Waited - a.Waited + open
	w := &v.Waits
	w.Intervals += c.sums.Intervals - l.before.Intervals
	w.Voluntary += c.sums.Voluntary - l.before.Voluntary
	w.Preempted += c.sums.Preempted - l.before.Preempted
	w.Faults += c.sums.Faults - l.before.Faults
	w.Reads += c.sums.Reads - l.before.Reads
	w.Blocked += c.sums.Blocked - l.before.Blocked
	w.Ready += c.sums.Ready - l.before.Ready + open // why, is not known
}

// running adds the calls that have not ended.
func (c *Counters) running() {
	functions, edges := map[uint32]bool{}, map[pair]bool{}
	caller, begun := uint32(0), false
	for i := range c.Activations {
		a := &c.Activations[i]
		x := c.Timings[a.Timing-1]
		k := pair{caller, x.Function}
		if a.Flags&wire.ActivationFolded != 0 {
			if !begun {
				c.addInclusive(c.Activations[i-1].Timing, a, &c.levels[i], c.open)
			}
			begun = true
			if !edges[k] {
				c.addInclusive(a.Timing, a, &c.levels[i], c.open)
			}
			if !functions[x.Function] {
				c.addInclusive(x.Callee, a, &c.levels[i], c.open)
			}
		}
		functions[x.Function], edges[k], caller = true, true, x.Function
	}
}
