package eventpipe

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"
)

// Answers of the runtime to LoadProfiler (corerror.h), as errors.Is finds them.
var (
	ErrProfilerActive    = errors.New("the process has a profiler")
	ErrProfilerDeclines  = errors.New("the profiler does not want this process")
	ErrBackgroundRunning = errors.New("a background garbage collection does not end")
)

// The command (documentation/design-docs/ipc-protocol.md of dotnet/diagnostics: AttachProfiler).
const (
	setProfiler   = 3
	attachCommand = 1

	alreadyActive    = 0x8013136A // CORPROF_E_PROFILER_ALREADY_ACTIVE
	cancelActivation = 0x80131375 // CORPROF_E_PROFILER_CANCEL_ACTIVATION
	timeoutWaiting   = 0x8013136F // CORPROF_E_TIMEOUT_WAITING_FOR_CONCURRENT_GC

	maxSaid = 16 << 10 // bytes that the library is given
)

// backgroundTime is how long a collection in the background may go on until the runtime no longer waits for its end.
const backgroundTime = 20 * time.Second

// LoadProfiler has the runtime of a process load a library as its profiler, which is given some bytes. The path is as
// the process sees it. It returns when the profiler has begun. An answer of the runtime wraps ErrRefused, and one of
// the errors above where it is one of them.
func LoadProfiler(pid int, id [16]byte, library string, said []byte) error {
	if len(said) > maxSaid {
		return fmt.Errorf("%d bytes for a profiler: at most %d can be sent", len(said), maxSaid)
	}
	b := make([]byte, headerBytes)
	b = binary.LittleEndian.AppendUint32(b, uint32(backgroundTime.Milliseconds()))
	b = append(b, id[:]...)
	b, err := appendText(b, library)
	if err != nil {
		return err
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(len(said)))
	b = append(b, said...)
	putHeader(b, setProfiler, attachCommand)
	conn, err := dial(pid)
	if err != nil {
		return err
	}
	err = errors.Join(ask(conn, b), conn.Close())
	var refused *refusal
	if !errors.As(err, &refused) {
		return err
	}
	switch refused.code {
	case alreadyActive:
		return fmt.Errorf("%w (%w)", ErrProfilerActive, err)
	case cancelActivation:
		return fmt.Errorf("%w (%w)", ErrProfilerDeclines, err)
	case timeoutWaiting:
		return fmt.Errorf("%w (%w)", ErrBackgroundRunning, err)
	}
	return err
}
