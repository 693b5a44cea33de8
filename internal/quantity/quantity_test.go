package quantity

import (
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestPrinting(t *testing.T) {
	for _, c := range []struct {
		got  fmt.Stringer
		want string
	}{
		{Count(0), "0"}, {Count(999), "999"}, {Count(1000), "1,000"}, {Count(1234567), "1,234,567"},
		{Count(-1234), "-1,234"}, {Count(-123), "-123"},
		{Count(math.MaxInt64), "9,223,372,036,854,775,807"}, {Count(math.MinInt64), "-9,223,372,036,854,775,808"},
		{Bytes(0), "0 B"}, {Bytes(1023), "1023 B"}, {Bytes(1024), "1.00 KiB"}, {Bytes(1536), "1.50 KiB"},
		{Bytes(-1536), "-1.50 KiB"},
		{Bytes(1<<20 - 1), "1.00 MiB"}, {Bytes(1<<20 - 6), "1023.99 KiB"}, {Bytes(1237320), "1.18 MiB"},
		{Bytes(1 << 40), "1.00 TiB"},
		{Bytes(math.MaxInt64), "8.00 EiB"}, {Bytes(math.MinInt64), "-8.00 EiB"},
		{Nanoseconds(0), "0 ns"}, {Nanoseconds(999), "999 ns"}, {Nanoseconds(1000), "1.00 µs"},
		{Nanoseconds(1_500_000), "1.50 ms"},
		{Nanoseconds(999_994_999), "999.99 ms"}, {Nanoseconds(999_995_000), "1.00 s"},
		{Nanoseconds(59_990_000_000), "59.99 s"},
		{Nanoseconds(59_999_000_000), "1 min 00 s"}, {Nanoseconds(125_000_000_000), "2 min 05 s"},
		{Nanoseconds(3_720_000_000_000), "1 h 02 min"},
		{Nanoseconds(-1000), "-1.00 µs"},
		{PercentOf(Count(1), Count(3)), "33.33 %"}, {PercentOf(Count(2), Count(3)), "66.67 %"},
		{PercentOf(Count(1), Count(0)), "0.00 %"},
		{PercentOf(Count(1), Count(1_000_000)), "<0.01 %"}, {PercentOf(Count(0), Count(5)), "0.00 %"},
		{PercentOf(Count(5), Count(5)), "100.00 %"},
		{PercentOf(Count(-1), Count(3)), "-33.33 %"}, {PercentOf(Bytes(math.MaxInt64), Bytes(math.MaxInt64)),
			"100.00 %"},
	} {
		if got := c.got.String(); got != c.want {
			t.Errorf("%T(%v) is %q, want %q", c.got, c.got, got, c.want)
		}
	}
	if got := Bytes(1237320).Exact(); got != "1,237,320 B" {
		t.Error(got)
	}
}

// TestCountGroups removes the commas again and checks where they stood.
func TestCountGroups(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64().Draw(t, "n")
		s := Count(n).String()
		if plain := strings.ReplaceAll(s, ",", ""); plain != fmt.Sprint(n) {
			t.Fatalf("%s is not %d", s, n)
		}
		for i, group := range strings.Split(strings.TrimPrefix(s, "-"), ",") {
			if len(group) > 3 || i > 0 && len(group) != 3 || len(group) == 0 {
				t.Fatalf("%s is grouped wrongly", s)
			}
		}
	})
}

// TestBytesNearest: the printed value is the nearest hundredth of its unit.
func TestBytesNearest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(1024, math.MaxInt64).Draw(t, "n")
		var value float64
		var unit string
		if _, err := fmt.Sscanf(Bytes(n).String(), "%f %s", &value, &unit); err != nil {
			t.Fatal(err)
		}
		shift := 10 * (1 + strings.Index("KMGTPE", unit[:1]))
		want := float64(n) / math.Pow(2, float64(shift))
		if math.Abs(value-want) > 0.00501 || value < 1 && shift > 0 || value > 1024 {
			t.Fatalf("%d is %g %s, want %g", n, value, unit, want)
		}
	})
}

// TestPercentExact compares with rational arithmetic.
func TestPercentExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := rapid.Int64Range(1, math.MaxInt64).Draw(t, "whole")
		part := rapid.Int64Range(-whole, whole).Draw(t, "part")
		exact := new(big.Rat).Mul(big.NewRat(100, 1), new(big.Rat).SetFrac64(part, whole))
		want, _ := exact.Float64()
		p := PercentOf(Bytes(part), Bytes(whole))
		if got := p.Float(); got != want {
			t.Fatalf("%d of %d is %v, want %v", part, whole, got, want)
		}
		// |rounded − exact| ≤ half a hundredth
		diff := new(big.Rat).Sub(big.NewRat(p.Round(2), 100), exact)
		if diff.Abs(diff).Cmp(big.NewRat(1, 200)) > 0 {
			t.Fatalf("%d of %d is rounded to %d", part, whole, p.Round(2))
		}
	})
}

func TestAmounts(t *testing.T) {
	a, b := Amount{Allocations: 3, Bytes: 72}, Amount{Allocations: 1, Bytes: 24}
	if a.Add(b) != (Amount{Allocations: 4, Bytes: 96}) || a.Sub(b) != (Amount{Allocations: 2, Bytes: 48}) || a.IsZero() || !a.Sub(a).IsZero() {
		t.Error("amounts")
	}
	x := Amounts{a, b}
	if x.Add(x) != (Amounts{Amount{Allocations: 6, Bytes: 144}, Amount{Allocations: 2, Bytes: 48}}) || x.IsZero() || !(Amounts{}).IsZero() {
		t.Error("amounts of both rules")
	}
}

// TestTimeAddsByField: each field is its own sum, and Sub undoes Add.
func TestTimeAddsByField(t *testing.T) {
	a := Time{1, 2, 3, 4, Waits{5, 6, 7, 8, 9, 10, 11, 12}, Counters{13, 14, 15, 16}}
	b := Time{10, 20, 30, 40, Waits{50, 60, 70, 80, 90, 100, 110, 120}, Counters{130, 140, 150, 160}}
	sum := Time{11, 22, 33, 44, Waits{55, 66, 77, 88, 99, 110, 121, 132}, Counters{143, 154, 165, 176}}
	if got := a.Add(b); got != sum {
		t.Errorf("%+v", got)
	}
	if got := sum.Sub(b); got != a {
		t.Errorf("%+v", got)
	}
	if a.IsZero() || !a.Sub(a).IsZero() || a.Waits.IsZero() || !a.Waits.Sub(a.Waits).IsZero() {
		t.Error("zero")
	}
	both := Times{Inclusive: sum, Exclusive: a}
	if got := both.Add(Times{Exclusive: b}); got != (Times{sum, sum}) || got.IsZero() || !(Times{}).IsZero() {
		t.Errorf("%+v", got)
	}
}
