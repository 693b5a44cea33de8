package collect

import (
	"errors"
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/clrprof/clrprof/internal/capture/recording"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/wire"
)

func TestClock(t *testing.T) {
	for _, c := range []struct {
		perSecond, ticks uint64
		want             quantity.Nanoseconds
	}{
		{1_000_000_000, 0, 0},
		{1_000_000_000, 7, 7},
		{3_000_000_000, 2, 0},
		{3_000_000_000, 3, 1},
		{2_700_000_000, 2_699_999_999, 999_999_999},
		{1, 5, 5_000_000_000},
		{2_700_000_000, 1 << 61, 854_015_929_338_405_167}, // 27 years: the product has 91 bits
		{1_000_000_000, recording.MaxCounter, recording.MaxCounter},
		{1_000_000_000, recording.MaxCounter + 1, -1},
		{1, math.MaxUint64, -1},
		{999_999_999, math.MaxUint64, -1},
	} {
		have, err := clock{perSecond: c.perSecond}.nanoseconds(c.ticks)
		if c.want < 0 {
			if !errors.Is(err, wire.ErrCorrupt) {
				t.Errorf("%d ticks, %d a second: %d, %v", c.ticks, c.perSecond, have, err)
			}
		} else if have != c.want || err != nil {
			t.Errorf("%d ticks, %d a second: %d, %v, want %d", c.ticks, c.perSecond, have, err, c.want)
		}
	}
}

// TestClockExact compares with numbers of any size, and with what was to be converted.
func TestClockExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		perSecond, ticks := rapid.Uint64Range(1, 10_000_000_000).Draw(t, "perSecond"), rapid.Uint64().Draw(t, "ticks")
		want := new(big.Int).Mul(new(big.Int).SetUint64(ticks), big.NewInt(1_000_000_000))
		want.Div(want, new(big.Int).SetUint64(perSecond))
		have, err := clock{perSecond: perSecond}.nanoseconds(ticks)
		if fits := want.Cmp(big.NewInt(recording.MaxCounter)) <= 0; (err == nil) != fits || fits &&
			want.Int64() != int64(have) {
			t.Fatalf("%d, %v, want %v", have, err, want)
		}
		c := clock{perSecond: perSecond, ticks: 1 << 60, ns: 1 << 50}
		ns := rapid.Uint64Range(0, 1<<51).Draw(t, "ns")
		at, err := c.at(ns)
		before := new(big.Int).Sub(new(big.Int).SetUint64(ns), big.NewInt(1<<50))
		before.Mul(before, new(big.Int).SetUint64(perSecond)).Quo(before, big.NewInt(1_000_000_000)).Add(before,
			big.NewInt(1<<60))
		if before.Sign() < 0 {
			before.SetInt64(0)
		}
		if err != nil || before.Cmp(new(big.Int).SetUint64(at)) != 0 {
			t.Fatalf("at %d: %d, %v, want %v", ns, at, err, before)
		}
	})
}

func TestSuspension(t *testing.T) {
	for slept, want := range map[quantity.Nanoseconds]string{0: "", -5: "", 1_000_000: "", 1_000_001: "1000001",
		3_600_000_000_000: "3600000000000"} {
		if have := suspension(slept)[session.KeySuspended]; have != want {
			t.Errorf("%d ns: %q", slept, have)
		}
	}
	if slept := asleep(); slept < -shortestSuspension {
		t.Errorf("the machine was suspended for %d ns", slept)
	}
	if a, b := asleep(), asleep(); a-b > shortestSuspension || b-a > shortestSuspension {
		t.Errorf("%d and %d ns, at once", a, b)
	}
}
