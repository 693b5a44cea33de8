// Package timingsim is made-up programs that report what a profiler would get of one of their threads, as events of
// package timing.
//
// # Why
//
// Real programs throw exceptions out of filters, or within finally blocks that run because of another exception, once
// in a blue moon. Here all of it happens all the time, and at random, nested in each other: what is right for every
// program of this package does not rest on the habits of programs.
//
// # The program
//
// A few functions call each other from a few places, so that paths come again; some are instrumented, some are
// framework code, some are not hooked at all. A function runs statements that are drawn as it goes: calls, tail calls,
// blocks with handlers (catch, filter, finally), throws, memory taken from the stack. Frames have sizes, so every call
// has the stack pointer that it would have. Exceptions are delivered in two passes, as the runtime does it, and
// reported as it tells them (see package timing for the order, which was recorded): with Options.Managed as .NET 9
// does, otherwise as 3.1. Native code between functions catches everything. Calls can be gone without a word, as by
// longjmp. Before any event the operating system may act, and the clock may stand still or go back. In the end the
// thread is done, or everything stops where it is.
//
// # What it leaves out
//
// A profiler cannot know more than is reported to it. These are left out, since no counting could be right:
//
//   - When calls are gone and no hook has shown it yet, code that is not hooked does not make calls: these would lie
//     below what is gone, as if that had made them. The same holds for what delivered an exception that native code
//     caught. And no exception is thrown then, unless native code does: calls of the same function could be confused.
//   - Code that is not hooked catches nothing within a filter or a finally block that an exception runs, and neither it
//     nor framework code has a finally block there that an exception runs: nothing tells whether a framework call that
//     it made is gone, or to which Unwind an Unwound belongs if another exception has taken the place of the first.
//   - Within a finally block that an exception runs, the same function has no further one that another exception runs.
//   - A dispatcher calls no code of the program but filters, finally and catch blocks, and what the runtime's native
//     code calls in its first pass. Exceptions do not leave that, it is hooked, and the dispatcher goes on by a call
//     that is.
//
// # Limits
//
// One call of Run is one thread. Calls nest by recursion of the simulation itself, so Options.Depth should stay below
// some thousand.
package timingsim
