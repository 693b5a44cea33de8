// Package instrument decides which functions of a program are recorded: by the mode of instrumentation, by the user's
// patterns, and by size. It decides nothing at run time, where the agent does; it states the rules, compiles the
// patterns for the collector, writes them for the agent, and lists what they come to for assemblies on disk.
//
// # Problem
//
// The same words (--include, --exclude, --instrument, --exclude-small) reach three places: the agent, in C, which hooks
// functions; the collector, which leaves frames out of the stacks of allocations; and the command that shows beforehand
// what would be recorded. They must mean the same in all three.
//
// # The rules
//
// A pattern is compared, whole and without regard to the case of ASCII letters, with the names of a function (see
// pattern.FunctionNames): its module's file, its namespace, its type and itself. `*` stands for any characters, dots
// too; nothing else is special.
//
// A function that matches an exclude pattern is out, whatever else holds. With include patterns, only what matches one
// of them is the user's own. What is out has no row: its time, its calls and its allocations count for the nearest
// caller that is in.
//
// For allocations that is all: what is not the user's own is out. Calls and times know a class between. Without include
// patterns the user's own code is what does not belong to the framework (see usercode):
//
//	                   boundary (default)                   mine         all
//	user's code        all calls                            all calls    all calls
//	other code         calls that the user's code makes     out          all calls; with include patterns: out
//
// Functions whose IL is smaller than --exclude-small are out as well: the time to measure them would be more than their
// own.
//
// # Limits
//
// A listing of files on disk cannot know which instantiations of generic code will run, nor code that is made at run
// time. Async and iterator methods run as the method MoveNext of a type that the compiler makes, such as
// Shop.Orders/<Load>d__3: this is the name to match.
package instrument
