package collect

import (
	"math"

	"github.com/clrprof/clrprof/internal/pieces"
)

// counters of a timing; times in ticks. What the operating system did is apart: in most timings, nothing.
type counters struct {
	calls, ended, made uint64
	elapsed, waited    uint64
	open               uint64 // of an interval that never ended: it is not known whether the thread had a processor
}

// counterSums are the counters of all timings of a process, as one look at its arena adds them up. There can be
// millions, most of them small: they take half of what counters do.
type counterSums struct {
	small []smallCounters
	large pieces.List[counters]
}

// smallCounters are counters below 32 bits, with nothing open.
type smallCounters struct {
	calls, ended, made, elapsed, waited uint32

	large uint32 // 1 + position in counterSums.large of counters that are larger, as a whole; 0: these are small
}

// reset makes so many sums zero.
func (s *counterSums) reset(n int) {
	s.large = pieces.List[counters]{}
	if n > cap(s.small) {
		s.small = nil // the two need not be there at once
		s.small = make([]smallCounters, n, n+n/growthPart)
		return
	}
	s.small = s.small[:n]
	clear(s.small)
}

// of returns a sum.
func (s *counterSums) of(row int) counters {
	c := &s.small[row]
	if c.large != 0 {
		return *s.large.At(int(c.large - 1))
	}
	return counters{calls: uint64(c.calls), ended: uint64(c.ended), made: uint64(c.made), elapsed: uint64(c.elapsed),
		waited: uint64(c.waited)}
}

// add adds counters, all of which are bounded.
func (s *counterSums) add(row int, o *counters) error {
	if err := bounded(o.calls, o.made, o.elapsed); err != nil {
		return err
	}
	c := &s.small[row]
	sum := s.of(row)
	sum.calls += o.calls
	sum.ended += o.ended
	sum.made += o.made
	sum.elapsed += o.elapsed
	sum.waited += o.waited
	sum.open += o.open
	switch {
	case c.large != 0:
		*s.large.At(int(c.large - 1)) = sum
	case sum.calls|sum.ended|sum.made|sum.elapsed|sum.waited <= math.MaxUint32 && sum.open == 0:
		*c = smallCounters{uint32(sum.calls), uint32(sum.ended), uint32(sum.made), uint32(sum.elapsed),
			uint32(sum.waited), 0}
		return nil
	default:
		s.large.Add(sum)
		*c = smallCounters{large: uint32(s.large.Len())}
	}
	return bounded(sum.calls, sum.made, sum.elapsed)
}

// growthPart is the part of its size by which room grows beyond what is needed.
const growthPart = 4
