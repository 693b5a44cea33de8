package collect

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/clrprof/clrprof/internal/capture/recording"
	"github.com/clrprof/clrprof/internal/wire"
)

// TestCounterSums: small and large counters add up as whole ones do, also in the room of other ones; what is above the
// bound is refused.
func TestCounterSums(t *testing.T) {
	number := rapid.OneOf(rapid.Just(uint64(0)), rapid.Uint64Range(0, 9),
		rapid.Uint64Range(1<<15-2, 1<<15+2),
		rapid.Uint64Range(1<<30-2, 1<<30+2),
		rapid.Uint64Range(math.MaxUint32-2, math.MaxUint32+2), rapid.Uint64Range(0, recording.MaxCounter))
	var got counterSums
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.IntRange(1, 5).Draw(t, "rows")
		got.reset(rows)
		want := make([]counters, rows)
		for range rapid.IntRange(0, 20).Draw(t, "additions") {
			row := rapid.IntRange(0, rows-1).Draw(t, "row")
			v := counters{calls: number.Draw(t, "calls"), made: number.Draw(t, "made"), elapsed: number.Draw(t, "elapsed")}
			v.ended = rapid.OneOf(rapid.Just(v.calls), rapid.Uint64Range(0, v.calls)).Draw(t, "ended")
			v.waited = rapid.OneOf(rapid.Just(uint64(0)), rapid.Uint64Range(0, v.elapsed)).Draw(t, "waited")
			if rapid.IntRange(0, 9).Draw(t, "open") == 0 {
				v.open = v.waited
			}
			w := &want[row]
			*w = counters{w.calls + v.calls, w.ended + v.ended, w.made + v.made, w.elapsed + v.elapsed,
				w.waited + v.waited, w.open + v.open, w.waits}
			if rapid.IntRange(0, 9).Draw(t, "waits") == 0 {
				v.waits.Intervals = 1
				w.waits.Intervals++
			}
			if err := got.add(row, &v); (err != nil) != (bounded(w.calls, w.made, w.elapsed) != nil) ||
				err != nil && !errors.Is(err, wire.ErrCorrupt) {
				t.Fatalf("%+v: %v", *w, err)
			} else if err != nil {
				return
			}
		}
		for i, w := range want {
			if c := got.of(i); c != w || got.ended(i) != w.ended {
				t.Errorf("row %d has %+v, of which %d ended, want %+v", i, c, got.ended(i), w)
			}
		}
	})
}
