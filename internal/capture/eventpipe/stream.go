package eventpipe

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/clrprof/clrprof/internal/quantity"
)

// ErrFormat means that a stream is not nettrace of version 4, or is damaged.
var ErrFormat = errors.New("not a stream of events of version 4")

// Limits of a stream: one that says more is damaged.
const (
	maxName        = 64      // bytes of an object's name
	maxBlock       = 1 << 20 // bytes; the runtime writes 100 KiB, or one event, which has 64 KiB
	maxDefinitions = 20_000  // different events: a program has some hundred
	maxThreads     = 100_000 // that write events, between two sequence points
)

// Event is one of a stream.
type Event struct {
	Provider string
	Name     string // as the program named it, "" for the runtime's own
	ID       uint32
	Version  uint32
	Time     quantity.Nanoseconds // of the clock MONOTONIC
	Thread   uint64               // the operating system's id of the thread that wrote it
	Stack    []byte               // return addresses, the innermost first: see Addresses. Nil: none, or not asked for
	fields   []field
	payload  []byte
}

// Stream reads events. Those of a thread are in the order of time.
type Stream struct {
	in       *bufio.Reader
	offset   int64 // bytes read
	begun    bool
	ended    bool
	defs     map[uint32]*definition
	block    []byte // what is left of the block that is read
	header   blobHeader
	events   bool // the block has events; otherwise definitions
	lost     uint64
	sequence map[uint64]uint32 // of each thread's last event
	clock    clock
	head     Head
	stacks   *stacks // nil: stacks are skipped
}

// clock makes nanoseconds of a stream's ticks.
type clock struct{ frequency uint64 }

// blobHeader is the state of compressed headers: what one does not say is as in the one before, within a block.
type blobHeader struct {
	definition, sequence      uint32
	captureThread, threadID   uint64
	processor, stack, payload uint32
	time                      uint64
}

// Flags of a compressed header: what it says.
const (
	hasDefinition = 1 << iota
	hasSequence
	hasThread
	hasStack
	hasActivity
	hasRelated
	isSorted
	hasSize
)

// Tags of objects (FastSerialization).
const (
	tagNull      = 1
	tagBegin     = 5
	tagEnd       = 6
	idBytes      = 16 // of an activity
	compressed   = 1  // flag of a block
	blockHeader  = 4  // of a block of events: size and flags, then what the size says
	traceVersion = 4
)

const preamble = "Nettrace\x14\x00\x00\x00!FastSerialization.1"

// NewStream reads what a session sends.
func NewStream(r io.Reader) *Stream {
	return &Stream{in: bufio.NewReaderSize(r, 64<<10), defs: map[uint32]*definition{}, sequence: map[uint64]uint32{}}
}

// Lost is how many events are known to be missing so far: the runtime had no room for them.
func (s *Stream) Lost() uint64 { return s.lost }

// Next returns the next event, which is good until the next call. At the end of the stream the error is io.EOF; if
// the stream ends in the middle it is io.ErrUnexpectedEOF.
func (s *Stream) Next() (*Event, error) {
	for {
		for len(s.block) > 0 {
			e, err := s.blob()
			if err != nil || e != nil {
				return e, err
			}
		}
		if s.ended {
			return nil, io.EOF
		}
		if err := s.object(); err != nil {
			return nil, err
		}
	}
}

// read reads so many bytes.
func (s *Stream) read(b []byte) error {
	n, err := io.ReadFull(s.in, b)
	s.offset += int64(n)
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (s *Stream) uint32() (uint32, error) {
	var b [4]byte
	err := s.read(b[:])
	return binary.LittleEndian.Uint32(b[:]), err
}

// object reads the next object. Blocks of events and definitions are left to Next.
func (s *Stream) object() error {
	if !s.begun {
		b := make([]byte, len(preamble))
		if err := s.read(b); err != nil {
			return err
		}
		if string(b) != preamble {
			return fmt.Errorf("%w: it begins with %.30q", ErrFormat, b)
		}
		s.begun = true
	}
	var tag [3]byte
	if err := s.read(tag[:1]); err != nil {
		return err
	}
	if tag[0] == tagNull {
		s.ended = true
		return nil
	}
	if err := s.read(tag[1:]); err != nil {
		return err
	}
	if tag != [3]byte{tagBegin, tagBegin, tagNull} {
		return fmt.Errorf("%w: an object begins with % x", ErrFormat, tag)
	}
	name, version, err := s.objectType()
	if err != nil {
		return err
	}
	if name == "Trace" {
		err = s.trace(version)
	} else {
		err = s.sized(name)
	}
	if err == nil {
		err = s.read(tag[:1])
	}
	if err == nil && tag[0] != tagEnd {
		err = fmt.Errorf("%w: an object %q ends with %d", ErrFormat, name, tag[0])
	}
	return err
}

// objectType reads what an object is.
func (s *Stream) objectType() (name string, version uint32, err error) {
	var b [12]byte // version, least version of a reader, length of the name
	if err := s.read(b[:]); err != nil {
		return "", 0, err
	}
	n := binary.LittleEndian.Uint32(b[8:])
	if n > maxName {
		return "", 0, fmt.Errorf("%w: an object's name has %d bytes", ErrFormat, n)
	}
	text := make([]byte, n+1)
	if err := s.read(text); err != nil {
		return "", 0, err
	}
	if text[n] != tagEnd {
		return "", 0, fmt.Errorf("%w: the type %q ends with %d", ErrFormat, text[:n], text[n])
	}
	return string(text[:n]), binary.LittleEndian.Uint32(b[:]), nil
}

// trace reads what the stream says about itself.
func (s *Stream) trace(version uint32) error {
	var b [48]byte
	if err := s.read(b[:]); err != nil {
		return err
	}
	s.clock.frequency = binary.LittleEndian.Uint64(b[24:])
	if version != traceVersion || s.clock.frequency == 0 {
		return fmt.Errorf("%w: it has version %d and %d ticks a second", ErrFormat, version, s.clock.frequency)
	}
	return s.readHead(b[:])
}

// sized reads an object that says how long it is, and is padded to begin at a multiple of 4.
func (s *Stream) sized(name string) error {
	size, err := s.uint32()
	if err != nil {
		return err
	}
	if size > maxBlock {
		return fmt.Errorf("%w: an object %q of %d bytes", ErrFormat, name, size)
	}
	var padding [3]byte
	if err := s.read(padding[:(4-s.offset%4)%4]); err != nil {
		return err
	}
	body := make([]byte, size)
	if err := s.read(body); err != nil {
		return err
	}
	switch name {
	case "EventBlock", "MetadataBlock":
		s.events = name == "EventBlock"
		return s.beginBlock(body)
	case "SPBlock":
		s.stacks.forget()
		return s.sequencePoint(body)
	case "StackBlock":
		return s.stacks.add(body)
	}
	return nil // what later versions have
}

// beginBlock begins to read a block of events or definitions.
func (s *Stream) beginBlock(b []byte) error {
	if len(b) < blockHeader {
		return fmt.Errorf("%w: a block of %d bytes", ErrFormat, len(b))
	}
	size, flags := int(binary.LittleEndian.Uint16(b)), binary.LittleEndian.Uint16(b[2:])
	if size < blockHeader || size > len(b) || flags&compressed == 0 {
		return fmt.Errorf("%w: a block with a header of %d of %d bytes and flags %x", ErrFormat, size, len(b), flags)
	}
	s.block, s.header = b[size:], blobHeader{}
	return nil
}

// sequencePoint reads how many events each thread had written. Threads that are not in it have ended.
func (s *Stream) sequencePoint(b []byte) error {
	d := decoder{data: b}
	d.uint64() // time
	n := d.uint32()
	if n > maxThreads {
		return fmt.Errorf("%w: %d threads", ErrFormat, n)
	}
	now := make(map[uint64]uint32, min(int(n), len(b)/12))
	for range n {
		thread, sequence := d.uint64(), d.uint32()
		if d.failed {
			break
		}
		s.lost += missing(s.sequence[thread], sequence)
		now[thread] = max(sequence, s.sequence[thread])
	}
	if d.failed {
		return fmt.Errorf("%w: a sequence point is cut", ErrFormat)
	}
	s.sequence = now
	return nil
}

// missing is how many events a thread wrote after one, up to another one and with it.
func missing(last, now uint32) uint64 {
	if now <= last {
		return 0
	}
	return uint64(now - last)
}

// blob reads an event, or a definition, of which nothing is returned.
func (s *Stream) blob() (*Event, error) {
	d := decoder{data: s.block}
	h := &s.header
	flags := d.byte()
	h.read(&d, flags)
	if uint64(h.payload) > uint64(len(d.data)) || d.failed {
		return nil, fmt.Errorf("%w: an event of %d bytes is cut", ErrFormat, h.payload)
	}
	payload := d.data[:h.payload]
	s.block = d.data[h.payload:]
	if !s.events {
		return nil, s.define(payload)
	}
	return s.event(payload)
}

// read reads a compressed header.
func (h *blobHeader) read(d *decoder, flags byte) {
	if flags&hasDefinition != 0 {
		h.definition = d.varint32()
	}
	if flags&hasSequence != 0 {
		h.sequence += d.varint32() + 1
		h.captureThread = d.varint64()
		h.processor = d.varint32()
	} else if h.definition != 0 {
		h.sequence++
	}
	if flags&hasThread != 0 {
		h.threadID = d.varint64()
	}
	if flags&hasStack != 0 {
		h.stack = d.varint32()
	}
	h.time += d.varint64()
	if flags&hasActivity != 0 {
		d.skip(idBytes)
	}
	if flags&hasRelated != 0 {
		d.skip(idBytes)
	}
	if flags&hasSize != 0 {
		h.payload = d.varint32()
	}
}

func (s *Stream) event(payload []byte) (*Event, error) {
	h := &s.header
	def := s.defs[h.definition&^(1<<31)]
	if def == nil {
		return nil, fmt.Errorf("%w: event %d is not described", ErrFormat, h.definition)
	}
	if last, known := s.sequence[h.captureThread]; known || len(s.sequence) < maxThreads {
		if h.sequence > last {
			s.lost += uint64(h.sequence-last) - 1
		}
		s.sequence[h.captureThread] = max(h.sequence, last)
	}
	return &Event{Provider: def.provider, Name: def.name, ID: def.id, Version: def.version,
		Time: s.clock.nanoseconds(h.time), Thread: h.threadID, Stack: s.stacks.of(h.stack), fields: def.fields,
		payload: payload}, nil
}

// nanoseconds converts ticks, which are nanoseconds on Linux.
func (c *clock) nanoseconds(ticks uint64) quantity.Nanoseconds {
	const second = 1_000_000_000
	if c.frequency == 0 || c.frequency == second {
		return quantity.Nanoseconds(ticks & (1<<63 - 1))
	}
	whole, rest := ticks/c.frequency, ticks%c.frequency
	return quantity.Nanoseconds((whole*second + uint64(float64(rest)/float64(c.frequency)*second)) & (1<<63 - 1))
}
