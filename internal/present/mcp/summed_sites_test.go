package mcp

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// naiveSites adds up a value by stack and type, and sorts all of them.
func naiveSites(t *testing.T, samples *analysis.SampleSet, at int) []summedSite {
	sums := map[string]*summedSite{}
	err := samples.EachSum(func(x *analysis.Sample) error {
		key := fmt.Sprint(x.Node, " ", x.Type)
		if sums[key] == nil {
			sums[key] = &summedSite{node: x.Node, typ: x.Type}
		}
		sums[key].value += x.Values[at]
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var out []summedSite
	for _, x := range sums {
		if x.value != 0 {
			out = append(out, *x)
		}
	}
	slices.SortFunc(out, summedSite.compare)
	return out
}

// TestSummedSites: the greatest sites are the first of all in order, however many are asked for, and all are counted.
func TestSummedSites(t *testing.T) {
	for name, b := range map[string]func() *sessiontest.Builder{"kitchen": sessiontest.Kitchen, "aging": sessiontest.Aging,
		"random": func() *sessiontest.Builder { return sessiontest.Random(7) },
		"times":  func() *sessiontest.Builder { return sessiontest.RandomTimes(7) }} {
		s := openSession(t, name, b())
		samples, err := analysis.Samples(s, analysis.Selection{})
		if err != nil {
			t.Fatal(err)
		}
		for at, v := range samples.Values {
			want := naiveSites(t, samples, at)
			sums, total, err := sumSites(t.Context(), samples, at)
			if err != nil {
				t.Fatal(err)
			}
			sum := int64(0)
			for _, x := range want {
				sum += x.value
			}
			if sum != total {
				t.Errorf("%s: %s in all %d, not %d", name, v.Name, total, sum)
			}
			for _, most := range []int{1, 2, 3, 7, 50, len(want) + 1} {
				got, all := sums.greatest(most)
				diff := cmp.Diff(want[:min(most, len(want))], got, cmp.AllowUnexported(summedSite{}),
					cmpopts.EquateEmpty())
				if diff != "" || all != len(want) {
					t.Errorf("%s, the %d with most %s of %d, not %d: (-want +got)\n%s", name, most, v.Name, all, len(want), diff)
				}
			}
		}
	}
}
