//go:build linux

package dotnettest

import (
	"errors"
	"os"
	"syscall"
)

// lock takes an exclusive lock on the file at path, which it creates, and
// returns the function that gives it back. If another process has it, lock calls
// waiting once and then waits. The kernel gives a dead process's lock back.
func lock(path string, waiting func()) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	fd := int(f.Fd())
	err = syscall.Flock(fd, syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		waiting()
		for {
			if err = syscall.Flock(fd, syscall.LOCK_EX); !errors.Is(err, syscall.EINTR) {
				break
			}
		}
	}
	if err != nil {
		f.Close()
		return nil, &os.PathError{Op: "flock", Path: path, Err: err}
	}
	return func() { f.Close() }, nil
}
