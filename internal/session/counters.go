package session

import (
	"math"

	q "github.com/clrprof/clrprof/internal/quantity"
)

// Counter is a row of the table counter.
type Counter struct {
	ID      int64
	Name    string
	Unit    string
	IsSum   bool
	Meaning string
	Missing string // why it has no values; "": it has some, or nothing was wrong
	Tags    string // of an instrument of a meter: NAME=VALUE,NAME=VALUE
}

// Label is the counter's name, with its tags in braces.
func (c *Counter) Label() string {
	if c.Tags == "" {
		return c.Name
	}
	return c.Name + "{" + c.Tags + "}"
}

// CounterValue is a row of the table counter_value.
type CounterValue struct {
	Time    q.Nanoseconds
	Process ProcessID // 0: of the machine
	Counter int64
	Value   int64

	// Fraction is what is to be added to Value, with the same sign: what a program counts need not be whole.
	Fraction float64
}

// Number is the whole value.
func (v *CounterValue) Number() float64 { return float64(v.Value) + v.Fraction }

// SplitNumber returns the Value and Fraction of a number, both exactly; false: there are none of such a number.
func SplitNumber(n float64) (value int64, fraction float64, ok bool) {
	whole, fraction := math.Modf(n)
	if !(math.Abs(whole) < 1<<63) { // also of one that is no number
		return 0, 0, false
	}
	return int64(whole), fraction, true
}

var counterTable = tableOf("counter", func(c *cells, r *Counter) {
	c.int64(&r.ID)
	c.text(&r.Name)
	c.text(&r.Unit)
	c.bool(&r.IsSum)
	c.longText(&r.Meaning)
	c.longText(&r.Missing)
	c.longText(&r.Tags)
})

var counterValueTable = tableOf("counter_value", func(c *cells, r *CounterValue) {
	integer(c, &r.Time)
	integer(c, &r.Process)
	c.int64(&r.Counter)
	c.int64(&r.Value)
	c.float64(&r.Fraction)
})

// ReplaceCounters adds rows, or replaces those with the same id.
func (w *Writer) ReplaceCounters(rows []Counter) error { return put(w, replace, counterTable, rows) }

// InsertCounterValues adds rows.
func (w *Writer) InsertCounterValues(rows []CounterValue) error {
	return put(w, add, counterValueTable, rows)
}

// Counters returns the table counter in the order of id.
func (s *Session) Counters() ([]Counter, error) { return rows(s, counterTable) }

// CounterValues returns the table counter_value in the order of time, process and counter.
func (s *Session) CounterValues() ([]CounterValue, error) { return rows(s, counterValueTable) }
