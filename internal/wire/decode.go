package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unicode/utf16"
)

// ErrCorrupt is wrapped by every decoding error: the bytes are not what an agent writes.
var ErrCorrupt = errors.New("corrupt arena")

// maxRecord bounds one record: a body with MaxILMap points is 64 KiB, names and signatures are far smaller.
const maxRecord = 1 << 20

// DecodeHeader reads the header of an arena.
func DecodeHeader(b []byte) (*Header, error) {
	if len(b) < HeaderSize {
		return nil, fmt.Errorf("%w: %d bytes, less than a header", ErrCorrupt, len(b))
	}
	h := new(Header)
	if _, err := binary.Decode(b, binary.LittleEndian, h); err != nil {
		return nil, fmt.Errorf("%w: header: %w", ErrCorrupt, err)
	}
	if h.Magic != Magic {
		return nil, fmt.Errorf("%w: no magic number", ErrCorrupt)
	}
	if h.Version != Version {
		return nil, fmt.Errorf("%w: layout version %d, this program reads %d", ErrCorrupt, h.Version, Version)
	}
	return h, nil
}

// Next splits the first record off a log. It returns the record as one of the structs of this package and the
// rest of the log. An unknown kind is an error: agent and collector are built together.
func Next(log []byte) (record any, rest []byte, err error) {
	if len(log) < 8 {
		return nil, nil, fmt.Errorf("%w: %d bytes left, less than a record header", ErrCorrupt, len(log))
	}
	size := binary.LittleEndian.Uint32(log)
	if size < 8 || size > maxRecord || size%8 != 0 || int(size) > len(log) {
		return nil, nil, fmt.Errorf("%w: record of %d bytes, %d left", ErrCorrupt, size, len(log))
	}
	kind := Kind(binary.LittleEndian.Uint32(log[4:]))
	d := &decoder{b: log[8:size]}
	record = decodeRecord(d, kind)
	if d.err == nil && record == nil {
		d.err = fmt.Errorf("%w: record of unknown kind %d", ErrCorrupt, kind)
	}
	if d.err != nil {
		return nil, nil, d.err
	}
	return record, log[size:], nil
}

// Skip returns the rest of a log behind its first record, which is damaged. If its length cannot be right, that is
// where several records in a row begin, or one up to the end; what is left out before is one record or more.
func Skip(log []byte) []byte {
	if size := lengthAt(log); size != 0 && (size == len(log) || sizeAt(log[size:]) != 0) {
		return log[size:]
	}
	for at := 8; at < len(log); at += 8 {
		end, n := at, 0
		for ; n < recordsInRow && end < len(log); n++ {
			size := sizeAt(log[end:])
			if size == 0 {
				n = -1
				break
			}
			end += size
		}
		if n > 0 {
			return log[at:]
		}
	}
	return nil
}

// recordsInRow is how many headers of records, each where the one before says, are no accident.
const recordsInRow = 4

// sizeAt returns the length of a record by its header, 0 if that is none.
func sizeAt(log []byte) int {
	size := lengthAt(log)
	if size == 0 {
		return 0
	}
	if kind := Kind(binary.LittleEndian.Uint32(log[4:])); kind == 0 || kind > lastKind {
		return 0
	}
	return size
}

// lengthAt returns the length that a record's header says, 0 if that cannot be.
func lengthAt(log []byte) int {
	if len(log) < 8 {
		return 0
	}
	size := binary.LittleEndian.Uint32(log)
	if size < 8 || size > maxRecord || size%8 != 0 || int(size) > len(log) {
		return 0
	}
	return int(size)
}

func decodeRecord(d *decoder, kind Kind) any {
	switch kind {
	case KindModule:
		m := Module{ID: d.u32(), Flags: d.u32()}
		copy(m.MVID[:], d.bytes(16))
		m.Path, m.Name = d.str(), d.str()
		return m
	case KindType:
		return Type{ID: d.u32(), Module: d.u32(), Token: d.u32(), Kind: d.u32(), Rank: d.u32(), Bounds: d.u32(),
			Element:     d.u32(),
			ElementCode: d.u32(), Arguments: d.u32s(), Names: d.strs()}
	case KindFunction:
		return Function{ID: d.u32(), Module: d.u32(), Token: d.u32(), Type: d.u32(), Flags: d.u32(),
			Arguments: d.u32s(), TypeNames: d.strs(), Name: d.str(), Signature: d.blob()}
	case KindCallee:
		return Callee{ID: d.u32(), Module: d.u32(), Token: d.u32(), Boxes: d.u32(), Assembly: d.str(),
			TypeNames: d.strs(),
			Name:      d.str(), Signature: d.blob()}
	case KindBody:
		return decodeBody(d)
	case KindThread:
		return Thread{ID: d.u32(), OSID: d.u32(), Managed: d.u64(), BeginNS: d.u64()}
	case KindThreadEnd:
		return ThreadEnd{Managed: d.u64(), EndNS: d.u64()}
	case KindThreadName:
		return ThreadName{Managed: d.u64(), Name: d.str()}
	case KindProcess:
		return Process{Executable: d.blob(), CommandLine: d.blob()}
	case KindGC:
		return decodeGC(d)
	case KindAlive:
		return Alive{Site: d.u32(), Generation: d.u32(), Born: d.u32(), Beginning: d.u32(), Objects: d.population()}
	case KindWhy:
		return Why{GC: d.u32(), Site: d.u32(), Uncollected: d.population(), Rooted: d.population(),
			Reachable: d.population()}
	case KindRoots:
		return Roots{GC: d.u32(), Site: d.u32(), Kind: d.u32(), Flags: d.u32(), Function: d.u32(), Reserved: d.u32(),
			References: d.u64()}
	case KindChanges:
		return decodeChanges(d)
	case KindFreed:
		return Freed{Beginning: d.u32(), Freed: d.changes()}
	case KindControl:
		return Control{TimeNS: d.u64(), Level: d.u32(), Op: d.u32(), Thread: d.u32(), First: d.u32()}
	case KindMark:
		return Mark{TimeNS: d.u64(), Thread: d.u32(), Number: d.u32(), Name: d.str(), Text: d.str()}
	case KindProcessName:
		return ProcessName{Name: d.str()}
	case KindFunctionMark:
		return FunctionMark{TimeNS: d.u64(), Thread: d.u32(), Function: d.u32(), Point: d.u32(), Reserved: d.u32()}
	case KindRequestMark:
		return RequestMark{TimeNS: d.u64(), Thread: d.u32(), Reserved: d.u32(), Name: d.str()}
	case KindTestCase:
		return TestCase{Function: d.u32(), Reserved: d.u32(), Objects: d.u64(), Bytes: d.u64(), Arguments: d.blob()}
	case KindInteractionText:
		return InteractionText{ID: d.u32(), Cut: d.u32(), Text: d.str()}
	case KindMeterState:
		return MeterState{State: d.u32(), Reserved: d.u32()}
	case KindMeterCounter:
		return MeterCounter{ID: d.u32(), Kind: d.u32(), Whole: d.u32(), Reserved: d.u32(), Meter: d.str(),
			Instrument: d.str(), Unit: d.str(), Description: d.str(), Tags: d.str()}
	case KindGCCaller:
		return GCCaller{GC: d.u32(), Node: d.u32()}
	case KindNotProbed:
		return NotProbed{Function: d.u32(), Reason: d.u32()}
	case KindCollection:
		return Collection{TimeNS: d.u64(), Thread: d.u32(), Collected: d.u32(), Induced: d.u32(), Reserved: d.u32()}
	}
	return nil
}

func decodeBody(d *decoder) Body {
	b := Body{ID: d.u32(), Function: d.u32()}
	for range d.count(16) {
		b.Ranges = append(b.Ranges, Range{d.u64(), d.u64()})
	}
	for range d.count(8) {
		b.Map = append(b.Map, ILPoint{d.u32(), d.u32()})
	}
	return b
}

func decodeGC(d *decoder) GC {
	g := GC{Number: d.u32(), Collected: d.u32(), Induced: d.u32(), Finalizable: d.u32(), Pinned: d.u32(),
		Since:     d.u32(),
		SuspendNS: d.u64(), StartNS: d.u64(), EndNS: d.u64(), DoneNS: d.u64()}
	for i := range g.Generations {
		g.Generations[i] = GCGeneration{d.population(), d.population(), d.population(), d.population(), d.population(),
			d.u64()}
	}
	return g
}

func decodeChanges(d *decoder) Changes {
	return Changes{GC: d.u32(), Changes: d.changes()}
}

func (d *decoder) changes() (list []Change) {
	for range d.count(24) {
		list = append(list, Change{d.u32(), d.u32(), d.population()})
	}
	return list
}

func (d *decoder) population() Population { return Population{d.u64(), d.u64()} }

// decoder reads the fields of one record; the first error sticks and everything after it is zero.
type decoder struct {
	b   []byte
	err error
}

func (d *decoder) bytes(n int) []byte {
	if d.err != nil {
		return nil
	}
	if n > len(d.b) {
		d.err = fmt.Errorf("%w: a field of %d bytes, %d left in the record", ErrCorrupt, n, len(d.b))
		return nil
	}
	b := d.b[:n]
	d.b = d.b[n:]
	return b
}

func (d *decoder) u32() uint32 {
	if b := d.bytes(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (d *decoder) u64() uint64 {
	if b := d.bytes(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// count reads the length of an array whose elements take at least size bytes each.
func (d *decoder) count(size int) int {
	n := int(d.u32())
	if d.err == nil && n > len(d.b)/size {
		d.err = fmt.Errorf("%w: %d elements of %d bytes, %d bytes left in the record", ErrCorrupt, n, size, len(d.b))
	}
	if d.err != nil {
		return 0
	}
	return n
}

func (d *decoder) u32s() []uint32 {
	var s []uint32
	for range d.count(4) {
		s = append(s, d.u32())
	}
	return s
}

func (d *decoder) blob() []byte {
	return append([]byte(nil), d.bytes(d.count(1))...)
}

// str reads a count of UTF-16 units and the units, as the runtime gives names.
func (d *decoder) str() string {
	b := d.bytes(2 * d.count(2))
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = binary.LittleEndian.Uint16(b[2*i:])
	}
	return string(utf16.Decode(units))
}

func (d *decoder) strs() []string {
	var s []string
	for range d.count(4) {
		s = append(s, d.str())
	}
	return s
}
