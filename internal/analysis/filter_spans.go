package analysis

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// spans are the fields of which clauses are ends of a span, and why they cannot be parts of anything but that.
var spans = []struct{ field, why string }{
	{fieldTime, "of time only whole slices are known"}, {fieldMark, "between marks only whole slices are known"},
	{fieldGC, "of collections only spans are known"},
}

// takeOutermost takes the clauses that must all hold and that a selection has besides its filter: the ends of spans of
// time and of collections, and a process and a thread. The rest stays in the term.
func (t *Terms) takeOutermost(all *filterTerm) error {
	if all.has(fieldGC) && (all.has(fieldTime) || all.has(fieldMark)) {
		return fmt.Errorf("%w: %w", ErrFilter, ErrGCsInTime)
	}
	flat := all.conjuncts()
	all.parts = nil
	for _, p := range flat {
		if !t.take(p) {
			all.parts = append(all.parts, p)
		}
	}
	if err := t.checkSpans(); err != nil {
		return err
	}
	for _, span := range spans {
		if all.has(span.field) {
			return fmt.Errorf("%w: %s: its clauses go with and, not below or and not", ErrFilter, span.why)
		}
	}
	return nil
}

// take takes a clause that a selection has besides its filter.
func (t *Terms) take(p *filterTerm) bool {
	if p.how != "" {
		return false
	}
	switch p.field {
	case fieldTime:
		t.limitTime(p)
	case fieldMark:
		if isBegin(p) {
			t.fromMarks = append(t.fromMarks, p.value)
		} else {
			t.toMarks = append(t.toMarks, p.value)
		}
	case fieldGC:
		t.limitGCs(p)
	case fieldProcess:
		return p.takeInto(&t.Processes)
	case fieldThread:
		return p.takeInto(&t.Threads)
	default:
		return false
	}
	return true
}

// checkSpans refuses spans in which there is nothing.
func (t *Terms) checkSpans() error {
	if t.To != 0 && t.From >= t.To {
		return fmt.Errorf("%w: nothing is from %s to %s", ErrFilter, t.From, t.To)
	}
	if t.GCs.To != 0 && t.GCs.After >= t.GCs.To {
		return fmt.Errorf("%w: no collection is after %d and not after %d", ErrFilter, t.GCs.After, t.GCs.To)
	}
	return nil
}

// isBegin reports whether a clause is about the beginning of a span.
func isBegin(clause *filterTerm) bool { return strings.HasPrefix(clause.operator, ">") }

// limitTime narrows the span of time: slices count as a whole.
func (t *Terms) limitTime(clause *filterTerm) {
	length, _ := time.ParseDuration(clause.value) // it was checked
	if at := q.Nanoseconds(length); isBegin(clause) {
		t.From = max(t.From, at)
	} else {
		t.endAt(max(at, 1))
	}
}

// endAt ends the span of time at a moment, if it does not end before.
func (t *Terms) endAt(at q.Nanoseconds) {
	if t.To == 0 || at < t.To {
		t.To = at
	}
}

// checkGC refuses clauses about collections that have no meaning.
func (t *filterTerm) checkGC() error {
	first, n := int64(1), int64(0)
	if t.operator == "<" {
		first = 2
	} else if isBegin(t) {
		first = 0
	}
	n, err := strconv.ParseInt(t.value, 10, 64)
	switch {
	case err != nil || t.operator == "<>":
		return fmt.Errorf("%w: %s: gc goes with = < > <= >= and the number of a collection", ErrFilter, t)
	case n < first:
		return fmt.Errorf("%w: %s: the first collection has the number 1", ErrFilter, t)
	}
	return nil
}

// limitGCs narrows the span of collections: from the end of the one before the first that it lets through to the end of
// the last.
func (t *Terms) limitGCs(clause *filterTerm) {
	n, _ := strconv.ParseInt(clause.value, 10, 64) // it was checked
	after, to := int64(0), int64(0)
	switch clause.operator {
	case ">":
		after = n
	case ">=":
		after = n - 1
	case "<":
		to = n - 1
	case "<=":
		to = n
	default:
		after, to = n-1, n
	}
	t.GCs.After = max(t.GCs.After, after)
	if to != 0 && (t.GCs.To == 0 || to < t.GCs.To) {
		t.GCs.To = to
	}
}

// limitMarks narrows the span of time to what is between the marks that the filter names.
func (t *Terms) limitMarks(s *session.Session) error {
	if len(t.fromMarks) == 0 && len(t.toMarks) == 0 {
		return nil
	}
	from, to, err := spanOfMarks(s, t.fromMarks, t.toMarks)
	if err != nil {
		return err
	}
	if t.From = max(t.From, from); to != 0 {
		t.endAt(to)
	}
	return t.checkSpans()
}
