// Package programs generates C# programs that know their own correct numbers: how often each of their functions calls
// which other one, and how many objects of which type each allocates. The programs are drawn from a seed, so a test
// can try shapes that nobody thought of, and repeat one that fails.
//
// # What a program is
//
// [Source] writes one C# 8 file with many small programs, the units, so that few processes try hundreds of them. A
// unit is a class with about ten functions: static, instance, virtual and generic methods, async methods (of Task and
// ValueTask) and iterators, disposable objects, exception filters, and functions that framework code calls back.
// Their bodies are drawn: calls; try with catch, filter, finally and using, nested up to [maxNesting]; throw and
// rethrow; loops that are left from within a handler; exceptions of the framework and of the processor; allocations.
// What a function does depends on a number that is passed down, so a run is the same each time, on each runtime, on
// any thread. Some units run on threads of their own.
//
// # How it counts
//
// The counters are fields of an array in an object that is passed down, too; counting calls nothing and allocates
// nothing. Each place of a call adds one to the counter of (caller, callee) directly before the call. Each place of
// an allocation adds one to that of (function, type, size). Only Dispose counts itself, because the call is the
// compiler's. A function whose caller is the runtime's choice (filters, finalizers, callbacks by the framework) has a
// count and no callers. The methods that the compiler makes for state machines are callers, but how often they are
// called is not known, because it depends on which waits occur.
//
// At the end the program prints all this as testdata/targets/README.md describes, in rows "calls", "call",
// "uncounted" and, for allocations, "made".
package programs
