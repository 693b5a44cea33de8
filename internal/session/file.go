package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"

	"modernc.org/sqlite/vfs"
	"zombiezen.com/go/sqlite"

	"github.com/clrprof/clrprof/internal/files/openfile"
)

// A session may come from anywhere, and may be in a folder where others make files. What SQLite does for a file that it
// opens by name is too much for such a file: it rolls back a journal that is beside it, whatever this journal says,
// deletes the "super-journal" that the journal names, which can be any file, reads a write-ahead log that is beside it,
// and makes files of its own. So a reader opens the file itself, once, and hands SQLite its bytes, as those of a
// file that cannot change (https://sqlite.org/uri.html#uriimmutable): there are no names with which SQLite could do
// anything else.
//
// That the file does not change is seen to here: as long as it is open it has the lock with which readers keep SQLite's
// writers from committing. The journal of a writer that was killed in a commit is read, not rolled back: what it says
// that pages were before is put in place of what they are.

// file is a session file that is open for reading.
type file struct {
	f       *os.File
	journal *journal // of the writer that was killed; nil: there is none
	size    int64    // with the journal
	at      int64    // see Seek
	closed  sync.Once
}

// openFile opens the session file at path and waits until no writer changes it.
func openFile(ctx context.Context, path string) (_ *file, err error) {
	f, err := openfile.OpenRegular(path)
	if err != nil {
		return nil, openError(path, err)
	}
	out := &file{f: f}
	defer func() {
		if err != nil {
			out.Close()
		}
	}()
	if err := lockShared(ctx, f); err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	out.size = info.Size()
	if out.journal, err = findJournal(f, info, path); err != nil {
		return nil, err
	}
	if out.journal != nil {
		out.size = out.journal.pages * out.journal.pageSize
	}
	return out, nil
}

// openError says what a file is that is not regular in the words of this package, and not the file's name, which
// whoever opens a session adds.
func openError(path string, err error) error {
	var in *fs.PathError
	switch {
	case errors.Is(err, openfile.ErrNotRegular):
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			return fmt.Errorf("%w: it is a directory: name the file in it", ErrNotSession)
		}
		return fmt.Errorf("%w: it is not a regular file", ErrNotSession)
	case errors.As(err, &in):
		return in.Err
	}
	return err
}

// ReadAt reads what the file has, or had before the commit that was cut off (io.ReaderAt).
func (f *file) ReadAt(b []byte, at int64) (n int, err error) {
	if f.journal == nil {
		return f.f.ReadAt(b, at)
	}
	for n < len(b) && at < f.size {
		page := at - at%f.journal.pageSize
		part := b[n:min(int64(len(b)), int64(n)+page+f.journal.pageSize-at)]
		m, err := f.journal.readPage(f.f, part, at)
		n, at = n+m, at+int64(m)
		if err != nil {
			return n, err
		}
	}
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// Read reads from where Seek went. A read over the end of the file is no error, if there is a part of it.
func (f *file) Read(b []byte) (int, error) {
	n, err := f.ReadAt(b, f.at)
	f.at += int64(n)
	if n > 0 && errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

// Seek goes to a position from the start: SQLite's reads are of no other kind.
func (f *file) Seek(offset int64, whence int) (int64, error) {
	if whence != io.SeekStart || offset < 0 {
		return f.at, fs.ErrInvalid
	}
	f.at = offset
	return f.at, nil
}

// Stat describes the file.
func (f *file) Stat() (fs.FileInfo, error) {
	info, err := f.f.Stat()
	return sized{info, f.size}, err
}

// sized is a description of a file that has another size.
type sized struct {
	fs.FileInfo
	size int64
}

// Size returns the size.
func (s sized) Size() int64 { return s.size }

// cut says that the file has become shorter than it was, nil if it has not.
func (f *file) cut() error {
	info, err := f.f.Stat()
	if err != nil || f.journal != nil || info.Size() >= f.size {
		return nil
	}
	return truncated(info.Size(), f.size)
}

// Close gives the lock back. A second call does nothing: SQLite closes what it has opened.
func (f *file) Close() (err error) {
	f.closed.Do(func() {
		err = f.f.Close()
		if f.journal != nil {
			err = errors.Join(err, f.journal.f.Close())
		}
	})
	return err
}

// openFiles are the files that SQLite can open, and no others, by a number.
type openFiles struct {
	files sync.Map // string → *file
	last  atomic.Int64
}

// Open returns a file that was added, once (fs.FS).
func (o *openFiles) Open(name string) (fs.File, error) {
	f, ok := o.files.LoadAndDelete(name)
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return f.(*file), nil
}

var handed openFiles

// handedName is the name under which SQLite knows handed as a file system.
var handedName = sync.OnceValues(func() (string, error) {
	name, _, err := vfs.New(&handed)
	return name, err
})

// connect opens a connection for reading a file, which it closes.
func (f *file) connect() (*sqlite.Conn, error) {
	system, err := handedName()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	name := strconv.FormatInt(handed.last.Add(1), 10)
	handed.files.Store(name, f)
	conn, err := sqlite.OpenConn("file:"+name+"?immutable=1&vfs="+system, sqlite.OpenReadOnly, sqlite.OpenURI)
	if err != nil {
		handed.files.Delete(name)
		return nil, errors.Join(err, f.Close())
	}
	return conn, nil
}

// journalSuffix ends the names of the files that SQLite writes before it changes others.
const journalSuffix = "-journal"

// journalOf is the path of the journal of the file at path: it is beside the file, not beside a link to it.
func journalOf(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	return real + journalSuffix, err
}
