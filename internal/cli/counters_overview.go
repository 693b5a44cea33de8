package cli

import (
	"math"
	"strconv"
	"strings"

	"github.com/clrprof/clrprof/internal/present/report"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// overviewTitles are what the columns of the overview are called.
var overviewTitles = map[string]string{"name": "Counter", "process_id": "PID", "increase": "Increase",
	"average": "Average", "least": "Least", "most": "Most", "last": "Last", "meaning": "What it is"}

// series are the values of a counter for a process, in the order of time.
type series struct {
	of      *session.Counter
	process session.ProcessID
	values  []*session.CounterValue
}

// overview has a row for each counter and process, for people: of a sum by how much it grew, and how fast; of a level
// what it was. Other formats have the values.
func (s *samples) overview() *report.Records {
	out := &report.Records{Titles: overviewTitles, Optional: []string{"meaning", "last", "least"}, Columns: []string{
		"name", "process_id", "increase", "average", "least", "most", "last", "meaning"}}
	type key struct {
		counter int64
		process session.ProcessID
	}
	of := map[key]*series{}
	for i := range s.values {
		v := &s.values[i]
		at := key{v.Counter, v.Process}
		if of[at] == nil {
			of[at] = &series{of: s.byID[v.Counter], process: v.Process}
		}
		of[at].values = append(of[at].values, v)
	}
	processes := []session.ProcessID{0} // the machine
	for _, p := range s.processes {
		processes = append(processes, p.ID)
	}
	for i := range s.counters {
		c := &s.counters[i]
		for _, p := range processes {
			if one := of[key{c.ID, p}]; one != nil {
				row := append([]any{c.Label(), s.pids[p]}, one.cells()...)
				out.Rows = append(out.Rows, append(row, c.Meaning))
			}
		}
	}
	return out
}

// cells are by how much it grew, the average, the least and the most of a second or of a sample, and the last value.
func (r *series) cells() []any {
	first, last := r.values[0], r.values[len(r.values)-1]
	value := func(n float64) string { return valueText(n, r.of.Unit) }
	least, most, sum, n := math.Inf(1), math.Inf(-1), 0.0, 0
	take := func(v float64) { least, most, sum, n = min(least, v), max(most, v), sum+v, n+1 }
	if !r.of.IsSum {
		for _, v := range r.values {
			take(v.Number())
		}
		return []any{"", value(sum / float64(n)), value(least), value(most), value(last.Number())}
	}
	rate := func(from, to *session.CounterValue) float64 {
		return (to.Number() - from.Number()) / float64(to.Time-from.Time) * 1e9
	}
	for i, v := range r.values[1:] {
		if v.Time > r.values[i].Time {
			take(rate(r.values[i], v))
		}
	}
	if n == 0 {
		return []any{"", "", "", "", value(last.Number())}
	}
	suffix := "/s"
	if r.of.Unit == "ns" {
		suffix = " a second"
	}
	perSecond := func(v float64) string { return value(v) + suffix }
	return []any{value(last.Number() - first.Number()), perSecond(rate(first, last)), perSecond(least), perSecond(most),
		value(last.Number())}
}

// valueText prints a value in its unit.
func valueText(n float64, unit string) string {
	const whole = 1 << 53
	switch {
	case math.Abs(n) > whole || math.IsNaN(n):
	case unit == "ns":
		return q.Nanoseconds(math.Round(n)).String()
	case unit == "bytes" || unit == "By":
		return q.Bytes(math.Round(n)).String()
	}
	text := strconv.FormatFloat(n, 'f', 2, 64)
	if n == math.Trunc(n) && math.Abs(n) <= whole {
		text = q.Count(n).String()
	}
	if unit == "count" || unit == "" || strings.HasPrefix(unit, "{") {
		return text
	}
	return text + " " + unit
}
