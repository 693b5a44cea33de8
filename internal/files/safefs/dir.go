package safefs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// maxNames is how many names of a folder are read at most: far more than one recording has processes.
const maxNames = 1 << 17

// Errors that those of this package wrap.
var (
	ErrNotRegular = errors.New("not a regular file")
	ErrOwner      = errors.New("it belongs to another user")
	ErrTooMany    = fmt.Errorf("the folder has more than %d names", maxNames)
)

// Dir is a folder, by its descriptor: what it is called now does not matter. All that is done in it is done with the
// rights of a user. Names have no slash.
type Dir struct {
	file *os.File
	path string // for messages, and for others who look it up
	user User
}

// OpenDir opens the folder that a path leads to for the user.
func OpenDir(path string, user User) (*Dir, error) {
	return openDir(path, user, func(flags int) (int, error) {
		return retry(func() (int, error) { return unix.Open(path, flags|unix.O_CLOEXEC, 0) })
	})
}

// OpenDirBelow opens the folder that a path leads to for a process of the user whose root folder is root.
func OpenDirBelow(root *os.File, path string, user User) (*Dir, error) {
	return openDir(filepath.Join(root.Name(), path), user, func(flags int) (int, error) {
		return openBelow(int(root.Fd()), path, flags)
	})
}

// openDir opens a folder, one that the user may not list too.
func openDir(path string, user User, open func(flags int) (int, error)) (*Dir, error) {
	fd := -1
	err := user.Do(func() (err error) {
		fd, err = open(unix.O_RDONLY | unix.O_DIRECTORY)
		if errors.Is(err, unix.EACCES) {
			fd, err = open(unix.O_PATH | unix.O_DIRECTORY)
		}
		return err
	})
	if err != nil {
		return nil, pathError("open", path, err)
	}
	return &Dir{os.NewFile(uintptr(fd), path), path, user}, nil
}

// Path is by which path the folder was opened.
func (d *Dir) Path() string { return d.path }

// User is with whose rights things are done in the folder.
func (d *Dir) User() User { return d.user }

// File is the folder's descriptor, which stays the Dir's.
func (d *Dir) File() *os.File { return d.file }

// Close lets go of the folder.
func (d *Dir) Close() error { return d.file.Close() }

// Owner is whose the folder is.
func (d *Dir) Owner() (uid int, err error) {
	var st unix.Stat_t
	if err := unix.Fstat(d.fd(), &st); err != nil {
		return -1, pathError("stat", d.path, err)
	}
	return int(st.Uid), nil
}

func (d *Dir) fd() int { return int(d.file.Fd()) }

// do does something by a name in the folder.
func (d *Dir) do(op, name string, fn func(folder int) error) error {
	return pathError(op, filepath.Join(d.path, name), d.user.Do(func() error { return fn(d.fd()) }))
}

// Mkdir makes a folder for the user alone and opens it.
func (d *Dir) Mkdir(name string) (*Dir, error) {
	err := d.do("mkdir", name, func(folder int) error { return unix.Mkdirat(folder, name, 0o700) })
	if err != nil {
		return nil, err
	}
	made, err := d.Sub(name)
	if err != nil {
		return nil, err
	}
	if owner, err := made.Owner(); !d.user.own && (err != nil || owner != d.user.UID) {
		return nil, errors.Join(pathError("mkdir", made.path, ErrOwner), err, made.Close())
	}
	return made, nil
}

// Sub opens a folder of the folder.
func (d *Dir) Sub(name string) (*Dir, error) {
	fd := -1
	err := d.do("open", name, func(folder int) (err error) {
		fd, err = openName(folder, name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
		return err
	})
	if err != nil {
		return nil, err
	}
	path := filepath.Join(d.path, name)
	return &Dir{os.NewFile(uintptr(fd), path), path, d.user}, nil
}

// With returns the same folder with the rights of another user. Only one of the two is to be closed.
func (d *Dir) With(user User) *Dir { return &Dir{d.file, d.path, user} }

// Again opens the same folder once more.
func (d *Dir) Again() (*Dir, error) {
	fd, err := unix.FcntlInt(d.file.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, pathError("dup", d.path, err)
	}
	return &Dir{os.NewFile(uintptr(fd), d.path), d.path, d.user}, nil
}

// Hold opens up to most of what is in the folder, without using it: what is removed then stays until it is closed. Of
// what cannot be opened nothing is lost.
func (d *Dir) Hold(most int) (held []*os.File) {
	names, err := d.Names()
	if err != nil {
		return nil
	}
	for _, name := range names[:min(len(names), most)] {
		_ = d.do("open", name, func(folder int) error {
			fd, err := openName(folder, name, unix.O_PATH, 0)
			if err == nil {
				held = append(held, os.NewFile(uintptr(fd), name))
			}
			return err
		})
	}
	return held
}

// Create makes a file for the user alone, which must not exist, and opens it for reading and writing.
func (d *Dir) Create(name string) (*os.File, error) {
	fd := -1
	err := d.do("create", name, func(folder int) (err error) {
		fd, err = openName(folder, name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL, 0o600)
		return err
	})
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), filepath.Join(d.path, name)), nil
}

// Open opens a regular file of the folder's owner for reading. It never waits.
func (d *Dir) Open(name string) (*os.File, error) { return d.open(name, unix.O_RDONLY) }

// OpenWrite opens it for reading and writing.
func (d *Dir) OpenWrite(name string) (*os.File, error) { return d.open(name, unix.O_RDWR) }

func (d *Dir) open(name string, flags int) (*os.File, error) {
	owner, err := d.Owner()
	if err != nil {
		return nil, err
	}
	return d.openOf(name, flags, owner)
}

// OpenOf opens a regular file of a user for reading and writing, in a folder for all.
func (d *Dir) OpenOf(name string, owner int) (*os.File, error) {
	return d.openOf(name, unix.O_RDWR, owner)
}

// openOf looks at what the name stands for before it opens it: to open a device can already do something.
func (d *Dir) openOf(name string, flags, owner int) (*os.File, error) {
	fd := -1
	err := d.do("open", name, func(folder int) error {
		found, err := openName(folder, name, unix.O_PATH, 0)
		if err != nil {
			return err
		}
		defer unix.Close(found)
		var st unix.Stat_t
		if err := unix.Fstat(found, &st); err != nil {
			return err
		}
		if st.Mode&unix.S_IFMT != unix.S_IFREG {
			return ErrNotRegular
		}
		if int(st.Uid) != owner {
			return fmt.Errorf("%w, %d", ErrOwner, st.Uid)
		}
		fd, err = reopen(found, flags)
		return err
	})
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), filepath.Join(d.path, name)), nil
}

// Names lists what is in the folder, in no order. Of more than maxNames the error wraps ErrTooMany.
func (d *Dir) Names() ([]string, error) {
	var names []string
	err := d.do("list", "", func(folder int) error {
		fd, err := unix.Openat(folder, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		f := os.NewFile(uintptr(fd), d.path) // its own place in the list
		defer f.Close()
		names, err = f.Readdirnames(maxNames + 1)
		if err == nil && len(names) > maxNames {
			err = ErrTooMany
		}
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return err
	})
	return names, err
}

// Stat says what a name stands for itself.
func (d *Dir) Stat(name string) (st unix.Stat_t, err error) {
	err = d.do("stat", name, func(folder int) error {
		return unix.Fstatat(folder, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	})
	return st, err
}

// Readlink reads a symbolic link.
func (d *Dir) Readlink(name string) (to string, err error) {
	text := make([]byte, unix.PathMax)
	err = d.do("readlink", name, func(folder int) error {
		n, err := unix.Readlinkat(folder, name, text)
		to = string(text[:max(n, 0)])
		return err
	})
	return to, err
}

// Symlink makes a symbolic link.
func (d *Dir) Symlink(to, name string) error {
	return d.do("symlink", name, func(folder int) error { return unix.Symlinkat(to, folder, name) })
}

// Remove removes a name that is no folder's, or the name of an empty folder.
func (d *Dir) Remove(name string) error {
	return d.do("remove", name, func(folder int) error {
		err := unix.Unlinkat(folder, name, 0)
		if errors.Is(err, unix.EISDIR) {
			err = unix.Unlinkat(folder, name, unix.AT_REMOVEDIR)
		}
		return err
	})
}

// RemoveAll removes what is in the folder: what is in folders of it, too.
func (d *Dir) RemoveAll() error {
	names, err := d.Names()
	errs := []error{err}
	for _, name := range names {
		err := d.Remove(name)
		if errors.Is(err, unix.ENOTEMPTY) {
			err = d.removeTree(name)
		}
		if !errors.Is(err, unix.ENOENT) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// removeTree removes a folder with all that is in it. Os.Root follows no link out of it, and its depth is that of the
// user, who can only make this take longer.
func (d *Dir) removeTree(name string) error {
	return d.do("remove", name, func(folder int) error {
		root, err := os.OpenRoot(fmt.Sprintf("/proc/self/fd/%d", folder))
		if err != nil {
			return err
		}
		defer root.Close()
		return root.RemoveAll(name)
	})
}

// Rename gives a name of the folder's to what has another one; nothing may have it.
func (d *Dir) Rename(from, to string) error {
	return d.do("rename", from, func(folder int) error {
		return unix.Renameat2(folder, from, folder, to, unix.RENAME_NOREPLACE)
	})
}

// Free is how many bytes of the folder's file system a user without privileges can still take, and how many it has.
func (d *Dir) Free() (free, size uint64, err error) {
	var fs unix.Statfs_t
	if err := unix.Fstatfs(d.fd(), &fs); err != nil {
		return 0, 0, pathError("statfs", d.path, err)
	}
	return fs.Bavail * uint64(fs.Bsize), fs.Blocks * uint64(fs.Bsize), nil
}

// Lock takes the lock of the folder, which the kernel releases when its holder ends: exclusively, or else beside others
// who do not have it exclusively. The error wraps EWOULDBLOCK if it is taken.
func (d *Dir) Lock(exclusive bool) error {
	how := unix.LOCK_SH
	if exclusive {
		how = unix.LOCK_EX
	}
	return pathError("lock", d.path, unix.Flock(d.fd(), how|unix.LOCK_NB))
}
