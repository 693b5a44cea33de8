// Package symbols turns what was recorded into what the programmer wrote: it
// names types and functions and finds the source lines of instructions.
//
// # Problem
//
// The runtime knows a function as a token in a module, with names from the
// compiler: the lambda in Main is a method <Main>b__0_0 of a class <>c, an async
// method is the method MoveNext of a struct, a generic argument may be "any
// reference type". And it knows a place in a function as a native offset.
//
// # Idea
//
// [Resolve] is a function from rows to rows. It reads each assembly once, for
// what its metadata adds to the recorded names (package clrmeta), and its PDB
// (package ppdb). How names are written is laid down in docs/symbols.md; the
// steps are
//
//	rawname.go    take raw names apart; recognize what compilers made
//	types.go      runtime types with their arguments
//	functions.go  from what ran to the method that was written
//	member.go     the parts of a function's name
//	signature.go  parameter lists
//	lines.go      native offset → IL offset → sequence point
//	calls.go      the calls in one place of the runtime's map, by what was called
//	module.go     assemblies, PDBs, and whether they are the right ones
//	bundled.go    those inside single-file applications
//
// # Invariants
//
//   - No file can make Resolve fail. A module whose file is missing, of another
//     build or corrupt gets a status, and its functions are named from what was
//     recorded.
//   - The same input and files give the same output, ids included.
//   - A PDB is used only if GUID and stamp are those in the assembly, and an
//     assembly only if its MVID is that of the module that ran.
//   - A name is valid UTF-8 without control characters, of bounded length.
//
// # Limits
//
// Symbol servers are not asked and Windows PDBs are not read. The names of closures and lambdas are
// those of the C# and Visual Basic compilers; F# closures keep their raw names.
package symbols
