package session

import (
	"strings"

	q "github.com/clrprof/clrprof/internal/quantity"
)

// ownCounters begins the names of counters whose sums are 0 when a process begins.
const ownCounters = "process."

// CounterTotal adds up what one counter says of all processes, or of the machine, in the order of time. The zero value
// of a counter is one that has said nothing.
type CounterTotal struct {
	Counter
	At    q.Nanoseconds // of the last sample
	Known bool          // there is a value: the first sample of a sum that began before the session says nothing

	// Value is of a level what it is in the processes of the last sample together, of a sum by how much it has grown:
	// in a process since it began if it counts only that, otherwise since its first sample.
	Value float64

	last map[ProcessID]float64
}

// Add takes a value. Those of one sample have the same time.
func (t *CounterTotal) Add(v *CounterValue) {
	if t.last == nil {
		t.last = map[ProcessID]float64{}
	}
	now := v.Number()
	before, seen := t.last[v.Process]
	t.last[v.Process] = now
	switch {
	case !t.IsSum && v.Time == t.At && t.Known:
		t.Value += now
	case !t.IsSum:
		t.Value, t.Known = now, true
	case seen || strings.HasPrefix(t.Name, ownCounters):
		t.Value, t.Known = t.Value+max(0, now-before), true // a damaged session may have anything
	}
	t.At = v.Time
}
