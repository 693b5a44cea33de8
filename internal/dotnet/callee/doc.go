// Package callee finds functions that code only declares: what a call instruction says of the function that it calls.
//
// # Problem
//
// A call names its callee by a token of the caller's module: an assembly, a type, a name and a signature. The function
// itself is in a file, perhaps not that of the named assembly: System.Runtime says of nearly all its types that they
// are in System.Private.CoreLib, and a method can be that of a base type.
//
// # Idea
//
// The runtime's own rules (ECMA-335 II.22.25, III.3.19), as far as files tell: the assembly is the loaded module of
// this name, else the file of this name beside the calling module, in a folder of another loaded module or in that of
// another shared framework of the same version. A type that it forwards is looked for in the assembly that it names.
// The method is the one with this name and signature in the type, or in the types that it extends.
//
// What types a signature speaks of is known from the metadata of the calling module. Of one that is no file, such as a
// script's, the shape of the signature must do: a method is found if it is the only one of its name and shape.
//
// # Limits
//
// What is in no file, such as an assembly that was loaded from memory, stays as it is declared. A wrong file of the
// right name gives a wrong module, never a wrong name.
package callee
