// Package live is what a recording tells those who watch it while it runs.
//
// Problem: who watches wants numbers several times a second, and the recording must not become slower or larger for it.
// A session is written for later: its slices are seconds long, and names come at the end.
//
// Idea: the collector publishes a State, sums by function and type that it adds up from the arenas' counters, and only
// while somebody watches. A Feed makes a Message of the difference to the one before: what was allocated and called
// since, by function and by type. A watcher begins with a message of everything so far, so what its messages say adds
// up to the totals of the session.
//
// Names are those of the finished session (package symbols), found when a row is first shown.
//
// Limits: a message has at most MaxRows functions, MaxRows types and MaxGCs collections; what is left out is counted in
// it. The Feed keeps MaxKept messages for those who come back; who comes later begins anew.
package live
