// Package timing is the reference for the time of calls: slow, plain and easy to believe. Tests compare the agent with
// it; nothing else uses it.
//
// # The problem
//
// The time of a thread consists of intervals between events: a call, or the end of one. By definition each interval
// belongs to the stack at its end, and is added to the values of every function on it:
//
//	Elapsed Inclusive       always, once however often the function is on the stack
//	Elapsed Exclusive       if the function itself was executing, which is the top of the stack
//	Application Inclusive   if the operating system did not act in the interval
//	Application Exclusive   if both
//
// The agent cannot go through the stack at every event. It adds each interval to one counter: one that a call ended to
// the Lead of the callee's timing (time of the caller, before this call), one that the end of a call ended to the Tail
// of the function's own. Is that the same? And it has no list of who is on the stack: it sees the stack pointer of the
// caller at Enter and Leave, and names of functions when an exception passes. Does it always know who ends?
//
// # The idea
//
// Both are written here, independently. Naive does what the definition says, and knows from the program itself
// (Event.Frame) which call an event is about. Counters does what the agent does, from what the agent gets. Tree
// turns timings into the four values, so that the two can be compared: of every node, call site and function.
//
// # Exceptions
//
// These are the events of .NET Core 3.1.2 and .NET 9.0.7, as they come:
//
//   - An exception that passes a function: Unwind, Finally and FinallyEnd of each of its blocks, Unwound. Only Unwind
//     and Finally say which function, and none which call of it.
//   - The function that catches is reported by an Unwind too, and by no Unwound, but by Catch.
//   - A finally block that ends by an exception of its own has no FinallyEnd, and its function gets another Unwind.
//   - Filters run before anything is unwound, on top of everything. If an exception leaves one, its function gets an
//     Unwind and, up to 3.1, an Unwound, though it goes on. .NET 9 also tells an Unwound of nobody.
//   - If native code catches, .NET 9 does not tell the last Unwound.
//   - Finally and Catch tell the stack pointer of the code that the block belongs to: calls inside of it are gone.
//   - A finally block that was entered without an exception and throws one is unwound by .NET 9 as if it were a call of
//     its function: an Unwind more, and an Unwound. So there a call ends when the next frame is another function's.
//   - Filters, finally and catch blocks run on top of what delivers the exception, so their calls have lower stack
//     pointers than calls that are gone. .NET 9 delivers exceptions by managed code, whose own calls are hooked too.
//
// Calls of framework functions are recorded only where instrumented functions made them, so it is not known which of
// those an exception unwinds. A recorded one ends when the exception comes to the function that made it: between these
// two moments only the runtime itself runs.
//
// # What is gone and not seen
//
// A call can be gone without an event: native code unwound it, or it is of framework code (above). It ends, Unmatched,
// at the next event whose stack pointer shows it. That is no interval: the time since the last one belongs to whoever
// runs now. Naive keeps such calls on the stack until then, since no profiler could do otherwise.
//
// # Invariants
//
// Σ inclusive of roots = Σ exclusive of nodes = Σ exclusive of functions, in elapsed and in application time, to the
// last tick. Application ≤ elapsed, exclusive ≤ inclusive. Without limits a node's inclusive time is its exclusive time
// and the inclusive time of its children; with limits, that and the time of folded calls.
//
// # Limits
//
// Where function and stack pointer cannot tell, Counters can be wrong, and so is the agent; package timingsim does not
// make these up, and says which they are.
package timing
