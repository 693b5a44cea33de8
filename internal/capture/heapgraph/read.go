package heapgraph

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
)

// ErrCorrupt means that the bytes are not a snapshot, or contradict themselves.
var ErrCorrupt = errors.New("corrupt snapshot of the heap")

// ErrIncomplete means that the snapshot was not written to its end: the disk was full, or the process was killed.
var ErrIncomplete = errors.New("incomplete snapshot of the heap")

const (
	magic    = "CLRHEAP\x00"
	complete = "COMPLETE"

	// version is of what agents write now; oldest has no static fields.
	version = 2
	oldest  = 1

	// maxObjects and maxReferences keep indices in 32 bits, with one object more for the root above all.
	maxObjects    = math.MaxInt32 - 1
	maxReferences = math.MaxUint32

	// maxObjectBytes is more than the size of any object (2^31 elements of 1 KiB); sums of sizes must not overflow.
	maxObjectBytes = 1 << 41
	maxHeapBytes   = 1 << 60

	bufferBytes = 1 << 20

	// maxName is more than the UTF-16 characters of any name: the agent cuts them earlier.
	maxName = 1 << 16
)

// Flags and kinds of roots, as in COR_PRF_GC_ROOT_FLAGS and COR_PRF_GC_ROOT_KIND.
const (
	flagWeak      = 2
	kindStack     = 1
	kindFinalizer = 2
)

// Root is a root's reference to an object.
type Root struct {
	Object   int32 // index, -1: not in the snapshot
	Kind     uint32
	Flags    uint32
	Function uint32 // of the arena, whose frame the reference is in; 0: not known, or no frame
}

// Static is a static field of a class that holds an object.
type Static struct {
	Holder int32 // the object that its place is in, an array of the runtime's; -1: not known
	Object int32 // what it holds
	Type   uint32
	Field  uint32 // token
	Name   string // in metadata

	OfThread bool // each thread has its own
}

// Heap is a snapshot. Objects are numbered from 0 in the order of their addresses; the slices have one element for
// each.
type Heap struct {
	GC      uint32 // number of the collection after which it was taken
	Address []uint64
	Size    []uint64 // bytes
	Type    []uint32 // of the arena
	Site    []uint32 // index in the arena plus 1; 0: none, the object is frozen
	Born    []uint32 // number of the last collection before its birth
	Roots   []Root   // in the order of the file
	Outside int      // references, dependent handles and roots to addresses without an object

	Statics        []Static // by object, holder, type and field
	StaticsLeftOut uint64   // classes whose static fields were not looked at

	first      []uint32 // the references of object i are target[first[i]:first[i+1]]
	target     []int32
	dependents [][2]int32 // key and value of each dependent handle
}

// References returns the objects that object i refers to, dependent handles last.
func (h *Heap) References(i int32) []int32 { return h.target[h.first[i]:h.first[i+1]] }

// find returns the index of the object at an address, or -1.
func (h *Heap) find(address uint64) int32 {
	i, ok := slices.BinarySearch(h.Address, address)
	if !ok {
		return -1
	}
	return int32(i)
}

// Read reads a snapshot of size bytes. It reads the objects twice: first where they are, then what they refer to.
func Read(r io.ReaderAt, size int64) (*Heap, error) {
	h := &Heap{}
	in := newInput(r, 0, size)
	if in.text(8) != magic {
		return nil, in.fail("magic")
	}
	made := in.u32()
	if made < oldest || made > version {
		return nil, in.fail("version %d", made)
	}
	h.GC = in.u32()
	order, counts := h.readObjects(in)
	if in.err != nil {
		return nil, in.err
	}
	dependents := h.readDependents(in)
	h.readRoots(in)
	h.readSites(in)
	var statics []place
	if made >= 2 {
		statics = h.readStatics(in)
	}
	if in.err == nil && in.text(8) != complete {
		return nil, in.fail("its end")
	}
	if in.err != nil {
		return nil, in.err
	}
	if err := h.layOut(counts, dependents); err != nil {
		return nil, err
	}
	again := newInput(r, 16, size)
	h.readReferences(again, order, dependents)
	h.dependents = dependents
	if again.err == nil {
		h.placeStatics(statics)
	}
	return h, again.err
}

// readObjects reads all objects but their references. Order is the index of each object of the file (nil: they are
// in the order of their addresses); counts is how many references each object has, by index.
func (h *Heap) readObjects(in *input) (order []int32, counts []uint32) {
	for sum := uint64(0); ; {
		address := in.u64()
		size, typ, n := in.u64(), in.u32(), in.u32()
		if in.err != nil || address == 0 {
			break
		}
		if sum += size; size > maxObjectBytes || sum > maxHeapBytes || len(h.Address) == maxObjects {
			in.fail("object %d of %d bytes", len(h.Address), size)
			break
		}
		in.skip(int64(n) * 8)
		h.Address, h.Size, h.Type = append(h.Address, address), append(h.Size, size), append(h.Type, typ)
		counts = append(counts, n)
	}
	if in.err != nil {
		return nil, nil
	}
	if !slices.IsSorted(h.Address) {
		order, counts = h.sort(counts)
	}
	for i := 1; i < len(h.Address); i++ {
		if h.Address[i-1] == h.Address[i] {
			in.fail("two objects at %#x", h.Address[i])
		}
	}
	return order, counts
}

// sort puts the objects in the order of their addresses.
func (h *Heap) sort(counts []uint32) (order []int32, sorted []uint32) {
	by := make([]int32, len(h.Address)) // by[i] is where in the file object i is
	for i := range by {
		by[i] = int32(i)
	}
	slices.SortFunc(by, func(a, b int32) int { return cmp.Compare(h.Address[a], h.Address[b]) })
	h.Address, h.Size, h.Type = permute(h.Address, by), permute(h.Size, by), permute(h.Type, by)
	sorted = permute(counts, by)
	order = make([]int32, len(by))
	for i, at := range by {
		order[at] = int32(i)
	}
	return order, sorted
}

func permute[T any](values []T, by []int32) []T {
	out := make([]T, len(values))
	for i, at := range by {
		out[i] = values[at]
	}
	return out
}

// readDependents returns the dependent handles, key and value, in the order of the keys.
func (h *Heap) readDependents(in *input) [][2]int32 {
	var out [][2]int32
	for {
		key, value := in.u64(), in.u64()
		if in.err != nil || key == 0 {
			break
		}
		pair := [2]int32{h.find(key), h.find(value)}
		switch {
		case value == 0: // the handle has no value yet
		case pair[0] < 0 || pair[1] < 0:
			h.Outside++
		default:
			out = append(out, pair)
		}
	}
	slices.SortFunc(out, func(a, b [2]int32) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	return out
}

func (h *Heap) readRoots(in *input) {
	for {
		object := in.u64()
		root := Root{Object: h.find(object), Kind: in.u32(), Flags: in.u32(), Function: in.u32()}
		in.u32()
		if in.err != nil || object == 0 {
			return
		}
		if root.Object < 0 {
			h.Outside++
		}
		h.Roots = append(h.Roots, root)
	}
}

func (h *Heap) readSites(in *input) {
	h.Site, h.Born = make([]uint32, len(h.Address)), make([]uint32, len(h.Address))
	for {
		address := in.u64()
		site, born := in.u32(), in.u32()
		if in.err != nil || address == 0 {
			return
		}
		if i := h.find(address); i >= 0 {
			h.Site[i], h.Born[i] = site, born
		}
	}
}

// layOut makes room for the references: first[i] is where those of object i begin. A reference to no object leaves
// a gap of -1, which close removes.
func (h *Heap) layOut(counts []uint32, dependents [][2]int32) error {
	total := uint64(len(dependents))
	for _, n := range counts {
		total += uint64(n)
	}
	if total > maxReferences {
		return fmt.Errorf("%w: %d references", ErrCorrupt, total)
	}
	h.first, h.target = make([]uint32, len(counts)+1), make([]int32, total)
	for i, n := range counts {
		h.first[i+1] = n
	}
	for _, d := range dependents {
		h.first[d[0]+1]++
	}
	for i := range counts {
		h.first[i+1] += h.first[i]
	}
	return nil
}

// readReferences reads the objects again, for what they refer to.
func (h *Heap) readReferences(in *input, order []int32, dependents [][2]int32) {
	for at := range h.Address {
		in.skip(20)
		n, i := in.u32(), at
		if order != nil {
			i = int(order[at])
		}
		to := h.first[i]
		if in.err != nil || n > h.first[i+1]-to {
			in.fail("it changed while it was read")
			return
		}
		for range n {
			address := in.u64()
			h.target[to] = h.find(address)
			if h.target[to] < 0 && address != 0 {
				h.Outside++
			}
			to++
		}
	}
	for at := 0; at < len(dependents); { // they are the last of each object's
		key, n := dependents[at][0], at
		for n < len(dependents) && dependents[n][0] == key {
			n++
		}
		for to := h.first[key+1] - uint32(n-at); at < n; at++ {
			h.target[to] = dependents[at][1]
			to++
		}
	}
	h.close()
}

// close removes the gaps.
func (h *Heap) close() {
	to := uint32(0)
	for i := range h.Address {
		from := h.first[i]
		h.first[i] = to
		for ; from < h.first[i+1]; from++ {
			if h.target[from] >= 0 {
				h.target[to] = h.target[from]
				to++
			}
		}
	}
	h.first[len(h.Address)] = to
	h.target = h.target[:to]
}

// input reads little-endian numbers from a span of a file. After an error all are 0.
type input struct {
	r    *bufio.Reader
	left int64
	err  error
}

func newInput(r io.ReaderAt, from, size int64) *input {
	left := max(0, size-from)
	return &input{r: bufio.NewReaderSize(io.NewSectionReader(r, from, left), int(min(left, bufferBytes))), left: left}
}

func (in *input) fail(format string, args ...any) error {
	if in.err == nil {
		in.err = fmt.Errorf("%w: "+format, append([]any{ErrCorrupt}, args...)...)
	}
	return in.err
}

// bytes returns the next n bytes, at most 8, which stay valid until the next call.
func (in *input) bytes(n int) []byte {
	var zero [8]byte
	if in.err == nil && in.left < int64(n) {
		in.err = ErrIncomplete
	}
	if in.err != nil {
		return zero[:n]
	}
	b, err := in.r.Peek(n)
	if err != nil {
		in.err = fmt.Errorf("read a snapshot of the heap: %w", err)
		return zero[:n]
	}
	in.r.Discard(n) // cannot fail: Peek had them
	in.left -= int64(n)
	return b
}

func (in *input) u32() uint32 { return binary.LittleEndian.Uint32(in.bytes(4)) }
func (in *input) u64() uint64 { return binary.LittleEndian.Uint64(in.bytes(8)) }

func (in *input) text(n int) string { return string(in.bytes(n)) }

func (in *input) skip(n int64) {
	if in.err == nil && in.left < n {
		in.err = ErrIncomplete
	}
	for in.err == nil && n > 0 {
		part := min(n, bufferBytes)
		if _, err := in.r.Discard(int(part)); err != nil {
			in.err = fmt.Errorf("read a snapshot of the heap: %w", err)
		}
		n -= part
		in.left -= part
	}
}
