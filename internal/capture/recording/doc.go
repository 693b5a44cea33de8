// Package recording makes a session from the data of a source, slice by slice, while the data arrives.
//
// Problem: several sources can describe a process: an agent's arena, a stream of events. A session needs the same
// from all of them: ids that belong to the whole session, one row for equal things, growth instead of sums, and few
// slices. A recording can end at any moment, and what was written until then must be readable.
//
// Idea: a source describes things to a Process, in any order in which a thing comes before what refers to it, and
// gets the session's ids. It knows sites and timings by their index, from 0 on, in the order in which they were
// added. From time to time it passes what each of them has counted since the process began; the growth is written as
// a slice. Rows are gathered and written in parts, because there can be millions.
//
// Equal descriptions of one process are one row, by value, because sources describe a thing again after its memory
// was reused or unloaded. With Process.Join this also holds for nodes and instructions.
//
// Limits: slices grow longer with the recording (see Schedule), so their number grows with the logarithm of its
// length.
package recording
