package heap

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// An encoded recording is the magic and one event after the other: a byte that says which, and its fields as unsigned
// varints (LEB128). Addresses are written as the difference to the last address of the same role, zigzag encoded, since
// neighbours are near; a flag, or one row's generation, is a number like any other. A recording ends with its End.
const magic = "clrheap1"

// The kinds of events in the encoding. agent/test/replay.c and agent/test/oracle.c know them too.
const (
	kindAlloc      = 1 // address, bytes, site
	kindFrozen     = 2 // address, bytes, site
	kindPending    = 3 // address, bytes, thread
	kindAttributed = 4 // thread, site
	kindGCStart    = 5 // collected, flags: 1 induced, 2 final, 4 asked; bounds
	kindMoved      = 6 // number of ranges, each: from, to, length
	kindSurvived   = 7 // number of ranges, each: from, length
	kindGCEnd      = 8 // ns, bounds
	kindEnd        = 9
)

// maxRows bounds the ranges of one batch and the bounds of one collection. The runtime gives 512 ranges at a time; 2²⁰
// regions of 4 MiB are a heap of 4 TiB.
const maxRows = 1 << 20

// errEncoding is wrapped by every error of a Reader but those of its source.
var errEncoding = errors.New("not a recording")

// errUnencodable says that an event has two meanings at once.
var errUnencodable = errors.New("an object is frozen, or has a site, or waits for one")

// addresses are the last ones of each role; From of ranges and Start of bounds have their own.
type addresses struct{ alloc, from, to, start uint64 }

// Writer encodes a recording. The first error sticks and is what Flush returns.
type Writer struct {
	w    *bufio.Writer
	last addresses
	buf  []byte
	err  error
}

// NewWriter begins a recording.
func NewWriter(w io.Writer) *Writer {
	out := &Writer{w: bufio.NewWriterSize(w, 1<<16)}
	_, out.err = out.w.WriteString(magic)
	return out
}

// Flush writes what is buffered.
func (w *Writer) Flush() error {
	if w.err == nil {
		w.err = w.w.Flush()
	}
	if w.err != nil {
		return fmt.Errorf("write recording: %w", w.err)
	}
	return nil
}

// Write adds one event.
func (w *Writer) Write(e Event) {
	w.buf = w.buf[:0]
	switch e := e.(type) {
	case Alloc:
		w.alloc(e)
	case Attributed:
		w.kind(kindAttributed).number(uint64(e.Thread)).number(uint64(e.Site))
	case GCStart:
		w.kind(kindGCStart).number(uint64(e.Collected)).number(
			flag(e.Induced) | flag(e.Final)<<1 | flag(e.Asked)<<2).bounds(e.Bounds)
	case Moved:
		w.kind(kindMoved).ranges(e.Ranges, true)
	case Survived:
		w.kind(kindSurvived).ranges(e.Ranges, false)
	case GCEnd:
		w.kind(kindGCEnd).number(e.NS).bounds(e.Bounds)
	case End:
		w.kind(kindEnd)
	}
	if w.err == nil {
		_, w.err = w.w.Write(w.buf)
	}
}

func (w *Writer) alloc(a Alloc) {
	kind, who := byte(kindAlloc), a.Site
	switch {
	case a.Thread != 0 && (a.Site != 0 || a.Frozen) || a.Thread == 0 && a.Site == 0:
		w.fail(errUnencodable)
	case a.Frozen:
		kind = kindFrozen
	case a.Thread != 0:
		kind, who = kindPending, a.Thread
	}
	w.kind(kind).address(&w.last.alloc, a.Address).number(a.Bytes).number(uint64(who))
}

func (w *Writer) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

func flag(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

func (w *Writer) kind(k byte) *Writer {
	w.buf = append(w.buf, k)
	return w
}

func (w *Writer) number(n uint64) *Writer {
	w.buf = binary.AppendUvarint(w.buf, n)
	return w
}

func (w *Writer) address(last *uint64, a uint64) *Writer {
	w.buf = binary.AppendVarint(w.buf, int64(a-*last)) // wraps around, as does the sum
	*last = a
	return w
}

func (w *Writer) bounds(bounds []Bound) {
	if len(bounds) > maxRows {
		w.fail(fmt.Errorf("%d bounds", len(bounds)))
	}
	w.number(uint64(len(bounds)))
	for _, b := range bounds {
		w.address(&w.last.start, b.Start).number(b.Length).number(b.Reserved).number(uint64(b.Generation))
	}
}

func (w *Writer) ranges(ranges []Range, moved bool) {
	if len(ranges) > maxRows {
		w.fail(fmt.Errorf("%d ranges", len(ranges)))
	}
	w.number(uint64(len(ranges)))
	for _, r := range ranges {
		w.address(&w.last.from, r.From)
		if moved {
			w.address(&w.last.to, r.To)
		}
		w.number(r.Length)
	}
}

// Reader decodes a recording.
type Reader struct {
	r    *bufio.Reader
	last addresses
	err  error
}

// NewReader begins to read a recording.
func NewReader(r io.Reader) *Reader {
	in := &Reader{r: bufio.NewReaderSize(r, 1<<16)}
	head := make([]byte, len(magic))
	if _, err := io.ReadFull(in.r, head); err != nil {
		in.fail(err)
	} else if string(head) != magic {
		in.err = fmt.Errorf("read recording: %w: no magic number", errEncoding)
	}
	return in
}

// Next returns the next event. The last one is End, and after it comes io.EOF. Other errors wrap errEncoding or that
// of the source.
func (r *Reader) Next() (Event, error) {
	if r.err != nil {
		return nil, r.err
	}
	kind, err := r.r.ReadByte()
	if err != nil {
		r.fail(err)
		return nil, r.err
	}
	e := r.event(kind)
	if r.err != nil {
		return nil, r.err
	}
	if _, last := e.(End); last {
		r.err = io.EOF
	}
	return e, nil
}

func (r *Reader) event(kind byte) Event {
	switch kind {
	case kindAlloc, kindFrozen:
		return Alloc{Address: r.address(&r.last.alloc), Bytes: r.number(), Site: r.id(), Frozen: kind == kindFrozen}
	case kindPending:
		return Alloc{Address: r.address(&r.last.alloc), Bytes: r.number(), Thread: r.id()}
	case kindAttributed:
		return Attributed{r.id(), r.id()}
	case kindGCStart:
		e := GCStart{Collected: uint32(r.below(1 << 32))}
		flags := r.below(8)
		e.Induced, e.Final, e.Asked, e.Bounds = flags&1 != 0, flags&2 != 0, flags&4 != 0, r.bounds()
		return e
	case kindMoved:
		return Moved{r.ranges(true)}
	case kindSurvived:
		return Survived{r.ranges(false)}
	case kindGCEnd:
		return GCEnd{r.number(), r.bounds()}
	case kindEnd:
		return End{}
	}
	r.corrupt("event of unknown kind %d", kind)
	return nil
}

// fail keeps an error of the source. A recording that stops before its End is not a whole one.
func (r *Reader) fail(err error) {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		r.corrupt("it stops in the middle")
	} else if r.err == nil {
		r.err = fmt.Errorf("read recording: %w", err)
	}
}

func (r *Reader) corrupt(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("read recording: %w: "+format, append([]any{errEncoding}, args...)...)
	}
}

func (r *Reader) number() uint64 {
	if r.err != nil {
		return 0
	}
	var n uint64
	for shift := 0; ; shift += 7 {
		b, err := r.r.ReadByte()
		if err != nil {
			r.fail(err)
			return 0
		}
		if shift == 63 && b > 1 {
			r.corrupt("a number of more than 64 bits")
			return 0
		}
		n |= uint64(b&0x7F) << shift
		if b < 0x80 {
			return n
		}
	}
}

func (r *Reader) below(limit uint64) uint64 {
	n := r.number()
	if n >= limit {
		r.corrupt("%d where less than %d is expected", n, limit)
		return 0
	}
	return n
}

// id reads a site or a thread; there is none with number 0.
func (r *Reader) id() uint32 {
	n := r.below(math.MaxUint32)
	if n == 0 {
		r.corrupt("a site or thread without a number")
	}
	return uint32(n)
}

func (r *Reader) address(last *uint64) uint64 {
	n := r.number()
	*last += n>>1 ^ -(n & 1)
	return *last
}

// rows reads how many rows follow. They are appended one by one, so that a wrong count costs nothing.
func (r *Reader) rows() int { return int(r.below(maxRows + 1)) }

func (r *Reader) bounds() []Bound {
	var bounds []Bound
	for n := r.rows(); n > 0 && r.err == nil; n-- {
		bounds = append(bounds, Bound{r.address(&r.last.start), r.number(), r.number(), uint32(r.below(1 << 32))})
	}
	return bounds
}

func (r *Reader) ranges(moved bool) []Range {
	var ranges []Range
	for n := r.rows(); n > 0 && r.err == nil; n-- {
		row := Range{From: r.address(&r.last.from)}
		row.To = row.From
		if moved {
			row.To = r.address(&r.last.to)
		}
		row.Length = r.number()
		ranges = append(ranges, row)
	}
	return ranges
}
