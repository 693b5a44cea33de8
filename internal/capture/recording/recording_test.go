package recording

import (
	"math"
	"testing"

	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// TestRoom: ids that are not short any more are refused before they are given.
func TestRoom(t *testing.T) {
	r := &Recording{}
	if err := r.Room(math.MaxUint32/4, math.MaxUint32/4); err != nil {
		t.Error(err)
	}
	r.next.node = 4
	if err := r.Room(math.MaxUint32/4, math.MaxUint32/4); err == nil {
		t.Error("too many nodes are let through")
	}
	if err := r.Room(0); err != nil {
		t.Error(err)
	}
	const most = math.MaxUint32
	for _, next := range []ids{{thread: most}, {typ: most}, {function: most}, {instruction: most}, {node: most},
		{site: most}, {timing: most}} {
		if err := (&Recording{next: next}).Room(1); err == nil {
			t.Errorf("%+v is let through", next)
		}
	}
}

func TestWaited(t *testing.T) {
	for _, c := range []struct {
		sum, elapsed, hadElapsed, hadWaited quantity.Nanoseconds
		last                                bool
		want                                quantity.Nanoseconds
	}{
		{10, 100, 0, 0, false, 10},
		{10, 10, 0, 0, false, 10},
		{60, 150, 100, 20, false, 60},
		{71, 150, 100, 20, false, 70}, // rounded apart
		{71, 150, 100, 20, true, 70},  // for ever
		{90, 100, 100, 20, false, 20}, // an interval whose kind was not known before: in the next slice
		{90, 160, 100, 20, false, 80}, // where there is room for a part of it
		{90, 100, 100, 20, true, 90},  // or at the end
		{110, 100, 100, 20, true, 20}, // killed between the two
		{10, 100, 100, 20, false, 10}, // shrunk: an error later
	} {
		now, before := session.TimingValue{Elapsed: c.elapsed}, session.TimingValue{Elapsed: c.hadElapsed,
			Waited: c.hadWaited}
		if have := waited(c.sum, &now, &before, c.last); have != c.want {
			t.Errorf("%+v: %d", c, have)
		}
	}
}
