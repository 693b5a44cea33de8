package analysis

import (
	"fmt"
	"slices"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// countValues are the tables timing_count and timing_inclusive_count, packed as inclusiveValues are.
type countValues struct {
	own, folds packed
	timings    index[session.TimingID]
	slices     index[session.SliceID]
}

func (v *countValues) read(s *session.Session) error {
	err := s.EachTimingCount(func(r *session.TimingCount) {
		v.own.add(countNumbers(r.Slice, r.Timing, r.Counters)...)
	})
	if err != nil {
		return err
	}
	return s.EachTimingInclusiveCount(func(r *session.TimingInclusiveCount) {
		v.folds.add(countNumbers(r.Slice, r.Timing, r.Counters, r.Each)...)
	})
}

func countNumbers(slice session.SliceID, timing session.TimingID, values ...q.Counters) []int64 {
	out := []int64{int64(slice), int64(timing)}
	for _, v := range values {
		for _, n := range v {
			out = append(out, int64(n))
		}
	}
	return out
}

// each calls fn for each packed row, with the positions of its slice, or none, and of its timing.
func (v *countValues) each(rows packed, values int, fn func(slice, timing int32, v []q.Counters)) {
	out := make([]q.Counters, values)
	for all := (numbers{parts: rows}); all.more(); {
		slice, _ := v.slices.find(session.SliceID(all.next()))
		timing, _ := v.timings.find(session.TimingID(all.next()))
		for i := range out {
			for n := range out[i] {
				out[i][n] = q.Count(all.next())
			}
		}
		fn(slice, timing, out)
	}
}

// link checks the references.
func (v *countValues) link(timings index[session.TimingID], slices index[session.SliceID]) error {
	v.timings, v.slices = timings, slices
	var err error
	check := func(_, timing int32, _ []q.Counters) {
		if timing == none && err == nil {
			err = fmt.Errorf("%w: a row of timing_count or timing_inclusive_count refers to a timing that does not "+
				"exist", session.ErrCorrupt)
		}
	}
	v.each(v.own, 1, check)
	v.each(v.folds, 2, check)
	return err
}

// measure sums what is selected, by timing; nil: there are no CPU counters.
func (v *countValues) measure(in *scope, timings int) []q.Counters {
	if len(v.own) == 0 {
		return nil
	}
	out := make([]q.Counters, timings)
	v.each(v.own, 1, func(slice, timing int32, v []q.Counters) {
		if in.inSlice(slice) && lets(in.timings, timing) {
			out[timing] = out[timing].Add(v[0])
		}
	})
	return out
}

// measureFolds sums what is selected of folded calls, by timing.
func (v *countValues) measureFolds(in *scope) map[int32]session.CountedFolds {
	out := map[int32]session.CountedFolds{}
	v.each(v.folds, 2, func(slice, timing int32, v []q.Counters) {
		if in.inSlice(slice) && lets(in.timings, timing) {
			sum := out[timing]
			out[timing] = session.CountedFolds{Counters: sum.Counters.Add(v[0]), Each: sum.Each.Add(v[1])}
		}
	})
	return out
}

// check checks the recorded rows by themselves.
func (v *countValues) check(c *checker) {
	one := func(slice, timing int32, v []q.Counters) {
		if slice == none {
			c.add("references", "counts of the timing at %d have no slice", timing)
		}
		for _, counters := range v {
			if slices.Min(counters[:]) < 0 {
				c.add("timings", "the timing at %d counted %v", timing, counters)
			}
		}
	}
	v.each(v.own, 1, one)
	v.each(v.folds, 2, one)
}
