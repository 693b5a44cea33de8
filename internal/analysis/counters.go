package analysis

import (
	"fmt"
	"slices"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// CounterPoint is what a counter said at a sample, of all processes together or of the machine: a level as it was then,
// a sum by how much it had grown since the sample before.
type CounterPoint struct {
	Begin, End q.Nanoseconds // of the session; the sample was taken at the end
	Value      float64
}

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
	total := session.CounterTotal{Counter: counters[at]}
	for i := 0; i < len(values); {
		p, before := CounterPoint{End: values[i].Time}, 0.0
		if len(out) > 0 {
			p.Begin = out[len(out)-1].End
		}
		if total.IsSum {
			before = total.Value
		}
		for ; i < len(values) && values[i].Time == p.End; i++ {
			total.Add(&values[i])
		}
		if total.Known || len(out) > 0 {
			p.Value = total.Value - before
		} else {
			p.Begin = p.End
		}
		out = append(out, p)
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
