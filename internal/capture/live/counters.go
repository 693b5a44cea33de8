package live

import (
	"cmp"
	"slices"

	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// maxCounters is how many counters a message has, and how many a feed adds up: more than the operating system and a
// runtime have. Others are left out, and how many is said.
const maxCounters = 100

// Counters are the counters that were sampled between the two moments, in the order of their ids.
type Counters struct {
	Rows    []Counter `json:"rows"`
	LeftOut int       `json:"left_out"`
}

// Counter is what a counter said last: a level, or by how much a sum has grown since it was first sampled.
type Counter struct {
	Name  string               `json:"name"`
	Unit  string               `json:"unit"`
	IsSum bool                 `json:"is_sum"`
	About string               `json:"about"`
	At    quantity.Nanoseconds `json:"at_ns"`
	Value float64              `json:"value"`
}

// counters are what a recording's counters said so far.
type counters struct {
	totals  map[int64]*session.CounterTotal
	fresh   map[int64]bool // those sampled since the last message
	leftOut map[int64]bool
}

func newCounters() counters {
	return counters{map[int64]*session.CounterTotal{}, map[int64]bool{}, map[int64]bool{}}
}

// describe takes counters that are new. Those that are known already may come again.
func (c *counters) describe(rows []session.Counter) {
	for _, row := range rows {
		switch _, known := c.totals[row.ID]; {
		case known:
		case len(c.totals) == maxCounters:
			if len(c.leftOut) < maxCounters*maxCounters {
				c.leftOut[row.ID] = true
			}
		default:
			c.totals[row.ID] = &session.CounterTotal{Counter: row}
		}
	}
}

// add takes samples. They are added up whether somebody watches or not: sums need all of them.
func (c *counters) add(values []session.CounterValue) {
	for i := range values {
		if t := c.totals[values[i].Counter]; t != nil {
			t.Add(&values[i])
			c.fresh[t.ID] = true
		}
	}
}

// reported are the counters that have a value, all or those that are new since the last message.
func (c *counters) reported(all bool) Counters {
	out := Counters{Rows: []Counter{}, LeftOut: len(c.leftOut)}
	var found []*session.CounterTotal
	for id, t := range c.totals {
		if t.Known && (all || c.fresh[id]) {
			found = append(found, t)
		}
	}
	slices.SortFunc(found, func(a, b *session.CounterTotal) int { return cmp.Compare(a.ID, b.ID) })
	for _, t := range found {
		out.Rows = append(out.Rows, Counter{t.Name, t.Unit, t.IsSum, t.Meaning, t.At, t.Value})
	}
	return out
}
