package analysis

import (
	"encoding/binary"
	"fmt"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// timeValues is the table timing_value in some 20 bytes for each row, in place of 112: where there are many paths there
// are some million rows, and most of their numbers are small. Each is a varint.
type timeValues struct {
	packed  []byte
	timings index[session.TimingID]
	slices  index[session.SliceID]
}

// read reads the table.
func (v *timeValues) read(s *session.Session) error {
	return s.EachTimingValue(v.add)
}

// add adds a row.
func (v *timeValues) add(r *session.TimingValue) {
	b := v.packed
	for _, n := range [...]int64{int64(r.Slice), int64(r.Timing), int64(r.Calls), int64(r.Ended), int64(r.Made),
		int64(r.Elapsed), int64(r.Waited)} {
		b = binary.AppendVarint(b, n)
	}
	if r.Waits.IsZero() {
		b = binary.AppendVarint(b, 0)
	} else {
		b = binary.AppendVarint(b, 1)
		for _, n := range [...]int64{int64(r.Intervals), int64(r.Voluntary), int64(r.Preempted), int64(r.Faults),
			int64(r.Reads), int64(r.OffCPU), int64(r.Blocked), int64(r.Ready)} {
			b = binary.AppendVarint(b, n)
		}
	}
	v.packed = b
}

// each calls fn with each row, in the order of slice and timing, and the positions of its slice, or none, and of its
// timing. The row is overwritten by the next one.
func (v *timeValues) each(fn func(slice, timing int32, row *session.TimingValue)) {
	var r session.TimingValue
	for rest := v.packed; len(rest) > 0; {
		next := func() int64 {
			n, size := binary.Varint(rest)
			rest = rest[size:]
			return n
		}
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
	packed  []byte
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
		for _, n := range inclusiveNumbers(r) {
			v.packed = binary.AppendVarint(v.packed, n)
		}
		v.rows++
	})
}

// each calls fn as timeValues.each does.
func (v *inclusiveValues) each(fn func(slice, timing int32, row *session.TimingInclusive)) {
	var n [18]int64
	for rest := v.packed; len(rest) > 0; {
		for i := range n {
			value, size := binary.Varint(rest)
			n[i], rest = value, rest[size:]
		}
		r := session.TimingInclusive{Slice: session.SliceID(n[0]), Timing: session.TimingID(n[1]), Times: q.Count(n[2]),
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
