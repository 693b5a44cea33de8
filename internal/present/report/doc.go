// Package report turns a session into the views that a person or a program reads:
// tables and trees. The packages text, encode and sheet write them; this one knows no format.
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
//   - A table does not change after it is made, but for Table.Limit.
//   - JSON, CSV and TSV carry exact numbers and whole names; only text rounds, and
//     shortens names in the middle, never numbers.
//   - What a limit hides is counted and shown as a row of its own in text.
//   - Rows with equal sort keys are in the order of name, then id.
package report
