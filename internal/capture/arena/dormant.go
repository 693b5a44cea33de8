package arena

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/wire"
)

// Dormant is the file of a dormant agent, as a collector has it. It is used by one goroutine.
type Dormant struct {
	file    *os.File
	data    []byte
	header  *wire.Dormant
	build   [len(wire.Dormant{}.Build)]byte
	version uint32
}

// ErrLocked means that another collector has the dormant agent.
var ErrLocked = errors.New("another clrprof is attached")

// OpenDormant maps the file of a dormant agent, which is open for reading and writing and is the Dormant's from now on.
// The error wraps wire.ErrCorrupt if it is none.
func OpenDormant(f *os.File) (*Dormant, error) {
	path := f.Name()
	size := int(unsafe.Sizeof(wire.Dormant{}))
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() || st.Size() < int64(size) {
		return nil, errors.Join(fmt.Errorf("%w: %s is no file of a dormant agent", wire.ErrCorrupt, path), f.Close())
	}
	data, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("map %s: %w", path, err), f.Close())
	}
	d := &Dormant{file: f, data: data, header: (*wire.Dormant)(unsafe.Pointer(&data[0]))}
	err = Guard(func() error {
		d.build, d.version = d.header.Build, d.header.Version
		if magic := atomic.LoadUint64(&d.header.Magic); magic != wire.DormantMagic {
			return fmt.Errorf("%w: %s begins with %x", wire.ErrCorrupt, path, magic)
		}
		return nil
	})
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// Left says whether the process of the file is gone.
func (d *Dormant) Left() bool {
	err := unix.Flock(int(d.file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	return err == nil
}

// Build is the build id of the agent.
func (d *Dormant) Build() [len(wire.Dormant{}.Build)]byte { return d.build }

// Version is wire.Version of the agent.
func (d *Dormant) Version() uint32 { return d.version }

// Collector is the process id of the clrprof that is attached, or was last.
func (d *Dormant) Collector() int { return int(load(&d.header.Collector)) }

// State is wire.DormantWaiting and so on.
func (d *Dormant) State() uint32 { return load(&d.header.State) }

// load reads a word of the file, 0 if it is not there any more.
func load(word *uint32) (value uint32) {
	_ = Guard(func() error { value = atomic.LoadUint32(word); return nil }) // then nobody answers there
	return value
}

// Lock makes this process the one that is attached, until Close or its end. The error is ErrLocked if there is another.
func (d *Dormant) Lock() error {
	lock := unix.Flock_t{Type: unix.F_WRLCK, Whence: unix.SEEK_SET}
	err := unix.FcntlFlock(d.file.Fd(), unix.F_OFD_SETLK, &lock)
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		return ErrLocked
	}
	if err != nil {
		return fmt.Errorf("lock the file of the agent: %w", err)
	}
	return Guard(func() error {
		atomic.StoreUint32(&d.header.Collector, uint32(os.Getpid()))
		return nil
	})
}

// Wanted is what a collector wants of a dormant agent.
type Wanted struct {
	Directory   string // for the arena, as the process sees it
	MemoryLimit uint64 // bytes
	Nodes       uint64 // of the tree of stacks
	StackDepth  uint32 // frames
	Data        uint32 // wire.DataMemory and so on
	FinalGC     bool   // with lifetime: a last collection when the recording ends
	First       uint32 // with lifetime: nothing is recorded after so many collections; 0: without limit
	Roots       string // with lifetime: as in the agent's variable
	Snapshot    string // with lifetime: as in the agent's variable
}

// Ask asks the agent for a recording. Lock must have succeeded. The number is that of the request.
func (d *Dormant) Ask(w Wanted) (request uint32, err error) {
	err = Guard(func() error {
		request, err = d.ask(w)
		return err
	})
	return request, err
}

func (d *Dormant) ask(w Wanted) (uint32, error) {
	if len(w.Directory) >= len(d.header.Directory) {
		return 0, fmt.Errorf("the path %.100s… is longer than %d bytes", w.Directory, len(d.header.Directory)-1)
	}
	for _, text := range []struct {
		to   []uint8
		from string
	}{{d.header.Directory[:], w.Directory}, {d.header.Roots[:], w.Roots}, {d.header.Snapshot[:], w.Snapshot}} {
		n := copy(text.to[:len(text.to)-1], text.from)
		clear(text.to[n:])
	}
	d.header.Data, d.header.FinalGC, d.header.First = w.Data, 0, w.First
	if w.FinalGC {
		d.header.FinalGC = 1
	}
	d.header.MemoryLimit, d.header.Nodes, d.header.StackDepth = w.MemoryLimit, w.Nodes, w.StackDepth
	request := atomic.AddUint32(&d.header.Requests, 1)
	wake(&d.header.Requests)
	return request, nil
}

// Answer says whether a request was dealt with, and why there is no recording: wire.FailureNone if there is one.
func (d *Dormant) Answer(request uint32) (done bool, failure wire.Failure) {
	if load(&d.header.Answered) != request {
		return false, wire.FailureNone
	}
	return true, wire.Failure(load(&d.header.Failure))
}

// Leaving is what the end of a recording waits for: wire.LeavingCollection and so on; 0: none ends.
func (d *Dormant) Leaving() uint32 { return load(&d.header.Leaving) }

// Prepared is how far the preparation of a recording of calls is, or its end: so many methods of so many were looked
// at, or taken back, 0 of 0 as long as it is not known. Steps is another number after each step.
func (d *Dormant) Prepared() (n, of, steps uint32) {
	return load(&d.header.Prepared), load(&d.header.ToPrepare), load(&d.header.Steps)
}

// Close lets go of the file and of its lock.
func (d *Dormant) Close() error { return errors.Join(unix.Munmap(d.data), d.file.Close()) }
