package session

import (
	"context"
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/files/atomicfile"
)

// Stage says how far a session is, and whether it will get further. It is the session's state, together with whether
// its writer is still there.
type Stage string

// The stages of a session.
const (
	StageRecording  Stage = "recording"  // a collector writes what is recorded
	StageCompleting Stage = "completing" // the recording has ended; names, lines and sums are being added
	StageComplete   Stage = "complete"
	StageCutOff     Stage = "cut off" // its writer ended before the session was complete
)

// IsWritten reports whether somebody is still writing the session.
func (s Stage) IsWritten() bool { return s == StageRecording || s == StageCompleting }

// claimByte is the byte of the file that a Claim locks. SQLite locks 512 bytes from 1<<30 on (its PENDING_BYTE), and
// no session is as large as this.
const claimByte = 1 << 62

// Claim tells readers that a session is still being written: a lock on one byte of its file, which the kernel releases
// when the process ends, however it ends. The lock is exclusive, and the kernel gives those only to who may write the
// file: others cannot make a session look unfinished. It belongs to the open file (F_OFD_SETLK) and not to the process,
// so closing other descriptors of the same file does not release it.
type Claim struct{ file *os.File }

// claimNew claims the session in a file that is not published yet. Where the file system has no such locks there is no
// claim, and the recording goes on: readers take it for one that was cut off.
func claimNew(f *atomicfile.File) (*Claim, error) {
	file, err := f.Open()
	if err != nil {
		return nil, err
	}
	lock := unix.Flock_t{Type: unix.F_WRLCK, Start: claimByte, Len: 1}
	if unix.FcntlFlock(file.Fd(), unix.F_OFD_SETLK, &lock) != nil {
		return nil, file.Close()
	}
	return &Claim{file}, nil
}

// Release says that nobody writes the session any more. A nil claim is released.
func (c *Claim) Release() error {
	if c == nil || c.file == nil {
		return nil
	}
	file := c.file
	c.file = nil
	return file.Close()
}

// isClaimed reports whether somebody has claimed the session in an open file.
func isClaimed(file *os.File) bool {
	lock := unix.Flock_t{Type: unix.F_RDLCK, Start: claimByte, Len: 1} // which a shared lock of another reader allows
	err := unix.FcntlFlock(file.Fd(), unix.F_OFD_GETLK, &lock)
	return err == nil && lock.Type == unix.F_WRLCK
}

// stageOf is the stage of a session in a state. claimed was found out before the state was read, so that a writer that
// ends in between leaves no session that looks cut off.
func stageOf(state State, claimed bool) Stage {
	switch {
	case state == Complete:
		return StageComplete
	case !claimed:
		return StageCutOff
	case state == Recording:
		return StageRecording
	}
	return StageCompleting
}

// Stage returns the stage of the session as it was when the session was opened.
func (s *Session) Stage() (Stage, error) {
	state, err := s.State()
	return stageOf(state, s.claimed), err
}

// StageOf returns the stage of the session in a file, without reading what it has recorded. Errors are those of
// OpenUntil.
func StageOf(ctx context.Context, path string) (Stage, error) {
	s, err := openOnly(ctx, path)
	if err != nil {
		return "", err
	}
	stage, err := s.Stage()
	return stage, errors.Join(err, s.Close())
}
