// Package clrmeta reads the metadata of .NET modules: the names of types and
// methods, their signatures, and where their symbols are.
//
// # Problem
//
// The agent reports functions as module and token, with names that compilers
// made. To show what the programmer wrote, a reader needs what only the file
// has: the names of generic parameters, the types behind the tokens of a
// signature, the method that an async state machine was made from, and the
// identity of the PDB. No Go module reads this.
//
// # Idea
//
// [Open] takes a PE file (an assembly, ReadyToRun or not; the sections of
// ECMA-335 II.25) and reads only its headers, its metadata and, when asked, its
// debug directory. [Parse] takes raw metadata (II.24.2), which is also the form
// of a portable PDB. Both give a [Metadata], which decodes nothing in advance:
// a row is read from the bytes when it is asked for. A table's shape is data
// (schema.go), so that one routine reads all of them, and the package ppdb adds
// none of its own.
//
// Rows are named by [Token]: table number in the top byte, row from 1 below.
// Row 0 is "none". Types are decoded to trees ([TypeSig], [MethodSig]); how they
// are written for people is the business of the package symbols.
//
// # Invariants
//
//   - Nothing here panics, whatever the bytes. A reference outside its heap or
//     table reads as an error, or as "none" where that is documented.
//   - Work and memory are bounded by the size of the input and the limits in
//     limits.go. In particular a few bytes cannot name a large string many
//     times: strings, nesting and signatures each have a limit.
//   - A Metadata is immutable and may be used from many goroutines.
//
// # Limits
//
// What method bodies contain, resources, marshalling and security are not read. Generic
// instantiations in the value of a custom attribute are not decoded; only the
// type name that a state machine attribute has is read.
package clrmeta
