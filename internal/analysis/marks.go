package analysis

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// Marks returns the marks of a session in the order of time.
func Marks(s *session.Session) ([]session.Mark, error) {
	list, err := s.Marks()
	slices.SortStableFunc(list, func(a, b session.Mark) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.ID, b.ID))
	})
	return list, err
}

// ErrMarkOrder means that a span between marks ends before it begins.
var ErrMarkOrder = errors.New("the second mark is not after the first")

// ErrMarkSpan means that a text is no span between marks.
var ErrMarkSpan = errors.New("is not a span: want A..B, A.. or ..B, with the names of marks")

// ParseMarks returns the span of time that a text means: A..B, A.. or ..B, as betweenMarks does. Errors are its own,
// ErrMarkSpan and ErrMarkOrder.
func ParseMarks(s *session.Session, text string) (begin, end q.Nanoseconds, err error) {
	from, to, ok := strings.Cut(text, "..")
	if !ok || from == "" && to == "" {
		return 0, 0, ErrMarkSpan
	}
	return betweenMarks(s, from, to)
}

// betweenMarks returns the span of time between two marks, each given by its name or by #ID; "" is the begin, or the
// end, of the session. It is widened to whole slices. Of several marks of a name the first is taken, and as the end the
// first after the begin. The error is a *TermError if there is no such mark.
func betweenMarks(s *session.Session, from, to string) (begin, end q.Nanoseconds, err error) {
	var begins, ends []string
	if from != "" {
		begins = []string{from}
	}
	if to != "" {
		ends = []string{to}
	}
	return spanOfMarks(s, begins, ends)
}

// ErrMarkUncut means that what came after a mark cannot be told from what came before it.
var ErrMarkUncut = errors.New("what came after it is not known apart from what came before it")

// AfterMark returns the begin of what is known to come after a mark, given by its name or by #ID: the mark itself, if a
// slice begins there, or else the next slice, if not more than a 20th of what came after the mark is left out by that.
// The error is a *TermError if there is no such mark, or ErrMarkUncut.
func AfterMark(s *session.Session, name string) (q.Nanoseconds, error) {
	list, err := Marks(s)
	if err != nil {
		return 0, err
	}
	m, err := findMark(list, name)
	if err != nil {
		return 0, err
	}
	slices, err := s.Slices()
	if err != nil || len(slices) == 0 {
		return m.Time, err
	}
	before, after := borders(slices, m.Time)
	if end := slices[len(slices)-1].End; after-m.Time > (end-m.Time)/spanTolerance {
		return 0, fmt.Errorf("%w: it is at %s, in the slice of time from %s to %s", ErrMarkUncut, m.Time, before, after)
	}
	return after, nil
}

// spanOfMarks returns the span of time from the last of some marks to the first of others, widened to whole slices.
func spanOfMarks(s *session.Session, from, to []string) (begin, end q.Nanoseconds, err error) {
	list, err := Marks(s)
	if err != nil {
		return 0, 0, err
	}
	for _, name := range from {
		m, err := findMark(list, name)
		if err != nil {
			return 0, 0, err
		}
		begin = max(begin, m.Time)
	}
	for _, name := range to {
		m, err := markAfter(list, begin, name)
		if err != nil {
			return 0, 0, err
		}
		if end == 0 || m.Time < end {
			end = m.Time
		}
	}
	slices, err := s.Slices()
	if err != nil || len(slices) == 0 {
		return begin, end, err
	}
	begin = borderAt(slices, begin)
	if end != 0 {
		_, end = borders(slices, end)
	}
	return begin, end, nil
}

// slightly is by how much the slice that a mark begins could begin later than the mark, in sessions of before 2026-12.
const slightly q.Nanoseconds = 10_000_000

// borderAt returns the border of slices where a span from a moment on begins: there, or before it.
func borderAt(slices []session.Slice, at q.Nanoseconds) q.Nanoseconds {
	before, after := borders(slices, at)
	if after-at < slightly && after-at < at-before {
		return after
	}
	return before
}

// markAfter finds a mark after a moment: of several with a name the first.
func markAfter(list []session.Mark, begin q.Nanoseconds, name string) (session.Mark, error) {
	m, err := findMark(list, name)
	if err != nil || m.Time > begin {
		return m, err
	}
	if !strings.HasPrefix(name, "#") { // one that is later has the same name
		later := slices.DeleteFunc(slices.Clone(list), func(m session.Mark) bool { return m.Time <= begin })
		if m, err := findMark(later, name); err == nil {
			return m, nil
		}
	}
	return m, ErrMarkOrder
}

func findMark(list []session.Mark, text string) (session.Mark, error) {
	var names []string
	id := int64(0)
	if number, ok := strings.CutPrefix(text, "#"); ok {
		id, _ = strconv.ParseInt(number, 10, 64) // 0 is no id
	}
	for _, m := range list {
		if m.Name == text || id != 0 && int64(m.ID) == id {
			return m, nil
		}
		names = append(names, m.Name)
	}
	slices.Sort(names)
	return session.Mark{}, &TermError{What: "mark", Text: text, Names: slices.Compact(names)}
}

// Paused is how long nothing of a process was recorded, because all processes or this one were paused: the time in
// which at least one of the two levels was off.
func Paused(pauses []session.Pause, p *session.Process) q.Nanoseconds {
	var spans []session.Pause
	for _, x := range pauses {
		if x.Level == session.LevelGlobal || x.Level == session.LevelProcess && x.Process == p.ID {
			x.Begin, x.End = max(x.Begin, p.Begin), min(x.End, p.End)
			spans = append(spans, x)
		}
	}
	slices.SortFunc(spans, func(a, b session.Pause) int { return cmp.Compare(a.Begin, b.Begin) })
	sum, until := q.Nanoseconds(0), p.Begin
	for _, x := range spans {
		if begin := max(x.Begin, until); x.End > begin {
			sum += x.End - begin
			until = x.End
		}
	}
	return sum
}
