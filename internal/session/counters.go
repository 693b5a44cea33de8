package session

import q "github.com/clrprof/clrprof/internal/quantity"

// Counter is a row of the table counter.
type Counter struct {
	ID      int64
	Name    string
	Unit    string
	IsSum   bool
	Meaning string
	Missing string // why it has no values; "": it has some, or nothing was wrong
}

// CounterValue is a row of the table counter_value.
type CounterValue struct {
	Time    q.Nanoseconds
	Process ProcessID // 0: of the machine
	Counter int64
	Value   int64
}

var counterTable = table[Counter]{
	"counter", "id, name, unit, is_sum, meaning, missing", "id",
	func(c *cells, r *Counter) {
		c.int64(&r.ID)
		c.text(&r.Name)
		c.text(&r.Unit)
		c.bool(&r.IsSum)
		c.text(&r.Meaning)
		c.text(&r.Missing)
	},
}

var counterValueTable = table[CounterValue]{
	"counter_value", "time_ns, process_id, counter_id, value", "time_ns, process_id, counter_id",
	func(c *cells, r *CounterValue) {
		integer(c, &r.Time)
		integer(c, &r.Process)
		c.int64(&r.Counter)
		c.int64(&r.Value)
	},
}

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
