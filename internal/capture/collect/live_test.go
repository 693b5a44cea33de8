package collect

import (
	"testing"

	"github.com/clrprof/clrprof/internal/capture/live"
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

// TestGreet: who begins to watch is looked for once more a moment later, even if adding up takes as long as that of a
// large recording, after which the collector rests for a hundred times as long.
func TestGreet(t *testing.T) {
	feed := live.NewFeed()
	if _, err := feed.Watch(0); err != nil {
		t.Fatal(err)
	}
	slow := func() error { // a look that takes 10 ms
		for begin := Monotonic(); Monotonic() < begin+10_000_000; {
		}
		return nil
	}
	w := &watched{feed: feed}
	for _, x := range []struct {
		greets bool
		least  quantity.Nanoseconds
		most   quantity.Nanoseconds
	}{{true, 0, tickInterval}, {false, tickShare * 10_000_000, 1 << 62}} {
		if err := w.look(x.greets, slow); err != nil {
			t.Fatal(err)
		}
		if rest := w.next - Monotonic(); rest > x.most || rest < x.least-10_000_000 {
			t.Errorf("greets: %v: the next look is in %s", x.greets, rest)
		}
	}
}
