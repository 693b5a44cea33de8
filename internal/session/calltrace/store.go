package calltrace

import (
	"cmp"
	"container/heap"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/clrprof/clrprof/internal/wire"
)

// errCorrupt means that a file is no store, or a damaged one.
var errCorrupt = errors.New("no valid file of events")

// EventSize is how many bytes an event takes in a store.
const EventSize = 16

// Key says which process an event is of: ids of processes come again.
type Key struct {
	PID   uint32
	Start uint64 // when the agent was loaded, on CLOCK_MONOTONIC
}

// Keep says which events a store keeps when there are more than it has room for.
type Keep uint32

// The ways to keep events.
const (
	First Keep = iota // a store that is full takes nothing any more
	Last              // the block whose events are the oldest makes room for the next one
)

// block is what is known of some events of one thread.
type block struct {
	Process Key
	Head    wire.TraceChunkHead // State is 0
	before  before
	last    uint64 // ticks of the last event: not less than that of the thread's block before it
	at      int64  // of the events in the file
}

// before counts the events that came to the store before a block, kept or not.
type before struct {
	thread, process, all uint64
}

// The file begins with magic and a Keep; each block with blockMagic and the fields of block. All numbers are
// little-endian. A store that keeps the last events has places of one size for its blocks.
const (
	magic      = "CLRPTRC2"
	firstBlock = 128
	blockMagic = 0x4B4C4254 // "TBLK"
	headSize   = 96
	placeBytes = wire.TraceChunkEvents * EventSize                            // of events in a place
	placeSize  = (headSize + placeBytes + firstBlock - 1) &^ (firstBlock - 1) // so no head crosses a page
)

// Store is a file of events. It is used by one goroutine.
type Store struct {
	file    *os.File
	keeps   Keep
	size    int64 // of the file
	max     int64 // bytes of events
	events  int64
	blocks  []block // of one that keeps the last events: a heap, that with the oldest first
	known   map[chunkKey]bool
	dropped Lost
	of      map[Key]uint64 // dropped, by process
	came    counts
	err     error // of a write: nothing is written any more
}

// counts are the events that ever came to a store.
type counts struct {
	threads   map[threadKey]threadCount
	processes map[Key]uint64
	all       uint64
}

type threadKey struct {
	Key
	thread uint32
}

// threadCount is what is known of a thread's events, kept or not.
type threadCount struct {
	events, last uint64 // how many; ticks of the last one
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
	First  bool  // they are the first ones, and those that came later are there
	Err    error // or because it could not be written
}

func emptyStore(f *os.File, max int64, keeps Keep) *Store {
	return &Store{file: f, keeps: keeps, size: firstBlock, max: max, known: map[chunkKey]bool{}, of: map[Key]uint64{},
		came: counts{threads: map[threadKey]threadCount{}, processes: map[Key]uint64{}}}
}

// Create makes an empty store for at most max bytes of events. The file must not exist. One that keeps the last events
// has room for whole chunks (wire.TraceChunk), for one at least.
func Create(path string, max int64, keeps Keep) (*Store, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	head := binary.LittleEndian.AppendUint32([]byte(magic), uint32(keeps))
	if _, err := f.Write(append(head, make([]byte, firstBlock-len(head))...)); err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(path))
	}
	return emptyStore(f, max, keeps), nil
}

// Open opens the store that a writer left which was killed; a block that it did not finish is cut off. More may be
// added: of one that keeps the last events so many as there were.
func Open(path string) (*Store, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	s, err := readStore(f)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	return s, nil
}

func readStore(f *os.File) (*Store, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	head := make([]byte, firstBlock)
	if _, err := f.ReadAt(head[:firstBlock], 0); err != nil || string(head[:len(magic)]) != magic {
		return nil, errCorrupt
	}
	s := emptyStore(f, 1<<63-1, Keep(binary.LittleEndian.Uint32(head[len(magic):])))
	if s.keeps == Last {
		return s, s.readPlaces(head[:headSize], st.Size())
	} else if s.keeps != First {
		return nil, fmt.Errorf("%w: it keeps %d", errCorrupt, s.keeps)
	}
	for s.size+headSize <= st.Size() {
		b, err := s.readHead(head[:headSize], s.size)
		if err != nil {
			return nil, err
		}
		if b.at+b.bytes() > st.Size() {
			break
		}
		s.size = b.at + b.bytes()
		s.keep(b)
	}
	if err := s.recount(); err != nil {
		return nil, err
	}
	return s, f.Truncate(s.size)
}

func (s *Store) readHead(head []byte, at int64) (block, error) {
	if _, err := s.file.ReadAt(head, at); err != nil {
		return block{}, err
	}
	b, ok := decodeHead(head)
	if !ok {
		return b, fmt.Errorf("%w: at %d", errCorrupt, at)
	}
	b.at = at + headSize
	return b, nil
}

// readPlaces reads the blocks of a store that keeps the last events. A place without any was being written.
func (s *Store) readPlaces(head []byte, size int64) error {
	for ; s.size+placeSize <= size; s.size += placeSize {
		b, err := s.readHead(head[:headSize], s.size)
		if err != nil {
			return err
		}
		s.keep(b)
	}
	s.max = max(1, (s.size-firstBlock)/placeSize) * placeBytes
	heap.Init((*oldestFirst)(&s.blocks))
	return s.recount()
}

// recount finds out from the blocks how many events ever came.
func (s *Store) recount() error {
	for _, b := range s.blocks {
		used := uint64(b.Head.Used)
		if used == 0 {
			continue
		}
		key := threadKey{b.Process, b.Head.Thread}
		t := s.came.threads[key]
		s.came.threads[key] = threadCount{max(t.events, b.before.thread+used), max(t.last, b.last)}
		s.came.processes[b.Process] = max(s.came.processes[b.Process], b.before.process+used)
		s.came.all = max(s.came.all, b.before.all+used)
	}
	maps.Copy(s.of, s.came.processes)
	for _, b := range s.blocks {
		s.of[b.Process] -= uint64(b.Head.Used)
	}
	if s.came.all < uint64(s.events) || s.keeps == First && s.came.all > uint64(s.events) {
		return fmt.Errorf("%w: %d events, of %d that came", errCorrupt, s.events, s.came.all)
	}
	if n := s.came.all - uint64(s.events); n > 0 {
		s.dropped = Lost{Events: n, Limit: true, First: true}
	}
	return nil
}

func (b *block) bytes() int64 { return int64(b.Head.Used) * EventSize }

func (s *Store) keep(b block) {
	s.events += int64(b.Head.Used)
	s.blocks = append(s.blocks, b)
	if b.Head.Used > 0 {
		s.known[chunkKey{b.Process, b.Head.Sequence}] = true
	}
}

func encodeHead(b *block) []byte {
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
	out = e.AppendUint64(out, b.before.thread)
	out = e.AppendUint64(out, b.before.process)
	out = e.AppendUint64(out, b.before.all)
	out = e.AppendUint64(out, b.last)
	return e.AppendUint64(out, 0)
}

func decodeHead(b []byte) (block, bool) {
	e := binary.LittleEndian
	out := block{Process: Key{e.Uint32(b[4:]), e.Uint64(b[8:])},
		Head: wire.TraceChunkHead{Thread: e.Uint32(b[16:]), Used: e.Uint32(b[20:]), Kept: e.Uint32(b[24:]),
			Sequence: e.Uint64(b[32:]), Lost: e.Uint64(b[40:]), LostTicks: e.Uint64(b[48:])},
		before: before{e.Uint64(b[56:]), e.Uint64(b[64:]), e.Uint64(b[72:])}, last: e.Uint64(b[80:])}
	return out, e.Uint32(b) == blockMagic && out.Head.Used <= wire.TraceChunkEvents
}

// Add appends the events of a chunk, unless they are there. Those of a thread come in their order. What there is no
// room for is dropped; a store that keeps the first events then ends. So does any after an error of the file, which
// Dropped tells.
func (s *Store) Add(process Key, head wire.TraceChunkHead, events []byte) {
	if head.Used == 0 || s.known[chunkKey{process, head.Sequence}] {
		return
	}
	b := block{Process: process, Head: head}
	b.Head.State = 0
	s.count(&b, events)
	switch {
	case s.err != nil:
	case s.keeps == Last:
		s.addLast(b, events)
		return
	case s.dropped.Events == 0:
		head.Used -= s.addFirst(b, events)
	}
	s.drop(process, head.Used)
}

// count notes that the events of a block have come.
func (s *Store) count(b *block, events []byte) {
	key, used := threadKey{b.Process, b.Head.Thread}, uint64(b.Head.Used)
	t := s.came.threads[key]
	b.before = before{t.events, s.came.processes[b.Process], s.came.all}
	b.last = max(t.last, decodeEvent(events[(used-1)*EventSize:]).Ticks)
	s.came.threads[key] = threadCount{t.events + used, b.last}
	s.came.processes[b.Process] += used
	s.came.all += used
}

// drop counts events that are not kept.
func (s *Store) drop(process Key, events uint32) {
	if events == 0 {
		return
	}
	s.dropped.Events += uint64(events)
	s.of[process] += uint64(events)
	s.dropped.Limit, s.dropped.Err = s.err == nil, s.err
	s.dropped.First = s.err == nil && s.keeps == Last
}

// addFirst keeps so many of the events as there is room for, and returns how many.
func (s *Store) addFirst(b block, events []byte) uint32 {
	b.Head.Used = uint32(min(max(0, s.max/EventSize-s.events), int64(b.Head.Used)))
	if b.Head.Used == 0 {
		return 0
	}
	if s.err = s.write(&b, s.size, events[:b.bytes()]); s.err != nil {
		return 0
	}
	s.size = b.at + b.bytes()
	s.keep(b)
	return b.Head.Used
}

// addLast keeps the events if they are not older than all that is there, in the place of the oldest block if there is
// no other one.
func (s *Store) addLast(b block, events []byte) {
	blocks, at := (*oldestFirst)(&s.blocks), s.size
	if int64(len(s.blocks)) >= max(1, s.max/placeBytes) {
		oldest := s.blocks[0]
		if compareAges(&b, &oldest) < 0 {
			s.drop(b.Process, b.Head.Used)
			return
		}
		heap.Pop(blocks)
		delete(s.known, chunkKey{oldest.Process, oldest.Head.Sequence})
		s.events -= int64(oldest.Head.Used)
		s.drop(oldest.Process, oldest.Head.Used)
		at = oldest.at - headSize
	}
	if s.err = s.write(&b, at, events); s.err != nil {
		s.drop(b.Process, b.Head.Used)
		return
	}
	s.size = max(s.size, at+placeSize)
	s.keep(b)
	heap.Fix(blocks, len(s.blocks)-1)
}

// write writes a block at a place of the file. Who is killed meanwhile leaves one without events.
func (s *Store) write(b *block, at int64, events []byte) error {
	b.at = at + headSize
	if s.keeps == Last {
		_, err := s.file.WriteAt(encodeHead(&block{}), at)
		if err == nil {
			_, err = s.file.WriteAt(slices.Concat(events, make([]byte, placeSize-headSize-len(events))), b.at)
		}
		if err == nil {
			_, err = s.file.WriteAt(encodeHead(b), at)
		}
		return err
	}
	if _, err := s.file.WriteAt(encodeHead(b), at); err != nil {
		return err
	}
	_, err := s.file.WriteAt(events, b.at)
	return err
}

// Full says that nothing that is added will be kept.
func (s *Store) Full() bool { return s.err != nil || s.keeps == First && s.dropped.Events > 0 }

// Limit is how many events there is room for.
func (s *Store) Limit() int64 {
	if s.keeps == Last {
		return max(1, s.max/placeBytes) * wire.TraceChunkEvents
	}
	return s.max / EventSize
}

// Keeps says which events it keeps.
func (s *Store) Keeps() Keep { return s.keeps }

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
func (s *Store) ordered() []block {
	out := slices.DeleteFunc(slices.Clone(s.blocks), func(b block) bool { return b.Head.Used == 0 })
	slices.SortFunc(out, func(a, b block) int {
		return cmp.Or(cmp.Compare(a.Process.Start, b.Process.Start), cmp.Compare(a.Process.PID, b.Process.PID),
			cmp.Compare(a.Head.Thread, b.Head.Thread), cmp.Compare(a.Head.Sequence, b.Head.Sequence))
	})
	return out
}

// read reads some events of a block.
func (s *Store) read(b *block, from int, to []byte) (int, error) {
	n := min(int64(len(to)), b.bytes()-int64(from)*EventSize)
	if n <= 0 {
		return 0, io.EOF
	}
	_, err := s.file.ReadAt(to[:n], b.at+int64(from)*EventSize)
	return int(n / EventSize), err
}

// compareAges compares the blocks by their last events. Those of a thread are in their order.
func compareAges(a, b *block) int {
	return cmp.Or(cmp.Compare(a.last, b.last), cmp.Compare(a.Process.Start, b.Process.Start),
		cmp.Compare(a.Process.PID, b.Process.PID), cmp.Compare(a.Head.Sequence, b.Head.Sequence))
}

// oldestFirst is a heap of blocks.
type oldestFirst []block

// Len returns how many there are.
func (q oldestFirst) Len() int { return len(q) }

// Less compares two.
func (q oldestFirst) Less(i, j int) bool { return compareAges(&q[i], &q[j]) < 0 }

// Swap swaps two.
func (q oldestFirst) Swap(i, j int) { q[i], q[j] = q[j], q[i] }

// Push adds one.
func (q *oldestFirst) Push(x any) { *q = append(*q, x.(block)) }

// Pop removes the last.
func (q *oldestFirst) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}
