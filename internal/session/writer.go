package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	_ "embed"

	"golang.org/x/sys/unix"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/clrprof/clrprof/internal/files/atomicfile"
)

// Writer writes a session file, and reads it like a Session.
type Writer struct {
	*Session
	// called when another process has kept the file locked for a while, before it is tried again; may be nil
	OnBusy  func()
	inBatch bool
	claim   *Claim // nil: somebody else has it, or nobody
	bound   *bound // nil: nobody else can make files beside the session, so SQLite opens it by its name
}

// Create makes a new, empty session file in state Recording, which readers see is being written until the writer is
// closed (Claim). If path exists, it returns an error that wraps ErrExists, unless force is set: then the old file is
// replaced, at once and only when the new one is ready. A session that another writer has claimed is never replaced:
// the error wraps ErrInUse.
func Create(path string, force bool) (*Writer, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("session %s: %w", path, err)
	}
	if info, err := os.Lstat(absolute); err == nil && !force {
		if info.IsDir() {
			return nil, fmt.Errorf("session %s: it exists and is a directory: name a file, such as %s", path,
				filepath.Join(path, "app.clrprof"))
		}
		return nil, fmt.Errorf("session %s: %w", path, ErrExists)
	}
	if err := Replaceable(absolute); err != nil {
		return nil, fmt.Errorf("session %s: %w", path, err)
	}
	claim, file, err := writeEmpty(absolute, force)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil, fmt.Errorf("session %s: %w", path, ErrExists)
	case err != nil:
		return nil, fmt.Errorf("session %s: creating it: %w", path, err)
	}
	w, err := edit(path, file)
	if err != nil {
		return nil, errors.Join(err, claim.Release())
	}
	w.claim = claim
	return w, nil
}

// TryCreate reports whether a session could be created at path, where nothing is: it makes the file and removes it.
func TryCreate(path string) error {
	claim, file, err := writeEmpty(path, false)
	if err != nil {
		return err
	}
	return errors.Join(file.Close(), claim.Release(), os.Remove(path))
}

// Close closes the file, and releases its claim, if the writer has it.
func (w *Writer) Close() error {
	err := w.Session.Close()
	if w.bound != nil {
		err = errors.Join(err, w.explain(w.bound.close()))
	}
	return errors.Join(err, w.claim.Release())
}

// PassClaim gives the claim of a new session to the caller: it outlives the writer until the caller releases it. Nil if
// the writer has none.
func (w *Writer) PassClaim() *Claim {
	c := w.claim
	w.claim = nil
	return c
}

// ReleaseClaim gives up the claim before the writer is closed: readers no longer see the session as being written.
func (w *Writer) ReleaseClaim() error { return w.PassClaim().Release() }

// Reader returns the session as Open does, without opening its file again: SQLite takes some milliseconds for that.
// The writer cannot write afterwards. Close it when reading is done.
func (w *Writer) Reader() (*Session, error) {
	for _, pragma := range []string{"query_only=1", "temp_store=MEMORY"} {
		if err := sqlitex.ExecuteTransient(w.conn, "PRAGMA "+pragma, nil); err != nil {
			return nil, w.explain(err)
		}
	}
	w.places = places{keep: true}
	return w.Session, nil
}

// Replaceable returns an error if there is something at path that Create does not replace. The error wraps ErrExists if
// that is no regular file, and ErrInUse if it is a session that a writer has claimed.
func Replaceable(path string) error {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return nil
	case info.Mode().IsRegular():
		if file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0); err == nil {
			claimed := isClaimed(file)
			if err := file.Close(); err != nil {
				return err
			}
			if claimed {
				return ErrInUse
			}
		}
		return nil
	case info.Mode()&fs.ModeSymlink != 0:
		return fmt.Errorf("%w and is a symbolic link: it is not replaced: name the file that it leads to", ErrExists)
	}
	return fmt.Errorf("%w and is not a regular file: it is not replaced", ErrExists)
}

// packedEmpty is the file of a session without rows, compressed with Zstandard. SQLite takes longer to make it of the
// schema than for all else that it does for a small recording, and it is the same each time. TestEmptyFile makes it and
// finds out whether this one is current.
//
//go:generate go test . -run ^TestEmptyFile$ -count=1 -args -update
//go:embed empty.clrprof.zst
var packedEmpty []byte

// empty is the file of a session without rows.
var empty = sync.OnceValues(func() ([]byte, error) {
	var p packer
	defer p.close()
	if err := p.prepare(); err != nil {
		return nil, err
	}
	return p.decompress(packedEmpty, nil)
})

// makeEmpty makes what empty returns, of the schema.
func makeEmpty() ([]byte, error) {
	conn, err := sqlite.OpenConn(":memory:", sqlite.OpenReadWrite, sqlite.OpenCreate)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if err := applySchema(conn); err != nil {
		return nil, err
	}
	return conn.Serialize("main")
}

// writeEmpty makes the file of a session without rows, opens it, and claims it before it has its name: it is never seen
// without. Only its owner may read it: docs/privacy.md says what it will hold. Without force the error wraps
// fs.ErrExist if there is a file.
func writeEmpty(path string, force bool) (*Claim, *os.File, error) {
	content, err := empty()
	if err != nil {
		return nil, nil, err
	}
	file, err := atomicfile.Create(path, atomicfile.Options{Mode: 0o600, Replace: force})
	if err == nil {
		defer file.Discard()
		_, err = file.Write(content)
	}
	if err == nil {
		err = file.Complete()
	}
	if err == nil {
		err = RemoveJournal(file)
	}
	var claim *Claim
	var opened *os.File
	if err == nil {
		opened, err = file.Open()
	}
	if err == nil {
		if claim, err = claimNew(file); err == nil {
			err = file.Publish()
		}
	}
	if err == nil {
		return claim, opened, nil
	}
	if opened != nil {
		opened.Close() // nothing was written
	}
	return nil, nil, errors.Join(explainCreate(path, err), claim.Release())
}

// RemoveJournal removes the journal that a killed writer left, before its session is replaced by another one: it
// belongs to the old file and must not be rolled back into the new one.
func RemoveJournal(of *atomicfile.File) error { return of.RemoveBeside(journalSuffix) }

// explainCreate is an error of making a file in the words that the user knows.
func explainCreate(path string, err error) error {
	if pathErr := (*fs.PathError)(nil); errors.As(err, &pathErr) && pathErr.Path == path {
		err = pathErr.Err // the caller says the name that the user knows
	}
	if errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("the file system is full: %w", err)
	}
	return err
}

// setPragmas sets how a writer commits; the package comment says why.
func setPragmas(conn *sqlite.Conn, bound bool) error {
	conn.SetBusyTimeout(busyTimeout)
	journal := "journal_mode=DELETE"
	if bound { // the journal is not SQLite's to delete
		journal = "journal_mode=TRUNCATE"
	}
	// 16 MiB of cache keep the pages of a batch in memory: rows are packed, and the whole file is seldom larger.
	for _, pragma := range []string{journal, "synchronous=OFF", "cache_size=-16384", "trusted_schema=0"} {
		if err := sqlitex.ExecuteTransient(conn, "PRAGMA "+pragma, nil); err != nil {
			return err
		}
	}
	return nil
}

func applySchema(conn *sqlite.Conn) error {
	if err := sqlitex.ExecuteScript(conn, schema, nil); err != nil {
		return fmt.Errorf("applying the schema: %w", err)
	}
	return sqlitex.ExecuteTransient(conn, "INSERT INTO info (key, value) VALUES (?, ?)",
		&sqlitex.ExecOptions{Args: []any{KeyState, string(Recording)}})
}

// Edit opens an existing session for writing, to resolve names or to derive. It does not claim it: who completes a
// session holds the claim of the one who made it. Errors are those of Open.
func Edit(path string) (*Writer, error) {
	f, err := checkHeader(context.Background(), path)
	if err != nil {
		return nil, err
	}
	f.Close()
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, prefix(path, err)
	}
	file, err := os.OpenFile(real, os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, prefix(path, err)
	}
	return edit(path, file)
}

// edit opens a session that is open already, and takes that file.
func edit(path string, file *os.File) (*Writer, error) {
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		file.Close()
		return nil, prefix(path, err)
	}
	w := &Writer{}
	var conn *sqlite.Conn
	if isPrivate(real) {
		if err = file.Close(); err == nil {
			conn, err = sqlite.OpenConn(real, sqlite.OpenReadWrite)
		}
	} else {
		w.bound, conn, err = bind(real, file)
	}
	if err != nil {
		return nil, explain(path, err)
	}
	w.Session = &Session{conn: conn, path: path}
	err = setPragmas(conn, w.bound != nil)
	if err == nil {
		err = w.checkTables()
	}
	if err == nil && len(w.absent) > 0 {
		err = w.Batch(w.addLater)
	}
	if err != nil {
		return nil, errors.Join(w.explain(err), w.Close())
	}
	return w, nil
}

// InMemory returns a copy of the session that can be written to and leaves no
// trace: a session whose writer was stopped is completed in such a copy.
func (s *Session) InMemory() (*Writer, error) {
	conn, err := sqlite.OpenConn(":memory:", sqlite.OpenReadWrite|sqlite.OpenCreate|sqlite.OpenMemory)
	if err != nil {
		return nil, s.explain(err)
	}
	conn.Limit(sqlite.LimitLength, maxValueBytes)
	backup, err := sqlite.NewBackup(conn, "", s.conn, "")
	if err == nil {
		err = errors.Join(s.copyAll(backup), backup.Close())
	}
	if err == nil {
		err = sqlitex.ExecuteTransient(conn, "PRAGMA trusted_schema=0", nil)
	}
	if err != nil {
		conn.Close()
		return nil, s.explain(fmt.Errorf("copying it to memory: %w", err))
	}
	w := &Writer{Session: &Session{conn: conn, path: s.path, claimed: s.claimed, absent: maps.Clone(s.absent)}}
	if err := w.addLater(); err != nil {
		conn.Close()
		return nil, s.explain(err)
	}
	return w, nil
}

// copyStep is how many pages are copied until it is asked whether somebody still wants them.
const copyStep = 1 << 12

// copyAll copies to memory what a backup is of, unless the context of Until is done.
func (s *Session) copyAll(backup *sqlite.Backup) error {
	for {
		if more, err := backup.Step(copyStep); err != nil || !more {
			return err
		}
		if s.until != nil {
			if err := s.until.Err(); err != nil {
				return err
			}
		}
	}
}

// Batch runs fn as one transaction: all that fn writes is in the file after it,
// or, if fn returns an error or the process is killed, nothing. Batches nest; the
// outermost one decides.
func (w *Writer) Batch(fn func() error) error {
	if w.inBatch {
		return fn()
	}
	if err := w.begin(); err != nil {
		return w.explain(err)
	}
	w.inBatch = true
	err := fn()
	w.inBatch = false
	if err == nil {
		err = w.explain(w.settle())
	}
	if err == nil {
		err = w.explain(w.patiently("COMMIT"))
	}
	if err != nil {
		w.lastIDs = nil
		w.packer.discard()
	}
	if err != nil && !w.conn.AutocommitEnabled() { // some errors roll back by themselves
		err = errors.Join(err, w.explain(sqlitex.ExecuteTransient(w.conn, "ROLLBACK", nil)))
	}
	return err
}

// begin begins a transaction.
func (w *Writer) begin() error {
	if w.bound == nil {
		if err := w.checkJournal(); err != nil {
			return err
		}
		return w.patiently("BEGIN IMMEDIATE")
	}
	for {
		if err := w.bound.rollBack(); err != nil {
			return err
		}
		if err := w.patiently("BEGIN IMMEDIATE"); err != nil {
			return err
		}
		some, err := w.bound.hasJournal()
		if err == nil && !some {
			err = w.bound.begin(func() error {
				// it changes nothing, but SQLite writes its page
				return sqlitex.ExecuteTransient(w.conn, fmt.Sprintf("PRAGMA user_version = %d", Format), nil)
			})
		}
		if err == nil && !some {
			return nil
		}
		if !w.conn.AutocommitEnabled() {
			err = errors.Join(err, sqlitex.ExecuteTransient(w.conn, "ROLLBACK", nil))
		}
		if err != nil {
			return err
		} // otherwise another writer was killed since rollBack looked
	}
}

// checkJournal refuses to begin a transaction, for which SQLite rolls back a journal that it finds, if that journal is
// not the session's: see openJournal.
func (w *Writer) checkJournal() error {
	path, err := journalOf(w.path)
	if err != nil {
		return nil // the file has been deleted, or moved, and no journal of this name is its own
	}
	of, err := os.Stat(w.path)
	if err != nil {
		return nil
	}
	f, err := openJournal(path, of)
	if err != nil || f == nil {
		return err
	}
	j := journal{f: f}
	if of, err = f.Stat(); err == nil {
		j.size = of.Size()
		err = j.checkEnd()
	}
	return errors.Join(err, f.Close())
}

// patiently runs a statement that other processes can keep from running as long as they read. What is recorded
// meanwhile waits where it was recorded.
func (w *Writer) patiently(statement string) error {
	for begin := time.Now(); ; {
		err := sqlitex.ExecuteTransient(w.conn, statement, nil)
		if sqlite.ErrCode(err).ToPrimary() != sqlite.ResultBusy || time.Since(begin) > longestBusy {
			return err
		}
		if w.OnBusy != nil {
			w.OnBusy()
		}
	}
}

// SetInfo sets facts about the session, by key. The state is set with SetState.
func (w *Writer) SetInfo(facts map[string]string) error {
	keys := make([]string, 0, len(facts))
	for key := range facts {
		if key == KeyState {
			return w.explain(errors.New("the state is not set as a fact"))
		}
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return w.Batch(func() error {
		for _, key := range keys {
			if err := w.setInfo(key, facts[key]); err != nil {
				return err
			}
		}
		return nil
	})
}

func (w *Writer) setInfo(key, value string) error {
	return w.explain(sqlitex.Execute(w.conn, "INSERT OR REPLACE INTO info (key, value) VALUES (?, ?)",
		&sqlitex.ExecOptions{Args: []any{key, value}}))
}

// SetState moves the session forward to state; moving back is an error.
func (w *Writer) SetState(state State) error {
	return w.Batch(func() error {
		now, err := w.State()
		if err != nil {
			return err
		}
		if slices.Index(stateOrder, state) < slices.Index(stateOrder, now) {
			return w.explain(fmt.Errorf("state cannot go from %s back to %s", now, state))
		}
		if state == Complete {
			if err := w.indexMarks(); err != nil {
				return err
			}
		}
		return w.setInfo(KeyState, string(state))
	})
}
