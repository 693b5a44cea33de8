package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/analysis/rules"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// A line can do much without any type, or any function that it calls, that does: then the line is what a reader wants
// to know, or its function, if it is spread over many lines. So findings name the coarsest spot that says where: a
// function, unless half of it is in one line; a line, unless nearly all of it is one type or one call.
const (
	spotHalf   = 2  // one in so many: from here on a line is the spot, not its function
	spotNearly = 90 // percent of a line from which on one part of it is the spot
	spotNamed  = 3  // parts of a spot that are named
	spotCauses = 1000
)

// spot is a place in user code, or a whole function, and the largest parts of what it does: types or functions that it
// calls, or the lines of a function.
type spot struct {
	from     analysis.Place
	function bool // it is a whole function, and its parts are lines
	weight   int64
	parts    []spotPart
	more     int // parts that are not named
}

type spotPart struct {
	row    Row // of a part of a line
	line   analysis.Place
	weight int64
}

// spots are the heaviest functions and lines with at least leastShare of a whole, the heaviest first, and the heaviest
// line of all; weights are those of all places in user code, partsOf has the rows of what is done at one.
func spots(weights map[analysis.Place]int64, whole int64, partsOf func(analysis.Place) []Row,
	weigh func(*Row) int64) (out []spot, most *spot) {
	functions := map[session.FunctionID]*spot{}
	for at, weight := range weights {
		f := functions[at.Function]
		if f == nil {
			f = &spot{from: analysis.Place{Function: at.Function}, function: true}
			functions[at.Function] = f
		}
		f.weight += weight
		f.parts = append(f.parts, spotPart{line: at, weight: weight})
	}
	for _, f := range functions {
		slices.SortFunc(f.parts, func(a, b spotPart) int {
			return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.line.Line, b.line.Line))
		})
		first := spot{from: f.parts[0].line, weight: f.parts[0].weight}
		if most == nil || cmp.Or(cmp.Compare(first.weight, most.weight), cmp.Compare(most.from.Function,
			first.from.Function)) > 0 {
			most = &first
		}
		switch {
		case !isShare(q.Bytes(f.weight), q.Bytes(whole), leastShare):
		case f.parts[0].weight < f.weight/spotHalf, !isShare(q.Bytes(f.parts[0].weight), q.Bytes(whole), leastShare):
			out = append(out, *f)
		default:
			for _, p := range f.parts {
				if isShare(q.Bytes(p.weight), q.Bytes(whole), leastShare) {
					out = append(out, spot{from: p.line, weight: p.weight})
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b spot) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.from.Function, b.from.Function),
			cmp.Compare(a.from.Line, b.from.Line))
	})
	if out = out[:min(maxCauses, len(out))]; most != nil {
		most.divide(partsOf(most.from), weigh)
	}
	for i := range out {
		if !out[i].function {
			out[i].divide(partsOf(out[i].from), weigh)
		}
		if n := len(out[i].parts); n > spotNamed {
			out[i].parts, out[i].more = out[i].parts[:spotNamed], n-spotNamed
		}
	}
	return out, most
}

// divide divides a line into its parts: what has one type and is called by one function is one of them, whichever
// statement of the line does it.
func (x *spot) divide(parts []Row, weigh func(*Row) int64) {
	type part struct {
		typ      session.TypeID
		function session.FunctionID
	}
	at := map[part]int{}
	for i := range parts {
		r, w := &parts[i], weigh(&parts[i])
		if w <= 0 {
			continue
		}
		of := part{typ: r.typ}
		if r.typ == 0 {
			of.function = r.function
		}
		n, known := at[of]
		if !known {
			n = len(x.parts)
			at[of], x.parts = n, append(x.parts, spotPart{row: *r})
		}
		if p := &x.parts[n]; w > weigh(&p.row) {
			p.row = *r
		}
		x.parts[n].weight += w
	}
	slices.SortStableFunc(x.parts, func(a, b spotPart) int { return cmp.Compare(b.weight, a.weight) })
}

// isOne reports whether nearly all of a line is one part of it.
func (x *spot) isOne() bool {
	return !x.function && len(x.parts) > 0 && isShare(q.Bytes(x.parts[0].weight), q.Bytes(x.weight), spotNearly)
}

// named are the parts with their shares of a whole.
func (s *Summary) named(x *spot, whole int64, name func(*Row) string) List {
	var out List
	for _, p := range x.parts {
		of := "no line"
		switch {
		case p.line.Function == 0:
			of = name(&p.row)
		case p.line.Line != 0:
			of = s.context.wholeLineText(p.line.Line)
		}
		out = append(out, fmt.Sprintf("%s %s%s", of, s.sign(), q.PercentOf(q.Bytes(p.weight), q.Bytes(whole))))
	}
	if x.more > 0 {
		out = append(out, fmt.Sprintf("… %s more", q.Count(x.more)))
	}
	return out
}

// at says where a spot is: in a function, or at a line of it.
func (s *Summary) at(x *spot) string {
	if x.function || x.from.Line == 0 {
		return fmt.Sprintf("in %s", s.context.placeText(x.from))
	}
	return fmt.Sprintf("at %s", s.context.wholeLine(x.from))
}

// whereOne says where the one part of a line is: at one of its statements, if nearly all is there.
func (s *Summary) whereOne(x *spot, weigh func(*Row) int64) string {
	r := &x.parts[0].row
	if r.from.Line != 0 && !isShare(q.Bytes(weigh(r)), q.Bytes(x.parts[0].weight), spotNearly) {
		return s.calledAt(r, s.context.wholeLine(r.from))
	}
	return s.where(r)
}

// row is a row of a spot, to link to it.
func (x *spot) row() *Row { return &Row{kind: rowFunction, function: x.from.Function, from: x.from} }

// isUnsaid reports whether no finding is about a spot in the function of a part.
func (s *Summary) isUnsaid(p part) bool { return !slices.Contains(s.spotsSaid, p.function) }

// onLine is the place of the first statement in the line of a place: names of places have lines, not statements.
func (s *Summary) onLine(p analysis.Place) analysis.Place {
	if first := s.context.firstOnLine[p.Line]; first != 0 {
		p.Line = first
	}
	return p
}

// bytesBySpot are the bytes of places in user code. Those of causes are enough if no cause is left out.
func (s *Summary) bytesBySpot() (map[analysis.Place]int64, error) {
	out := map[analysis.Place]int64{}
	if !s.moreCauses {
		for i := range s.causes {
			r := &s.causes[i]
			out[s.onLine(r.from)] += int64(r.values.Inclusive.Bytes)
		}
		return out, nil
	}
	lines, err := s.context.source.UserLines()
	for i := range lines {
		if l := &lines[i]; l.Function != 0 && l.Bytes > 0 {
			out[s.onLine(l.Place)] += int64(l.Bytes)
		}
	}
	return out, err
}

// aliveHalf: of a spot it is said that its objects stay if one byte in so many does at least.
const aliveHalf = 2

// stillAlive is the least part of some bytes that was alive at the end, whichever bytes they are: all that died may be
// of them. Nothing: it is less than half, or not known.
func (s *Summary) stillAlive(made q.Bytes) (fact []any) {
	l := s.Lifetime
	if l == nil || l.Span || !l.AliveKnown || len(s.Lost) != 0 || !s.context.source.Selection().IsZero() {
		return nil
	}
	least := made - (s.Total.Bytes - l.Lifetime.Alive().Bytes)
	if least < leastBytes || least < made/aliveHalf {
		return nil
	}
	s.asksWhoHolds = true
	return []any{q.PercentOf(least, made)}
}

// findAllocations says where most bytes are allocated.
func (s *Summary) findAllocations() error {
	weights, err := s.bytesBySpot()
	if err != nil || s.Total.Bytes < leastBytes {
		return err
	}
	weigh := func(r *Row) int64 { return int64(r.values.Inclusive.Bytes) }
	list, most := spots(weights, int64(s.Total.Bytes), s.causesAt, weigh)
	s.mostBytes = most
	for i := range list {
		x := &list[i]
		if s.Timing == nil {
			s.spotsSaid = append(s.spotsSaid, x.from.Function)
		}
		share := q.PercentOf(q.Bytes(x.weight), s.Total.Bytes)
		if x.isOne() {
			r := &x.parts[0].row
			one := q.PercentOf(q.Bytes(x.parts[0].weight), s.Total.Bytes)
			s.findShare(r, Explains{rules.OfBytes, one}, FindingAllocations,
				append([]any{one, s.context.shortTypeName(r.typ), s.whereOne(x, weigh)},
					s.stillAlive(q.Bytes(x.parts[0].weight))...)...)
			continue
		}
		types := s.named(x, int64(s.Total.Bytes), func(r *Row) string { return s.context.shortTypeName(r.typ) })
		s.findShare(x.row(), Explains{rules.OfBytes, share}, FindingSpot, append([]any{"all bytes", share,
			q.Bytes(x.weight), "made", s.at(x), types}, s.stillAlive(q.Bytes(x.weight))...)...)
	}
	return nil
}

// findWork says where the CPU time goes.
func (s *Summary) findWork() {
	if s.Timing == nil || s.findUncertain() || !s.isWork() {
		return
	}
	weights, whole := map[analysis.Place]int64{}, s.Timing.Total.Inclusive.CPU
	for i := range s.works {
		t := &s.works[i]
		if s.context.isKnown(t.CPU, t.Time) {
			weights[s.onLine(t.From)] += int64(t.CPU)
		}
	}
	weigh := func(r *Row) int64 { return int64(r.time.Exclusive.CPU) }
	list, most := spots(weights, int64(whole), s.worksAt, weigh)
	s.mostWork = most
	for i := range list {
		x := &list[i]
		cpu := q.Nanoseconds(x.weight)
		if cpu < leastCPU {
			continue
		}
		s.spotsSaid = append(s.spotsSaid, x.from.Function)
		if x.isOne() {
			r := &x.parts[0].row
			cpu = q.Nanoseconds(x.parts[0].weight)
			share := q.PercentOf(cpu, whole)
			s.findShare(r, Explains{rules.OfCPU, share}, FindingWork, share, cpu, s.whereOne(x, weigh))
			continue
		}
		share := q.PercentOf(cpu, whole)
		s.findShare(x.row(), Explains{rules.OfCPU, share}, FindingSpot, "CPU time", share, cpu, "spent",
			s.at(x),
			s.named(x, int64(whole), func(r *Row) string { return s.context.frameName(r.function) }))
	}
}

// causesAt are the rows of what user code allocated at a place, but for the lightest of all causes.
func (s *Summary) causesAt(from analysis.Place) []Row {
	var out []Row
	for i := range s.causes {
		if s.onLine(s.causes[i].from) == from {
			out = append(out, s.causes[i])
		}
	}
	return out
}

// worksAt are the rows of the times of user code at a place.
func (s *Summary) worksAt(from analysis.Place) []Row {
	var out []Row
	for i := range s.works {
		if t := &s.works[i]; s.onLine(t.From) == from && s.context.isKnown(t.CPU, t.Time) {
			r := Row{kind: rowFunction, time: &rowTime{}}
			s.setWork(&r, t)
			out = append(out, r)
		}
	}
	return out
}
