package analysis

import (
	"errors"
	"fmt"
	"time"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// Errors of a filter that does not fit the session.
var (
	ErrNoProcess = errors.New("no such process")
	ErrNoThread  = errors.New("no such thread")
	ErrNoSlice   = errors.New("no data in this span of time")
	// ErrSplitsSlice means that a span of time begins or ends within a slice, of which only the sum is known.
	ErrSplitsSlice = errors.New("data is kept in slices of time, and this span begins or ends within one")
)

// Filter restricts values to a part of a session. The zero Filter restricts nothing.
type Filter struct {
	Process session.ProcessID // 0: all
	Thread  session.ThreadID  // 0: all
	// From and To are a span of time since the session's start, To not included; To 0 is
	// the end. Data is kept in slices, so every slice that overlaps the span counts as a whole.
	From, To q.Nanoseconds
}

// IsZero reports whether the filter restricts nothing.
func (f Filter) IsZero() bool { return f == Filter{} }

// overlaps reports whether a slice counts. A slice without length is a point.
func (f Filter) overlaps(s session.Slice) bool {
	return (f.To == 0 || s.Begin < f.To) && (s.End > f.From || s.Begin >= f.From)
}

// Span returns the span of time that is really covered: that of all slices which overlap f.
func (f Filter) Span(slices []session.Slice) (from, to q.Nanoseconds, ok bool) {
	for _, s := range slices {
		if !f.overlaps(s) {
			continue
		}
		if !ok || s.Begin < from {
			from = s.Begin
		}
		to = max(to, s.End)
		ok = true
	}
	return from, to, ok
}

// spanTolerance is the part of its length by which a span of time can miss the borders of slices, which are never at
// round numbers.
const spanTolerance = 20

// Fit returns the filter with a span of time that begins and ends at borders of slices, if such a span is within a 20th of
// its length of the one that is asked for. Else the error, ErrSplitsSlice, names the borders on both sides. A span that goes
// beyond the recording is cut to it; one in which there is nothing is ErrNoSlice.
func (f Filter) Fit(slices []session.Slice) (Filter, error) {
	if f.From == 0 && f.To == 0 || len(slices) == 0 {
		return f, nil
	}
	if _, _, ok := f.Span(slices); !ok {
		return f, fmt.Errorf("%w: %s to %s", ErrNoSlice, f.From, f.To)
	}
	end := slices[len(slices)-1].End
	to := f.To
	if to == 0 || to > end {
		to = end
	}
	most := (to - f.From) / spanTolerance
	out := f
	var fits [2]bool
	for i, at := range []struct {
		asked q.Nanoseconds
		fit   *q.Nanoseconds
	}{{f.From, &out.From}, {to, &out.To}} {
		before, after := borders(slices, at.asked)
		*at.fit = before
		if after-at.asked < at.asked-before {
			*at.fit = after
		}
		fits[i] = max(*at.fit-at.asked, at.asked-*at.fit) <= most
	}
	if !fits[0] || !fits[1] || out.From >= out.To {
		from, _ := borders(slices, f.From)
		_, until := borders(slices, to)
		return f, fmt.Errorf("%w: %s to %s; the shortest span around it is --from %s --to %s", ErrSplitsSlice, f.From, to, duration(from), duration(until))
	}
	if out.To == end {
		out.To = 0 // also what was counted at the very end, in a slice without length
	}
	return out, nil
}

// borders returns the borders of slices next to a time: at or before it, and at or after it.
func borders(slices []session.Slice, at q.Nanoseconds) (before, after q.Nanoseconds) {
	after = slices[len(slices)-1].End
	for _, s := range slices {
		if s.Begin <= at {
			before = s.Begin
		} else if s.Begin < after {
			after = s.Begin
			break
		}
	}
	if last := slices[len(slices)-1].End; at >= last {
		before = last
	}
	if before == at {
		after = at
	}
	return before, after
}

// duration is a time as --from and --to take it: exact.
func duration(t q.Nanoseconds) string { return time.Duration(t).String() }

// check reports whether what the filter names exists in d.
func (f Filter) check(d *Data) error {
	if f.Process != 0 {
		if _, ok := newIndex(d.Processes, func(r *session.Process) session.ProcessID { return r.ID }).find(f.Process); !ok {
			return fmt.Errorf("%w: %d", ErrNoProcess, f.Process)
		}
	}
	if f.Thread != 0 {
		if _, ok := newIndex(d.Threads, func(r *session.Thread) session.ThreadID { return r.ID }).find(f.Thread); !ok {
			return fmt.Errorf("%w: %d", ErrNoThread, f.Thread)
		}
	}
	if f.From != 0 || f.To != 0 {
		if _, _, ok := f.Span(d.Slices); !ok {
			return fmt.Errorf("%w: %s to %s", ErrNoSlice, f.From, f.To)
		}
	}
	return nil
}
