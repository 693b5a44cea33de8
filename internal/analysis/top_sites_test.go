package analysis

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/clrprof/clrprof/internal/differ"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session/sessiontest"
)

// TestTopSites: what is stored of the stacks with types that allocated most is what is computed of all of them, also
// where only some are stored, and nothing where others could be among the first.
func TestTopSites(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		path := filepath.Join(dir, "a")
		s := open(rt, sessiontest.Random(rapid.Uint64().Draw(rt, "seed")), path)
		s.Close()
		stored := rapid.SampledFrom([]int{0, 1, 2, 3, 5, 1000}).Draw(rt, "stored")
		s, v := openChanged(rt, path,
			fmt.Sprintf("DELETE FROM summary_site WHERE section = 'sites' AND position > %d", stored))
		defer s.Close()
		computed, err := v.Lifetimes()
		if err != nil {
			return // objects were not followed
		}
		all := computed.GroupList(BySite)
		order := rowsWith(all.Len(), func(int32) bool { return true })
		slices.SortStableFunc(order, func(x, y int32) int {
			return cmp.Compare(all.Lifetime(int(y)).Born.Bytes, all.Lifetime(int(x)).Born.Bytes)
		})
		for most := range 7 {
			have, err := v.TopSites(most)
			if err != nil {
				rt.Fatal(err)
			}
			checkTopSites(rt, all, order, have, stored, most)
		}
	})
}

func checkTopSites(rt *rapid.T, all *GroupList, order []int32, have *TopSites, stored, most int) {
	bytes := func(i int) q.Bytes { return all.Lifetime(int(order[i])).Born.Bytes }
	known := stored >= len(order) || most > 0 && most < stored && bytes(most-1) > bytes(stored-1)
	if have == nil {
		if known {
			rt.Fatalf("nothing of the first %d of %d, of which %d are stored", most, len(order), stored)
		}
		return
	}
	if !known {
		rt.Fatalf("the first %d of %d, though %d are stored", most, len(order), stored)
	}
	hidden := have.Hidden
	for i, n := range order {
		if i < len(have.List) {
			want := GroupLifetime{Group: all.Group(int(n)), Lifetime: all.Lifetime(int(n))}
			if diff := differ.Of(want, have.List[i]); diff != "" {
				rt.Fatal(i, diff)
			}
			continue
		}
		hidden = hidden.Sub(all.Lifetime(int(n)).Born)
	}
	if int(have.More) != len(order)-len(have.List) || !hidden.IsZero() {
		rt.Fatalf("%d more with %v too much", have.More, hidden)
	}
}
