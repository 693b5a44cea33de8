// Package calltree computes with trees of calls: inclusive sums, values of
// functions and modules under recursion, callers and callees, trees with call
// sites merged, and the hot path.
//
// # Problem
//
// A tree has millions of nodes and may be 65,536 deep, and a function can be on one
// stack many times. An allocation, or an interval of time, must count once in each inclusive
// value, however often the function, module or call is on its stack.
//
// # Idea
//
// A tree is a few flat arrays; node i's parent is a smaller number than i.
// Then "children before parents" is counting down, "parents before children" is
// counting up, and most algorithms are one loop.
//
// The presence rule needs one thing more: the inclusive value of a group (a
// function, a module, a pair caller → callee) is the sum of the inclusive values
// of its topmost nodes, those with no ancestor of the same group: every allocation
// below a topmost node has the group on its stack, no allocation is below two of them,
// and an allocation below no member has not. In the order of a walk down the tree the nodes
// below one are those that follow it, as many as there are: a member is topmost if the last
// topmost one of its group has no more of them.
//
// # Invariants
//
//   - No recursion: the depth of a tree costs no stack.
//   - Every result is in a fixed order: by index, or as documented.
//
// # Limits
//
// Trees have at most 2³¹−1 nodes and groups; New checks it.
package calltree
