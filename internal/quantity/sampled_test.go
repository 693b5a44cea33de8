package quantity

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestIntervals: of samples that are drawn as the runtime draws them, the truth is in the interval at least 95 times in
// 100, for few samples and many, objects of one size and of several, and with objects that were counted among them.
func TestIntervals(t *testing.T) {
	for _, tt := range []struct {
		sizes   []int64
		objects int64 // of each size
		counted Amount
	}{
		{[]int64{24}, 100_000, Amount{}},
		{[]int64{24}, 2_000_000, Amount{}},
		{[]int64{8192}, 5_000, Amount{}},
		{[]int64{80_000}, 300, Amount{}},
		{[]int64{32, 200, 4000, 40_000}, 30_000, Amount{}},
		{[]int64{64}, 500_000, Amount{Allocations: 100, Bytes: 10_000_000}},
	} {
		const trials = 2000
		r := rand.New(rand.NewPCG(1, 2))
		objects, bytes, told := 0, 0, 0
		truth := tt.counted
		for _, size := range tt.sizes {
			truth = truth.Add(Amount{Allocations: Count(tt.objects), Bytes: Bytes(tt.objects * size)})
		}
		for range trials {
			a := tt.counted
			for _, size := range tt.sizes {
				p := 1 - math.Pow(1-1/float64(bytesOfSample), float64(size))
				n, weight := binomial(r, tt.objects, p), int64(1/p)
				more := binomial(r, n, 1/p-float64(weight)) // the agent rounds up or down at random
				a = a.Add(drawn(n-more, weight, size)).Add(drawn(more, weight+1, size))
			}
			if a.Sampled.Samples < LeastSamples {
				continue
			}
			told++
			if i := a.AllocationsInterval(); i.Low <= int64(truth.Allocations) && int64(truth.Allocations) <= i.High {
				objects++
			}
			if i := a.BytesInterval(); i.Low <= int64(truth.Bytes) && int64(truth.Bytes) <= i.High {
				bytes++
			}
		}
		least := told * 94 / 100 // two standard deviations of 2,000 trials are 1 in 100
		if told < trials/2 || objects < least || bytes < least {
			t.Errorf("%v × %d: in %d of %d intervals of objects, %d of bytes", tt.sizes, tt.objects, objects, told, bytes)
		}
	}
}

// drawn is what so many samples of objects of a size stand for.
func drawn(n, weight, size int64) Amount {
	return Amount{Allocations: Count(n * weight), Bytes: Bytes(n * weight * size),
		Sampled: SamplesOf(Count(n*weight), Count(weight))}
}

// binomial draws how many of n come up that do with probability p.
func binomial(r *rand.Rand, n int64, p float64) int64 {
	count := int64(0)
	for at := skip(r, p); at < n; at += 1 + skip(r, p) {
		count++
	}
	return count
}

// skip draws how many do not come up before one that does.
func skip(r *rand.Rand, p float64) int64 { return int64(math.Log(1-r.Float64()) / math.Log1p(-p)) }

// TestSamplesAddUp: amounts of samples are added and taken away as others are.
func TestSamplesAddUp(t *testing.T) {
	a := Amount{Allocations: 3200, Bytes: 102_400, Sampled: SamplesOf(3200, 320)}
	b := a.Add(Amount{Allocations: 5, Bytes: 500_000})
	if b.Sampled != a.Sampled || a.Sampled.Samples != 10 || !a.Sub(a).IsZero() || a.Sub(a).Sampled != (Sampled{}) {
		t.Errorf("%+v, %+v", a, b)
	}
	if SamplesOf(7, 0) != (Sampled{}) {
		t.Error("what was counted has samples")
	}
	counted, all := a.AllocationsInterval(), b.AllocationsInterval()
	if all.Low != counted.Low+5 || all.High != counted.High+5 {
		t.Errorf("with 5 objects that were counted %v is %v", counted, all)
	}
}
