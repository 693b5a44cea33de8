package session

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/testkit/journaltest"
	"github.com/clrprof/clrprof/internal/testkit/safefstest"
)

// TestSharedFolder: a session in a folder that others can write is written like any other; readers see each batch, and
// nothing is left beside it, nor where temporary files are.
func TestSharedFolder(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	dir := sharedFolder(t)
	path := filepath.Join(dir, "s")
	w, err := Create(path, false)
	if err != nil {
		t.Fatal(err)
	}
	if w.bound == nil {
		t.Error("SQLite opens it by its name")
	}
	for i := range 3 {
		if err := batch(w, i); err != nil {
			t.Fatal(err)
		}
		if i == 1 { // one that fails is as if it had not been
			failed := errors.New("failed")
			err := w.Batch(func() error { return errors.Join(batch(w, 7), failed) })
			if !errors.Is(err, failed) {
				t.Fatal(err)
			}
		}
		s, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		nodes, err := s.Nodes()
		if err := errors.Join(err, s.Close()); len(nodes) != (i+1)*batchRows || err != nil {
			t.Errorf("%d nodes, %v", len(nodes), err)
		}
	}
	second, err := Edit(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(batch(second, 3), batch(w, 4), second.Close(), batch(w, 5), w.CheckFile(), w.Close()); err != nil {
		t.Error(err)
	}
	for dir, want := range map[string][]string{dir: {"s"}, temporary: nil} {
		if diff := cmp.Diff(want, namesIn(t, dir)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", dir, diff)
		}
	}
}

func namesIn(t *testing.T, dir string) (out []string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		out = append(out, f.Name())
	}
	return out
}

// plantJournals puts a journal beside a session, again and again, that names a file to be deleted, and another session
// in its place, as a user who owns the folder can.
func plantJournals(path string, journal, session []byte, stop *atomic.Bool) error {
	planted := path + ".planted"
	for i := 0; !stop.Load(); i++ {
		// what fails was not there any more, or is there already
		if os.WriteFile(planted, journal, 0o644) == nil {
			_ = os.Rename(planted, path+journalSuffix)
		}
		if i%64 == 63 {
			_ = os.Rename(path, path+".away")
			if os.WriteFile(planted, session, 0o666) == nil {
				_ = os.Rename(planted, path)
			}
			_ = os.Remove(path + ".away")
		}
		runtime.Gosched()
	}
	return nil
}

// TestHostileFolder: whatever the owner of the folder puts beside a session that another user writes, or in its place,
// that user's other files stay, and what is written is never in a file of the owner's.
func TestHostileFolder(t *testing.T) {
	dir := safefstest.Theirs(t)
	elsewhere := t.TempDir()
	victim, sample := filepath.Join(elsewhere, "victim"), filepath.Join(elsewhere, "sample")
	small(t, sample)
	write(t, victim, []byte{0})
	path := filepath.Join(dir, "s")
	replacing := read(t, sample)
	journal := journaltest.Delete(journaltest.Rewrite(replacing), 512, victim)
	stop := &atomic.Bool{}
	done := safefstest.AsNobody(t, func() error { return plantJournals(path, journal, replacing, stop) })
	written := 0
	for i := range 60 {
		w, err := Create(path, true)
		if err != nil {
			continue // it says that somebody was in the way
		}
		for k := range 4 {
			if batch(w, k) == nil {
				written++
			}
		}
		w.Close() // likewise
		if _, err := os.Stat(victim); err != nil {
			t.Fatalf("round %d: %v", i, err)
		}
	}
	stop.Store(true)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	t.Logf("%d batches were written", written)
	for _, name := range namesIn(t, dir) {
		at := filepath.Join(dir, name)
		var is unix.Stat_t
		if err := unix.Lstat(at, &is); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(at)
		if err != nil {
			t.Fatal(err)
		}
		if is.Uid != 0 && len(text) > 0 && string(text) != string(journal) && string(text) != string(replacing) {
			t.Errorf("%s of user %d has %d bytes that this user wrote", name, is.Uid, len(text))
		}
		if strings.HasSuffix(name, journalSuffix) && is.Uid == 0 && is.Mode&0o077 != 0 {
			t.Errorf("others can read %s", name)
		}
	}
}
