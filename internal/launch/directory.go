package launch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// keepFile in a directory says that its arenas are to be kept: their session could not be written.
	keepFile = "keep"

	// minFree is the space that a file system must have to be used for arenas: what a small program needs.
	minFree = 16 << 20

	// newAge protects a directory between its making and its locking.
	newAge = 10 * time.Second
)

// Directory is a place for the arenas of one run.
type Directory struct {
	Path string
	lock *os.File
}

// bases lists where arenas may be, best first: memory that belongs to no disk, then the user's own, then any.
func bases() []string {
	list := []string{"/dev/shm"}
	if d := os.Getenv("XDG_RUNTIME_DIR"); d != "" {
		list = append(list, d)
	}
	return append(list, os.TempDir())
}

func prefix() string { return "clrprof-" + strconv.Itoa(os.Getuid()) + "-" }

// NewDirectory makes a directory for arenas, and removes those that killed collectors left behind.
func NewDirectory() (*Directory, error) {
	var errs []error
	for _, base := range bases() {
		removeStale(base)
		d, err := newDirectoryIn(base)
		if err == nil {
			return d, nil
		}
		errs = append(errs, err)
	}
	return nil, fmt.Errorf("make a directory for shared memory: %w", errors.Join(errs...))
}

func newDirectoryIn(base string) (*Directory, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(base, &fs); err != nil {
		return nil, &os.PathError{Op: "statfs", Path: base, Err: err}
	}
	if free := fs.Bavail * uint64(fs.Bsize); free < minFree {
		return nil, fmt.Errorf("%s: %d bytes free, %d needed", base, free, minFree)
	}
	path, err := os.MkdirTemp(base, prefix()) // 0700
	if err != nil {
		return nil, err
	}
	lock, err := os.Open(path)
	if err == nil {
		err = unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	if err != nil {
		os.Remove(path)
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return &Directory{path, lock}, nil
}

// removeStale removes this user's directories in base whose collector is gone. Errors are not its caller's concern:
// what cannot be removed now is tried again by the next run.
func removeStale(base string) {
	paths, err := filepath.Glob(filepath.Join(base, prefix()+"*"))
	if err != nil {
		return
	}
	for _, path := range paths {
		removeIfStale(path)
	}
}

func removeIfStale(path string) {
	st, err := os.Lstat(path)
	if err != nil || !st.IsDir() || time.Since(st.ModTime()) < newAge {
		return
	}
	if _, err := os.Lstat(filepath.Join(path, keepFile)); err == nil {
		return
	}
	lock, err := os.Open(path)
	if err != nil {
		return
	}
	defer lock.Close()
	if unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
		os.RemoveAll(path)
	}
}

// Remove deletes the directory and what is in it. A target that still runs keeps its memory until it ends.
func (d *Directory) Remove() error {
	return errors.Join(os.RemoveAll(d.Path), d.lock.Close())
}

// Keep leaves the directory where it is, so that its arenas can be recovered by hand.
func (d *Directory) Keep() error {
	return errors.Join(os.WriteFile(filepath.Join(d.Path, keepFile), nil, 0o600), d.lock.Close())
}
