package analysis

import (
	"math"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/session/pieces"
)

// extent is the range of single calls; the zero extent is that of no call.
type extent struct {
	session.Extremes
	known bool
}

// Add returns the extent of the calls of both.
func (e extent) Add(o extent) extent {
	if !e.known || !o.known {
		if o.known {
			return o
		}
		return e
	}
	widen := func(a, b session.Range) session.Range {
		return session.Range{Min: min(a.Min, b.Min), Max: max(a.Max, b.Max)}
	}
	return extent{session.Extremes{
		ElapsedInclusive:     widen(e.ElapsedInclusive, o.ElapsedInclusive),
		ElapsedExclusive:     widen(e.ElapsedExclusive, o.ElapsedExclusive),
		ApplicationInclusive: widen(e.ApplicationInclusive, o.ApplicationInclusive),
		ApplicationExclusive: widen(e.ApplicationExclusive, o.ApplicationExclusive),
		CPUInclusive:         widen(e.CPUInclusive, o.CPUInclusive),
		CPUExclusive:         widen(e.CPUExclusive, o.CPUExclusive),
	}, true}
}

// IsZero reports whether there was no call.
func (e extent) IsZero() bool { return !e.known }

// ranges are in the order of smallExtent.bounds.
func (e *extent) ranges() [ranges]*session.Range {
	return [ranges]*session.Range{&e.ElapsedInclusive, &e.ElapsedExclusive, &e.ApplicationInclusive,
		&e.ApplicationExclusive, &e.CPUInclusive, &e.CPUExclusive}
}

const ranges = 6 // of an extent

// bounds are the ranges of many extents, by column, as smallExtent.bounds.
type bounds [2 * ranges][]int64

// at returns the extent in a row.
func (b *bounds) at(row int) extent {
	e := extent{known: true}
	for k, to := range e.ranges() {
		*to = session.Range{Min: q.Nanoseconds(b[2*k][row]), Max: q.Nanoseconds(b[2*k+1][row])}
	}
	return e
}

// extents are those of many paths, in half of the room where calls are shorter than four seconds.
type extents struct {
	small []smallExtent
	large pieces.List[extent]
}

type smallExtent struct {
	bounds [2 * ranges]uint32
	large  int32 // 1 + position in extents.large of an extent that is not small; 0: bounds has it, if it is known
	known  bool
}

// at returns an extent.
func (x *extents) at(i int32) extent {
	s := &x.small[i]
	if s.large != 0 {
		return *x.large.At(int(s.large - 1))
	}
	var e extent
	if e.known = s.known; !s.known {
		return e
	}
	for k, to := range e.ranges() {
		*to = session.Range{Min: q.Nanoseconds(s.bounds[2*k]), Max: q.Nanoseconds(s.bounds[2*k+1])}
	}
	return e
}

// add adds to an extent one that is known.
func (x *extents) add(i int32, more *extent) {
	if s := &x.small[i]; s.large == 0 && s.add(more) {
		return
	}
	sum := x.at(i).Add(*more)
	if s := &x.small[i]; s.large == 0 {
		x.large.Add(sum)
		s.large = int32(x.large.Len())
		return
	}
	*x.large.At(int(x.small[i].large - 1)) = sum
}

// addRow is add of an extent in a row.
func (x *extents) addRow(i int32, b *bounds, row int) {
	if s := &x.small[i]; s.large != 0 || !s.addRow(b, row) {
		e := b.at(row)
		x.add(i, &e)
	}
}

// addRow is add of an extent in a row.
func (s *smallExtent) addRow(b *bounds, row int) bool {
	var more [2 * ranges]int64
	all := int64(0)
	for k := range more {
		more[k] = b[k][row]
		all |= more[k]
	}
	if uint64(all) > math.MaxUint32 {
		return false
	}
	for k := 0; k < len(more); k += 2 {
		low, high := uint32(more[k]), uint32(more[k+1])
		if s.known {
			low, high = min(low, s.bounds[k]), max(high, s.bounds[k+1])
		}
		s.bounds[k], s.bounds[k+1] = low, high
	}
	s.known = true
	return true
}

// add adds an extent that is known, and reports whether it is small.
func (s *smallExtent) add(more *extent) bool {
	all := int64(0)
	for _, r := range more.ranges() {
		all |= int64(r.Min | r.Max)
	}
	if uint64(all) > math.MaxUint32 {
		return false
	}
	for k, r := range more.ranges() {
		low, high := uint32(r.Min), uint32(r.Max)
		if s.known {
			low, high = min(low, s.bounds[2*k]), max(high, s.bounds[2*k+1])
		}
		s.bounds[2*k], s.bounds[2*k+1] = low, high
	}
	s.known = true
	return true
}
