// Package heapgraph reads a snapshot of a heap and says what keeps its objects alive.
//
// # Problem
//
// A snapshot holds every object after a full garbage collection, with its references, and the roots. How many bytes an
// object is worth is not its own size but what would go with it: its retained size, the sizes of all objects that are
// reachable only through it.
//
// # Idea
//
// An object d dominates an object o if every path from the roots to o goes through d. The dominators of an object form
// a chain, so those of all objects form a tree (below one root above all roots), and the retained size of an object is
// the sum of the sizes in its subtree. The tree is made by the algorithm of Lengauer and Tarjan ("A fast algorithm for
// finding dominators in a flowgraph", 1979) in its simple form, in O(references × log objects) for any graph.
//
// What a type retains is the sum over those of its objects that no other object of the type dominates: each byte counts
// once, though the nodes of a list retain each other. The same holds for allocation sites.
//
// # Invariants
//
//   - All references of an object count; a dependent handle (ConditionalWeakTable) is a reference from its key to its
//     value.
//   - Every root but the weak ones holds its object. Objects that no root holds, directly or not, are Unreachable,
//     or Frozen if they have no site: the code refers to them, and no root tells. They count as objects and retain
//     nothing.
//   - A static field is believed only if the object that its place is in refers to what it is said to hold. A root path
//     goes through the field if it goes through that place. The field that retains an object is that of the nearest
//     dominator which a field holds.
//   - The runtime's tables of static fields, arrays that roots hold, retain only themselves: what they refer to is held
//     by fields.
//   - Same file, same result: objects are in the order of their addresses.
//   - Any bytes can be read: errors wrap ErrCorrupt or ErrIncomplete, and memory is bounded by the size of the file.
//
// # Limits
//
// About 100 bytes of memory for each object and 8 for each reference: 5 million objects with 20 million references need
// less than 1 GB. An object may be reachable through a root that the runtime does not report; it is Unreachable then.
package heapgraph
