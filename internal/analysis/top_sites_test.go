package analysis

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/differ"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
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
		if err != nil { // objects were not followed
			checkBornSites(rt, s, v)
			return
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

// checkBornSites: without lifetimes the first stacks with types are also known, whatever is stored, by the bytes of
// their sites on all threads.
func checkBornSites(rt *rapid.T, s *session.Session, v *Source) {
	sites, err := s.Sites()
	if err != nil {
		rt.Fatal(err)
	}
	values, err := s.SiteValues()
	if err != nil {
		rt.Fatal(err)
	}
	bytes, all := map[session.SiteID]q.Bytes{}, map[[2]int64]q.Bytes{}
	for _, x := range values {
		bytes[x.Site] += x.Bytes
	}
	for _, x := range sites {
		if bytes[x.ID] > 0 {
			all[[2]int64{int64(x.Node), int64(x.Type)}] += bytes[x.ID]
		}
	}
	for most := 1; most < 7; most++ {
		have, err := v.TopSites(most)
		if err != nil || have == nil {
			rt.Fatalf("%v, %v", have, err)
		}
		if n := len(have.List) + int(have.More); n != len(all) || len(have.List) < min(most, n) {
			rt.Fatalf("%d and %d more of %d", len(have.List), have.More, len(all))
		}
		for i, g := range have.List {
			if want := all[[2]int64{int64(g.Node), int64(g.Type)}]; g.Born.Bytes != want ||
				i > 0 && have.List[i-1].Born.Bytes < want {
				rt.Fatalf("%d: %d bytes, want %d", i, g.Born.Bytes, want)
			}
		}
	}
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
