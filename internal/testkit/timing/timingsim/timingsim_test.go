package timingsim_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/clrprof/clrprof/internal/testkit/timing"
	"github.com/clrprof/clrprof/internal/testkit/timing/timingsim"
	"github.com/clrprof/clrprof/internal/wire"
)

var (
	seeds = flag.Int("seeds", 100_000, "simulated threads")
	first = flag.Int("first", 0, "the first of their seeds")
)

// drawLimits bounds some threads.
func drawLimits(r timingsim.Rand) timing.Limits {
	limits := timing.Unlimited
	switch r.IntN(4) {
	case 0:
		limits.Timings, limits.Recursive = r.IntN(12), r.IntN(4)
	case 1:
		limits.Recursive = r.IntN(4)
	}
	return limits
}

func drawOverhead(r timingsim.Rand) wire.Overhead {
	if r.IntN(2) == 0 {
		return wire.Overhead{}
	}
	return wire.Overhead{Inside: uint64(r.IntN(40_000)), Outside: uint64(r.IntN(40_000))}
}

// seen is how much of everything the simulated threads had.
type seen struct {
	events                       [timing.KindEnd + 1]int
	calls, unmatched, folded     uint64
	waits, backwards, open, deep uint64
	notified                     uint64 // calls by the runtime's native code
}

// check lets both count the time of one thread.
func check(r timingsim.Rand, s *seen, tell func(timing.Event)) error {
	o := timingsim.Draw(r)
	o.DrawNotifies(r)
	limits, overhead := drawLimits(r), drawOverhead(r)
	naive, counters := timing.NewNaive(limits, overhead), timing.NewCounters(limits, overhead)
	naive.Blocks, counters.Blocks = o.Managed, o.Managed
	var err error
	timingsim.Run(o, r, func(e timing.Event) {
		tell(e)
		s.events[e.Kind]++
		if e.Kind == timing.KindEnter && e.ReturnAddress-timing.RuntimeCode < timing.RuntimeBytes {
			s.notified++
		}
		counters.Add(e)
		if err == nil {
			err = naive.Add(e)
		}
	})
	if err != nil {
		return err
	}
	want, got := naive.Result(), counters.Result()
	if !want.Equal(got) {
		return fmt.Errorf("%+v, %+v: naive (-) and counters (+) differ: %s", o, limits, cmp.Diff(want, got))
	}
	if n := counters.Folded(); n != naive.Folded() {
		return fmt.Errorf("%d calls folded, not %d", n, naive.Folded())
	}
	if n := counters.Losses[wire.LossClockBackwards]; n != naive.Backwards() {
		return fmt.Errorf("clock %d times backwards, not %d", n, naive.Backwards())
	}
	s.add(want, counters)
	return conserves(want)
}

func (s *seen) add(r timing.Result, c *timing.Counters) {
	for _, n := range r.Nodes {
		s.calls += n.Calls
		s.unmatched += n.Unmatched
		s.waits += n.Lead.Intervals + n.Tail.Intervals
	}
	s.folded += c.Folded()
	s.backwards += c.Losses[wire.LossClockBackwards]
	if n := len(c.Activations); n > 0 {
		s.open++
		s.deep += uint64(n)
	}
}

// conserves checks that each interval is somebody's, and nobody's twice.
func conserves(r timing.Result) error {
	var roots, functions, edges timing.Values
	for _, n := range r.Nodes {
		for v, ticks := range n.Total {
			if n.Parent < 0 {
				roots[v] += ticks
			}
			if n.Ended > 0 && (n.Min[v] > n.Max[v]) {
				return fmt.Errorf("node %+v", n)
			}
		}
	}
	for _, f := range r.Functions {
		for v, ticks := range f.Total {
			functions[v] += ticks
		}
		if f.Total[timing.ApplicationInclusive] > f.Total[timing.CPUInclusive] ||
			f.Total[timing.CPUInclusive] > f.Total[timing.ElapsedInclusive] ||
			f.Total[timing.ElapsedInclusive] > roots[timing.ElapsedInclusive] {
			return fmt.Errorf("function %+v of %v", f, roots)
		}
	}
	calls := map[uint32]uint64{}
	for _, e := range r.Edges {
		calls[e.Function.Function] += e.Calls
		for v, ticks := range e.Total {
			edges[v] += ticks
		}
	}
	for _, f := range r.Functions {
		if calls[f.Function] != f.Calls {
			return fmt.Errorf("%d calls of function %d, by its callers %d", f.Calls, f.Function, calls[f.Function])
		}
	}
	for _, x := range [][2]int{{timing.ElapsedInclusive, timing.ElapsedExclusive},
		{timing.ApplicationInclusive, timing.ApplicationExclusive},
		{timing.CPUInclusive, timing.CPUExclusive}} {
		if inclusive, exclusive := roots[x[0]], x[1]; edges[exclusive] != inclusive ||
			functions[exclusive] != inclusive {
			return fmt.Errorf("%d inclusive, exclusive %d and %d", inclusive, edges[exclusive], functions[exclusive])
		}
	}
	return nil
}

func TestCountersKnowTheTruth(t *testing.T) {
	var s seen
	for seed := *first; seed < *first+*seeds; seed++ {
		r := rand.New(rand.NewPCG(uint64(seed), 3))
		if err := check(r, &s, func(timing.Event) {}); err != nil {
			var log strings.Builder
			check(rand.New(rand.NewPCG(uint64(seed), 3)), new(seen), func(e timing.Event) {
				fmt.Fprintf(&log, "%+v\n", e)
			})
			t.Fatalf("seed %d: %v\n%v", seed, err, log.String())
		}
	}
	t.Logf("%+v", s)
	few := uint64(*seeds / 100) // that nothing happens must not pass
	for kind, n := range s.events[1:] {
		if uint64(n) < few {
			t.Errorf("%d events of kind %d", n, kind+1)
		}
	}
	if s.calls < few || s.unmatched < few || s.folded < few || s.waits < few || s.backwards < few || s.open < few ||
		s.deep < few || s.notified < few {
		t.Error("something is not much simulated")
	}
}

// TestLimitsLoseNothing gives long programs less room than they have paths: functions and pairs of functions are what
// the definition says, whatever the limit.
func TestLimitsLoseNothing(t *testing.T) {
	folded, thrown := map[int]uint64{}, 0
	for seed := range 300 {
		for _, most := range []int{10, 100, 1000} {
			r := rand.New(rand.NewPCG(uint64(seed), 4))
			o := timingsim.Draw(r)
			o.DrawNotifies(r)
			o.Steps, o.Depth, o.Functions, o.Sites, o.Abrupt = 4000, 30, 3+r.IntN(10), 4, seed%4 == 0
			limits := timing.Unlimited
			limits.Timings, limits.Recursive = most, most/8
			overhead := drawOverhead(r)
			naive, counters := timing.NewNaive(limits, overhead), timing.NewCounters(limits, overhead)
			naive.Blocks, counters.Blocks = o.Managed, o.Managed // both, else they do not count the same
			timingsim.Run(o, r, func(e timing.Event) {
				if e.Kind == timing.KindUnwind {
					thrown++
				}
				counters.Add(e)
				if err := naive.Add(e); err != nil {
					t.Fatal(err)
				}
			})
			want, got := naive.Result(), counters.Result()
			if diff := cmp.Diff(want.Functions, got.Functions); diff != "" {
				t.Fatalf("seed %d, %d paths: functions: naive (-) and counters (+) differ: %s", seed, most, diff)
			}
			if !want.Equal(got) {
				t.Fatalf("seed %d, %d paths: naive (-) and counters (+) differ: %s", seed, most, cmp.Diff(want, got))
			}
			if err := conserves(got); err != nil {
				t.Fatalf("seed %d, %d paths: %v", seed, most, err)
			}
			folded[most] += counters.Folded()
		}
	}
	t.Logf("folded calls by limit: %v", folded)
	if len(folded) != 3 || folded[1000] < 1000 || thrown < 100_000 {
		t.Error("little was folded or thrown")
	}
}

// drawn takes every decision from rapid, which then finds the smallest program that goes wrong.
type drawn struct{ t *rapid.T }

func (d drawn) IntN(n int) int { return rapid.IntRange(0, n-1).Draw(d.t, "") }

func TestCountersProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var log strings.Builder
		if err := check(drawn{t}, new(seen), func(e timing.Event) { fmt.Fprintf(&log, "%+v\n", e) }); err != nil {
			t.Fatalf("%v\n%v", err, log.String())
		}
	})
}
