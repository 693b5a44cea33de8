package analysis

import (
	"errors"
	"fmt"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// Errors of a filter that does not fit the session.
var (
	ErrNoProcess = errors.New("no such process")
	ErrNoThread  = errors.New("no such thread")
	ErrNoSlice   = errors.New("no data in this span of time")
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
