package timing

import "github.com/clrprof/clrprof/internal/wire"

// Kind is what an Event tells of.
type Kind uint8

// The kinds of events. All but KindVanished are reported to a profiler; in brackets: by which hook or callback.
const (
	KindEnter Kind = iota + 1 // a hooked function was called [Enter]
	KindLeave                 // it returns [Leave]
	// it ends, since it tail-calls a function that then enters with the same CallerSP [Tailcall]
	KindTailcall
	KindFilter     // a filter of any function is asked about an exception [ExceptionSearchFilterEnter]
	KindFilterEnd  // [ExceptionSearchFilterLeave]
	KindUnwind     // an exception leaves a function, or comes to its catch block [ExceptionUnwindFunctionEnter]
	KindFinally    // a finally block of it runs because of the exception [ExceptionUnwindFinallyEnter]
	KindFinallyEnd // not if it ends by an exception of its own [ExceptionUnwindFinallyLeave]
	// the function is gone; which one, is not said, and not if native code catches [ExceptionUnwindFunctionLeave]
	KindUnwound
	KindCatch    // its catch block begins [ExceptionCatcherEnter]
	KindVanished // a call is gone, and nothing is reported of it
	KindEnd      // the recording of the thread ends
)

// Class is how the calls of a function are recorded.
type Class uint8

// The classes.
const (
	NotHooked Class = iota // no call is reported, only what exceptions do to it
	// framework code: recorded if the innermost recorded call is that of an instrumented function
	Boundary
	Instrumented // recorded always
	// delivers exceptions: neither recorded nor is what it calls, but for filters and other blocks, and what the
	// runtime's native code calls in its middle
	Dispatcher
)

// RuntimeCode is where the runtime's native code begins, and RuntimeBytes how much it is: return addresses within are
// of calls that it makes.
const (
	RuntimeCode  = 0x7d00_0000_0000
	RuntimeBytes = 0x0100_0000_0000
)

// Event is something that happened in one thread.
type Event struct {
	Kind     Kind
	Class    Class  // of the function
	Function uint32 // its id, from 1
	// of Enter, Leave, Tailcall: stack pointer of the caller after the call; of Finally and Catch: of the code that the
	// block belongs to
	CallerSP      uint64
	ReturnAddress uint64 // of Enter: in the caller, which need not be hooked
	Clock         uint64 // a reading, ticks
	OS            OS     // since the thread's event before this one

	// What only the program itself knows: the number of the call, which no other call of the thread has, and above
	// which address of the stack there is nothing yet of what the event begins (filters, finally and catch blocks).
	Frame uint32
	SP    uint64
}

// isOfProgram says whether an Enter that comes while a dispatcher runs is not part of what that does itself: it calls
// framework code, and the runtime does not call that for it. An exception that is thrown then is not either.
func (e *Event) isOfProgram() bool {
	return e.Class != Boundary || e.ReturnAddress-RuntimeCode < RuntimeBytes
}

// OS is what the operating system did. It acted if there was a context switch; the rest is only known with one.
type OS struct {
	Voluntary, Preempted uint64
	Faults, Reads        uint64 // page faults and block reads that needed the disk
	Blocked, Ready       uint64 // ticks without a processor: because the thread waited, though it could have run
}

// Acted says whether there was a context switch.
func (o OS) Acted() bool { return o.Voluntary+o.Preempted != 0 }

func (o *OS) add(more OS) {
	o.Voluntary += more.Voluntary
	o.Preempted += more.Preempted
	o.Faults += more.Faults
	o.Reads += more.Reads
	o.Blocked += more.Blocked
	o.Ready += more.Ready
}

// waits is what it did in an interval, in which it cannot have taken the processor away for longer than that was.
func (o OS) waits(ticks uint64) wire.Waits {
	if !o.Acted() {
		return wire.Waits{}
	}
	blocked := min(o.Blocked, ticks)
	return wire.Waits{Intervals: 1, Voluntary: o.Voluntary, Preempted: o.Preempted, Faults: o.Faults, Reads: o.Reads,
		Blocked: blocked, Ready: min(o.Ready, ticks-blocked)}
}

// Limits bound what is kept of a thread.
//
// A call for which there is no room for a timing of its own path is folded, and so is what it calls. Folded calls have
// one timing for each pair of caller and function, and the interval before such a call stays with the caller, as a part
// of its Tail. There is always room for a root.
type Limits struct {
	Timings   int // of paths
	Recursive int // of these, those of functions that are on their paths already

	// Functions that are unwound and blocks that run because of exceptions, at once. One more, and the oldest is
	// forgotten: it ends unseen.
	Unwinding int
	// Of these, calls that the runtime makes while a dispatcher runs. One more is a loss, and none is forgotten.
	Called int
}

// Unlimited is more than any test has.
var Unlimited = Limits{Timings: 1 << 30, Recursive: 1 << 30, Unwinding: 1 << 30, Called: 1 << 29}
