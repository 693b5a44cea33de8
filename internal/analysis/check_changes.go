package analysis

import (
	"cmp"
	"maps"
	"math"
	"slices"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// changes checks what changed from one collection to the next: for each site it adds up to what became of its objects,
// for each collection to what it found dead, and for each generation to what was in it.
func (c *checker) changes(s *session.Session, d *Data, v *Lifetimes, l *lifetimeTables) error {
	reported, err := readBoundaries(s)
	if err != nil {
		return err
	}
	births, err := s.GCBirths(0, math.MaxInt64)
	if err != nil {
		return err
	}
	deaths, err := s.GCDeaths(0, math.MaxInt64)
	if err != nil {
		return err
	}
	c.toldTwice(l)
	sums := c.changesOfSites(d, v, births, deaths)
	c.checkReported(d, v, l, reported, sums)
	c.deathsByCollection(reported, deaths, l)
	c.heaps(l)
	return nil
}

// toldTwice checks that each collection that tells goes on where the one before it ended.
func (c *checker) toldTwice(l *lifetimeTables) {
	since := map[session.GCID]int64{}
	for _, x := range l.details {
		since[x.GC] = x.Since
	}
	last := map[session.ProcessID]int64{}
	for _, g := range l.gcs {
		from, ok := since[g.ID]
		if !ok || from == g.Number {
			continue
		}
		if from != last[g.Process] || from > g.Number {
			c.add("changes", "collection %d of process %d tells what changed since %d, the one before it ended at %d",
				g.Number, g.Process, from, last[g.Process])
		}
		last[g.Process] = g.Number
	}
}

// changesOfSites adds up the changes of each site, by position, and compares them with its lifetime.
func (c *checker) changesOfSites(d *Data, v *Lifetimes, births []session.GCBirth, deaths []session.GCDeath) []Lifetime {
	sites := newIndex(d.Sites, func(r *session.Site) session.SiteID { return r.ID })
	sums := make([]Lifetime, len(d.Sites))
	at := func(site session.SiteID) *Lifetime {
		i, ok := sites.find(site)
		if !ok || i == none {
			c.add("references", "a change of site %d, which does not exist", site)
			return &Lifetime{}
		}
		return &sums[i]
	}
	for _, b := range births {
		born := &at(b.Site).Born
		*born = born.Add(b.Amount)
	}
	for _, x := range deaths {
		if x.Generation < 0 || x.Generation >= session.Generations {
			c.add("changes", "site %d has dead in generation %d", x.Site, x.Generation)
			continue
		}
		dead := &at(x.Site).Dead[x.Generation]
		*dead = dead.Add(x.Amount)
	}
	more := func(a, b q.Amount) bool { return a.Allocations > b.Allocations || a.Bytes > b.Bytes }
	for i := range sums {
		if sum, all := sums[i].Born, v.sites.born[i]; more(sum, all) {
			c.add("changes", "site %d: %d objects and %d bytes were allocated up to its last collection, %d and "+
				"%d in all", d.Sites[i].ID,
				sum.Allocations, sum.Bytes, all.Allocations, all.Bytes)
		}
		for g, sum := range sums[i].Dead {
			if all := v.sites.at(i).Dead[g]; more(sum, all) {
				c.add("changes", "site %d: %d objects and %d bytes died in generation %d up to its last collection, "+
					"%d and %d in all", d.Sites[i].ID,
					sum.Allocations, sum.Bytes, g, all.Allocations, all.Bytes)
			}
		}
	}
	return sums
}

// checkReported checks processes whose last collection reported what changed, and which ended as they should: what
// died is in the changes, site by site.
func (c *checker) checkReported(d *Data, v *Lifetimes, l *lifetimeTables, reported boundaries, sums []Lifetime) {
	lost, last := map[session.ProcessID]bool{}, map[session.ProcessID]int64{}
	for _, x := range l.losses {
		lost[x.Process] = lost[x.Process] || x.Reason == session.LossChanges
	}
	for _, g := range l.gcs {
		last[g.Process] = g.Number
	}
	whole := map[session.ProcessID]bool{}
	for _, p := range d.Processes {
		n := len(reported[p.ID])
		whole[p.ID] = n > 0 && reported[p.ID][n-1].number == last[p.ID] && p.EndState == session.EndExited &&
			!l.cut[p.ID] && !lost[p.ID]
	}
	for i := range sums {
		if t := d.siteThread[i]; t >= 0 && whole[d.Threads[t].Process] && sums[i].Dead != v.sites.at(i).Dead {
			c.add("changes", "site %d: %d objects are dead, %d by the collections", d.Sites[i].ID,
				v.sites.at(i).Collected().Allocations, sums[i].Collected().Allocations)
		}
	}
}

// deathsByCollection checks that sites and collections agree on how many objects died. A sampled object gets its site
// some milliseconds after its birth: if it dies in a collection before that, its site has the death one collection
// later.
func (c *checker) deathsByCollection(reported boundaries, deaths []session.GCDeath, l *lifetimeTables) {
	type key struct {
		gc         session.GCID // that reported
		generation int64
	}
	teller := map[session.GCID]session.GCID{}
	for _, g := range l.gcs {
		for _, b := range reported[g.Process] {
			if b.number >= g.Number && b.gc != 0 {
				teller[g.ID] = b.gc
				break
			}
		}
	}
	cut, process := map[session.GCID]bool{}, map[session.GCID]session.ProcessID{}
	for _, g := range l.gcs {
		cut[g.ID], process[g.ID] = l.cut[g.Process], g.Process
	}
	sums := map[key]q.Amount{}
	for _, x := range deaths {
		k := key{x.GC, x.Generation}
		sums[k] = sums[k].Sub(x.Amount)
	}
	for _, g := range l.generations {
		if gc, ok := teller[g.GC]; ok {
			k := key{gc, g.Generation}
			sums[k] = sums[k].Add(g.Dead)
		}
	}
	for _, f := range l.freed {
		if gc, ok := teller[f.GC]; ok {
			k := key{gc, f.Generation}
			sums[k] = sums[k].Sub(f.Amount)
		}
	}
	keys := slices.SortedFunc(maps.Keys(sums), func(a, b key) int {
		return cmp.Or(cmp.Compare(a.gc, b.gc), cmp.Compare(a.generation, b.generation))
	})
	waiting := map[int64]q.Amount{} // by generation: what sites are about to know, of the one process that is sampled
	for _, k := range keys {
		if l.sampled[process[k.gc]] {
			waiting[k.generation] = waiting[k.generation].Add(sums[k])
			if rest := waiting[k.generation]; rest.Allocations < 0 || rest.Bytes < 0 {
				c.add("changes", "up to collection row %d sites have %d objects and %d bytes more that died in "+
					"generation %d than the collections found", k.gc, -rest.Allocations, -rest.Bytes, k.generation)
			}
			continue
		}
		if rest := sums[k]; !rest.IsZero() && !cut[k.gc] {
			c.add("changes", "what collection row %d found dead in generation %d is %d objects and %d bytes more "+
				"than its sites have", k.gc, k.generation, rest.Allocations, rest.Bytes)
		}
	}
}

// heaps checks what was in the generations: as much as was looked through in those that were collected, and between two
// collections nothing comes to generations 1 and 2 nor goes.
func (c *checker) heaps(l *lifetimeTables) {
	type key struct {
		gc         session.GCID
		generation int64
	}
	heap := map[key]session.GCHeap{}
	for _, h := range l.heaps {
		if h.Generation < 0 || h.Generation >= session.Generations ||
			min(h.Before.Allocations, h.After.Allocations) < 0 {
			c.add("heaps", "collection row %d has %d and then %d objects in generation %d", h.GC, h.Before.Allocations,
				h.After.Allocations, h.Generation)
		}
		heap[key{h.GC, h.Generation}] = h
	}
	if len(heap) == 0 {
		return
	}
	for _, g := range l.generations {
		if h, ok := heap[key{g.GC, g.Generation}]; h.Before != g.Before && (ok || !g.Before.IsZero()) {
			c.add("heaps", "collection row %d: %d objects were in generation %d, %d were looked through", g.GC,
				h.Before.Allocations, g.Generation, g.Before.Allocations)
		}
	}
	last := map[session.ProcessID]session.GCID{}
	for _, g := range l.gcs {
		before := last[g.Process]
		last[g.Process] = g.ID
		if before == 0 || l.cut[g.Process] {
			continue
		}
		for generation := int64(1); generation <= 2; generation++ {
			was, is := heap[key{before, generation}].After, heap[key{g.ID, generation}].Before
			if was != is {
				c.add("heaps", "process %d: %d objects were in generation %d after a collection, %d before "+
					"collection %d", g.Process, was.Allocations, generation, is.Allocations, g.Number)
			}
		}
	}
}

// heapAtEnd checks what was in each generation after the collection of a process that says what is alive at the end,
// which follows from what was there before, against its objects that live at the end, which were counted by looking at
// each. One that a thread was just allocating is not among these.
func (c *checker) heapAtEnd(d *Data, l *lifetimeTables) {
	type key struct {
		process    session.ProcessID
		generation int64
	}
	sites := newIndex(d.Sites, func(r *session.Site) session.SiteID { return r.ID })
	alive, threads := map[key]q.Amount{}, map[session.ProcessID]q.Count{}
	for _, a := range l.alive {
		if at, ok := sites.find(a.Site); ok && at >= 0 && d.siteThread[at] >= 0 {
			k := key{d.Threads[d.siteThread[at]].Process, a.Generation}
			if e, ends := l.endings[k.process]; ends && !e.Has(&a) {
				continue // it was made later
			}
			alive[k] = alive[k].Add(a.Amount)
		}
	}
	for _, t := range d.Threads {
		threads[t.Process]++
	}
	last := map[session.GCID]session.ProcessID{}
	known := map[session.ProcessID]bool{}
	for _, p := range d.Followed {
		known[p.Process] = p.AliveKnown
	}
	for _, g := range slices.Backward(l.gcs) {
		if e, ends := l.endings[g.Process]; ends && g.Number > e.GCNumber {
			continue
		}
		if known[g.Process] && !l.cut[g.Process] {
			last[g.ID], known[g.Process] = g.Process, false
		}
	}
	for _, h := range l.heaps {
		if process := last[h.GC]; process != 0 {
			a := alive[key{process, h.Generation}]
			rest := h.After.Sub(a)
			if rest.Allocations < 0 || rest.Allocations > threads[process] ||
				(rest.Allocations == 0) != (rest.Bytes == 0) {
				c.add("heaps", "process %d: %d objects and %d bytes were in generation %d after the last collection, "+
					"%d and %d are alive",
					process, h.After.Allocations, h.After.Bytes, h.Generation, a.Allocations, a.Bytes)
			}
		}
	}
}
