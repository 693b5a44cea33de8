package eventpipe

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/clrprof/clrprof/internal/quantity"
)

// Counter says what is measured: a counter of an event source.
type Counter struct {
	Source  string // the event source
	Name    string // SOURCE/COUNTER, and .count and the like of one that has several values
	Tags    string // NAME=VALUE,NAME=VALUE as the program has them
	Unit    string // as the program says; "": it does not
	Sum     bool   // it adds up; otherwise it is a level
	Meaning string // as the program says
}

// Point is a value at a moment.
type Point struct {
	Counter
	Time  quantity.Nanoseconds // of the clock MONOTONIC
	Value float64
}

// Limits of what is kept of one session.
const (
	maxValues   = 8000 // counters: those of the runtime and ASP.NET Core are some 60
	maxTroubles = 16   // different ones
)

// eventCounters is the name of the events that tell values.
const eventCounters = "EventCounters"

// CounterProviders are the providers of a session that samples the counters of event sources.
func CounterProviders(sources []string, interval quantity.Nanoseconds) []Provider {
	out := make([]Provider, len(sources))
	for i, name := range sources {
		// Events of counters have no keyword, and are always sent. Some runtimes read the interval, in seconds, by the
		// program's culture, which may have a comma in place of the point: there is none.
		out[i] = Provider{name, 0, Critical, fmt.Sprintf("EventCounterIntervalSec=%dE-3", max(1, interval/1_000_000))}
	}
	return out
}

// ValidName says whether an event source can be called so in a request: what separates arguments cannot be in it.
func ValidName(name string) bool {
	return name != "" && len(name) <= 256 && !strings.ContainsAny(name, ";,=\\\"'\r\n\x00") &&
		strings.TrimSpace(name) == name
}

// Counters makes points of the events of counters.
type Counters struct {
	totals   map[seriesKey]float64
	grouped  map[string]bool // counters that are more than one value: their count is reported
	troubles map[string]bool
}

type seriesKey struct{ name, tags string }

// NewCounters makes points of the events of one session.
func NewCounters() *Counters {
	return &Counters{map[seriesKey]float64{}, map[string]bool{}, map[string]bool{}}
}

// Troubles say what was left out.
func (c *Counters) Troubles() []string { return slices.Sorted(maps.Keys(c.troubles)) }

func (c *Counters) room(n int) bool {
	if n < maxValues {
		return true
	}
	if len(c.troubles) < maxTroubles {
		c.troubles[fmt.Sprintf("there are more than %d values: others are left out", maxValues)] = true
	}
	return false
}

// grow adds to a sum. There is none if there are too many.
func (c *Counters) grow(of Counter, by float64) (total float64, ok bool) {
	key := seriesKey{of.Name, of.Tags}
	if _, known := c.totals[key]; math.IsNaN(by) || math.IsInf(by, 0) || !known && !c.room(len(c.totals)) {
		return 0, false
	}
	c.totals[key] += by
	return c.totals[key], true
}

// Add takes an event, and returns the values that it tells.
func (c *Counters) Add(e *Event) []Point {
	if e.Name != eventCounters {
		return nil
	}
	v := e.Values()
	if inner, ok := v[""].(Values); ok {
		v = inner
	}
	p, ok := v["Payload"].(Values)
	if !ok {
		return nil
	}
	of := Counter{Source: e.Provider, Name: e.Provider + "/" + p.text("Name"), Tags: p.text("Metadata"),
		Unit: p.text("DisplayUnits"), Meaning: p.text("DisplayName")}
	if p.text("CounterType") == "Sum" {
		return c.append(nil, e, of.part("", of.Unit, true), p.number("Increment"))
	}
	n := p.number("Count")
	var out []Point
	if n > 0 {
		out = c.append(out, e, of, p.number("Mean"))
	}
	if n != 1 && c.room(len(c.grouped)) { // of a level that is asked for there is one value each time
		c.grouped[of.Name] = true
	}
	counted := c.append(nil, e, of.part(".count", "", true), n)
	if !c.grouped[of.Name] {
		return out
	}
	out = append(out, counted...)
	if n > 0 {
		out = c.append(out, e, of.part(".min", of.Unit, false), p.number("Min"))
		out = c.append(out, e, of.part(".max", of.Unit, false), p.number("Max"))
	}
	return out
}

// part is one of several values of a counter.
func (of Counter) part(name, unit string, sum bool) Counter {
	of.Name, of.Unit, of.Sum = of.Name+name, unit, sum
	return of
}

// append appends a value, by which a sum grew. What is no number is left out.
func (c *Counters) append(out []Point, e *Event, of Counter, value float64) []Point {
	if of.Sum {
		total, ok := c.grow(of, value)
		if !ok {
			return out
		}
		value = total
	}
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return out
	}
	return append(out, Point{of, e.Time, value})
}
