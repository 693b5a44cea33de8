package analysis

import (
	"strconv"
	"strings"
	"time"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// ParseTimes reads a span of time as --time has it: A..B, A.. or ..B.
func ParseTimes(text string) (from, to time.Duration, ok bool) {
	a, b, ok := strings.Cut(text, "..")
	for _, end := range []struct {
		text string
		to   *time.Duration
	}{{a, &from}, {b, &to}} {
		if end.text != "" && ok {
			var err error
			*end.to, err = time.ParseDuration(end.text)
			ok = err == nil
		}
	}
	return from, to, ok && (a != "" || b != "") && (b == "" || to > from)
}

// ParseGCs reads a span of collections as --gc has it: A..B, A.. or ..B.
func ParseGCs(text string) (GCSpan, bool) {
	a, b, ok := strings.Cut(text, "..")
	var out GCSpan
	for _, end := range []struct {
		text string
		to   *int64
	}{{a, &out.After}, {b, &out.To}} {
		if end.text != "" {
			n, err := strconv.ParseInt(end.text, 10, 64)
			ok = ok && err == nil && n >= 0
			*end.to = n
		}
	}
	return out, ok && (a != "" || b != "") && (b == "" || out.After < out.To)
}

// SliceAmount is what was allocated in a slice of time.
type SliceAmount struct {
	Begin, End q.Nanoseconds
	q.Amount
}

// BySlice returns what was allocated in each slice of time, in their order; they add up to Total. A span of collections
// selects from all slices, of which it does not tell: then there are none.
func (v *Source) BySlice() ([]SliceAmount, error) {
	if v.selection.InGCs() {
		return nil, nil
	}
	d, err := v.load()
	if err != nil {
		return nil, err
	}
	out := make([]SliceAmount, len(d.Slices))
	for i, s := range d.Slices {
		out[i].Begin, out[i].End = s.Begin, s.End
	}
	err = d.eachValue(everySlice, func(slice, _ int32, value *session.SiteValue) {
		if slice >= 0 {
			out[slice].Amount = out[slice].Add(value.Amount)
		}
	})
	return out, err
}
