package analysis

import (
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

// timeValues is the table timing_value in some 20 bytes for each row, in place of 112: where there are many paths there
// are some million rows, and most of their numbers are small. Each is a varint.
type timeValues struct {
	packed    packed
	ofTimings idRange[session.TimingID]
	ofSlices  idRange[session.SliceID]
	timings   index[session.TimingID]
	slices    index[session.SliceID]
}

// idRange is the least and the greatest of the ids that rows refer to.
type idRange[ID ~int64 | ~uint32] struct{ least, most ID }

// add adds an id; first: there was none.
func (r *idRange[ID]) add(id ID, first bool) {
	if first {
		*r = idRange[ID]{id, id}
	}
	r.least, r.most = min(r.least, id), max(r.most, id)
}

// isIn reports whether it is known without a look at each id that all of them are in an index, or 0.
func (r *idRange[ID]) isIn(x index[ID]) bool {
	return x.ids == nil && r.least >= 0 && int64(r.most) <= int64(x.rows)
}

// read reads the table.
func (v *timeValues) read(s *session.Session) error {
	return s.EachTimingValue(v.add)
}

// add adds a row.
func (v *timeValues) add(r *session.TimingValue) {
	row := [...]int64{int64(r.Slice), int64(r.Timing), int64(r.Calls), int64(r.Ended), int64(r.Made), int64(r.Elapsed),
		int64(r.Waited), 0, int64(r.Intervals), int64(r.Voluntary), int64(r.Preempted), int64(r.Faults), int64(r.Reads),
		int64(r.OffCPU), int64(r.Blocked), int64(r.Ready)}
	first := len(v.packed) == 0
	v.ofTimings.add(r.Timing, first)
	v.ofSlices.add(r.Slice, first)
	const withoutWaits = 8
	if r.Waits.IsZero() {
		v.packed.add(row[:withoutWaits]...)
		return
	}
	row[withoutWaits-1] = 1
	v.packed.add(row[:]...)
}

// each calls fn with each row, in the order of slice and timing, and the positions of its slice, or none, and of its
// timing. The row is overwritten by the next one.
func (v *timeValues) each(fn func(slice, timing int32, row *session.TimingValue)) {
	var r session.TimingValue
	all := numbers{parts: v.packed}
	for next := all.next; all.more(); {
		r.Slice, r.Timing = session.SliceID(next()), session.TimingID(next())
		r.Calls, r.Ended, r.Made = q.Count(next()), q.Count(next()), q.Count(next())
		r.Elapsed, r.Waited = q.Nanoseconds(next()), q.Nanoseconds(next())
		r.Waits = q.Waits{}
		if next() != 0 {
			r.Waits = q.Waits{Intervals: q.Count(next()), Voluntary: q.Count(next()), Preempted: q.Count(next()),
				Faults: q.Count(next()), Reads: q.Count(next()), OffCPU: q.Nanoseconds(next()),
				Blocked: q.Nanoseconds(next()), Ready: q.Nanoseconds(next())}
		}
		slice, _ := v.slices.find(r.Slice)
		timing, _ := v.timings.find(r.Timing)
		fn(slice, timing, &r)
	}
}

// inclusiveValues is the table timing_inclusive, in the same way.
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

func (v *inclusiveValues) read(s *session.Session) error {
	return s.EachTimingInclusive(func(r *session.TimingInclusive) {
		row := inclusiveNumbers(r)
		v.packed.add(row[:]...)
		v.rows++
	})
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

// link checks the references.
func (v *inclusiveValues) link(timings index[session.TimingID], slices index[session.SliceID]) error {
	v.timings, v.slices = timings, slices
	var err error
	v.each(func(slice, timing int32, row *session.TimingInclusive) {
		if err == nil && (timing == none || slice == none && row.Slice != 0) {
			err = fmt.Errorf("%w: a row of timing_inclusive refers to timing %d and slice %d, one of which does "+
				"not exist", session.ErrCorrupt, row.Timing, row.Slice)
		}
	})
	return err
}

// link checks the references.
func (v *timeValues) link(timings index[session.TimingID], slices index[session.SliceID]) error {
	v.timings, v.slices = timings, slices
	if v.ofTimings.isIn(timings) && v.ofTimings.least > 0 && v.ofSlices.isIn(slices) {
		return nil
	}
	var err error
	v.each(func(slice, timing int32, row *session.TimingValue) {
		switch {
		case err != nil:
		case timing == none:
			err = fmt.Errorf("%w: a row of timing_value refers to timing %d, which does not exist", session.ErrCorrupt,
				row.Timing)
		case slice == none && row.Slice != 0:
			err = fmt.Errorf("%w: a row of timing_value refers to slice %d, which does not exist", session.ErrCorrupt,
				row.Slice)
		}
	})
	return err
}
