package collect

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/capture/launch"
	"github.com/clrprof/clrprof/internal/files/safefs"
	"github.com/clrprof/clrprof/internal/quantity"
)

// watch tells when an arena appears in a directory, and when an agent tells of a mark.
type watch struct {
	file     *os.File // nil: the kernel cannot tell, as when the user has too many of these
	appeared chan struct{}
	marked   chan struct{} // wire.Header.CutNS is another one in some arena
}

// newWatch watches a directory until it is closed.
func newWatch(files *safefs.Dir) *watch {
	w := &watch{appeared: make(chan struct{}, 1), marked: make(chan struct{}, 1)}
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return w
	}
	w.file = os.NewFile(uintptr(fd), "inotify")
	directory := fmt.Sprintf("/proc/self/fd/%d", files.File().Fd())
	if _, err := unix.InotifyAddWatch(fd, directory, unix.IN_CREATE|unix.IN_MOVED_TO|unix.IN_ATTRIB); err != nil {
		_ = w.close() // as if there were none
		w.file = nil
		return w
	}
	go w.read()
	return w
}

// read waits for names until the watch is closed.
func (w *watch) read() {
	buffer := make([]byte, 4096) // events have at most 16 + 256 bytes
	for {
		n, err := w.file.Read(buffer)
		if err != nil {
			return
		}
		mask := ofArenas(buffer[:n])
		if mask&(unix.IN_CREATE|unix.IN_MOVED_TO|unix.IN_Q_OVERFLOW) != 0 {
			tell(w.appeared)
		}
		if mask&(unix.IN_ATTRIB|unix.IN_Q_OVERFLOW) != 0 {
			tell(w.marked)
		}
	}
}

func tell(to chan struct{}) {
	select {
	case to <- struct{}{}:
	default: // it is known already
	}
}

// unfinished ends the name under which an agent makes an arena, before it gives it the final one.
const unfinished = ".new"

// ofArenas are the kinds of some events of inotify(7) that are about arenas, and whether events are missing.
func ofArenas(events []byte) (kinds uint32) {
	for len(events) >= unix.SizeofInotifyEvent {
		mask, length := binary.NativeEndian.Uint32(events[4:]), int(binary.NativeEndian.Uint32(events[12:]))
		name := events[unix.SizeofInotifyEvent:][:length]
		name = bytes.TrimRight(name, "\x00")
		if mask&unix.IN_ATTRIB != 0 { // the kernel may tell the name that the file was made under
			name = bytes.TrimSuffix(name, []byte(unfinished))
		}
		if mask&unix.IN_Q_OVERFLOW != 0 || bytes.HasSuffix(name, []byte(launch.ArenaSuffix)) {
			kinds |= mask
		}
		events = events[unix.SizeofInotifyEvent+length:]
	}
	return kinds
}

func (w *watch) close() error {
	if w.file == nil {
		return nil
	}
	return w.file.Close()
}

// firstLook is when the groups of processes are looked at again after one has appeared: who moves a process mostly does
// so when it starts. From then on it is twice as long each time, until the next slice, which looks too.
const firstLook quantity.Nanoseconds = 10_000_000

// looks says when the groups of processes are looked at between slices. Zero: not before the next slice.
type looks struct{ next, pause quantity.Nanoseconds }

// appeared plans the look after the one at a process that is new.
func (l *looks) appeared(now quantity.Nanoseconds) { *l = looks{now + firstLook, firstLook} }

// looked plans the look after one.
func (l *looks) looked(now quantity.Nanoseconds) { *l = looks{now + 2*l.pause, 2 * l.pause} }

// before is the time of the next look, or that of the slice's end if it comes first.
func (l *looks) before(slice quantity.Nanoseconds) quantity.Nanoseconds {
	if l.next == 0 || l.next >= slice {
		*l = looks{}
		return slice
	}
	return l.next
}
