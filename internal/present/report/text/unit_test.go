package text

import (
	"testing"

	q "github.com/clrprof/clrprof/internal/quantity"
)

func TestUnits(t *testing.T) {
	for _, c := range []struct {
		unit Unit
		ns   int64
		want string
	}{
		{"", 1_500_000, "1.50 ms"}, {Milliseconds, 1_234_567_891, "1,234.568"}, {Milliseconds, 499, "0.000"},
		{Milliseconds, 500, "0.001"},
		{Milliseconds, 999_999, "1.000"}, {Microseconds, 1_234_567, "1,234.567"}, {Microseconds, 7, "0.007"},
		{Nanoseconds, 1_234_567, "1,234,567"},
		{Ticks, 1_000_000_000, "2,500,000,000"}, {Ticks, 3, "8"}, {Ticks, 0, "0"}, {Microseconds, -1500, "-1.500"},
	} {
		if have := c.unit.print(q.Nanoseconds(c.ns), 2_500_000_000); have != c.want {
			t.Errorf("%d ns in %q: %s, want %s", c.ns, c.unit, have, c.want)
		}
	}
}
