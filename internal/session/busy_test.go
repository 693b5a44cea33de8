package session

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// TestReaderDelaysWriter: who reads for longer than a writer waits at a time does not make its batch fail, only later.
func TestReaderDelaysWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	w, err := Create(path, false)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	reader, err := sqlite.OpenConn(path, sqlite.OpenReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if err := errors.Join(sqlitex.ExecuteTransient(reader, "BEGIN", nil),
		sqlitex.ExecuteTransient(reader, "SELECT * FROM info", nil)); err != nil {
		t.Fatal(err)
	}
	w.conn.SetBusyTimeout(time.Millisecond)
	tries := 0
	w.OnBusy = func() {
		if tries++; tries == 3 {
			if err := sqlitex.ExecuteTransient(reader, "ROLLBACK", nil); err != nil {
				t.Error(err)
			}
		}
	}
	if err := w.InsertNodes([]Node{{ID: 1}}); err != nil || tries != 3 {
		t.Errorf("%d tries, %v", tries, err)
	}
	if nodes, err := w.Nodes(); err != nil || len(nodes) != 1 {
		t.Error(nodes, err)
	}
}

// TestOneMoment: what is read of a session that grows is of the moment at which it was opened, and does not keep its
// writer.
func TestOneMoment(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	w, err := Create(path, false)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	w.OnBusy = func() { t.Error("the writer waits") }
	w.conn.SetBusyTimeout(time.Millisecond)
	if err := w.InsertNodes([]Node{{ID: 1}}); err != nil {
		t.Fatal(err)
	}
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	before, err := s.Nodes()
	if err := errors.Join(err, w.InsertNodes([]Node{{ID: 2, Parent: 1}}),
		w.InsertSites([]Site{{ID: 1, Node: 2}})); err != nil {
		t.Fatal(err)
	}
	after, err := s.Nodes()
	sites, sitesErr := s.Sites()
	if err := errors.Join(err, sitesErr); err != nil || len(before) != 1 || len(after) != 1 || len(sites) != 0 {
		t.Errorf("%d nodes, then %d and %d sites, %v", len(before), len(after), len(sites), err)
	}
}

// TestUnchanged: a complete session does not change as long as it is open, and who writes waits until then.
func TestUnchanged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	w, err := Create(path, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.InsertNodes([]Node{{ID: 1}}), w.SetState(Complete), w.Close()); err != nil {
		t.Fatal(err)
	}
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	other, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	writer, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	writer.SetBusyTimeout(time.Millisecond)
	write := func() error {
		return sqlitex.ExecuteTransient(writer, "INSERT INTO info VALUES ('more', '')", nil)
	}
	wrong := errors.New("what was read is wrong")
	err = s.AtOnce(func() error {
		if err := s.AtOnce(func() error { _, err := s.Nodes(); return err }); err != nil {
			return err
		}
		return wrong
	})
	if !errors.Is(err, wrong) {
		t.Errorf("the error is %v", err)
	}
	for _, open := range []*Session{s, other} {
		if err := write(); sqlite.ErrCode(err).ToPrimary() != sqlite.ResultBusy {
			t.Errorf("writing meanwhile: %v", err)
		}
		if err := open.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := write(); err != nil {
		t.Errorf("writing afterwards: %v", err)
	}
}

// TestWaitEnds: who waits for a writer in its commit stops when the context is done.
func TestWaitEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	w, err := Create(path, false)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := sqlitex.ExecuteTransient(w.conn, "BEGIN EXCLUSIVE", nil); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := OpenUntil(ctx, path); !errors.Is(err, context.Canceled) {
		t.Errorf("waiting: %v", err)
	}
	if err := sqlitex.ExecuteTransient(w.conn, "COMMIT", nil); err != nil {
		t.Fatal(err)
	}
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
}
