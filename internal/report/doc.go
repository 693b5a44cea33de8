// Package report turns a session into the views that a person or a program reads:
// tables and trees, and writes them as text, JSON, CSV or TSV.
//
// # Problem
//
// Eleven views share most of their columns, and every view must say the same number for the
// same thing, in every format, with the hidden rest and the losses said too.
//
// # Idea
//
// A view is a pure function from an analysis.Source and Options to a Table: rows
// that point at a function, type, line … and carry amounts. Columns are defined
// once for all views (columns.go): a key, which is the JSON name, a title, a kind,
// and a function from a row to its cell. Writers know kinds, not views.
//
// # Invariants
//
//   - JSON, CSV and TSV carry exact numbers and whole names; only text rounds, and
//     shortens names in the middle, never numbers.
//   - What a limit hides is counted and shown as a row of its own in text.
//   - Rows with equal sort keys are in the order of name, then id.
//
// # Limits
//
// Text draws at most maxIndent levels of a tree and prints the level number beyond.
package report
