package calltrace

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/clrprof/clrprof/internal/wire"
)

// ErrCorrupt means that a file is no store, or a damaged one.
var ErrCorrupt = errors.New("no valid file of events")

// EventSize is how many bytes an event takes in a store.
const EventSize = 16

// Key says which process an event is of: ids of processes come again.
type Key struct {
	PID   uint32
	Start uint64 // when the agent was loaded, on CLOCK_MONOTONIC
}

// Block is what is known of some events of one thread.
type Block struct {
	Process Key
	Head    wire.TraceChunkHead // State is 0
	at      int64               // of the events in the file
}

// The file begins with magic; each block with blockMagic and the fields of Block. All numbers are little-endian.
const (
	magic      = "CLRPTRC1"
	blockMagic = 0x4B4C4254 // "TBLK"
	headSize   = 64
)

// Store is a file of events. It is used by one goroutine.
type Store struct {
	file    *os.File
	size    int64 // of the file
	max     int64 // bytes of events
	events  int64
	blocks  []Block
	known   map[chunkKey]bool
	dropped Lost
	of      map[Key]uint64 // dropped, by process
	err     error          // of a write: nothing is written any more
}

// chunkKey is a chunk of an agent's memory, each time that it is used.
type chunkKey struct {
	Key
	sequence uint64
}

// Lost counts events that are not there.
type Lost struct {
	Events uint64
	Limit  bool  // for want of room in the store
	Err    error // or because it could not be written
}

// Create makes an empty store for at most max bytes of events. The file must not exist.
func Create(path string, max int64) (*Store, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if _, err := f.WriteString(magic); err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(path))
	}
	return &Store{file: f, size: int64(len(magic)), max: max, known: map[chunkKey]bool{}, of: map[Key]uint64{}}, nil
}

// Open opens the store that a writer left which was killed; a block that it did not finish is cut off. More may be
// added.
func Open(path string) (*Store, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	s := &Store{file: f, max: 1<<63 - 1, known: map[chunkKey]bool{}, of: map[Key]uint64{}}
	if err := s.readBlocks(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	return s, nil
}

func (s *Store) readBlocks() error {
	st, err := s.file.Stat()
	if err != nil {
		return err
	}
	head := make([]byte, headSize)
	if _, err := s.file.ReadAt(head[:len(magic)], 0); err != nil || string(head[:len(magic)]) != magic {
		return ErrCorrupt
	}
	for s.size = int64(len(magic)); s.size+headSize <= st.Size(); {
		if _, err := s.file.ReadAt(head, s.size); err != nil {
			return err
		}
		b, ok := decodeHead(head)
		if !ok {
			return fmt.Errorf("%w: at %d", ErrCorrupt, s.size)
		}
		b.at = s.size + headSize
		if b.at+b.bytes() > st.Size() {
			break
		}
		s.keep(b)
	}
	return s.file.Truncate(s.size)
}

func (b *Block) bytes() int64 { return int64(b.Head.Used) * EventSize }

func (s *Store) keep(b Block) {
	s.size = b.at + b.bytes()
	s.events += int64(b.Head.Used)
	s.blocks = append(s.blocks, b)
	s.known[chunkKey{b.Process, b.Head.Sequence}] = true
}

func encodeHead(b *Block) []byte {
	e := binary.LittleEndian
	out := e.AppendUint32(make([]byte, 0, headSize), blockMagic)
	out = e.AppendUint32(out, b.Process.PID)
	out = e.AppendUint64(out, b.Process.Start)
	out = e.AppendUint32(out, b.Head.Thread)
	out = e.AppendUint32(out, b.Head.Used)
	out = e.AppendUint32(out, b.Head.Kept)
	out = e.AppendUint32(out, 0)
	out = e.AppendUint64(out, b.Head.Sequence)
	out = e.AppendUint64(out, b.Head.Lost)
	out = e.AppendUint64(out, b.Head.LostTicks)
	return e.AppendUint64(out, 0)
}

func decodeHead(b []byte) (Block, bool) {
	e := binary.LittleEndian
	out := Block{Process: Key{e.Uint32(b[4:]), e.Uint64(b[8:])},
		Head: wire.TraceChunkHead{Thread: e.Uint32(b[16:]), Used: e.Uint32(b[20:]), Kept: e.Uint32(b[24:]),
			Sequence: e.Uint64(b[32:]), Lost: e.Uint64(b[40:]), LostTicks: e.Uint64(b[48:])}}
	return out, e.Uint32(b) == blockMagic && out.Head.Used <= wire.TraceChunkEvents
}

// Add appends the events of a chunk, unless they are there. What there is no room for is dropped, and from then on all
// else: a trace ends where it is full. So it is after an error of the file, which Dropped tells.
func (s *Store) Add(process Key, head wire.TraceChunkHead, events []byte) {
	if head.Used == 0 || s.known[chunkKey{process, head.Sequence}] {
		return
	}
	b := Block{Process: process, Head: head}
	b.Head.State = 0
	room := max(0, s.max/EventSize-s.events)
	if s.err == nil && s.dropped.Events == 0 && room > 0 {
		b.Head.Used = uint32(min(room, int64(head.Used)))
		if s.err = s.write(&b, events[:b.bytes()]); s.err == nil {
			s.keep(b)
			head.Used -= b.Head.Used
		}
	}
	if head.Used > 0 {
		s.dropped.Events += uint64(head.Used)
		s.of[process] += uint64(head.Used)
		s.dropped.Limit, s.dropped.Err = s.err == nil, s.err
	}
}

func (s *Store) write(b *Block, events []byte) error {
	if _, err := s.file.WriteAt(encodeHead(b), s.size); err != nil {
		return err
	}
	b.at = s.size + headSize
	_, err := s.file.WriteAt(events, b.at)
	return err
}

// Full says that nothing that is added will be kept.
func (s *Store) Full() bool { return s.dropped.Events > 0 }

// Dropped says what was not kept.
func (s *Store) Dropped() Lost { return s.dropped }

// DroppedOf is how many events of a process were not kept.
func (s *Store) DroppedOf(process Key) uint64 { return s.of[process] }

// Path is the name of the file.
func (s *Store) Path() string { return s.file.Name() }

// Events is how many are kept.
func (s *Store) Events() int64 { return s.events }

// Close closes the file.
func (s *Store) Close() error { return s.file.Close() }

// ordered returns the blocks of each thread one after the other, in their order.
func (s *Store) ordered() []Block {
	out := slices.Clone(s.blocks)
	slices.SortFunc(out, func(a, b Block) int {
		return cmp.Or(cmp.Compare(a.Process.Start, b.Process.Start), cmp.Compare(a.Process.PID, b.Process.PID),
			cmp.Compare(a.Head.Thread, b.Head.Thread), cmp.Compare(a.Head.Sequence, b.Head.Sequence))
	})
	return out
}

// read reads some events of a block.
func (s *Store) read(b *Block, from int, to []byte) (int, error) {
	n := min(int64(len(to)), b.bytes()-int64(from)*EventSize)
	if n <= 0 {
		return 0, io.EOF
	}
	_, err := s.file.ReadAt(to[:n], b.at+int64(from)*EventSize)
	return int(n / EventSize), err
}
