package replay

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"github.com/clrprof/clrprof/internal/capture/arena"
	"github.com/clrprof/clrprof/internal/testkit/heap"
	"github.com/clrprof/clrprof/internal/wire"
)

// counted is what an agent left in its arena.
type counted struct {
	result  heap.Result
	ends    []uint64 // of the collections
	frozen  []bool   // by site
	leftOut uint64   // objects that were not to be counted
	ending  uint32   // number of the collection with which the program began to end; 0: none
	losses  [wire.LossCount]wire.LossEntry
}

// readArena reads the only arena of a directory.
func readArena(dir string) (*counted, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.arena"))
	if err != nil || len(paths) != 1 {
		return nil, fmt.Errorf("arenas in %s: %q, %w", dir, paths, err)
	}
	a, err := arena.Open(paths[0])
	if err != nil {
		return nil, err
	}
	defer a.Close()
	h, err := a.Header()
	if err != nil {
		return nil, err
	}
	c := &counted{losses: h.Losses, leftOut: h.LeftOut, ending: h.EndingGC}
	c.result.Untracked = h.Losses[wire.LossUntracked].Events
	c.result.AliveKnown = h.AliveKnown == 1
	if err := c.readSites(a); err != nil {
		return nil, err
	}
	if err := c.readLog(a.Log()); err != nil {
		return nil, err
	}
	if int(h.Collections) != len(c.result.GCs) {
		return nil, fmt.Errorf("%d collections in the log, the header says %d", len(c.result.GCs), h.Collections)
	}
	return c, nil
}

// readSites also gives those that survived no collection, which wire.Ages leaves out, to their bucket.
func (c *counted) readSites(a *arena.Arena) error {
	sites, deaths, ages := a.Sites(), a.Deaths(), a.Ages()
	if len(sites) != len(deaths) {
		return fmt.Errorf("%d sites, %d deaths", len(sites), len(deaths))
	}
	for i, s := range sites {
		out := heap.Site{Allocated: wire.Population{Objects: s.Objects, Bytes: s.Bytes}}
		for g := range out.Dead {
			out.Dead[g] = wire.Population{Objects: deaths[i].DeadObjects[g], Bytes: deaths[i].DeadBytes[g]}
			out.ByCollections[0] += out.Dead[g].Objects
		}
		if n := deaths[i].Ages; n != 0 {
			for bucket, objects := range ages[n-1].ByCollections {
				out.ByCollections[0] -= objects
				out.ByCollections[bucket] += objects
			}
			out.ByTime = ages[n-1].ByTime
		}
		c.frozen = append(c.frozen, s.Type&wire.SiteFrozen != 0)
		c.result.Sites = append(c.result.Sites, out)
	}
	return nil
}

// readLog takes the collections and what is alive; cohorts are reported in parts.
func (c *counted) readLog(log []byte) error {
	alive := map[heap.Cohort]wire.Population{}
	reasons := map[[2]uint32]heap.Reason{}
	reported, since := map[uint32]heap.Change{}, uint32(0)
	freed := map[[2]uint32]wire.Population{}
	for len(log) > 0 {
		record, rest, err := wire.Next(log)
		if err != nil {
			return err
		}
		log = rest
		switch r := record.(type) {
		case wire.GC:
			c.result.GCs = append(c.result.GCs, heap.GC{Collected: r.Collected, Induced: r.Induced == 1,
				Generations: r.Generations})
			c.ends = append(c.ends, r.EndNS)
			if r.Since != since {
				return fmt.Errorf("collection %d tells changes since %d, want %d", r.Number, r.Since, since)
			}
			since = r.Number
			c.takeChanges(reported)
			if int(r.Number) != len(c.result.GCs) {
				return fmt.Errorf("collection %d has number %d", len(c.result.GCs), r.Number)
			}
		case wire.Changes:
			if err := c.addChanges(reported, r); err != nil {
				return err
			}
		case wire.Alive:
			key := heap.Cohort{Site: r.Site, Generation: r.Generation, Born: r.Born}
			sum := alive[key]
			add(&sum, r.Objects)
			alive[key] = sum
		case wire.Freed:
			for _, x := range r.Freed {
				freed[[2]uint32{x.Site, x.Counter}] = x.Objects
			}
		case wire.Why:
			key := [2]uint32{r.GC, r.Site}
			sum := reasons[key]
			sum.GC, sum.Site = int(r.GC), r.Site
			add(&sum.Uncollected, r.Uncollected)
			add(&sum.Survived, r.Rooted)
			add(&sum.Survived, r.Reachable)
			reasons[key] = sum
		}
	}
	if c.result.AliveKnown {
		c.result.Alive = heap.SortCohorts(alive)
	}
	for key, objects := range freed {
		c.result.Freed = append(c.result.Freed, heap.Freed{Site: key[0], Generation: key[1], Objects: objects})
	}
	slices.SortFunc(c.result.Freed, heap.CompareFreed)
	c.result.Reasons = slices.SortedFunc(maps.Values(reasons), func(a, b heap.Reason) int {
		return cmp.Or(cmp.Compare(a.GC, b.GC), cmp.Compare(a.Site, b.Site))
	})
	return nil
}

// addChanges takes counters of sites; a site's can be in two records.
func (c *counted) addChanges(reported map[uint32]heap.Change, r wire.Changes) error {
	if int(r.GC) != len(c.result.GCs)+1 {
		return fmt.Errorf("changes of collection %d after %d", r.GC, len(c.result.GCs))
	}
	for _, x := range r.Changes {
		now := reported[x.Site]
		was := now
		now.GC, now.Site = int(r.GC), x.Site
		if x.Counter == wire.ChangeAllocated {
			now.Allocated = x.Objects
		} else {
			now.Dead[x.Counter] = x.Objects
		}
		if now.Allocated == was.Allocated && now.Dead == was.Dead {
			return fmt.Errorf("collection %d: counter %d of site %d did not change", r.GC, x.Counter, x.Site)
		}
		reported[x.Site] = now
	}
	return nil
}

// takeChanges completes the changes of a collection.
func (c *counted) takeChanges(reported map[uint32]heap.Change) {
	for _, site := range slices.Sorted(maps.Keys(reported)) {
		if reported[site].GC == len(c.result.GCs) {
			c.result.Changes = append(c.result.Changes, reported[site])
		}
	}
}

func add(to *wire.Population, p wire.Population) {
	to.Objects += p.Objects
	to.Bytes += p.Bytes
}

// nothingLost fails the test if the agent counted a loss of lifetime.
func (c *counted) nothingLost(t testing.TB) {
	t.Helper()
	for _, loss := range []wire.Loss{wire.LossArenaFull, wire.LossNoThreadState, wire.LossReentered, wire.LossUntracked,
		wire.LossLifetimeFull, wire.LossMoves} {
		if c.losses[loss] != (wire.LossEntry{}) {
			t.Errorf("loss %d: %+v", loss, c.losses[loss])
		}
	}
}
