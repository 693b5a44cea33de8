package collect

import (
	"cmp"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"sync/atomic"

	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/wire"
)

// lifetime is what one process said of the ends of its objects.
type lifetime struct {
	written session.ProcessLifetime
	leftOut session.LeftOut                      // as written
	dead    [session.Generations]amounts         // by index of site: what earlier slices hold
	read    int                                  // sites of which deaths were read
	allDead quantity.Amount                      // what earlier slices hold of all sites
	closed  bool                                 // the process is dead and all of its deaths are read
	ages    pieces[uint64]                       // by index in the arena: how many objects those have that are written
	gcs     map[uint32]session.GCID              // by number
	last    uint32                               // number of the last one
	found   [session.Generations]quantity.Amount // dead by the records of the collections

	newGCs         []session.GC
	newGenerations []session.GCGeneration
	newDetails     []session.GCDetail
	newHeaps       []session.GCHeap
	changes        changes
	alive          map[aliveKey]quantity.Amount // of the last collection, until it is known to be complete
	aliveWritten   bool
	survivals      map[survivalKey]*survival // of the collections that may still say more
	roots          map[rootKey]*references
}

type aliveKey struct{ site, generation, born uint32 }

type survivalKey struct{ gc, site uint32 }

type survival struct {
	uncollected, rooted, reachable quantity.Amount
	written                        bool
}

type rootKey struct{ gc, site, kind, flags, function uint32 }

type references struct {
	count   quantity.Count
	written bool
}

func newLifetime() lifetime {
	return lifetime{gcs: map[uint32]session.GCID{}, alive: map[aliveKey]quantity.Amount{},
		survivals: map[survivalKey]*survival{}, roots: map[rootKey]*references{}}
}

func amountOf(p wire.Population) quantity.Amount {
	return quantity.Amount{Allocations: quantity.Count(p.Objects), Bytes: quantity.Bytes(p.Bytes)}
}

// add takes a record of the log. Records of one collection and site may come in parts.
func (l *lifetime) add(r *Recorder, p session.ProcessID, record any) error {
	switch record := record.(type) {
	case wire.GC:
		return l.addGC(r, p, &record)
	case wire.Changes:
		return l.changes.add(&record)
	case wire.Alive:
		if record.Site == 0 || record.Generation >= session.Generations {
			return fmt.Errorf("%w: alive of site %d in generation %d", wire.ErrCorrupt, record.Site, record.Generation)
		}
		key := aliveKey{record.Site - 1, record.Generation, record.Born}
		l.alive[key] = l.alive[key].Add(amountOf(record.Objects))
	case wire.Why:
		if record.Site == 0 {
			return fmt.Errorf("%w: survivors of no site", wire.ErrCorrupt)
		}
		key := survivalKey{record.GC, record.Site - 1}
		s := l.survivals[key]
		if s == nil {
			s = &survival{}
			l.survivals[key] = s
		}
		s.uncollected = s.uncollected.Add(amountOf(record.Uncollected))
		s.rooted = s.rooted.Add(amountOf(record.Rooted))
		s.reachable = s.reachable.Add(amountOf(record.Reachable))
		s.written = false
	case wire.Roots:
		if record.Site == 0 || int(record.Kind) >= len(rootKinds) {
			return fmt.Errorf("%w: root of kind %d to site %d", wire.ErrCorrupt, record.Kind, record.Site)
		}
		key := rootKey{record.GC, record.Site - 1, record.Kind, record.Flags, record.Function}
		c := l.roots[key]
		if c == nil {
			c = &references{}
			l.roots[key] = c
		}
		c.count += quantity.Count(record.References)
		c.written = false
	}
	return nil
}

// rootKinds are by COR_PRF_GC_ROOT_KIND.
var rootKinds = [...]string{session.RootOther, session.RootStack, session.RootFinalizer, session.RootHandle}

func (l *lifetime) addGC(r *Recorder, p session.ProcessID, g *wire.GC) error {
	if _, again := l.gcs[g.Number]; again || g.Collected>>session.Generations != 0 {
		return fmt.Errorf("%w: garbage collection %d, generations %#x", wire.ErrCorrupt, g.Number, g.Collected)
	}
	r.next.gc++
	begin := g.SuspendNS
	if begin == 0 {
		begin = g.StartNS
	}
	l.gcs[g.Number], l.last = r.next.gc, max(l.last, g.Number)
	l.newGCs = append(l.newGCs, session.GC{ID: r.next.gc, Process: p, Number: int64(g.Number), Collected: int64(g.Collected),
		Generation: int64(max(0, bits.Len32(g.Collected&7)-1)), Induced: g.Induced != 0,
		Begin: max(0, quantity.Nanoseconds(begin)-r.start), Pause: quantity.Nanoseconds(max(g.DoneNS, begin) - begin),
		Agent: quantity.Nanoseconds(max(g.DoneNS, g.EndNS) - g.EndNS), Finalizable: quantity.Count(g.Finalizable)})
	l.newDetails = append(l.newDetails, session.GCDetail{GC: r.next.gc, Pinned: quantity.Count(g.Pinned), Since: l.changes.end(r.next.gc, g)})
	for i, found := range g.Generations {
		heap := session.GCHeap{GC: r.next.gc, Generation: int64(i), Before: amountOf(found.Before), After: amountOf(found.After)}
		if !heap.Before.IsZero() || !heap.After.IsZero() {
			l.newHeaps = append(l.newHeaps, heap)
		}
		if g.Collected>>i&1 == 0 {
			continue
		}
		row := session.GCGeneration{GC: r.next.gc, Generation: int64(i), Before: amountOf(found.Before),
			Dead: amountOf(found.Dead), Promoted: amountOf(found.Promoted)}
		l.found[i] = l.found[i].Add(row.Dead)
		l.newGenerations = append(l.newGenerations, row)
	}
	return nil
}

// readDeaths adds how many more objects of a site are dead than were. It is called before the site's own counters
// are read: what is dead by then was allocated before, so dead never exceeds allocated.
func (l *lifetime) readDeaths(site session.SiteID, i int, deaths []wire.SiteDeaths, rows []session.SiteDeath) []session.SiteDeath {
	if i >= len(deaths) || l.closed {
		return rows
	}
	l.read = max(l.read, i+1)
	f := &deaths[i]
	for g := range f.DeadObjects {
		bytes := atomic.LoadUint64(&f.DeadBytes[g]) // counted after the object
		total := quantity.Amount{Allocations: quantity.Count(atomic.LoadUint64(&f.DeadObjects[g])), Bytes: quantity.Bytes(bytes)}
		if grown := total.Sub(l.dead[g].at(i)); !grown.IsZero() {
			rows = append(rows, session.SiteDeath{Site: site, Generation: int64(g), Amount: grown})
			l.dead[g].set(i, total)
			l.allDead = l.allDead.Add(grown)
		}
	}
	return rows
}

// mend adds bytes that the process died before counting: all objects of the site are dead, so all bytes are. The site's own rows begin
// at first.
func (l *lifetime) mend(site session.SiteID, i int, all quantity.Amount, rows []session.SiteDeath, first int) []session.SiteDeath {
	if i >= l.read || l.closed {
		return rows
	}
	var dead quantity.Amount
	last := 0
	for g := range l.dead {
		a := l.dead[g].at(i)
		if dead = dead.Add(a); a.Allocations != 0 {
			last = g
		}
	}
	missing := all.Sub(dead)
	if missing.Allocations != 0 || missing.Bytes <= 0 || dead.Allocations == 0 {
		return rows
	}
	l.dead[last].set(i, l.dead[last].at(i).Add(missing))
	l.allDead = l.allDead.Add(missing)
	for k := first; k < len(rows); k++ {
		if rows[k].Generation == int64(last) {
			rows[k].Bytes += missing.Bytes
			return rows
		}
	}
	return append(rows, session.SiteDeath{Site: site, Generation: int64(last), Amount: quantity.Amount{Bytes: missing.Bytes}})
}

// write writes what is new and known as a whole.
func (l *lifetime) write(r *Recorder, p *process, h *wire.Header) error {
	if h.Data&wire.DataLifetime == 0 {
		return nil
	}
	row := session.ProcessLifetime{Process: p.id, GCs: quantity.Count(len(l.gcs)), AliveKnown: h.AliveKnown != 0}
	if row != l.written {
		if err := r.w.ReplaceProcessLifetimes([]session.ProcessLifetime{row}); err != nil {
			return err
		}
		l.written = row
	}
	out := session.LeftOut{Process: p.id, Walked: min(quantity.Count(h.Walks), row.GCs), // the one that is going on has walked already
		Amount: quantity.Amount{Allocations: quantity.Count(h.LeftOut), Bytes: quantity.Bytes(h.LeftOutBytes)}}
	if out != l.leftOut {
		if err := r.w.ReplaceLeftOut([]session.LeftOut{out}); err != nil {
			return err
		}
		l.leftOut = out
	}
	if err := r.w.InsertGCs(l.newGCs); err != nil {
		return err
	}
	if err := r.w.InsertGCGenerations(l.newGenerations); err != nil {
		return err
	}
	if err := r.w.InsertGCDetails(l.newDetails); err != nil {
		return err
	}
	if err := r.w.InsertGCHeaps(l.newHeaps); err != nil {
		return err
	}
	l.newGCs, l.newGenerations, l.newDetails, l.newHeaps = nil, nil, nil, nil
	if err := l.changes.write(r, p); err != nil {
		return err
	}
	if err := l.writeAges(r, p); err != nil {
		return err
	}
	if h.AliveKnown != 0 && !l.aliveWritten {
		if err := l.writeAlive(r, p); err != nil {
			return err
		}
	}
	if err := l.writeSurvivals(r, p); err != nil {
		return err
	}
	return l.writeRoots(r, p)
}

// writeAges writes the ages of sites whose ages changed: all of them, as what is kept of those that are written is their sum.
func (l *lifetime) writeAges(r *Recorder, p *process) error {
	var rows []session.SiteAge
	deaths, ages := p.arena.Deaths(), p.arena.Ages()
	for l.ages.len() < len(ages) {
		l.ages.add(0)
	}
	for i := range deaths[:min(len(deaths), p.sites.len())] {
		n := atomic.LoadUint32(&deaths[i].Ages)
		if n == 0 || int(n) > len(ages) {
			continue
		}
		now, written := ages[n-1], l.ages.at(int(n-1))
		sum := objectsOf(&now)
		if sum == *written {
			continue
		}
		*written = sum
		for b, objects := range now.ByCollections {
			if objects != 0 {
				rows = append(rows, session.SiteAge{Site: p.siteID(i), Measure: session.AgeGCs, Bucket: int64(b), Objects: quantity.Count(objects)})
			}
		}
		for b, objects := range now.ByTime {
			if objects != 0 {
				rows = append(rows, session.SiteAge{Site: p.siteID(i), Measure: session.AgeTime, Bucket: int64(b), Objects: quantity.Count(objects)})
			}
		}
		if len(rows) >= chunkRows {
			if err := r.w.ReplaceSiteAges(rows); err != nil {
				return err
			}
			rows = rows[:0]
		}
	}
	return r.w.ReplaceSiteAges(rows)
}

// objectsOf is how many objects ages count. They only grow, so the sum changes when one does.
func objectsOf(a *wire.Ages) uint64 {
	sum := uint64(0)
	for _, n := range a.ByCollections {
		sum += n
	}
	for _, n := range a.ByTime {
		sum += n
	}
	return sum
}

func (l *lifetime) writeAlive(r *Recorder, p *process) error {
	var rows []session.SiteAlive
	for key, a := range l.alive {
		if int(key.site) >= p.sites.len() {
			return fmt.Errorf("%w: alive of site %d of %d", wire.ErrCorrupt, key.site, p.sites.len())
		}
		rows = append(rows, session.SiteAlive{Site: p.siteID(int(key.site)), Generation: int64(key.generation), Born: int64(key.born), Amount: a})
	}
	slices.SortFunc(rows, func(a, b session.SiteAlive) int {
		return cmp.Or(cmp.Compare(a.Site, b.Site), cmp.Compare(a.Generation, b.Generation), cmp.Compare(a.Born, b.Born))
	})
	l.alive, l.aliveWritten = nil, true
	return r.w.InsertSiteAlive(rows)
}

// known says whether a collection ended and a site is in the session: what refers to them can be written.
func (l *lifetime) known(p *process, gc, site uint32) (session.GCID, bool) {
	id, ok := l.gcs[gc]
	return id, ok && int(site) < p.sites.len()
}

func (l *lifetime) writeSurvivals(r *Recorder, p *process) error {
	var keys []survivalKey // eight bytes each, where rows have 64
	for key, s := range l.survivals {
		if _, ok := l.known(p, key.gc, key.site); ok && !s.written {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b survivalKey) int {
		return cmp.Or(cmp.Compare(l.gcs[a.gc], l.gcs[b.gc]), cmp.Compare(a.site, b.site))
	})
	for keys := range slices.Chunk(keys, chunkRows) {
		rows := make([]session.Survival, len(keys))
		for i, key := range keys {
			s := l.survivals[key]
			rows[i] = session.Survival{GC: l.gcs[key.gc], Site: p.siteID(int(key.site)), Uncollected: s.uncollected, Rooted: s.rooted, Reachable: s.reachable}
			s.written = true
		}
		if err := r.w.ReplaceSurvivals(rows); err != nil {
			return err
		}
	}
	maps.DeleteFunc(l.survivals, func(key survivalKey, s *survival) bool { return s.written && key.gc < l.last })
	return nil
}

func (l *lifetime) writeRoots(r *Recorder, p *process) error {
	var rows []session.Root
	for key, c := range l.roots {
		if gc, ok := l.known(p, key.gc, key.site); ok && !c.written {
			rows = append(rows, session.Root{GC: gc, Site: p.siteID(int(key.site)), Kind: rootKinds[key.kind], Flags: int64(key.flags),
				Function: p.names.functions[key.function].id, References: c.count})
			c.written = true
		}
	}
	maps.DeleteFunc(l.roots, func(key rootKey, c *references) bool { return c.written && key.gc < l.last })
	slices.SortFunc(rows, func(a, b session.Root) int {
		return cmp.Or(cmp.Compare(a.GC, b.GC), cmp.Compare(a.Site, b.Site), cmp.Compare(a.Kind, b.Kind),
			cmp.Compare(a.Flags, b.Flags), cmp.Compare(a.Function, b.Function))
	})
	return r.w.ReplaceRoots(mergeRoots(rows))
}

// mergeRoots adds up neighbours with the same key: two of the agent's functions can be one of the session's.
func mergeRoots(rows []session.Root) []session.Root {
	out := rows[:0]
	for _, row := range rows {
		if n := len(out); n > 0 {
			same := row
			same.References = out[n-1].References
			if same == out[n-1] {
				out[n-1].References += row.References
				continue
			}
		}
		out = append(out, row)
	}
	return out
}

// cut returns what a collection that did not end found dead, if all others have told what they found: the process
// was killed within it, or the recording ended. Their records and the deaths of the sites then differ.
func (l *lifetime) cut() (quantity.Amount, bool) {
	if int(l.last) != len(l.gcs) {
		return quantity.Amount{}, false
	}
	more := l.allDead
	for _, a := range l.found {
		more = more.Sub(a)
	}
	return more, !more.IsZero()
}
