// Package probes says what the agent's rewriting of IL refuses, so that it can be
// said beforehand; its tests have the rules of probes, written a second time.
//
// # Problem
//
// The agent inserts calls into the bodies of methods (agent/src/il/il.h). A wrong
// byte there is a crash of someone else's program, or one that goes on wrongly,
// and only in the method in which it is.
//
// # Idea
//
// compareBodies, in the tests, reads the old body and the new one side by side, with a reader of
// its own: each instruction must be there, in order, with its operand, and
// nothing between but the probes of probeCalls, each where it must be. Branches,
// switches and exception clauses must lead to where they led. [Verify] knows
// nothing of probes: it follows all ways through a body (ECMA-335 III.1.7.4) with
// the signatures of what it calls, and wants the depths of the stack to agree
// wherever ways meet, to be what each instruction needs, and never to be more
// than the body declares.
//
// [Refuse] decides as the rewriter does what is not rewritten, and why.
//
// # Invariants
//
// Nothing here panics, whatever the bytes, and work is bounded by the size of the
// body, so the package can be fuzzed together with the agent.
//
// # Limits
//
// Types are not verified, only depths: the rewriter does not touch values.
package probes
