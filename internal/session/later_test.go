package session

import (
	"errors"
	"path/filepath"
	"testing"

	"zombiezen.com/go/sqlite/sqlitex"
)

// TestAdditions reads, copies and edits a session that was made before a table, and a column of another.
func TestAdditions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	small(t, path)
	w, err := Edit(path)
	if err != nil {
		t.Fatal(err)
	}
	script := "DROP TABLE process_left_out; DROP VIEW thread_times; DROP VIEW threads; ALTER TABLE thread DROP " +
		"COLUMN name"
	if err := errors.Join(sqlitex.ExecuteScript(w.conn, script, nil), w.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); !errors.Is(err, ErrCorrupt) {
		t.Errorf("without a table: %v", err)
	}
	before := additions
	additions = []addition{{table: leftOutTable.name}, {threadTable.name, "name"}}
	t.Cleanup(func() { additions = before })
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := s.LeftOut()
	threads, threadsErr := s.Threads()
	if err := errors.Join(err, threadsErr, readAll(s)); err != nil || len(rows) != 0 || len(threads) != 1 ||
		threads[0] != (Thread{ID: 1, Process: 1, OSID: 11}) {
		t.Errorf("%+v, %+v, %v", rows, threads, err)
	}
	copied, err := s.InMemory()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil { // nobody changes it as long as it is open
		t.Fatal(err)
	}
	edited, err := Edit(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []*Writer{copied, edited} {
		err := errors.Join(w.ReplaceLeftOut([]LeftOut{{Process: 7}}),
			w.ReplaceThreads([]Thread{{ID: 1, Process: 1, Name: "main"}}))
		rows, rowsErr := w.LeftOut()
		threads, threadsErr := w.Threads()
		if err := errors.Join(err, rowsErr, threadsErr); err != nil || len(rows) != 1 || threads[0].Name != "main" {
			t.Errorf("%+v, %+v, %v", rows, threads, err)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
}
