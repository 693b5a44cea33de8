package analysis

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/differ"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// naiveGroups looks each site up in the recorded tables.
func naiveGroups(rt *rapid.T, s *session.Session, by By) []GroupLifetime {
	v, err := Computed(s)
	if err != nil {
		rt.Fatal(err)
	}
	lifetimes, err := v.Lifetimes()
	if err != nil {
		return nil
	}
	groups, values, _ := lifetimes.Groups(by)
	out, at := make([]GroupLifetime, len(groups)), map[Group]*GroupLifetime{}
	for i, g := range groups {
		out[i] = GroupLifetime{Group: g, Lifetime: values[i]}
		out[i].GCs[0] = values[i].Collected().Allocations
		at[g] = &out[i]
	}
	d := v.data
	of, last := map[session.SiteID]*GroupLifetime{}, map[session.SiteID]int64{}
	gcs, err := s.GCs()
	if err != nil {
		rt.Fatal(err)
	}
	for i, site := range d.Sites {
		process := d.Nodes[d.siteNode[i]].Process
		g := Group{Process: process, Type: site.Type}
		if by == ByFunction {
			g = Group{Process: process, Function: d.Nodes[d.siteNode[i]].Function}
		}
		of[site.ID] = at[g]
		for _, gc := range gcs {
			if gc.Process == d.Threads[d.siteThread[i]].Process {
				last[site.ID] = max(last[site.ID], gc.Number)
			}
		}
	}
	ages, err := s.SiteAges()
	if err != nil {
		rt.Fatal(err)
	}
	for _, a := range ages {
		if g := of[a.Site]; g != nil && a.Measure == session.AgeTime {
			g.Time[a.Bucket] += a.Objects
		} else if g != nil {
			g.GCs[0], g.GCs[a.Bucket] = g.GCs[0]-a.Objects, g.GCs[a.Bucket]+a.Objects
		}
	}
	alive, err := s.SiteAlive()
	if err != nil {
		rt.Fatal(err)
	}
	for _, a := range alive {
		if g := of[a.Site]; g != nil {
			survived, bucket := last[a.Site]-a.Born, 0
			for _, more := range []int64{1, 2, 3, 5, 9, 17, 65} { // ages of buckets begin there
				if survived >= more {
					bucket++
				}
			}
			g.AliveGCs[bucket] += a.Allocations
		}
	}
	return out
}

// TestGroupLifetimes: what is stored of types and functions is what the recorded tables say, also in a session of an
// older clrprof, which has nothing of it, and of other groups.
func TestGroupLifetimes(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		path := filepath.Join(dir, "a")
		b := sessiontest.Random(rapid.Uint64().Draw(rt, "seed"))
		b.Ages, b.Alive = nil, nil
		for i := range b.Sites {
			id, n := b.Sites[i].ID, rapid.Int64Range(1, 9)
			for bucket := range rapid.Int64Range(0, session.AgeBuckets-1).Draw(rt, "ages") {
				b.Ages = append(b.Ages, session.SiteAge{Site: id, Measure: session.AgeGCs, Bucket: bucket + 1,
					Objects: q.Count(n.Draw(rt, "objects"))},
					session.SiteAge{Site: id, Measure: session.AgeTime, Bucket: bucket, Objects: q.Count(n.Draw(rt, "objects"))})
			}
			if rapid.Bool().Draw(rt, "alive") {
				b.Alive = append(b.Alive, session.SiteAlive{Site: id, Generation: 2, Born: rapid.Int64Range(-70, 1).Draw(rt, "born"),
					Amount: q.Amount{Allocations: q.Count(n.Draw(rt, "objects"))}})
			}
		}
		s := open(rt, b, path)
		want := map[By][]GroupLifetime{}
		for _, by := range []By{ByType, ByFunction} {
			want[by] = naiveGroups(rt, s, by)
		}
		older := rapid.Bool().Draw(rt, "older")
		s.Close()
		script := ""
		if older {
			script = "DELETE FROM type_lifetime; DELETE FROM function_lifetime"
		}
		s, v := openChanged(rt, path, script)
		defer s.Close()
		for by, groups := range want {
			have, err := v.GroupLifetimes(by, true)
			if diff := differ.Of(groups, have, cmpopts.EquateEmpty()); diff != "" {
				rt.Fatal(by, err, diff)
			}
			if len(groups) > 0 && (v.data != nil) != older {
				rt.Fatalf("older: %t; read whole: %t", older, v.data != nil)
			}
		}
	})
}

// TestSiteGroups: each site at which something happened is in the group that it is in with lifetimes.
func TestSiteGroups(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		s := open(rt, sessiontest.Random(rapid.Uint64().Draw(rt, "seed")), filepath.Join(dir, "a"))
		defer s.Close()
		v, err := Open(s, Selection{})
		if err != nil {
			rt.Fatal(err)
		}
		lifetimes, none := v.Lifetimes()
		for _, by := range []By{ByType, BySite, ByFunction, ByLine, ByModule, ByNamespace} {
			groups, of, err := v.SiteGroups(by)
			if (none != nil) != (err != nil) {
				rt.Fatalf("by %s: %v, with lifetimes: %v", by, err, none)
			}
			if err != nil {
				continue
			}
			want, _, wanted := lifetimes.Groups(by)
			for _, site := range v.data.Sites {
				n, in := of.Of(site.ID)
				if k, happened := wanted.Of(site.ID); happened && (!in || groups[n] != want[k]) {
					rt.Fatalf("by %s: site %d is in %+v, want %+v", by, site.ID, groups[n], want[k])
				}
			}
		}
	})
}

// TestGreatest: the least of the greatest numbers is that of all of them in their order.
func TestGreatest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.Map(rapid.Int64Range(-3, 9), func(n int64) q.Bytes { return q.Bytes(n) }), 1, 30).
			Draw(t, "sizes")
		g := greatest{most: rapid.IntRange(1, 31).Draw(t, "most")}
		for _, size := range sizes {
			g.add(size)
		}
		sorted := slices.Sorted(slices.Values(sizes))
		if want := sorted[max(0, len(sorted)-g.most):]; !slices.Equal(g.sizes, want) || g.least() != want[0] {
			t.Errorf("the %d greatest of %v are %v, want %v", g.most, sizes, g.sizes, want)
		}
	})
}

// openChanged opens a session after a script has changed its tables.
func openChanged(rt *rapid.T, path, script string) (*session.Session, *Source) {
	if err := sessiontest.Change(path, func(conn *sqlite.Conn) error {
		return sqlitex.ExecuteScript(conn, script, nil)
	}); err != nil {
		rt.Fatal(err)
	}
	s, err := session.Open(path)
	if err != nil {
		rt.Fatal(err)
	}
	v, err := Open(s, Selection{})
	if err != nil {
		s.Close()
		rt.Fatal(err)
	}
	return s, v
}
