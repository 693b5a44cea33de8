package launch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/agentbin"
	"github.com/clrprof/clrprof/internal/control"
	"github.com/clrprof/clrprof/internal/wire"
)

const (
	// keepFile in a directory says that its arenas are to be kept: their session could not be written.
	keepFile = "keep"

	// minFree is the space that a file system must have to be used for arenas: what a small program needs.
	minFree = 16 << 20

	// newSuffix ends the name of a directory that is not locked yet, and therefore has not got its name.
	newSuffix = ".new"

	// goneSuffix ends the name of a directory that is being removed.
	goneSuffix = ".gone"

	// mostHeld is how many files of a directory are open while it is removed: most systems allow 1,024.
	mostHeld = 256

	// newAge is when such a directory must be a dead collector's: the two calls in between take microseconds.
	newAge = time.Minute
)

// Ends of the names of the files that agents make in a directory: PID-START.arena is an arena, PID-START.WHY.failed
// is empty and says that a process could not make one. START is in hexadecimal nanoseconds of CLOCK_MONOTONIC.
const (
	ArenaSuffix  = ".arena"
	FailedSuffix = ".failed"

	// SnapshotSuffix ends the name of a snapshot of a heap, PID-GC.heap. GC is decimal.
	SnapshotSuffix = ".heap"
)

// ErrInUse means that a living collector uses the directory.
var ErrInUse = errors.New("a running clrprof uses it")

// Directory is a place for the arenas of one run.
type Directory struct {
	Path string
	lock *os.File
}

// Bases lists where arenas may be, best first: CLRPROF_SHM if it is set; else memory that belongs to no disk, then
// the user's own, then any.
func Bases() []string {
	if d := os.Getenv("CLRPROF_SHM"); d != "" {
		return []string{d}
	}
	list := []string{"/dev/shm"}
	if d := os.Getenv("XDG_RUNTIME_DIR"); d != "" {
		list = append(list, d)
	}
	return append(list, os.TempDir())
}

// prefix begins the name of each directory of this user, and of nothing else.
func prefix() string { return prefixOf(os.Getuid()) }

// prefixOf is that of another user.
func prefixOf(uid int) string { return "clrprof-" + strconv.Itoa(uid) + "-" }

// NewDirectory makes a directory for arenas in the first of the bases that will do. In each that it looks at it
// removes those that killed collectors left behind.
func NewDirectory(bases []string) (*Directory, error) {
	var errs []error
	for _, base := range bases {
		removeStale(base, os.Getuid())
		d, err := newDirectoryIn(base, prefix())
		if err == nil {
			return d, nil
		}
		errs = append(errs, err)
	}
	return nil, fmt.Errorf("making a directory for shared memory: %w", errors.Join(errs...))
}

func newDirectoryIn(base, prefix string) (*Directory, error) {
	base, err := filepath.Abs(base) // the target may run elsewhere
	if err != nil {
		return nil, err
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(base, &fs); err != nil {
		return nil, &os.PathError{Op: "statfs", Path: base, Err: err}
	}
	if free, left := fs.Bavail*uint64(fs.Bsize), reserve(fs.Blocks*uint64(fs.Bsize)); free < left+minFree {
		return nil, fmt.Errorf("%s: %d bytes free, %d needed", base, free, left+minFree)
	}
	path, err := os.MkdirTemp(base, prefix+"*"+newSuffix) // 0700
	if err != nil {
		return nil, err
	}
	lock, err := lockDirectory(path)
	if err != nil {
		return nil, errors.Join(err, os.Remove(path))
	}
	// From here on the name says that it is locked as long as its collector lives.
	d := &Directory{strings.TrimSuffix(path, newSuffix), lock}
	if err := unix.Renameat2(unix.AT_FDCWD, path, unix.AT_FDCWD, d.Path, unix.RENAME_NOREPLACE); err != nil {
		return nil, errors.Join(fmt.Errorf("name %s: %w", d.Path, err), os.Remove(path), lock.Close())
	}
	return d, nil
}

// reserve is how many bytes of a file system agents leave to others: see room_of in agent/src/arena.c.
func reserve(size uint64) uint64 { return min(size/8, 1<<30) }

// lockDirectory takes the lock that says that the directory is in use; the kernel releases it when its holder dies.
func lockDirectory(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = ErrInUse
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
	}
	return f, nil
}

// OpenDirectory opens a directory that a collector left behind, to recover what is in it. The error wraps ErrInUse
// if the collector is still at work. Until Remove or Keep, no other run takes it for a dead collector's.
func OpenDirectory(path string) (*Directory, error) {
	lock, err := lockDirectory(path)
	if err != nil {
		return nil, err
	}
	return &Directory{path, lock}, nil
}

// removeStale removes a user's directories in base whose collector is gone. Errors are not its caller's concern: what
// cannot be removed now is tried again by the next run.
func removeStale(base string, uid int) {
	entries, err := os.ReadDir(base)
	if err != nil {
		return
	}
	for _, e := range entries {
		if e.IsDir() && strings.HasPrefix(e.Name(), prefixOf(uid)) {
			removeIfStale(filepath.Join(base, e.Name()), uid)
		}
	}
}

func removeIfStale(path string, uid int) {
	st, err := os.Lstat(path)
	if err != nil || !ownedBy(st, uid) || strings.HasSuffix(path, newSuffix) && time.Since(st.ModTime()) < newAge {
		return
	}
	d, err := OpenDirectory(path)
	if err != nil {
		return
	}
	if _, err := os.Lstat(filepath.Join(path, keepFile)); err == nil {
		d.lock.Close()
		return
	}
	_ = d.RemoveSocket() // who makes one of that name replaces it
	d.Remove()           // an error leaves it to the next run
}

// ownedBy says whether the file is the user's: others may use the same names in a folder for all.
func ownedBy(info os.FileInfo, uid int) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == uid
}

// Remove deletes the directory and what is in it. A target that still runs keeps its memory until it ends. Processes
// that start now find no directory of that name, so nothing can appear in it meanwhile.
func (d *Directory) Remove() error {
	release, err := d.Unlink()
	release()
	return err
}

// Unlink does so, but for the memory of the files, which takes longer, and which release gives back, or else the end of
// the process.
func (d *Directory) Unlink() (release func(), err error) {
	path := d.Path + goneSuffix
	if os.Rename(d.Path, path) != nil {
		path = d.Path
	}
	held := hold(path)
	if err = os.RemoveAll(path); err != nil {
		err = os.RemoveAll(path) // a file that was being made during the renaming
	}
	release = func() {
		for _, fd := range held {
			unix.Close(fd)
		}
	}
	return release, errors.Join(err, d.lock.Close())
}

// hold opens the files in a directory: those that are removed then stay until they are closed. Of what cannot be opened
// nothing is lost.
func hold(path string) (held []int) {
	entries, _ := os.ReadDir(path)
	for _, e := range entries[:min(len(entries), mostHeld)] {
		fd, err := unix.Open(filepath.Join(path, e.Name()), unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err == nil {
			held = append(held, fd)
		}
	}
	return held
}

// Keep leaves the directory where it is, so that its arenas can be recovered by hand.
func (d *Directory) Keep() error {
	return errors.Join(os.WriteFile(filepath.Join(d.Path, keepFile), nil, 0o600), d.lock.Close())
}

// SetTrace says where the events of the run's call trace are.
func (d *Directory) SetTrace(path string) error {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	return os.Symlink(absolute, filepath.Join(d.Path, traceLink))
}

// Trace returns where the events of the run's call trace are, "" if it has none.
func (d *Directory) Trace() string {
	path, err := os.Readlink(filepath.Join(d.Path, traceLink))
	if err != nil {
		return ""
	}
	return path
}

// RemoveSocket removes the socket beside the session that a killed collector wrote, if nobody listens there.
func (d *Directory) RemoveSocket() error {
	session, err := os.Readlink(filepath.Join(d.Path, sessionLink))
	if err != nil {
		return nil // it was killed before it had one
	}
	return control.RemoveLeft(session)
}

// Close lets go of the directory and leaves it as it is.
func (d *Directory) Close() error { return d.lock.Close() }

// Discard removes what collectors and agents put into the directory, and the directory if that was all. For one
// that a user named, who may have put other things there.
func (d *Directory) Discard() error {
	entries, err := os.ReadDir(d.Path)
	errs := []error{err}
	others := false
	for _, e := range entries {
		switch name := e.Name(); {
		case name == keepFile, name == sessionLink, name == traceLink, name == wire.ControlFile,
			strings.HasSuffix(name, ArenaSuffix), strings.HasSuffix(name, ArenaSuffix+newSuffix),
			strings.HasSuffix(name, FailedSuffix), strings.HasSuffix(name, SnapshotSuffix), agentbin.IsAgent(name):
			errs = append(errs, os.Remove(filepath.Join(d.Path, name)))
		default:
			others = true
		}
	}
	if !others {
		errs = append(errs, os.Remove(d.Path))
	}
	return errors.Join(append(errs, d.lock.Close())...)
}
