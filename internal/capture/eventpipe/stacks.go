package eventpipe

import (
	"encoding/binary"
	"fmt"
	"iter"
	"time"

	"github.com/clrprof/clrprof/internal/quantity"
)

// Limits of the stacks of a stream.
const (
	addressBytes = 8         // clrprof knows processes of 64 bits
	maxStack     = 1 << 16   // bytes of one stack; the runtime keeps the innermost 100 addresses
	maxKept      = 256 << 20 // bytes of all stacks between two sequence points; the runtime makes one after 10 MB
)

// Head is what a stream says about itself.
type Head struct {
	Created time.Time            // on the clock of the machine that recorded
	Begin   quantity.Nanoseconds // the same moment on the clock MONOTONIC
	PID     int64
}

// Head returns what the stream says about itself, once the first event was read.
func (s *Stream) Head() Head { return s.head }

// readHead reads the body of the object Trace.
func (s *Stream) readHead(b []byte) error {
	d := decoder{data: b}
	var date [8]int // year, month, day of the week, day, hour, minute, second, millisecond
	for i := range date {
		date[i] = int(d.uint16())
	}
	s.head.Created = time.Date(date[0], time.Month(date[1]), date[3], date[4], date[5], date[6],
		date[7]*int(time.Millisecond), time.UTC)
	s.head.Begin = s.clock.nanoseconds(d.uint64())
	d.uint64() // ticks a second
	pointer := d.uint32()
	s.head.PID = int64(d.uint32())
	if s.stacks != nil && pointer != addressBytes {
		return fmt.Errorf("%w: its addresses have %d bytes, not 8", ErrFormat, pointer)
	}
	return nil
}

// KeepStacks gives the events that follow their stacks. By default stacks are skipped, because readers of counters need
// none.
func (s *Stream) KeepStacks() { s.stacks = &stacks{} }

// stacks are those since the last sequence point, at which their ids begin again.
type stacks struct {
	first uint32
	list  [][]byte
	bytes int
}

// add reads a block of stacks: the id of the first, how many, and each with its size.
func (k *stacks) add(b []byte) error {
	if k == nil {
		return nil
	}
	d := decoder{data: b}
	first, n := d.uint32(), d.uint32()
	switch {
	case d.failed:
		return fmt.Errorf("%w: a block of stacks of %d bytes", ErrFormat, len(b))
	case len(k.list) == 0:
		k.first = first
	case first != k.first+uint32(len(k.list)):
		return fmt.Errorf("%w: stack %d follows stack %d", ErrFormat, first, k.first+uint32(len(k.list))-1)
	}
	for range n {
		size := d.uint32()
		if size > maxStack || size%addressBytes != 0 {
			return fmt.Errorf("%w: a stack of %d bytes", ErrFormat, size)
		}
		stack := d.take(int(size))
		if d.failed {
			return fmt.Errorf("%w: a block of stacks is cut", ErrFormat)
		}
		if k.bytes += len(stack) + addressBytes; k.bytes > maxKept {
			return fmt.Errorf("%w: more than %d bytes of stacks without a sequence point", ErrFormat, maxKept)
		}
		k.list = append(k.list, stack)
	}
	return nil
}

// forget forgets all stacks.
func (k *stacks) forget() {
	if k != nil {
		*k = stacks{}
	}
}

// of returns the stack with an id; nil: there is none.
func (k *stacks) of(id uint32) []byte {
	if k == nil || len(k.list) == 0 || id-k.first >= uint32(len(k.list)) {
		return nil
	}
	return k.list[id-k.first]
}

// Addresses are the return addresses of a stack, the outermost first.
func Addresses(stack []byte) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for at := len(stack) - addressBytes; at >= 0; at -= addressBytes {
			if !yield(binary.LittleEndian.Uint64(stack[at:])) {
				return
			}
		}
	}
}
