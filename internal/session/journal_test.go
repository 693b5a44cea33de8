package session

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/clrprof/clrprof/internal/testkit/journaltest"
)

var seeds = flag.Int("seeds", 60, "how many files are damaged at random")

// cutOff writes a session and its journal in the middle of a commit to path, as a writer that is killed leaves them.
func cutOff(t *testing.T, path, synchronous string) {
	t.Helper()
	original := filepath.Join(t.TempDir(), "a")
	w, err := Create(original, false)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for _, pragma := range []string{"cache_size=10", "synchronous=" + synchronous} {
		if err := sqlitex.ExecuteTransient(w.conn, "PRAGMA "+pragma, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := batch(w, 0); err != nil {
		t.Fatal(err)
	}
	err = w.Batch(func() error {
		return errors.Join(sqlitex.ExecuteTransient(w.conn, "UPDATE instruction SET function_id = 99", nil),
			sqlitex.ExecuteTransient(w.conn, "INSERT INTO line SELECT id, 1, 1, 1, 1, 1, 1 FROM instruction", nil),
			copyFile(original, path), copyFile(original+journalSuffix, path+journalSuffix))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestJournalLikeSQLite: what a reader sees of a file with a journal, also one that is cut off or damaged, is what
// SQLite makes of them when it rolls back.
func TestJournalLikeSQLite(t *testing.T) {
	for _, synchronous := range []string{"OFF", "FULL"} { // the latter has several headers
		dir := t.TempDir()
		path := filepath.Join(dir, "cut")
		cutOff(t, path, synchronous)
		session, journal := read(t, path), read(t, path+journalSuffix)
		if parts := bytes.Count(journal, []byte(journalMagic)); (parts > 1) != (synchronous == "FULL") {
			t.Fatalf("the journal has %d parts: the test tests less", parts)
		}
		compared, random := 0, rand.New(rand.NewPCG(1, 2))
		for i := range *seeds {
			bad := bytes.Clone(journal)
			if i > 0 {
				bad = damageJournal(bad, random)
			}
			write(t, path, session)
			write(t, path+journalSuffix, bad)
			mine, err := rolledBack(path)
			if errors.Is(err, ErrCorrupt) { // pages are missing; TestForgedJournals has the other reasons
				continue
			} else if err != nil {
				t.Fatal(err)
			}
			conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
			if err != nil {
				t.Fatal(err)
			}
			_ = sqlitex.ExecuteTransient(conn, "SELECT count(*) FROM sqlite_schema", nil) // it may be damaged
			if err := conn.Close(); err != nil {
				t.Fatal(err)
			}
			if compared++; !bytes.Equal(mine, read(t, path)) {
				t.Errorf("synchronous=%s, damage %d: %d bytes are seen, not what SQLite leaves, which has %d", synchronous,
					i, len(mine), len(read(t, path)))
			}
		}
		if compared < *seeds*2/3 {
			t.Errorf("only %d journals were compared", compared)
		}
	}
}

// damageJournal cuts a journal, or changes numbers of its first header, or bytes anywhere.
func damageJournal(b []byte, random *rand.Rand) []byte {
	switch random.IntN(4) {
	case 0:
		return b[:random.IntN(len(b))]
	case 1:
		fields := map[int][]uint32{8: {0, 1, 5, 1000, allRecords}, 12: {0, 77}, 16: {1, 3, 20, 30}, 20: {32, 512, 4096, 7},
			24: {0, 512, 1024, 8192, 5}}
		at := []int{8, 12, 16, 20, 24}[random.IntN(5)]
		binary.BigEndian.PutUint32(b[at:], fields[at][random.IntN(len(fields[at]))])
	default:
		for range 1 + random.IntN(3) {
			b[random.IntN(len(b))] ^= 1 << random.IntN(8)
		}
	}
	return b
}

// rolledBack returns all that a reader sees of a file.
func rolledBack(path string) ([]byte, error) {
	f, err := openFile(context.Background(), path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.NewSectionReader(f, 0, f.size))
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestForgedJournals: a journal that somebody puts beside a session makes a reader, and a writer, neither delete the
// file that the journal names nor change the session.
func TestForgedJournals(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	path, victim := filepath.Join(dir, "s"), filepath.Join(elsewhere, "victim")
	small(t, path)
	session := read(t, path)
	good := journaltest.Rewrite(session)
	// A super-journal is deleted if it names no journal that exists.
	write(t, victim, []byte{0})
	for name, forged := range map[string]struct {
		journal []byte
		want    error // nil: the journal is one that a killed writer could have left
	}{
		"rewrites the session": {good, nil},
		"deletes a file":       {journaltest.Delete(good, 512, victim), errJournal},
		"of no page":           {journaltest.Delete(good[:512], 512, victim), errJournal},
		"of another file": {func() []byte {
			b := bytes.Clone(good)
			binary.BigEndian.PutUint32(b[16:], 1)
			binary.BigEndian.PutUint32(b[24:], 1024)
			return b
		}(), errJournal},
		"of a longer file": {func() []byte {
			b := bytes.Clone(good)
			binary.BigEndian.PutUint32(b[16:], 1<<30)
			return b
		}(), ErrCorrupt},
	} {
		write(t, path+journalSuffix, forged.journal)
		before := contents(t, dir)
		s, err := Open(path)
		if err == nil {
			err = errors.Join(readAll(s), s.Close())
		}
		if !errors.Is(err, forged.want) || (err == nil) != (forged.want == nil) {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(before, contents(t, dir)); diff != "" {
			t.Errorf("%s: reading changed files (-before +after):\n%s", name, diff)
		}
		if forged.want != nil {
			if _, err := Edit(path); !errors.Is(err, forged.want) {
				t.Errorf("%s: a writer: %v", name, err)
			}
		}
		if _, err := os.Stat(victim); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
}

// TestJournalWhileWriting: a writer does not roll back a journal that somebody makes between two batches.
func TestJournalWhileWriting(t *testing.T) {
	dir, victim := t.TempDir(), filepath.Join(t.TempDir(), "victim")
	path := filepath.Join(dir, "s")
	w, err := Create(path, false)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	write(t, victim, []byte{0})
	write(t, path+journalSuffix, journaltest.Delete(journaltest.Rewrite(read(t, path)), 4096, victim))
	if err := w.InsertNodes([]Node{{ID: 1}}); !errors.Is(err, errJournal) {
		t.Errorf("the error is %v", err)
	}
	if _, err := os.Stat(victim); err != nil {
		t.Error(err)
	}
}

// TestOddJournals: what is no regular file, and what belongs to somebody else, is no journal.
func TestOddJournals(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "s")
	small(t, path)
	good := journaltest.Rewrite(read(t, path))
	elsewhere := filepath.Join(dir, "elsewhere")
	write(t, elsewhere, good)
	for name, plant := range map[string]func(string) error{
		"a link":   func(at string) error { return os.Symlink(elsewhere, at) },
		"a folder": func(at string) error { return os.Mkdir(at, 0o700) },
		"a FIFO":   func(at string) error { return unix.Mkfifo(at, 0o600) },
		"another user's": func(at string) error {
			if os.Geteuid() != 0 {
				return errors.ErrUnsupported
			}
			return errors.Join(copyFile(elsewhere, at), os.Chown(at, 12345, 12345))
		},
	} {
		at := path + journalSuffix
		if err := plant(at); errors.Is(err, errors.ErrUnsupported) {
			continue
		} else if err != nil {
			t.Fatal(err)
		}
		for _, open := range []func() error{
			func() error { _, err := Open(path); return err },
			func() error { _, err := Edit(path); return err },
		} {
			if err := open(); !errors.Is(err, errJournal) || strings.Contains(fmt.Sprint(err), "\n") {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := os.RemoveAll(at); err != nil {
			t.Fatal(err)
		}
	}
}

// TestNothingAppears: a session that says that it has a write-ahead log, and one beside which there is one, are read as
// they are, and nothing is made.
func TestNothingAppears(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "s")
	small(t, path)
	session := read(t, path)
	session[18], session[19] = 2, 2
	write(t, path, session)
	write(t, path+"-wal", []byte("a log that is none"))
	before := contents(t, dir)
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(readAll(s), s.Close()); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(before, contents(t, dir)); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
}
