package analysis

import (
	"fmt"
	"slices"
	"strings"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// CounterPoint is what a counter said at a sample, of all processes together or of the machine: a level as it was then,
// a sum by how much it had grown since the sample before.
type CounterPoint struct {
	Begin, End q.Nanoseconds // of the session; the sample was taken at the end
	Value      int64
}

// ownCounters begins the names of counters whose sums are 0 when a process begins.
const ownCounters = "process."

// CounterPoints returns what a counter said, in the order of time. What a process counted before its first sample
// counts from the sample before, or from the session's start; of sums that began before the session the first sample
// says nothing.
func CounterPoints(s *session.Session, name string) (session.Counter, []CounterPoint, error) {
	counters, err := s.Counters()
	if err != nil {
		return session.Counter{}, nil, err
	}
	at := slices.IndexFunc(counters, func(c session.Counter) bool { return c.Name == name })
	if at < 0 {
		return session.Counter{}, nil, &TermError{What: "counter", Text: name, Names: counterNames(counters)}
	}
	values, err := s.CounterValues()
	if err != nil {
		return session.Counter{}, nil, fmt.Errorf("reading counters: %w", err)
	}
	values = slices.DeleteFunc(values, func(v session.CounterValue) bool {
		return v.Counter != counters[at].ID || v.Time < 0
	})
	slices.SortStableFunc(values, func(a, b session.CounterValue) int { return int(min(1, max(-1, a.Time-b.Time))) })
	var out []CounterPoint
	before := map[session.ProcessID]int64{}
	for i := 0; i < len(values); {
		p, known := CounterPoint{End: values[i].Time}, false
		if len(out) > 0 {
			p.Begin = out[len(out)-1].End
		}
		for ; i < len(values) && values[i].Time == p.End; i++ {
			v := &values[i]
			last, seen := before[v.Process]
			switch before[v.Process] = v.Value; {
			case !counters[at].IsSum:
				p.Value, known = p.Value+v.Value, true
			case seen || strings.HasPrefix(name, ownCounters):
				p.Value, known = p.Value+max(0, v.Value-last), true // a damaged session may have anything
			}
		}
		if known || len(out) > 0 {
			out = append(out, p)
		} else {
			out = append(out, CounterPoint{Begin: p.End, End: p.End})
		}
	}
	return counters[at], out, nil
}

func counterNames(counters []session.Counter) []string {
	var out []string
	for _, c := range counters {
		out = append(out, c.Name)
	}
	return out
}
