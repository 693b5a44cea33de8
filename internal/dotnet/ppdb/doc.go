// Package ppdb reads portable PDBs: which source line an IL offset belongs to.
//
// # Problem
//
// A function's bodies map machine code to IL offsets; the way from there to a
// file, line and column is in the PDB. .NET's own format, the portable PDB
// (specified with the .NET runtime as "Portable PDB v1.0"), is metadata as in
// assemblies with eight more tables. No Go module reads it.
//
// # Idea
//
// [Open] takes the bytes of a PDB, from a file or from inside an assembly, and
// leaves the tables to the package clrmeta. [PDB.SequencePoints] decodes the
// points of one method when it is asked; a PDB is never decoded as a whole.
//
// A method's token in the PDB is its token in the assembly. That the two belong
// together says [PDB.ID]: GUID and stamp, equal to those of the assembly's
// CodeView entry.
//
// # Invariants
//
// An embedded source is at most 16 MB. Nothing panics, whatever the bytes; work and memory are bounded by the input.
// A PDB is immutable and
// may be used from many goroutines.
//
// # Limits
//
// Local variables, constants, import scopes and custom debug information
// other than embedded sources (Source Link) are not read. Windows PDBs are refused with
// [ErrWindows].
package ppdb
