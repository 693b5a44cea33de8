package heapsim_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/clrprof/clrprof/internal/testkit/heap"
	"github.com/clrprof/clrprof/internal/testkit/heap/heapsim"
)

var seeds = flag.Int("seeds", 300, "simulated heaps")

// check runs a simulation through the tracker and compares what both say.
func check(o heapsim.Options, r heapsim.Rand) (*heap.Result, error) {
	tracker := new(heap.Tracker)
	var err error
	truth := heapsim.Run(o, r, func(e heap.Event) {
		if err == nil {
			err = tracker.Add(e)
		}
	})
	if err != nil {
		return nil, err
	}
	if diff := cmp.Diff(truth, tracker.Result()); diff != "" {
		return nil, fmt.Errorf("truth (-) and tracker (+) differ: %s", diff)
	}
	return truth, conserves(truth)
}

// conserves checks that what was allocated is at most what died and lives; objects on the frozen heap and those born
// after the final collection are in neither.
func conserves(r *heap.Result) error {
	alive := map[int]uint64{}
	for _, c := range r.Alive {
		alive[int(c.Site)-1] += c.Objects.Objects
	}
	for i, s := range r.Sites {
		sum := alive[i]
		for _, d := range s.Dead {
			sum += d.Objects
		}
		if sum > s.Allocated.Objects {
			return fmt.Errorf("site %d: %d dead or alive of %d", i+1, sum, s.Allocated.Objects)
		}
	}
	return nil
}

func TestTrackerKnowsTheTruth(t *testing.T) {
	var all [5]heap.GC
	var collections int
	for seed := range *seeds {
		r := rand.New(rand.NewPCG(uint64(seed), 1))
		o := heapsim.Draw(r)
		truth, err := check(o, r)
		if err != nil {
			t.Fatalf("seed %d, %+v: %v", seed, o, err)
		}
		collections += len(truth.GCs)
		for _, gc := range truth.GCs {
			for g, n := range gc.Generations {
				all[0].Generations[g].Before.Objects += n.Before.Objects
				all[0].Generations[g].Dead.Objects += n.Dead.Objects
				all[0].Generations[g].Promoted.Objects += n.Promoted.Objects
			}
		}
	}
	for g, n := range all[0].Generations { // that nothing happens must not pass
		t.Logf("generation %d: %+v", g, n)
		if n.Before.Objects < 100 || n.Dead.Objects < 50 || n.Dead.Objects == n.Before.Objects || g < 2 &&
			n.Promoted.Objects < 100 {
			t.Errorf("generation %d is not much simulated: %+v", g, n)
		}
	}
	t.Logf("%d collections", collections)
}

// drawn takes every decision from rapid, which then finds the smallest heap that goes wrong.
type drawn struct{ t *rapid.T }

func (d drawn) IntN(n int) int { return rapid.IntRange(0, n-1).Draw(d.t, "") }

func TestTrackerProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawn{t}
		o := heapsim.Draw(r)
		o.Collections, o.Allocations = min(o.Collections, 4), min(o.Allocations, 12)
		if _, err := check(o, r); err != nil {
			t.Fatal(err)
		}
	})
}
