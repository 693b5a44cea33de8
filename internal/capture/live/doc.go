// Package live has the messages of a running recording for those who watch it.
//
// Problem: watchers want numbers several times a second, and the recording must not become slower or larger for that.
// A session is written for later use: its slices are seconds long, and names come at the end.
//
// Idea: the collector publishes a State, sums by function and type that it adds up from the arenas' counters, and
// only while somebody watches. A Feed makes a Message of the difference from the previous State: what was allocated
// and called since then, by function and by type. A watcher begins with a message of everything so far, so its
// messages add up to the totals of the session.
//
// Names are those of the finished session (package symbols). They are resolved when a row is first shown.
//
// Limits: a message has at most maxRows functions, maxRows types and MaxGCs collections; it counts what is left out.
// The Feed keeps MaxKept messages for watchers that reconnect; a later one begins again.
package live
