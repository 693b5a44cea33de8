// Package analysis computes the derived tables of a session from its recorded
// ones, of the whole or of a part that a Selection selects, and checks that
// nothing in a session contradicts anything else.
//
// # Problem
//
// Every number that a user can see (function, line, type, thread, path, caller) must
// come from one definition, whether it is read from a table that was stored at the end of
// the run, or recomputed because of a filter or because the collector was killed.
//
// # Idea
//
// Load reads the recorded tables into flat arrays and replaces ids by positions.
// Data.Derive is the only place where values are computed. Its result is stored
// by Complete, compared with the stored one by Check, and handed out by Source, which
// views read: from the stored tables if the session is complete and everything is
// selected, else from a fresh Derive. What views show first of the whole session (causes, deaths and paths of types) is
// stored as far as it is small; a session of an older clrprof lacks it, and it is computed.
//
// What a user wants of a session is said in Terms, which Terms.Select compiles to a Selection of that session.
// Data.Select makes a part of Data of it, and everything that reads Data reads the part: there is no other filter.
// Samples is the same for files of other tools, stack by stack. Keys name things so that Compare finds them in another
// session.
//
// Times are summed by the same rules as amounts of memory (calltree knows no difference) after one step more: of each
// timing, the time that the probes themselves took is taken out, and the result is rounded to nanoseconds. Everything
// else is a sum of these, so all totals agree exactly. A path has one id, whether it has memory, time or both.
//
// # Invariants
//
//   - Derive of everything gives exactly the stored derived tables.
//   - The smallest and largest values of single calls are those of the whole run and of whole calls: only a selection
//     by process and thread has them.
//   - A selection and its complement add up to the whole.
//   - Rows of zeros are left out, in every table alike.
//   - Rows are in the order of their key, and a path's parent comes before it.
//   - A session with broken references gives an error that wraps session.ErrCorrupt.
//
// # Limits
//
// Load holds the recorded tables in memory: about 200 bytes for each node, site and timing. Derive takes up to 1 KB
// more for each node that has time: a million of them are derived in a few seconds.
package analysis
