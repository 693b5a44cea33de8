package safefs

import (
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// files are what a process sees, for reading: fs.FS.
type files struct {
	root *os.File // the folder that the process sees as /; nil: our own
	user User
}

// FilesOf are the files below root, or all if it is nil, with a user's rights. Only regular files and folders can be
// opened, and nothing waits. Links are followed as a process does whose root it is.
func FilesOf(root *os.File, user User) fs.FS { return files{root, user} }

// Open opens a file. As in every fs.FS, the name is a path from the root without the first slash.
func (f files) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	fd := -1
	err := f.user.Do(func() error {
		found, err := f.find("/" + name)
		if err != nil {
			return err
		}
		defer unix.Close(found)
		var st unix.Stat_t
		if err := unix.Fstat(found, &st); err != nil {
			return err
		}
		if kind := st.Mode & unix.S_IFMT; kind != unix.S_IFREG && kind != unix.S_IFDIR {
			return ErrNotRegular
		}
		fd, err = reopen(found, unix.O_RDONLY)
		return err
	})
	if err != nil {
		return nil, pathError("open", name, err)
	}
	return os.NewFile(uintptr(fd), "/"+name), nil
}

// find returns a descriptor for what a path leads to, by which it is not used yet.
func (f files) find(path string) (int, error) {
	if f.root != nil {
		return openBelow(int(f.root.Fd()), path, unix.O_PATH)
	}
	return retry(func() (int, error) { return unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0) })
}
