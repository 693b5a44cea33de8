package imported

import (
	"math"
	"math/rand/v2"

	"github.com/clrprof/clrprof/internal/wire"
)

// Sizes that weights depend on: see agent/src/heap/sample_event.c, which has the same rules.
const (
	almostWhole = 1024.0  // from here on a weight is rounded to the nearest number, and is wrong by 0.05 % at most
	tickUnit    = 1 << 14 // bytes of ticks are owed to a later tick, so that those of a size stand for few numbers
	objectAlign = 8
	leastObject = 24
)

// weights say for how many objects samples stand. They are whole numbers, rounded up or down at random so that the mean
// is right. The same file gets the same numbers.
type weights struct {
	random *rand.Rand
	owed   uint64 // bytes of ticks on the heap of small objects
}

func newWeights() weights { return weights{random: rand.New(rand.NewPCG(1, 2))} }

// ofRandom is the weight of a sample of AllocationSampled: of size bytes one is drawn with the probability 1/102,400
// each.
func (w *weights) ofRandom(size uint64) uint32 {
	return w.whole(1 / (1 - math.Pow(1-1.0/wire.SampleBytes, float64(size))))
}

// ofTick is the weight of an AllocationTick, which comes whenever about 100 KB of a heap are given out.
func (w *weights) ofTick(heap uint32, amount, size uint64) uint32 {
	bytes := amount
	if heap == heapSmall {
		all := w.owed + amount
		if bytes = all; all >= tickUnit {
			bytes = all / tickUnit * tickUnit
		}
		w.owed = all - bytes
	}
	return w.whole(float64(bytes) / float64(size))
}

func (w *weights) whole(n float64) uint32 {
	if n < almostWhole {
		n += w.random.Float64()
	} else {
		n += 0.5
	}
	return uint32(max(1, min(n, math.MaxInt32)))
}
