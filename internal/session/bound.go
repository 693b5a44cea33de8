package session

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
	"zombiezen.com/go/sqlite"

	"github.com/clrprof/clrprof/internal/files/safefs"
)

// In a folder where others can make or rename files, each name that SQLite opens is a chance for them: the session may
// be another file by then, and a journal that they plant is rolled back, which deletes what it names. So there SQLite
// gets names in a folder of this user alone, for a copy of the first page, and then, in the place of the files that it
// opened by them, the descriptors of the session and of its journal: dup2 does not ask SQLite. The journal is made
// once, exclusively, and is empty between transactions. It has the name beside the session by which readers find it.

// bound is a session's file, and its journal, that a writer has by their descriptors.
type bound struct {
	folder  int      // that the session is in
	name    string   // of the session in it
	file    *os.File // the session
	journal *os.File // nil: not made yet
	private string   // the folder of what SQLite opens by name
}

// isPrivate reports whether this user and root alone decide which files are in the folder of a path.
func isPrivate(path string) bool {
	info, err := os.Stat(filepath.Dir(path))
	return err == nil && info.Mode().Perm()&0o022 == 0 && safefs.Trusted(filepath.Dir(path)) == nil
}

// bind opens a connection to write to a file that is at path; it takes the file. What a killed writer left in the
// journal is rolled back.
func bind(path string, file *os.File) (*bound, *sqlite.Conn, error) {
	b := &bound{folder: -1, file: file, name: filepath.Base(path)}
	conn, err := b.open(path)
	if err != nil {
		return nil, nil, errors.Join(err, b.close())
	}
	return b, conn, nil
}

func (b *bound) open(path string) (conn *sqlite.Conn, err error) {
	if b.folder, err = unix.Open(filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
		return nil, err
	}
	if same, err := isNamed(b.folder, b.name, b.file); err != nil || !same {
		return nil, errors.Join(errors.New("it was replaced while it was opened"), err)
	}
	if err := b.rollBack(); err != nil {
		return nil, err
	}
	if b.private, err = privateFolder(); err != nil {
		return nil, err
	}
	if err := copyFirstPage(b.file, b.database()); err != nil {
		return nil, err
	}
	if conn, err = sqlite.OpenConn(b.database(), sqlite.OpenReadWrite); err != nil {
		return nil, err
	}
	if err := substitute(b.database(), b.file); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// database is the path by which SQLite opens a file in the place of the session.
func (b *bound) database() string { return filepath.Join(b.private, "session") }

// privateFolder makes a folder that nobody else can write, rename or replace.
func privateFolder() (string, error) {
	var failed error
	for _, in := range []string{os.TempDir(), "/dev/shm", "/run", "/tmp"} {
		err := safefs.Trusted(in)
		if err == nil {
			var made string
			if made, err = os.MkdirTemp(in, "clrprof-write-"); err == nil {
				return made, nil
			}
		}
		failed = errors.Join(failed, err)
	}
	return "", fmt.Errorf("no folder for temporary files that others cannot change: %w", failed)
}

// copyFirstPage makes a file that begins like another one: SQLite reads that much when it opens it.
func copyFirstPage(from *os.File, to string) error {
	h, err := readHeader(from, 1)
	if err != nil {
		return err
	}
	page := make([]byte, h.pageSize)
	if _, err := from.ReadAt(page, 0); err != nil {
		return err
	}
	return os.WriteFile(to, page, 0o600)
}

// substitute puts a file in the place of the one that this process has opened by a path in its private folder.
func substitute(path string, by *os.File) error {
	var is, of unix.Stat_t
	if err := unix.Lstat(path, &is); err != nil {
		return err
	}
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, e := range open {
		fd, err := strconv.Atoi(e.Name())
		if err == nil && unix.Fstat(fd, &of) == nil && of.Dev == is.Dev && of.Ino == is.Ino {
			return unix.Dup3(int(by.Fd()), fd, unix.O_CLOEXEC)
		}
	}
	return fmt.Errorf("%s is not open", path)
}

// isNamed reports whether a name in a folder is that of an open file.
func isNamed(folder int, name string, file *os.File) (bool, error) {
	var is, named unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &is); err != nil {
		return false, err
	}
	switch err := unix.Fstatat(folder, name, &named, unix.AT_SYMLINK_NOFOLLOW); {
	case errors.Is(err, unix.ENOENT):
		return false, nil
	case err != nil:
		return false, err
	}
	return is.Dev == named.Dev && is.Ino == named.Ino, nil
}

// begin has SQLite write the journal of the transaction that has just begun to the session's own. fn makes SQLite open
// the journal.
func (b *bound) begin(fn func() error) error {
	if err := b.haveJournal(); err != nil {
		return err
	}
	if err := fn(); err != nil {
		return err
	}
	opened := b.database() + journalSuffix
	begun, err := os.ReadFile(opened)
	if err == nil {
		_, err = b.journal.WriteAt(begun, 0)
	}
	if err == nil {
		err = substitute(opened, b.journal)
	}
	if err == nil {
		err = os.Truncate(opened, 0) // or it were rolled back by the next transaction
	}
	return err
}

// haveJournal makes the journal, unless there is one of this user's. No other writer is in a transaction.
func (b *bound) haveJournal() error {
	name := b.name + journalSuffix
	if b.journal != nil {
		if same, err := isNamed(b.folder, name, b.journal); err != nil || same {
			return err
		}
		if err := b.journal.Close(); err != nil { // somebody has removed it
			return err
		}
		b.journal = nil
	}
	const flags = unix.O_RDWR | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC
	fd, err := unix.Openat(b.folder, name, flags|unix.O_CREAT|unix.O_EXCL, 0o600)
	if errors.Is(err, unix.EEXIST) {
		fd, err = b.adopt(name, flags)
	}
	if err != nil {
		return err
	}
	b.journal = os.NewFile(uintptr(fd), name)
	return b.journal.Truncate(0)
}

// adopt opens a journal that is there. Only this user's own is believed: what is written to one of another user, that
// one can read and change.
func (b *bound) adopt(name string, flags int) (int, error) {
	var is unix.Stat_t
	own := func() bool {
		return is.Mode&unix.S_IFMT == unix.S_IFREG && int(is.Uid) == os.Geteuid() && is.Nlink == 1
	}
	if err := unix.Fstatat(b.folder, name, &is, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return -1, err
	}
	if own() {
		fd, err := unix.Openat(b.folder, name, flags, 0)
		if err != nil {
			return -1, err
		}
		if err := unix.Fstat(fd, &is); err == nil && own() {
			return fd, nil
		}
		unix.Close(fd)
	}
	return -1, fmt.Errorf("%w: %s is not this user's: remove it", errJournal, name)
}

// hasJournal reports whether there is a journal that may have something to roll back.
func (b *bound) hasJournal() (bool, error) {
	var is unix.Stat_t
	err := unix.Fstatat(b.folder, b.name+journalSuffix, &is, unix.AT_SYMLINK_NOFOLLOW)
	if errors.Is(err, unix.ENOENT) {
		return false, nil
	}
	return is.Size > 0 || is.Mode&unix.S_IFMT != unix.S_IFREG, err
}

// rollBack writes back what the journal of a killed writer has, as SQLite does.
func (b *bound) rollBack() error {
	name := b.name + journalSuffix
	if some, err := b.hasJournal(); err != nil || !some {
		return err
	}
	release, busy, err := b.lock()
	if err != nil || busy {
		return err // of a writer that is at work, the journal is its own
	}
	defer release()
	fd, err := b.adopt(name, unix.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), name)
	info, err := b.file.Stat()
	j := &journal{f: f, before: map[int64]int64{}}
	hot := false
	if err == nil {
		hot, err = j.load(info.Size())
	}
	if hot && err == nil {
		err = j.playBack(b.file)
	}
	if err == nil { // before it loses its name: others may have it open
		err = f.Truncate(0)
	}
	return errors.Join(err, b.unlink(f), f.Close())
}

// unlink removes the journal if it is empty.
func (b *bound) unlink(journal *os.File) error {
	name := b.name + journalSuffix
	info, err := journal.Stat()
	if err != nil || info.Size() > 0 {
		return err
	}
	if same, err := isNamed(b.folder, name, journal); err != nil || !same {
		return err
	}
	if err := unix.Unlinkat(b.folder, name, 0); !errors.Is(err, unix.ENOENT) {
		return err
	}
	return nil
}

// lock keeps all others from the file, and says if another writer is at work.
func (b *bound) lock() (release func(), busy bool, err error) {
	const all = sharedFirst - pendingByte + sharedSize
	for begin := time.Now(); ; {
		if err = lockRange(b.file, unix.F_WRLCK, reservedByte, 1); err != nil {
			return nil, true, nil
		}
		if err = lockRange(b.file, unix.F_WRLCK, pendingByte, all); err == nil {
			return func() { lockRange(b.file, unix.F_UNLCK, pendingByte, all) }, false, nil
		}
		unlocked := lockRange(b.file, unix.F_UNLCK, reservedByte, 1)
		if unlocked != nil || time.Since(begin) > busyTimeout {
			return nil, false, errors.Join(err, unlocked) // readers go on
		}
		time.Sleep(busyWait)
	}
}

// playBack writes to a file what pages of it were.
func (j *journal) playBack(to *os.File) error {
	page := make([]byte, j.pageSize)
	for number, at := range j.before {
		if _, err := j.f.ReadAt(page, at); err != nil {
			return err
		}
		if _, err := to.WriteAt(page, number*j.pageSize); err != nil {
			return err
		}
	}
	return to.Truncate(j.pages * j.pageSize)
}

// close lets go of the file, once SQLite has. It leaves nothing in the private folder, and the journal only if it has
// something that is to be rolled back.
func (b *bound) close() (err error) {
	if b.journal != nil {
		err = errors.Join(b.unlink(b.journal), b.journal.Close())
	}
	if b.private != "" {
		err = errors.Join(err, os.RemoveAll(b.private))
	}
	if b.folder >= 0 {
		err = errors.Join(err, unix.Close(b.folder))
	}
	return errors.Join(err, b.file.Close())
}
