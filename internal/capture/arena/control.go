package arena

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/wire"
)

// controlBytes is the size of the file.
const controlBytes = wire.HeaderSize + wire.ControlRing*int(unsafe.Sizeof(wire.ControlChange{}))

// Control is the file by which the collector says what is to be recorded. It is used by one goroutine.
type Control struct {
	data    []byte
	header  *wire.ControlHeader
	changes uint64

	requests, ready uint32
	asking          sync.Mutex
}

// CreateControl makes the control file of an empty one (wire.ControlFile), which it closes, before a process is started
// that could look for it.
func CreateControl(f *os.File) (*Control, error) {
	defer f.Close()
	if err := unix.Fallocate(int(f.Fd()), 0, 0, int64(controlBytes)); err != nil { // a hole could not be filled later
		if err = f.Truncate(int64(controlBytes)); err != nil {
			return nil, fmt.Errorf("make the control file: %w", err)
		}
	}
	data, err := unix.Mmap(int(f.Fd()), 0, controlBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map the control file: %w", err)
	}
	c := &Control{data: data, header: (*wire.ControlHeader)(unsafe.Pointer(&data[0]))}
	if err := Guard(func() error { c.header.Magic = wire.ControlMagic; return nil }); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// ControlLeft is what the file of a collector that was killed holds.
type ControlLeft struct {
	Header  wire.ControlHeader
	Changes []wire.ControlChange // the last ones, in their order
}

// ReadControl reads the file of a collector that is gone.
func ReadControl(r io.Reader) (*ControlLeft, error) {
	data, err := io.ReadAll(io.LimitReader(r, int64(controlBytes)+1))
	if err != nil {
		return nil, fmt.Errorf("read the control file: %w", err)
	}
	out := &ControlLeft{}
	if len(data) != controlBytes {
		return nil, fmt.Errorf("%w: a control file that has not %d bytes", wire.ErrCorrupt, controlBytes)
	}
	if _, err := binary.Decode(data, binary.LittleEndian, &out.Header); err != nil {
		return nil, fmt.Errorf("%w: the control file: %w", wire.ErrCorrupt, err)
	}
	if out.Header.Magic != wire.ControlMagic {
		return nil, fmt.Errorf("%w: a control file that begins with %x", wire.ErrCorrupt, out.Header.Magic)
	}
	for i := out.Header.Changes - min(out.Header.Changes, wire.ControlRing); i < out.Header.Changes; i++ {
		var c wire.ControlChange
		at := wire.HeaderSize + int(i%wire.ControlRing)*int(unsafe.Sizeof(c))
		if _, err := binary.Decode(data[at:], binary.LittleEndian, &c); err != nil {
			return nil, fmt.Errorf("%w: the control file: %w", wire.ErrCorrupt, err)
		}
		out.Changes = append(out.Changes, c)
	}
	return out, nil
}

// Begin says what the global level is before anything has started.
func (c *Control) Begin(stopped bool, suspended int32) {
	c.header.Stopped, c.header.Suspended = number(stopped), uint32(suspended)
}

func number(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

// Append informs all agents of a change, and what the global level is after it.
func (c *Control) Append(change wire.ControlChange, stopped bool, suspended int32) {
	at := wire.HeaderSize + int(c.changes%wire.ControlRing)*int(unsafe.Sizeof(change))
	_, _ = binary.Encode(c.data[at:], binary.LittleEndian, change) // there is room
	atomic.StoreUint32(&c.header.Stopped, number(stopped))
	atomic.StoreUint32(&c.header.Suspended, uint32(suspended))
	c.changes++
	atomic.StoreUint64(&c.header.Changes, c.changes)
}

// Ask asks the agent of a process, or with 0 all of them, for one of wire.RequestCollect and so on. The number of the
// request is what wire.Header.Answered becomes. Several goroutines may ask.
func (c *Control) Ask(request, pid uint32) uint32 {
	c.asking.Lock()
	defer c.asking.Unlock()
	c.requests++
	atomic.StoreUint32(&c.header.Request, request)
	atomic.StoreUint32(&c.header.RequestPID, pid)
	atomic.StoreUint32(&c.header.Requests, c.requests)
	wake(&c.header.Requests)
	return c.requests
}

// Ready informs all agents that something is about to be recorded again. The number is what wire.Header.Ready becomes
// where all probes are in.
func (c *Control) Ready() uint32 {
	c.ready++
	atomic.StoreUint32(&c.header.Ready, c.ready)
	c.Wake()
	return c.ready
}

// Cutting informs all agents whether marks end slices.
func (c *Control) Cutting(on bool) { atomic.StoreUint32(&c.header.Cutting, number(on)) }

// Cut informs all agents that what was counted until a time is read.
func (c *Control) Cut(ns uint64) {
	atomic.StoreUint64(&c.header.CutNS, ns)
	atomic.AddUint32(&c.header.Cuts, 1)
	wake(&c.header.Cuts)
}

// Wake has the agents look at the file.
func (c *Control) Wake() { wake(&c.header.Requests) }

// wake wakes those who sleep until a word in shared memory changes: futex(2).
func wake(word *uint32) {
	const futexWake, all = 1, 1<<31 - 1
	// cannot fail
	_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWake, all, 0, 0, 0)
}

// Close lets go of the file, which stays for the agents that have it.
func (c *Control) Close() error { return unix.Munmap(c.data) }
