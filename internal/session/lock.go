package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// The bytes of a file that SQLite locks (os.h of SQLite: PENDING_BYTE and those that follow from it). They need not
// exist.
const (
	pendingByte  = 0x40000000
	reservedByte = pendingByte + 1
	sharedFirst  = pendingByte + 2
	sharedSize   = 510
)

// busyWait is the time between two tries to lock a file.
const busyWait = 5 * time.Millisecond

// errBusy says that a writer commits all the time, or hangs in a commit.
var errBusy = errors.New("another process is writing it: try again")

// lockShared waits until no writer is in its commit, and then keeps writers from committing until the file is closed.
// It does what SQLite does to get a shared lock (unixLock in os_unix.c), by a lock that belongs to the open file and
// not to the process: it is not lost when another part of the process closes the file.
func lockShared(ctx context.Context, f *os.File) error {
	tick := time.NewTicker(busyWait)
	defer tick.Stop()
	for begin := time.Now(); ; {
		err := tryShared(f)
		if !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EACCES) {
			return err
		}
		if time.Since(begin) > busyTimeout {
			return errBusy
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// tryShared locks a file as a reader does. Where files cannot be locked, nobody writes by SQLite either.
func tryShared(f *os.File) error {
	err := lockRange(f, unix.F_RDLCK, pendingByte, 1)
	if err == nil {
		err = lockRange(f, unix.F_RDLCK, sharedFirst, sharedSize)
		err = errors.Join(err, lockRange(f, unix.F_UNLCK, pendingByte, 1))
	}
	for _, none := range []error{unix.ENOLCK, unix.ENOTSUP, unix.ENOSYS, unix.EINVAL} {
		if errors.Is(err, none) {
			return nil
		}
	}
	return err
}

func lockRange(f *os.File, kind int16, start, length int64) error {
	lock := unix.Flock_t{Type: kind, Whence: io.SeekStart, Start: start, Len: length}
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &lock); err != nil {
		return fmt.Errorf("locking it: %w", err)
	}
	return nil
}

// isReserved reports whether a living writer has begun to write: a journal is its own then. Only who may write has such
// a lock; one for reading, which anybody could take, is not believed.
func isReserved(f *os.File) bool {
	lock := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart, Start: reservedByte, Len: 1}
	return unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, &lock) == nil && lock.Type == unix.F_WRLCK
}
