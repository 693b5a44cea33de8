package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/clrprof/clrprof/internal/analysis/rules"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// A flat program has no place that does much, so the lists of a summary have little of it. What helps its reader is the
// point at which the call tree parts: the first user functions below a common caller that each have, with what they
// call, at least leastShare of the whole.
const (
	maxParts     = 4    // named in a finding
	leastWork    = 1e7  // nanoseconds of CPU time: of a shorter run the start of the program is most
	maxPartSteps = 1000 // rows whose callees are looked at: a deep tree is followed no further
)

// part is a user function, and what it weighs with its callees on all paths from where the tree parts.
type part struct {
	function session.FunctionID
	rows     []Row
	weight   int64
}

// parting follows the call tree from a row to where it parts.
type parting struct {
	context *context
	weight  func(cost) int64
	below   func(*Row) ([]Row, error) // a row of the call tree
	whole   int64
	steps   int
}

// findParts says which calls have the largest parts of the CPU time, or of the bytes where no calls were timed.
func (s *Summary) findParts() error {
	what, whole, least := "bytes", int64(s.Total.Bytes), int64(leastBytes)
	if s.Timing != nil {
		what, whole, least = "CPU time", int64(s.Timing.Total.Inclusive.CPU), leastWork
	}
	if whole < least || s.Timing != nil && !s.isWork() {
		return nil
	}
	return s.inCallTree(func() error { return s.findPartsOf(what, whole) })
}

func (s *Summary) findPartsOf(what string, whole int64) error {
	p := parting{context: s.context, weight: byBytes, below: s.context.pathsBelow, whole: whole}
	if s.Timing != nil {
		p.weight = func(w cost) int64 { return int64(w.time.CPU) }
		p.below = s.context.worksBelow
	}
	roots, err := s.context.processRows()
	if err != nil || len(roots) == 0 {
		return err
	}
	root, err := s.context.heaviestOf(roots, p.weight)
	if err != nil {
		return err
	}
	parts, err := p.follow(root)
	if err != nil || len(parts) == 0 {
		return err
	}
	var names List
	for _, x := range parts[:min(maxParts, len(parts))] {
		names = append(names, fmt.Sprintf("%s (%s%s)", s.context.callName(x.function), s.sign(),
			q.PercentOf(q.Bytes(x.weight), q.Bytes(p.whole))))
	}
	row := parts[0].rows[0]
	row.from.Function = row.function
	of := rules.OfBytes
	if s.Timing != nil {
		of = rules.OfCPU
	}
	if !slices.ContainsFunc(parts[:min(maxParts, len(parts))], s.isUnsaid) { // what spots say is said once
		return nil
	}
	share := q.PercentOf(q.Bytes(parts[0].weight), q.Bytes(p.whole))
	s.findShare(&row, Explains{of, share}, FindingParts, what, names)
	return nil
}

// heaviestSpot is the heaviest line of what findParts looks at.
func (s *Summary) heaviestSpot() *spot {
	if s.Timing != nil {
		return s.mostWork
	}
	return s.mostBytes
}

// partsHalf: a spot with one in so many of a cost says where it goes.
const partsHalf = 2

// mayPart reports whether it is of interest which calls have the largest parts of the CPU time, or of the bytes where
// no calls were timed: no spot has half of it.
func (s *Summary) mayPart() bool {
	most, whole := s.heaviestSpot(), int64(s.Total.Bytes)
	if s.Timing != nil {
		whole = int64(s.Timing.Total.Inclusive.CPU)
	} else if whole < leastBytes {
		return false
	}
	return most == nil || most.weight < whole/partsHalf
}

// follow goes down from a row as long as one user function alone weighs enough: to where the tree parts, or to the last
// such function.
func (p *parting) follow(from Row) ([]part, error) {
	var last []part
	rows := []Row{from}
	for {
		parts, err := p.parts(rows)
		if err != nil || len(parts) == 0 {
			return last, err
		}
		if len(parts) > 1 {
			return parts, nil
		}
		last, rows = parts, parts[0].rows
	}
}

// parts are the nearest user functions below some rows that weigh enough, the heaviest first. Code of the framework in
// between is passed, and Main, of which everybody knows that most is in calls of it.
func (p *parting) parts(rows []Row) ([]part, error) {
	var parts []part
	at := map[session.FunctionID]int{}
	for len(rows) > 0 && p.steps < maxPartSteps {
		from := rows[0]
		rows = rows[1:]
		p.steps++
		callees, err := p.below(&from)
		if err != nil {
			return nil, err
		}
		for _, r := range p.context.recorded(callees, p.weight) {
			if !p.context.isUser(r.function) || p.context.isEntry(&r, &from) {
				if p.isPart(p.weight(inclusiveCost(&r))) {
					rows = append(rows, r)
				}
				continue
			}
			i, known := at[r.function]
			if !known {
				i = len(parts)
				at[r.function] = i
				parts = append(parts, part{function: r.function})
			}
			parts[i].rows = append(parts[i].rows, r)
			parts[i].weight += p.weight(inclusiveCost(&r))
		}
	}
	parts = slices.DeleteFunc(parts, func(x part) bool { return !p.isPart(x.weight) })
	slices.SortFunc(parts, func(a, b part) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.function, b.function))
	})
	return parts, nil
}

// isPart reports whether something weighs enough to be named.
func (p *parting) isPart(weight int64) bool {
	return isShare(q.Bytes(weight), q.Bytes(p.whole), leastShare)
}
