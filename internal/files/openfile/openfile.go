// Package openfile opens files that somebody else may have made.
//
// Problem: a path can name a FIFO, on which open(2) waits for a writer for ever, a terminal, which would become this
// process's own, or a device, which an open can set in motion. Whoever gives away a session, or owns a folder that
// another user's clrprof looks into, chooses what a name stands for, and can change it at any time.
//
// So nothing is opened that was not a regular file just before, without waiting, and what was opened is looked at
// again: what another user does meanwhile leads to an error and never to a wait.
package openfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// Errors that those of this package wrap.
var (
	ErrNotRegular = errors.New("not a regular file")
	ErrTooLarge   = errors.New("the file is too large")
)

// flags of every open: it neither waits nor makes a terminal this process's own.
const flags = syscall.O_NONBLOCK | syscall.O_NOCTTY | syscall.O_CLOEXEC

// OpenRegular opens a regular file for reading; path may be a symbolic link to one. What else there is at path is an
// error that wraps ErrNotRegular and says what it is. It never waits: a file of which somebody holds a lease
// (fcntl(2), F_SETLEASE) is an error too. Errors are of one line and name the path.
func OpenRegular(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if err := regular(path, info); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|flags, 0)
	if err != nil {
		return nil, err
	}
	if err := checkOpen(path, f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// ReadRegular reads a regular file whole, as OpenRegular opens it. One of more than most bytes is an error that wraps
// ErrTooLarge, and no more is read of it.
func ReadRegular(path string, most int64) ([]byte, error) {
	f, err := OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1)) // its size may change meanwhile, or be said as 0, as in /proc
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > most {
		return nil, fmt.Errorf("%s: %w: it has more than %d bytes", path, ErrTooLarge, most)
	}
	return data, nil
}

// checkOpen looks at a file that was opened: it may not be what there was before.
func checkOpen(path string, f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return regular(path, info)
}

func regular(path string, info fs.FileInfo) error {
	if info.Mode().IsRegular() {
		return nil
	}
	return fmt.Errorf("%s is %s: %w", path, kind(info.Mode()), ErrNotRegular)
}

// kind is what a file is that is not regular.
func kind(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "of an unknown kind"
}
