package analysis

import (
	"cmp"
	"encoding/binary"
	"fmt"

	q "github.com/clrprof/clrprof/internal/quantity"
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
	rows    *session.TimingValueList
	timings index[session.TimingID]
	slices  index[session.SliceID]
}

// read reads the table, and checks the references.
func (v *timeValues) read(s *session.Session, timings index[session.TimingID],
	slices index[session.SliceID]) (err error) {
	v.timings, v.slices = timings, slices
	v.rows, err = s.TimingValueList(v.check)
	return err
}

// check checks the references of rows.
func (v *timeValues) check(slices, timings []int64) error {
	last := int64(0) // a slice has many rows, one after the other
	for i, id := range timings {
		if at, _ := v.timings.find(session.TimingID(id)); at == none {
			return fmt.Errorf("%w: a row of timing_value refers to timing %d, which does not exist",
				session.ErrCorrupt, id)
		}
		if slices[i] == last {
			continue
		}
		last = slices[i]
		if _, ok := v.slices.find(session.SliceID(last)); !ok {
			return fmt.Errorf("%w: a row of timing_value refers to slice %d, which does not exist",
				session.ErrCorrupt, last)
		}
	}
	return nil
}

// each calls fn with each row, and the positions of its slice, or none, and of its timing. The row is overwritten by
// the next one.
func (v *timeValues) each(fn func(slice, timing int32, row *session.TimingValue)) {
	slice, last := int32(none), session.SliceID(0)
	v.rows.Each(func(r *session.TimingValue) {
		if r.Slice != last {
			last = r.Slice
			slice, _ = v.slices.find(last)
		}
		timing, _ := v.timings.find(r.Timing)
		fn(slice, timing, r)
	})
}

// inclusiveValues is the table timing_inclusive, packed: each of its numbers is a varint, and most are small.
type inclusiveValues struct {
	packed  packed
	rows    int
	timings index[session.TimingID]
	slices  index[session.SliceID]
}

// inclusiveNumbers are the columns of a row.
func inclusiveNumbers(r *session.TimingInclusive) [18]int64 {
	return [...]int64{int64(r.Slice), int64(r.Timing), int64(r.Times), int64(r.Calls), int64(r.Elapsed),
		int64(r.Waited),
		int64(r.Intervals), int64(r.Voluntary), int64(r.Preempted), int64(r.Faults), int64(r.Reads), int64(r.OffCPU),
		int64(r.Blocked), int64(r.Ready),
		int64(r.EachCalls), int64(r.EachElapsed), int64(r.EachWaited), int64(r.EachOffCPU)}
}

// read reads the table, and checks the references.
func (v *inclusiveValues) read(s *session.Session, timings index[session.TimingID],
	slices index[session.SliceID]) error {
	v.timings, v.slices = timings, slices
	var wrong error
	err := s.EachTimingInclusive(func(r *session.TimingInclusive) {
		timing, _ := timings.find(r.Timing)
		slice, _ := slices.find(r.Slice)
		if wrong == nil && (timing == none || slice == none && r.Slice != 0) {
			wrong = fmt.Errorf("%w: a row of timing_inclusive refers to timing %d and slice %d, one of which does "+
				"not exist", session.ErrCorrupt, r.Timing, r.Slice)
		}
		row := inclusiveNumbers(r)
		v.packed.add(row[:]...)
		v.rows++
	})
	return cmp.Or(err, wrong)
}

// each calls fn as timeValues.each does.
func (v *inclusiveValues) each(fn func(slice, timing int32, row *session.TimingInclusive)) {
	var n [18]int64
	var r session.TimingInclusive
	for all := (numbers{parts: v.packed}); all.more(); {
		for i := range n {
			n[i] = all.next()
		}
		r = session.TimingInclusive{Slice: session.SliceID(n[0]), Timing: session.TimingID(n[1]), Times: q.Count(n[2]),
			Calls:   q.Count(n[3]),
			Elapsed: q.Nanoseconds(n[4]), Waited: q.Nanoseconds(n[5]),
			Waits: q.Waits{Intervals: q.Count(n[6]), Voluntary: q.Count(n[7]),
				Preempted: q.Count(n[8]), Faults: q.Count(n[9]), Reads: q.Count(n[10]), OffCPU: q.Nanoseconds(n[11]),
				Blocked: q.Nanoseconds(n[12]),
				Ready:   q.Nanoseconds(n[13])}, EachCalls: q.Count(n[14]), EachElapsed: q.Nanoseconds(n[15]),
			EachWaited: q.Nanoseconds(n[16]),
			EachOffCPU: q.Nanoseconds(n[17])}
		slice, _ := v.slices.find(r.Slice)
		timing, _ := v.timings.find(r.Timing)
		fn(slice, timing, &r)
	}
}
