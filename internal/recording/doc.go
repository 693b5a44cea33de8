// Package recording makes a session of what a source says, slice by slice, while it says it.
//
// Problem: several sources can tell of a process: an agent's arena, a stream of events. What a session needs is the
// same for all: ids that belong to the whole session, one row for equal things, growth instead of sums, slices that
// stay few. And a recording can end at any moment: what was written until then must be readable.
//
// Idea: a source describes things to a Process, in any order in which what is referred to comes first, and gets the
// session's ids. Sites and timings it knows by their index, from 0 on, in the order in which they were added. From
// time to time it says what each of them has counted since the process began; by how much they grew is written as a
// slice. Rows are gathered and written in parts, as there can be some million.
//
// Equal descriptions of one process are one row, by value: sources describe a thing again after its memory was reused
// or unloaded. With Process.Join that is so for nodes and instructions too.
//
// Limits: slices grow longer with the recording (see Schedule), so their number grows with the logarithm of its length.
package recording
