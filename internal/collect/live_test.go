package collect

import (
	"testing"

	"github.com/clrprof/clrprof/internal/quantity"
)

// TestTicks: watchers see four states in a second and, where a state takes long to add up, so few that it takes a
// hundredth of a core.
func TestTicks(t *testing.T) {
	for _, x := range []struct{ begin, end, next int64 }{
		{1000, 1000 + 1_000_000, 1000 + 250_000_000},
		{0, 2_000_000, 250_000_000},
		{0, 20_000_000, 2_020_000_000},
	} {
		if at := nextTick(quantity.Nanoseconds(x.begin), quantity.Nanoseconds(x.end)); at != quantity.Nanoseconds(
			x.next) {
			t.Errorf("after a look from %d to %d the next is at %d, not %d", x.begin, x.end, at, x.next)
		}
	}
}
