package quantity

import "math"

// Sampled is what of an amount comes from samples: how many there were, and the sum of the squares of how many objects
// each stands for. Zero: all of the amount was counted.
type Sampled struct {
	Samples uint32
	Squares float32
}

// Add returns the samples of both.
func (s Sampled) Add(o Sampled) Sampled { return Sampled{s.Samples + o.Samples, s.Squares + o.Squares} }

// Sub returns the samples without others that are among them.
func (s Sampled) Sub(o Sampled) Sampled {
	if o.Samples >= s.Samples { // of more than there is, as of what changed in a span of time, nothing is known
		return Sampled{}
	}
	left := s.Samples - o.Samples // each stands for one object or more, which rounding may hide
	return Sampled{left, max(float32(left), s.Squares-o.Squares)}
}

// LeastSamples is from how many samples on an estimate has a number: with fewer its interval of 95 % is wider than from
// a half to twice as much.
const LeastSamples = 10

// IsFew reports whether there are samples, but too few for a number.
func (s Sampled) IsFew() bool { return s.Samples > 0 && s.Samples < LeastSamples }

// Interval is where a value lies that is known by an estimate, in 95 of 100 recordings.
type Interval struct{ Low, High int64 }

// EstimateSign stands before numbers that are estimates.
const EstimateSign = "≈"

// Sign is what stands before numbers of an amount: nothing if it was counted.
func (a Amount) Sign() string {
	if a.Sampled.Samples > 0 {
		return EstimateSign
	}
	return ""
}

// Of says how many things an amount is, as Count.Of does, and with a sign if that is an estimate.
func (a Amount) Of(thing string) string { return a.Sign() + a.Allocations.Of(thing) }

// InBytes says how many bytes an amount is, with a sign if that is an estimate.
func (a Amount) InBytes() string { return a.Sign() + a.Bytes.String() }

// SamplesOf returns how many samples of a number of objects a weight makes.
func SamplesOf(objects, weight Count) Sampled {
	if weight <= 0 || objects <= 0 {
		return Sampled{}
	}
	return Sampled{Samples: uint32(min(objects/weight, math.MaxUint32)), Squares: float32(objects) * float32(weight)}
}

// AllocationsInterval is that of how many objects there were.
func (a Amount) AllocationsInterval() Interval {
	s := a.Sampled
	n, squares := float64(s.Samples), float64(s.Squares)
	// What was counted is in the amount, too, and is not uncertain. The samples stand for no more than this, and for
	// exactly this if they are alike.
	estimated := min(float64(a.Allocations), math.Sqrt(n*squares))
	return interval(float64(a.Allocations), estimated, estimated*estimated/squares, ofObjects)
}

// How many bytes a sample of a small object stands for, and by what part the squares are more, at most, than if all
// samples were alike: one of an object of 85,000 bytes stands for half as much again as one of 24 bytes.
const (
	bytesOfSample = 102_400
	unlike        = 1.04
)

// mostOfSample is how many bytes a sample of a small object stands for at most, in round numbers: one of 85,000 bytes.
const mostOfSample = bytesOfSample * 3 / 2

// SamplesIn returns how many samples bytes of small objects are from at least, for sums of which nobody kept that.
func SamplesIn(b Bytes) uint32 { return uint32(min(max(0, b)/mostOfSample, math.MaxUint32)) }

// BytesInterval is that of the bytes.
func (a Amount) BytesInterval() Interval {
	n := float64(a.Sampled.Samples)
	weight := math.Sqrt(float64(a.Sampled.Squares) / n)
	each := bytesOfSample * weight * -math.Log1p(-1/max(weight, 1.01))
	return interval(float64(a.Bytes), min(float64(a.Bytes), n*each), n/unlike, ofBytes)
}

// Where the value of what has no sample at all is not known to be nothing: the limit of 95 % of a Poisson variable of
// which none came, in samples, and the smallest object of .NET on 64 bits.
const (
	noneCame = 3.69
	smallest = 24
)

// AllocationsWithin is AllocationsInterval also where there are few samples or none, of an amount of which there can be
// more than was counted.
func (a Amount) AllocationsWithin() Interval {
	if a.Sampled.Samples == 0 {
		return Interval{int64(a.Allocations), int64(a.Allocations) + noneCame*bytesOfSample/smallest}
	}
	return a.AllocationsInterval()
}

// BytesWithin is BytesInterval in the same way.
func (a Amount) BytesWithin() Interval {
	if a.Sampled.Samples == 0 {
		return Interval{int64(a.Bytes), int64(a.Bytes) + noneCame*mostOfSample}
	}
	return a.BytesInterval()
}

// SampledIn is how bytes of small objects were sampled, for sums of which nobody kept that: their interval is too wide
// rather than too narrow.
func SampledIn(b Bytes) Sampled {
	const weight = 1.7 // of an object of which a sample stands for mostOfSample
	n := SamplesIn(b)
	return Sampled{Samples: n, Squares: float32(n) * weight * weight}
}

// Overlaps reports whether some value is in both intervals.
func (i Interval) Overlaps(o Interval) bool { return i.Low <= o.High && o.Low <= i.High }

// Where the normal distribution has its limits: of 95 %, and of 97 %. Samples of small objects stand for hundreds of
// times as many as those of large ones, and how uncertain their sum is is itself known from them: the limits of 95 % of
// objects of 32 to 40,000 bytes had the truth in 93.6 %.
const ofBytes, ofObjects = 1.959964, 2.170090

// interval is that of a value, of which a part was estimated by so many samples: that of a Poisson variable (Garwood
// 1936), scaled to what the samples stand for (Fay and Feuer 1997).
func interval(value, estimated, samples, z float64) Interval {
	low := value - estimated*(1-chiSquare(2*samples, -z)/(2*samples))
	high := value + estimated*(chiSquare(2*samples+2, z)/(2*samples)-1)
	return Interval{int64(math.Floor(max(0, low))), int64(math.Ceil(high))}
}

// chiSquare is the quantile of the chi-squared distribution where the normal one has z (Wilson and Hilferty 1931):
// wrong by less than one in a hundred from ten degrees of freedom on.
func chiSquare(degrees, z float64) float64 {
	x := 1 - 2/(9*degrees) + z*math.Sqrt(2/(9*degrees))
	return degrees * x * x * x
}
