// Package il reads the code of methods: the intermediate language of .NET (ECMA-335 III).
//
// # Problem
//
// What an object is for is sometimes shown by the code alone: an array that is made for a call's last parameter is an
// array like any other to the runtime. And code that was changed must be shown to be right, byte by byte.
//
// # Idea
//
// [ReadBody] takes the body of a method apart (II.25.4): header, code, exception clauses. [Read] reads one instruction,
// by a table of what the standard says of each: the bytes of its operand, and what it takes from the stack and puts
// there. [Verify] follows all ways through a body with nothing but the depth of the stack; [Objects] follows them
// with the objects that lie on it, and says what becomes of each.
//
// # Invariants
//
// Nothing here panics, whatever the bytes, and work is bounded by the size of the body and the limits in flow.go.
//
// # Limits
//
// Values have no types here. What calls do to the stack is in the metadata, and the caller's business.
package il
