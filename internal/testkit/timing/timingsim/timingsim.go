package timingsim

import "github.com/clrprof/clrprof/internal/testkit/timing"

// Rand draws numbers; *rand.Rand of math/rand/v2 is one.
type Rand interface {
	IntN(n int) int // 0 ≤ result < n
}

// Options say what kind of program it is. Weights are how often something happens, relative to each other.
type Options struct {
	Functions int
	Sites     int    // calls in the code of a function
	Steps     int    // of one thread, about
	Depth     int    // calls that have not ended, at most
	Classes   [3]int // weights of functions by timing.Class

	Calls, Returns, Tails, Tries, Throws, Vanishes int // weights of what a function does next
	// one in so many events comes after the operating system acted; 0: it never does
	Acts      int
	Abrupt    bool // the recording ends in the middle
	Backwards bool // the clock sometimes does
	Managed   bool // exceptions are delivered by managed code, as from .NET 9 on
	Escapes   bool // exceptions leave filters
	Native    bool // native code catches
	// one in so many times when a managed dispatcher could make calls of its own, the runtime's native code calls the
	// program before; 0: it never does
	Notifies int
}

// some is a small number, often 0.
func some(r Rand, n int) int { return max(0, r.IntN(2*n)-n/2) }

// DrawNotifies adds to options that native code of the runtime calls the program, at random.
func (o *Options) DrawNotifies(r Rand) {
	o.Notifies = some(r, 6)
	if r.IntN(16) == 0 { // within each other
		o.Depth, o.Throws, o.Notifies = 4*o.Depth, o.Throws+8, 1
	}
}

// Draw returns options at random, with which native code of the runtime calls nothing.
func Draw(r Rand) Options {
	some := func(n int) int { return some(r, n) }
	return Options{
		Functions: 1 + r.IntN(8), Sites: 1 + r.IntN(3), Steps: 1 + r.IntN(60), Depth: 2 + r.IntN(20),
		Classes: [3]int{some(3), some(8), 1 + r.IntN(8)},
		Calls:   2 + r.IntN(10), Returns: 1 + r.IntN(10), Tails: some(3), Tries: some(6), Throws: some(4),
		Vanishes: some(2),
		Acts:     some(8), Abrupt: r.IntN(3) == 0, Backwards: r.IntN(20) == 0, Managed: r.IntN(2) == 0,
		Escapes: r.IntN(2) == 0, Native: r.IntN(2) == 0,
	}
}

// Base is the stack pointer of the code that calls into the runtime, in every thread.
const Base = 0x7ffc_0000_0000

const (
	codeSize    = 0x1000 // of a function
	codeBase    = 0x7f00_0000_0000
	outsideCode = 0x7e00_0000_0000 // of the runtime
	// bytes of stack that the runtime takes to deliver an exception, and again before a block runs
	dispatch = 0x900
)

// function is a function of the program.
type function struct {
	id    uint32
	class timing.Class
	frame uint64     // bytes
	calls [][]uint32 // by call site: what it may call, as indexes
}

// invocation is a call that has not ended. Filters are invocations too: they run on top of the stack, and no exception
// leaves them.
type invocation struct {
	*function
	frame     uint32 // Event.Frame
	filter    bool
	native    bool   // native code that called the next one, and catches everything
	unwinding bool   // a finally block runs because of an exception
	notifies  bool   // it is the runtime's, and calls while a dispatcher runs
	reported  []int  // the exceptions of which KindUnwind was reported
	tries     []*try // that it is inside of, outermost first
}

// try is a block with handlers.
type try struct {
	filters, catches, finally bool
}

// exception is one on its way to a handler, which has been found.
type exception struct {
	id     int    // from 1
	target int    // index of the invocation that catches it
	try    *try   // that catches it
	by     uint32 // Event.Frame of what delivers it
	sp     uint64 // of that
}

// outcome is how a block ended.
type outcome struct {
	kind      outcomeKind
	exception exception
	vanish    int    // index of the invocation that goes on
	tail      uint32 // index of the function
}

type outcomeKind int

const (
	normal outcomeKind = iota
	returned
	tailed
	thrown
	vanished
	stopped // everything stands still, the recording ends
)

type simulation struct {
	Options
	r          Rand
	emit       func(timing.Event)
	functions  []function
	stack      []*invocation
	frames     uint32
	left       int    // steps
	now        uint64 // clock
	pending    timing.OS
	exceptions int
	ghosts     bool // calls vanished and nobody has seen it yet
	stale      bool // a dispatcher did
	recorded   bool // a call of an instrumented function has begun
}

// Run simulates one thread and tells its events.
func Run(o Options, r Rand, emit func(timing.Event)) {
	s := &simulation{Options: o, r: r, emit: emit, left: o.Steps, now: uint64(1 + r.IntN(1000))}
	s.write()
	for s.left > 0 {
		// the thread's base
		s.stack = append(s.stack[:0], &invocation{function: &function{id: s.outside()}, native: s.Native && s.oneIn(2)})
		callee := s.draw()
		if (s.ghosts || s.stale) && s.functions[callee].class == timing.NotHooked {
			s.left--
			continue
		}
		out := s.call(callee, outsideCode+uint64(r.IntN(3)), Base)
		if out.kind == stopped {
			break
		}
		switch {
		case out.kind != thrown:
		case s.stack[0].native:
			s.caughtNatively(out.exception)
		default:
			s.unwind(s.stack[0], out)
			s.tell(timing.Event{Kind: timing.KindCatch, Function: s.stack[0].id, CallerSP: Base, SP: Base})
		}
		s.left--
		s.pass()
	}
	s.tell(timing.Event{Kind: timing.KindEnd})
}

// write makes up the program.
func (s *simulation) write() {
	s.functions = make([]function, s.Functions)
	for i := range s.functions {
		f := &s.functions[i]
		f.id, f.frame = uint32(i+1), 8*uint64(2+s.r.IntN(30))
		f.class = timing.Class(s.weighted(s.Classes[0], s.Classes[1], s.Classes[2]))
		for range s.Sites {
			callees := make([]uint32, 1+s.r.IntN(2))
			for j := range callees {
				callees[j] = s.draw()
			}
			f.calls = append(f.calls, callees)
		}
	}
}

// outside is the id of a function that is not part of the program, one of the runtime's.
func (s *simulation) outside() uint32 { return uint32(s.Functions + 1 + s.r.IntN(3)) }

func (s *simulation) draw() uint32 { return uint32(s.r.IntN(s.Functions)) }

func (s *simulation) oneIn(n int) bool { return n > 0 && s.r.IntN(n) == 0 }

// weighted draws an index; not all weights are 0.
func (s *simulation) weighted(weights ...int) int {
	sum := 0
	for _, w := range weights {
		sum += w
	}
	n := s.r.IntN(sum)
	for i, w := range weights {
		if n -= w; n < 0 {
			return i
		}
	}
	return 0
}

// pass lets time pass, and the operating system act.
func (s *simulation) pass() {
	switch s.r.IntN(8) {
	case 0: // the clock is coarse
	case 1:
		s.now += uint64(s.r.IntN(100_000))
	default:
		s.now += uint64(s.r.IntN(100))
	}
	// Where the agent replays the events, its clock also runs while it reads that for itself. Before the first call is
	// recorded nothing tells it that this is its own time, which could hide that the clock went back a little.
	if s.Backwards && s.oneIn(10) {
		if back := uint64(s.r.IntN(200)); s.recorded {
			s.now -= min(s.now, back)
		}
	}
	if s.oneIn(s.Acts) {
		s.pending.Voluntary += uint64(s.r.IntN(2))
		s.pending.Preempted += 1 - min(1, s.pending.Voluntary)
		s.pending.Faults += uint64(s.r.IntN(2))
		s.pending.Reads += uint64(s.r.IntN(3))
		s.pending.Blocked += uint64(s.r.IntN(1000))
		s.pending.Ready += uint64(s.r.IntN(1000))
	}
}

// tell emits an event that happens now.
func (s *simulation) tell(e timing.Event) {
	s.pass()
	e.Clock, e.OS = s.now, s.pending
	s.pending = timing.OS{}
	s.recorded = s.recorded || e.Kind == timing.KindEnter && e.Class == timing.Instrumented
	s.emit(e)
}

// hook tells what the hooks of a function tell; those of a function that has none tell nothing.
func (s *simulation) hook(kind timing.Kind, i *invocation, sp, address uint64) {
	if i.class != timing.NotHooked {
		s.ghosts, s.stale = false, false
		s.tell(timing.Event{Kind: kind, Class: i.class, Function: i.id, CallerSP: sp, ReturnAddress: address,
			Frame: i.frame})
	}
}

// call is one call with all that it leads to, also the functions that it tail-calls.
func (s *simulation) call(callee uint32, address, sp uint64) outcome {
	for {
		s.frames++
		i := &invocation{function: &s.functions[callee], frame: s.frames}
		i.native = s.Native && i.class == timing.NotHooked && s.oneIn(3) && !s.inBlock(len(s.stack))
		s.hook(timing.KindEnter, i, sp, address)
		s.stack = append(s.stack, i)
		out := s.block(i, sp-8-i.function.frame, true)
		if out.kind == stopped {
			return out
		}
		s.stack = s.stack[:len(s.stack)-1]
		switch out.kind {
		case normal, returned:
			s.hook(timing.KindLeave, i, sp, 0)
			return outcome{}
		case tailed:
			s.hook(timing.KindTailcall, i, sp, 0)
			callee = out.tail
		case thrown:
			return s.unwound(i, out)
		case vanished:
			if i.class != timing.NotHooked {
				s.ghosts = true
				s.emit(timing.Event{Kind: timing.KindVanished, Class: i.class, Function: i.id, Frame: i.frame})
			}
			return out
		}
	}
}
