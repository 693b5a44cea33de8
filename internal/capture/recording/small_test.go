package recording

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/clrprof/clrprof/internal/session/pieces"
)

// numbers draws numbers on both sides of all bounds.
func numbers() *rapid.Generator[uint64] {
	return rapid.OneOf(rapid.Just(uint64(0)), rapid.Uint64Range(0, 3), rapid.Uint64Range(mostBoth-1, mostBoth+2),
		rapid.Uint64Range(pieces.MostSmall-1, pieces.MostSmall+2), rapid.Uint64Range(math.MaxUint32-1, math.MaxUint32+2),
		rapid.Uint64Range(0, MaxCounter))
}

// TestSmallTiming: what is small is that again, and it is small if its numbers are.
func TestSmallTiming(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		calls, made, elapsed := numbers().Draw(t, "calls"), numbers().Draw(t, "made"), numbers().Draw(t, "elapsed")
		ended := rapid.OneOf(rapid.Just(calls), rapid.Uint64Range(0, calls)).Draw(t, "ended")
		small, ok := NewSmallTiming(calls, ended, made, elapsed)
		both := max(calls, made) < 1<<15 || (min(calls, made) == 0 && max(calls, made) < 1<<30)
		if want := calls == ended && elapsed < 1<<32 && both; ok != want {
			t.Fatalf("small: %t, want %t", ok, want)
		}
		if c, m, e := small.Counters(); ok && (c != calls || m != made || e != elapsed || small[0]>>30 == 3) {
			t.Fatalf("%d calls, %d made, %d: %x", c, m, e, small)
		}
	})
}

// TestSmallInclusive: the same of inclusive times.
func TestSmallInclusive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		times, calls, elapsed := numbers().Draw(t, "times"), numbers().Draw(t, "calls"), numbers().Draw(t, "elapsed")
		pair := rapid.SampledFrom([][2]uint64{{0, 0}, {calls, elapsed}, {calls, elapsed + 1}, {calls + 1, elapsed}})
		each := pair.Draw(t, "each")
		small, ok := NewSmallInclusive(times, calls, elapsed, each[0], each[1])
		same := each == [2]uint64{} || each == [2]uint64{calls, elapsed}
		if want := same && max(times, elapsed) < 1<<32 && calls < 1<<30; ok != want {
			t.Fatalf("small: %t, want %t", ok, want)
		}
		if n, c, e, ec, ee := small.Sums(); ok && (n != times || c != calls || e != elapsed || ec != each[0] ||
			ee != each[1] || small[0]>>30 == 3) {
			t.Fatalf("%d %d %d %d %d: %x", n, c, e, ec, ee, small)
		}
	})
}
