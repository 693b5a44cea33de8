// Package quantity holds the numbers of a profile: bytes, counts, times and
// shares, each with a type of its own so that they cannot be mixed up, exact
// arithmetic, and one way to print them.
//
// Printing: counts have thousands separators (1,234,567); bytes have IEC
// binary units with two decimals (1.18 MiB = 1.18 × 1024 × 1024), never the
// decimal kB and MB, because heap sizes, page sizes and the runtime's own limits
// are powers of two; times have SI units (1.50 ms).
package quantity

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"strconv"
	"strings"
)

// Bytes is a number of heap bytes.
type Bytes int64

// Count is a number of things: allocations, instances, events.
type Count int64

// Of says how many things there are: "1 object", "2 objects", "2 classes".
func (n Count) Of(thing string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(thing, "s"):
		thing += "es"
	default:
		thing += "s"
	}
	return n.String() + " " + thing
}

// Nanoseconds is a duration, or a time since the start of a session.
type Nanoseconds int64

// Amount is what was allocated: how many objects and how many bytes.
type Amount struct {
	Allocations Count
	Bytes       Bytes
	Sampled     Sampled // what of it is estimated
}

// Add returns a + b.
func (a Amount) Add(b Amount) Amount {
	return Amount{a.Allocations + b.Allocations, a.Bytes + b.Bytes, a.Sampled.Add(b.Sampled)}
}

// Sub returns a - b.
func (a Amount) Sub(b Amount) Amount {
	return Amount{a.Allocations - b.Allocations, a.Bytes - b.Bytes, a.Sampled.Sub(b.Sampled)}
}

// IsZero reports whether nothing was allocated.
func (a Amount) IsZero() bool { return a.Allocations == 0 && a.Bytes == 0 }

// Amounts is an amount by the inclusive and by the exclusive rule.
type Amounts struct {
	Inclusive Amount
	Exclusive Amount
}

// Add returns the sum of both rules.
func (a Amounts) Add(b Amounts) Amounts {
	return Amounts{a.Inclusive.Add(b.Inclusive), a.Exclusive.Add(b.Exclusive)}
}

// IsZero reports whether both amounts are zero.
func (a Amounts) IsZero() bool { return a.Inclusive.IsZero() && a.Exclusive.IsZero() }

// Percent is a share of a whole, kept as the exact fraction.
// Its value is 100 × Part / Whole, and 0 when the whole is 0.
type Percent struct {
	Part, Whole int64
}

// PercentOf returns the share of part in whole.
func PercentOf[T ~int64](part, whole T) Percent { return Percent{int64(part), int64(whole)} }

// Float returns 100 × Part / Whole, correctly rounded to a float64.
func (p Percent) Float() float64 {
	if p.Whole == 0 {
		return 0
	}
	const exact = 1 << 53 // up to here an integer times 100 is divided with one rounding
	if part, whole := p.Part, p.Whole; part > -exact/100 && part < exact/100 && whole > -exact && whole < exact {
		return float64(part*100) / float64(whole)
	}
	r := new(big.Rat).SetFrac(big.NewInt(p.Part), big.NewInt(p.Whole))
	f, _ := r.Mul(r, big.NewRat(100, 1)).Float64()
	return f
}

// Round returns the percentage with the given number of decimals (0 to 6), rounded half
// away from zero, as an integer: Percent{1, 3}.Round(2) is 3333.
func (p Percent) Round(decimals int) int64 {
	if p.Whole == 0 {
		return 0
	}
	scale := uint64(100)
	for range decimals {
		scale *= 10
	}
	part, whole, negative := abs(p.Part), abs(p.Whole), (p.Part < 0) != (p.Whole < 0)
	hi, lo := bits.Mul64(part, scale)
	lo, carry := bits.Add64(lo, whole/2, 0)
	hi += carry
	if hi >= whole { // the quotient does not fit; only absurd input gets here
		return math.MaxInt64
	}
	q, _ := bits.Div64(hi, lo, whole)
	if q > math.MaxInt64 {
		q = math.MaxInt64
	}
	if negative {
		return -int64(q)
	}
	return int64(q)
}

// String prints two decimals: "33.33 %". A share that is not zero but would
// print as 0.00 prints as "<0.01 %", so that nothing looks absent that is there.
func (p Percent) String() string { return p.Number() + " %" }

// Number prints the percentage without its sign: "33.33".
func (p Percent) Number() string {
	n := p.Round(2)
	if n == 0 && p.Part != 0 && p.Whole != 0 {
		return "<0.01"
	}
	sign := ""
	if n < 0 {
		sign, n = "-", -n
	}
	return fmt.Sprintf("%s%d.%02d", sign, n/100, n%100)
}

func abs(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

// String prints with thousands separators: "1,234,567".
func (c Count) String() string { return group(int64(c)) }

// group inserts a comma before each group of three digits.
func group(n int64) string {
	digits := strconv.FormatUint(abs(n), 10)
	out := make([]byte, 0, len(digits)*4/3+1)
	if n < 0 {
		out = append(out, '-')
	}
	for i := range len(digits) {
		if i > 0 && (len(digits)-i)%3 == 0 {
			out = append(out, ',')
		}
		out = append(out, digits[i])
	}
	return string(out)
}

// Exact prints the number of bytes with thousands separators: "1,234,567 B".
func (b Bytes) Exact() string { return group(int64(b)) + " B" }

// String prints with an IEC binary unit: "512 B", "1.18 MiB".
func (b Bytes) String() string {
	units := []string{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	size := abs(int64(b))
	if size < 1024 {
		return strconv.FormatInt(int64(b), 10) + " B"
	}
	sign := ""
	if b < 0 {
		sign = "-"
	}
	for i := range units {
		shift := uint(10 * (i + 1))
		n := hundredths(size, 1<<shift)
		if n < 1024*100 || i == len(units)-1 {
			return fmt.Sprintf("%s%d.%02d %s", sign, n/100, n%100, units[i])
		}
	}
	panic("unreachable: the last unit always returns")
}

// hundredths returns n/unit in hundredths, rounded half up. It does not overflow.
func hundredths(n, unit uint64) uint64 {
	hi, lo := bits.Mul64(n, 100)
	lo, carry := bits.Add64(lo, unit/2, 0)
	q, _ := bits.Div64(hi+carry, lo, unit)
	return q
}

// String prints with an SI unit: "12 ns", "1.50 ms", "3.20 s", "2 min 05 s", "1 h 02 min".
func (d Nanoseconds) String() string {
	size := abs(int64(d))
	sign := ""
	if d < 0 {
		sign = "-"
	}
	const second = 1_000_000_000
	for _, u := range []struct {
		name string
		unit uint64
		next uint64
	}{{"µs", 1_000, 1_000}, {"ms", 1_000_000, 1_000}, {"s", second, 60}} {
		if size < 1_000 {
			return fmt.Sprintf("%s%d ns", sign, size)
		}
		if n := hundredths(size, u.unit); n < u.next*100 {
			return fmt.Sprintf("%s%d.%02d %s", sign, n/100, n%100, u.name)
		}
	}
	seconds := (size + second/2) / second
	if seconds < 3600 {
		return fmt.Sprintf("%s%d min %02d s", sign, seconds/60, seconds%60)
	}
	minutes := (size + 30*second) / (60 * second)
	return fmt.Sprintf("%s%d h %02d min", sign, minutes/60, minutes%60)
}
