package text

import (
	"fmt"

	"github.com/clrprof/clrprof/internal/present/report"
	q "github.com/clrprof/clrprof/internal/quantity"
)

// Unit is what durations are printed in as text. The empty Unit chooses one for each number.
type Unit string

// The units.
const (
	Milliseconds Unit = "ms"
	Microseconds Unit = "us"
	Nanoseconds  Unit = "ns"
	Ticks        Unit = "ticks" // of the clock that times were measured with
)

// Units returns all units.
func Units() []Unit { return []Unit{Milliseconds, Microseconds, Nanoseconds, Ticks} }

// print writes a duration in the unit. Thousandths are exact, but for those of milliseconds, which are rounded.
func (u Unit) print(d q.Nanoseconds, ticksPerSecond int64) string {
	if d < 0 {
		return "-" + u.print(-d, ticksPerSecond) // of a damaged session
	}
	switch u {
	case Milliseconds:
		us := d/1000 + (d%1000+500)/1000
		return thousandths(int64(us))
	case Microseconds:
		return thousandths(int64(d))
	case Nanoseconds:
		return q.Count(d).String()
	case Ticks:
		whole, rest := int64(d)/1e9, int64(d)%1e9
		return q.Count(whole*ticksPerSecond + int64(float64(rest)*float64(ticksPerSecond)/1e9+0.5)).String()
	}
	return d.String()
}

func thousandths(n int64) string { return fmt.Sprintf("%s.%03d", q.Count(n/1000), n%1000) }

// title adds the unit to the title of a column of durations.
func (u Unit) title(c report.Column) string {
	if u == "" || c.Kind != report.Duration {
		return c.Title
	}
	return c.Title + " (" + string(u) + ")"
}
