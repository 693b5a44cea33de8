package analysis

import (
	"encoding/binary"
	"fmt"

	"github.com/clrprof/clrprof/internal/session"
)

// packed is rows of numbers, each a varint. It grows by parts, as a slice that grows is copied; no row is in two.
type packed [][]byte

// packedPart is how long a part is, at least.
const packedPart = 1 << 16

// add adds a row.
func (p *packed) add(row ...int64) {
	last := len(*p) - 1
	if last < 0 || len((*p)[last]) >= packedPart {
		*p = append(*p, make([]byte, 0, packedPart+len(row)*binary.MaxVarintLen64))
		last++
	}
	for _, n := range row {
		(*p)[last] = binary.AppendVarint((*p)[last], n)
	}
}

// numbers reads the numbers of packed rows.
type numbers struct {
	parts packed
	rest  []byte // of a part that is read
}

// more reports whether there is another row.
func (n *numbers) more() bool { return len(n.rest) > 0 || len(n.parts) > 0 }

func (n *numbers) next() int64 {
	if len(n.rest) == 0 {
		n.rest, n.parts = n.parts[0], n.parts[1:]
	}
	if u := n.rest[0]; u < 0x80 { // most are of one byte
		n.rest = n.rest[1:]
		return int64(u>>1) ^ -int64(u&1)
	}
	value, size := binary.Varint(n.rest)
	n.rest = n.rest[size:]
	return value
}

// timeValues is the table timing_value.
type timeValues struct {
	rows session.TimingValueList
	timed
}

// timed finds what the rows of a table by slice and timing refer to.
type timed struct {
	timings index[session.TimingID]
	slices  index[session.SliceID]
}

// read reads the table, and checks the references.
func (v *timeValues) read(s *session.Session, of timed) (err error) {
	v.timed = of
	v.rows, err = s.TimingValueList(func(slices, timings []int64) error {
		return of.check("timing_value", slices, timings)
	})
	return err
}

// check checks the references of rows.
func (v timed) check(table string, slices, timings []int64) error {
	last := int64(0) // a slice has many rows, one after the other
	for i, id := range timings {
		if at, _ := v.timings.find(session.TimingID(id)); at == none {
			return fmt.Errorf("%w: a row of %s refers to timing %d, which does not exist", session.ErrCorrupt, table,
				id)
		}
		if slices[i] == last {
			continue
		}
		last = slices[i]
		if _, ok := v.slices.find(session.SliceID(last)); !ok {
			return fmt.Errorf("%w: a row of %s refers to slice %d, which does not exist", session.ErrCorrupt, table,
				last)
		}
	}
	return nil
}

// each calls fn for each row with its number and the positions of its slice, or none, and of its timing.
func (v timed) each(slices, timings []int64, fn func(row int, slice, timing int32)) {
	slice, last := int32(none), int64(0)
	for row, id := range timings {
		if of := slices[row]; of != last {
			last = of
			slice, _ = v.slices.find(session.SliceID(of))
		}
		timing, _ := v.timings.find(session.TimingID(id))
		fn(row, slice, timing)
	}
}

// each calls fn with each row, and the positions of its slice, or none, and of its timing. The row is overwritten by
// the next one.
func (v *timeValues) each(fn func(slice, timing int32, row *session.TimingValue)) {
	v.rows.Each(func(r *session.TimingValue) {
		slice, _ := v.slices.find(r.Slice)
		timing, _ := v.timings.find(r.Timing)
		fn(slice, timing, r)
	})
}

// inclusiveValues is the table timing_inclusive.
type inclusiveValues struct {
	rows session.TimingInclusiveList
	timed
}

// read reads the table, and checks the references.
func (v *inclusiveValues) read(s *session.Session, of timed) (err error) {
	v.timed = of
	v.rows, err = s.TimingInclusiveList(func(slices, timings []int64) error {
		return of.check("timing_inclusive", slices, timings)
	})
	return err
}

// each calls fn as timeValues.each does.
func (v *inclusiveValues) each(fn func(slice, timing int32, row *session.TimingInclusive)) {
	v.rows.Each(func(r *session.TimingInclusive) {
		slice, _ := v.slices.find(r.Slice)
		timing, _ := v.timings.find(r.Timing)
		fn(slice, timing, r)
	})
}
