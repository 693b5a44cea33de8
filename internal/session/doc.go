// Package session writes and reads the session file: everything that one run
// recorded, with the names and sums that were computed from it, in one SQLite
// database. Its schema is schema.sql and packed.sql, described in docs/session.md.
//
// # Problem
//
// The file is written while a program is being profiled, by a process that may
// be killed at any moment, and it is read much later, on another machine, from a
// read-only folder, or after having been cut by a full disk or a broken copy. It
// must hold a million tree nodes and open at once.
//
// # Idea
//
// Create builds the empty database beside the wanted path and renames it, so a
// file of that name is a session or does not exist. From then on every batch is
// one transaction with a rollback journal.
//
//   - A write-ahead log would need a second and a third file beside the session for as
//     long as anybody reads it, and cannot be read from a read-only folder.
//   - Without a journal (journal_mode OFF or MEMORY) a kill inside a commit leaves
//     a file that is neither before nor after.
//   - With the rollback journal a kill leaves the session and, if it happened inside
//     a commit, a file PATH-journal; Open reads what it says that pages were before
//     (journal.go), and Edit rolls back.
//
// In a folder where others can make files nothing is opened by its name: bound.go says how.
//
// synchronous is OFF: a kill of a process loses nothing of what it has written to
// the kernel, and waiting for the disk at each batch would only guard against the
// machine itself failing during the run.
//
// What grows with stacks and time is packed: many rows are one row of the table chunk, encoded by column
// (packed.go, package columns). Queries see them as virtual tables (virtual.go). docs/design/0007 says why.
//
// # Invariants
//
//   - A batch is in the file as a whole or not at all.
//   - A reader changes nothing, and opens nothing but the file and its journal (file.go).
//   - Whatever the bytes of the file, Open and every reader return rows or an error.
//   - Rows come back in the order of their key.
//
// # Limits
//
// A Session or Writer belongs to one goroutine. Values up to maxValueBytes are
// read. Readers return whole tables as slices; for the largest, such as
// site_value, there are functions that go through them row by row.
package session
