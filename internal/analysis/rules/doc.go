// Package rules finds, in a session, what programs are known to do badly: it says where, with which numbers, and what
// to do instead.
//
// # Problem
//
// A profile has a thousand numbers, and the same twenty mistakes are behind most of the great ones. A reader who does
// not know what a box, a state machine or generation 2 costs does not see them, and a rule that guesses is switched
// off.
//
// # Idea
//
// A Rule says only what the session knows. Those about code look at analysis.Uses: what a place in user code made, or
// waited for, by which chain of framework functions; a rule is a condition on the type, on the functions of the chain,
// and on how much it is. Those about collections look at the collections. Each has an id, which does not change, and by
// which it is disabled.
//
// Most uses of a large session are too small to break a rule, so each rule also says which places and functions can:
// only their uses are made (facts.wanted). What is found in the whole session is stored when it is completed
// (Complete), with the edition of the rules: where that is another one, it is found again.
//
// # Invariants
//
//   - A finding's numbers are sums of the session's; findings of one rule share no object and no interval.
//   - A rule that a session cannot tell about is in Result.Unjudged, never silently without findings.
//   - Same session, same findings, in the same order: the gravest first, then by amount.
//
// # Limits
//
// Whether a line is in a loop is not known; it is taken for one if it made a thousand objects. At most maxFindings are
// kept of each rule: those with the greatest amounts.
package rules
