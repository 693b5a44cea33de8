package analysis

import (
	"math"
	"slices"

	"github.com/clrprof/clrprof/internal/analysis/calltree"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session/pieces"
)

// sums are the time and the calls of each of many nodes or paths. There can be millions, in few of which the operating
// system acted, and most of them are short: they take 28 bytes each in place of 176.
type sums struct {
	small []smallSum
	large pieces.List[largeSum]
}

// smallSum is a sum of which no number is negative or above 32 bits, and that has no others.
type smallSum struct {
	elapsed, application, cpu, overhead, calls, made uint32

	large int32 // 1 + position in sums.large of a sum that has more, and is there as a whole; 0: it is small
}

type largeSum struct {
	q.Time
	counts
}

func newSums(rows int) *sums { return &sums{small: make([]smallSum, rows)} }

// len is how many sums there are.
func (s *sums) len() int { return len(s.small) }

// time returns the time of a row.
func (s *sums) time(i int32) q.Time {
	if r := &s.small[i]; r.large == 0 {
		return q.Time{Elapsed: q.Nanoseconds(r.elapsed), Application: q.Nanoseconds(r.application),
			CPU: q.Nanoseconds(r.cpu), Overhead: q.Nanoseconds(r.overhead)}
	}
	return s.large.At(int(s.small[i].large - 1)).Time
}

// counts returns the calls of a row.
func (s *sums) counts(i int32) counts {
	if r := &s.small[i]; r.large == 0 {
		return counts{calls: q.Count(r.calls), made: q.Count(r.made)}
	}
	return s.large.At(int(s.small[i].large - 1)).counts
}

// isZero reports whether a row has neither time nor calls.
func (s *sums) isZero(i int32) bool {
	if r := &s.small[i]; r.large == 0 {
		return *r == smallSum{}
	}
	l := s.large.At(int(s.small[i].large - 1))
	return l.Time.IsZero() && l.counts.IsZero()
}

// hasTime reports whether a row has time.
func (s *sums) hasTime(i int32) bool {
	if r := &s.small[i]; r.large == 0 {
		return r.elapsed|r.application|r.cpu|r.overhead != 0
	}
	return !s.large.At(int(s.small[i].large - 1)).Time.IsZero()
}

// add adds to a row.
func (s *sums) add(i int32, t *q.Time, c counts) {
	if r := &s.small[i]; r.large == 0 && c.running == 0 && c.pending == 0 && t.Waits.IsZero() && t.Counters.IsZero() &&
		r.add(int64(t.Elapsed), int64(t.Application), int64(t.CPU), int64(t.Overhead), int64(c.calls), int64(c.made)) {
		return
	}
	l := s.enlarge(i)
	l.Time, l.counts = l.Time.Add(*t), l.counts.Add(c)
}

// add adds what is small, and reports whether the sum is.
func (r *smallSum) add(elapsed, application, cpu, overhead, calls, made int64) bool {
	elapsed, application, cpu = elapsed+int64(r.elapsed), application+int64(r.application), cpu+int64(r.cpu)
	overhead, calls, made = overhead+int64(r.overhead), calls+int64(r.calls), made+int64(r.made)
	if uint64(elapsed|application|cpu|overhead|calls|made) > math.MaxUint32 {
		return false
	}
	*r = smallSum{uint32(elapsed), uint32(application), uint32(cpu), uint32(overhead), uint32(calls), uint32(made), 0}
	return true
}

// enlarge returns a row that is not small, or not any more.
func (s *sums) enlarge(i int32) *largeSum {
	r := &s.small[i]
	if r.large == 0 {
		s.large.Add(largeSum{s.time(i), s.counts(i)})
		*r = smallSum{large: int32(s.large.Len())}
	}
	return s.large.At(int(r.large - 1))
}

// clear takes everything out of a row.
func (s *sums) clear(i int32) {
	if r := &s.small[i]; r.large == 0 {
		*r = smallSum{}
		return
	}
	*s.large.At(int(s.small[i].large - 1)) = largeSum{}
}

// addTo adds the time of a row to a sum.
func (s *sums) addTo(t *q.Time, i int32) { s.addSum(t, &s.small[i]) }

// addSum is addTo for a row that is given.
func (s *sums) addSum(t *q.Time, r *smallSum) {
	if r.large == 0 {
		t.Elapsed += q.Nanoseconds(r.elapsed)
		t.Application += q.Nanoseconds(r.application)
		t.CPU += q.Nanoseconds(r.cpu)
		t.Overhead += q.Nanoseconds(r.overhead)
		return
	}
	*t = t.Add(s.large.At(int(r.large - 1)).Time)
}

// addRow adds a row of other sums, which may be these.
func (s *sums) addRow(to int32, from *sums, i int32) {
	f := &from.small[i]
	if f.large != 0 {
		l := *from.large.At(int(f.large - 1))
		s.add(to, &l.Time, l.counts)
		return
	}
	if r := &s.small[to]; r.large == 0 && r.add(int64(f.elapsed), int64(f.application), int64(f.cpu),
		int64(f.overhead), int64(f.calls), int64(f.made)) {
		return
	}
	l := s.enlarge(to)
	from.addTo(&l.Time, i)
	l.calls, l.made = l.calls+q.Count(f.calls), l.made+q.Count(f.made)
}

// group returns the sums of groups of rows: group[i] is below groups, or none.
func (s *sums) group(group []int32, groups int) *sums {
	out := newSums(groups)
	for i, g := range group {
		if g >= 0 {
			out.addRow(g, s, int32(i))
		}
	}
	return out
}

// clone returns the same sums, to be changed.
func (s *sums) clone() *sums {
	out := &sums{small: slices.Clone(s.small)}
	for i := range s.large.Len() {
		out.large.Add(*s.large.At(i))
	}
	return out
}

// inclusive returns the sums of each node and all nodes below it.
func (s *sums) inclusive(tree calltree.Tree) *sums {
	out := s.clone()
	for i := s.len() - 1; i >= 0; i-- {
		if p := tree.Parent[i]; p >= 0 {
			out.addRow(p, out, int32(i))
		}
	}
	return out
}

// times returns the times of groups, of which there are few, as calltree.Sum does.
func (s *sums) times(group []int32, groups int) []q.Time {
	out := make([]q.Time, groups)
	for i, g := range group {
		if g >= 0 {
			s.addTo(&out[g], int32(i))
		}
	}
	return out
}

// calls returns the calls of groups in the same way.
func (s *sums) calls(group []int32, groups int) []counts {
	out := make([]counts, groups)
	for i, g := range group {
		if g >= 0 {
			out[g] = out[g].Add(s.counts(int32(i)))
		}
	}
	return out
}
