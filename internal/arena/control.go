package arena

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
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
}

// CreateControl makes the file in a directory for arenas, before a process is started that could look for it.
func CreateControl(directory string) (*Control, error) {
	path := filepath.Join(directory, wire.ControlFile)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("make the control file: %w", err)
	}
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
	c.header.Magic = wire.ControlMagic
	return c, nil
}

// Begin says what the global level is before anything has started.
func (c *Control) Begin(suspended int32) { c.header.Suspended = uint32(suspended) }

// Append tells all agents of a change, and what the global level is after it.
func (c *Control) Append(change wire.ControlChange, stopped bool, suspended int32) {
	at := wire.HeaderSize + int(c.changes%wire.ControlRing)*int(unsafe.Sizeof(change))
	_, _ = binary.Encode(c.data[at:], binary.LittleEndian, change) // there is room
	stop := uint32(0)
	if stopped {
		stop = 1
	}
	atomic.StoreUint32(&c.header.Stopped, stop)
	atomic.StoreUint32(&c.header.Suspended, uint32(suspended))
	c.changes++
	atomic.StoreUint64(&c.header.Changes, c.changes)
}

// Close lets go of the file, which stays for the agents that have it.
func (c *Control) Close() error { return unix.Munmap(c.data) }
