package recording

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// lifetime is what one process said of the ends of its objects.
type lifetime struct {
	written session.ProcessLifetime
	leftOut session.LeftOut                      // as written
	dead    [session.Generations]amounts         // by index of site: what slices hold
	read    int                                  // sites of which deaths were reported
	allDead quantity.Amount                      // what slices hold of all sites
	closed  bool                                 // the process is dead and all of its deaths are reported
	gcs     map[uint32]session.GCID              // by number
	last    uint32                               // number of the last one
	found   [session.Generations]quantity.Amount // dead by the records of the collections

	newGCs         []session.GC
	newGenerations []session.GCGeneration
	newDetails     []session.GCDetail
	newHeaps       []session.GCHeap
	newCallers     []session.GCCaller
	changes        changes
	freedBySite    map[freedKey]quantity.Amount
	freed          []freed // of all collections, until it is known which are later than the beginning of the end
	ending         uint32  // number of the collection at which the process began to end, 0: it did not
	endingWritten  bool
	alive          map[aliveKey]quantity.Amount // until it is known to be complete
	aliveWritten   bool
	survivals      map[survivalKey]*survival // of the collections that may still say more
	roots          map[rootKey]*references
}

// aliveKey: beginning is the number of the collection if it is one at which the process seemed to begin to end.
type aliveKey struct{ site, generation, born, beginning uint32 }

// freedKey: beginning is the number of the collection at which the process seemed to begin to end.
type freedKey struct{ site, generation, beginning uint32 }

type freed struct {
	number uint32 // of the collection
	row    session.GCFreed
}

type survivalKey struct{ gc, site uint32 }

type survival struct {
	Survivors
	written bool
}

type rootKey struct {
	gc, site uint32
	Root
}

type references struct {
	count   quantity.Count
	written bool
}

func newLifetime() lifetime {
	return lifetime{gcs: map[uint32]session.GCID{}, alive: map[aliveKey]quantity.Amount{},
		freedBySite: map[freedKey]quantity.Amount{},
		survivals:   map[survivalKey]*survival{}, roots: map[rootKey]*references{}}
}

// GC is a garbage collection.
type GC struct {
	session.GC                         // without ids
	Number      uint32                 // of the process, from 1 on
	Pinned      quantity.Count         // objects
	Since       uint32                 // number of the collection since which changes were reported; its own: none were
	Heaps       []session.GCHeap       // generations with something in them; without ids
	Generations []session.GCGeneration // those that were collected; without ids
	Freed       []session.GCFreed      // what was alive when the process began to end; without ids
}

// AddGC takes a garbage collection that has ended.
func (p *Process) AddGC(g *GC) error {
	r, l := p.recording, &p.lifetime
	if _, again := l.gcs[g.Number]; again {
		return fmt.Errorf("%w: garbage collection %d came twice", ErrInconsistent, g.Number)
	}
	r.next.gc++
	id := r.next.gc
	l.gcs[g.Number], l.last = id, max(l.last, g.Number)
	row := g.GC
	row.ID, row.Process, row.Number = id, p.id, int64(g.Number)
	l.newGCs = append(l.newGCs, row)
	since := l.changes.end(id, int64(g.Number), int64(g.Since))
	l.newDetails = append(l.newDetails, session.GCDetail{GC: id, Pinned: g.Pinned, Since: since})
	for _, row := range g.Heaps {
		row.GC = id
		l.newHeaps = append(l.newHeaps, row)
	}
	for _, row := range g.Generations {
		row.GC = id
		l.found[row.Generation] = l.found[row.Generation].Add(row.Dead)
		l.newGenerations = append(l.newGenerations, row)
	}
	for _, row := range g.Freed {
		row.GC = id
		l.freed = append(l.freed, freed{g.Number, row})
	}
	return nil
}

// AddGCCaller takes the stack of who asked for the collection with a number, which has come before.
func (p *Process) AddGCCaller(number uint32, stack session.InteractionStackID) error {
	id, known := p.lifetime.gcs[number]
	if !known {
		return fmt.Errorf("%w: the caller of garbage collection %d, which did not come", ErrInconsistent, number)
	}
	p.lifetime.newCallers = append(p.lifetime.newCallers, session.GCCaller{GC: id, Stack: stack})
	return nil
}

// AddAlive takes objects of a site that were alive after the last collection, or after the one of the number beginning,
// if the process began to end then: in a generation, and allocated before the collection of the number born. It can
// come in parts.
func (p *Process) AddAlive(site, generation, born, beginning uint32, objects quantity.Amount) {
	key := aliveKey{site, generation, born, beginning}
	p.lifetime.alive[key] = p.lifetime.alive[key].Add(objects)
}

// SetFreed takes how many objects of a site were found dead in a generation up to now of those that were alive after
// the collection of the number beginning, at which the process seemed to begin to end.
func (p *Process) SetFreed(site, generation, beginning uint32, objects quantity.Amount) {
	p.lifetime.freedBySite[freedKey{site, generation, beginning}] = objects
}

// Survivors are objects that survived a collection, by what is known of why.
type Survivors struct{ Uncollected, Rooted, Reachable quantity.Amount }

// AddSurvivors takes survivors of a site in the collection with a number. They can come in parts.
func (p *Process) AddSurvivors(gc, site uint32, more Survivors) {
	key := survivalKey{gc, site}
	s := p.lifetime.survivals[key]
	if s == nil {
		s = &survival{}
		p.lifetime.survivals[key] = s
	}
	s.Uncollected = s.Uncollected.Add(more.Uncollected)
	s.Rooted = s.Rooted.Add(more.Rooted)
	s.Reachable = s.Reachable.Add(more.Reachable)
	s.written = false
}

// Root is what refers to objects.
type Root struct {
	Kind     string // session.RootStack and so on
	Flags    uint32
	Function session.FunctionID // of a stack
}

// AddRoots takes references of a root to objects of a site in the collection with a number. They can come in parts.
func (p *Process) AddRoots(gc, site uint32, root Root, count quantity.Count) {
	key := rootKey{gc, site, root}
	c := p.lifetime.roots[key]
	if c == nil {
		c = &references{}
		p.lifetime.roots[key] = c
	}
	c.count += count
	c.written = false
}

// growDead adds how many more objects of a site are dead than were.
func (l *lifetime) growDead(site session.SiteID, i int, dead *Dead, rows []session.SiteDeath) []session.SiteDeath {
	if l.closed {
		return rows
	}
	l.read = max(l.read, i+1)
	for g, total := range dead {
		if grown := total.Sub(l.dead[g].at(i)); !grown.IsZero() {
			rows = append(rows, session.SiteDeath{Site: site, Generation: int64(g), Amount: grown})
			l.dead[g].set(i, total)
			l.allDead = l.allDead.Add(grown)
		}
	}
	return rows
}

// mend adds bytes that the process died before counting: all objects of the site are dead, so all bytes are. The
// site's own rows begin at first.
func (l *lifetime) mend(site session.SiteID, i int, all quantity.Amount, rows []session.SiteDeath,
	first int) []session.SiteDeath {
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
	return append(rows, session.SiteDeath{Site: site, Generation: int64(last),
		Amount: quantity.Amount{Bytes: missing.Bytes}})
}

// Lifetime is what a process says of its lifetimes as a whole.
type Lifetime struct {
	AliveKnown bool                  // what AddAlive got is complete
	Walked     quantity.Count        // collections in which objects were followed
	LeftOut    quantity.Amount       // objects that are followed no more
	Ended      bool                  // nothing more comes
	Ending     session.ProcessEnding // when the process began to end, as far as is known; without id
}

// WriteGCs writes collections that are new, and what changed from one to the next.
func (p *Process) WriteGCs(all Lifetime) error {
	l, w := &p.lifetime, p.recording.w
	row := session.ProcessLifetime{Process: p.id, GCs: quantity.Count(len(l.gcs)), AliveKnown: all.AliveKnown}
	if row != l.written {
		if err := w.ReplaceProcessLifetimes([]session.ProcessLifetime{row}); err != nil {
			return err
		}
		l.written = row
	}
	// the one that is going on has walked already
	out := session.LeftOut{Process: p.id, Walked: min(all.Walked, row.GCs), Amount: all.LeftOut}
	if out != l.leftOut {
		if err := w.ReplaceLeftOut([]session.LeftOut{out}); err != nil {
			return err
		}
		l.leftOut = out
	}
	if err := p.WriteCollections(); err != nil {
		return err
	}
	if err := p.writeEnding(&all); err != nil {
		return err
	}
	return l.changes.write(p)
}

// WriteCollections writes collections that are new: all that there is of them where objects were not followed.
func (p *Process) WriteCollections() error {
	l, w := &p.lifetime, p.recording.w
	if err := w.InsertGCs(l.newGCs); err != nil {
		return err
	}
	if err := w.InsertGCGenerations(l.newGenerations); err != nil {
		return err
	}
	if err := w.InsertGCDetails(l.newDetails); err != nil {
		return err
	}
	if err := w.InsertGCHeaps(l.newHeaps); err != nil {
		return err
	}
	if err := w.InsertGCCallers(l.newCallers); err != nil {
		return err
	}
	l.newGCs, l.newGenerations, l.newDetails, l.newHeaps, l.newCallers = nil, nil, nil, nil, nil
	return nil
}

// writeEnding writes when the process began to end, and what it freed from then on. Until it has ended, that may not be
// true.
func (p *Process) writeEnding(all *Lifetime) error {
	l := &p.lifetime
	l.ending = uint32(all.Ending.GCNumber)
	if l.ending == 0 || l.endingWritten || !all.Ended && !all.AliveKnown {
		return nil
	}
	l.endingWritten = true
	all.Ending.Process = p.id
	if err := p.recording.w.InsertProcessEndings([]session.ProcessEnding{all.Ending}); err != nil {
		return err
	}
	var rows []session.GCFreed
	for _, f := range l.freed {
		if f.number > l.ending {
			rows = append(rows, f.row)
		}
	}
	if err := p.recording.w.InsertGCFreed(rows); err != nil {
		return err
	}
	return p.writeSiteFreed()
}

func (p *Process) writeSiteFreed() error {
	var rows []session.SiteFreed
	for key, a := range p.lifetime.freedBySite {
		if key.beginning != p.lifetime.ending {
			continue // the process only seemed to end
		}
		if int(key.site) >= p.sites.Len() {
			return fmt.Errorf("%w: freed of site %d of %d", ErrInconsistent, key.site, p.sites.Len())
		}
		rows = append(rows, session.SiteFreed{Site: p.Site(int(key.site)), Generation: int64(key.generation),
			Amount: a})
	}
	slices.SortFunc(rows, func(a, b session.SiteFreed) int {
		return cmp.Or(cmp.Compare(a.Site, b.Site), cmp.Compare(a.Generation, b.Generation))
	})
	p.lifetime.freedBySite = nil
	return p.recording.w.InsertSiteFreed(rows)
}

// ReplaceAges writes ages of sites, all of those of which one changed.
func (p *Process) ReplaceAges(rows []session.SiteAge) error {
	return p.recording.w.ReplaceSiteAges(rows)
}

// WriteSurvivors writes what was alive after the last collection, if that is known as a whole, and what is new of
// survivors and roots.
func (p *Process) WriteSurvivors() error {
	l := &p.lifetime
	if l.written.AliveKnown && !l.aliveWritten {
		if err := p.writeAlive(); err != nil {
			return err
		}
	}
	if err := p.writeSurvivals(); err != nil {
		return err
	}
	return p.writeRoots()
}

func (p *Process) writeAlive() error {
	var rows []session.SiteAlive
	for key, a := range p.lifetime.alive {
		if key.beginning != 0 && key.beginning != p.lifetime.ending {
			continue // the process only seemed to end
		}
		if int(key.site) >= p.sites.Len() {
			return fmt.Errorf("%w: alive of site %d of %d", ErrInconsistent, key.site, p.sites.Len())
		}
		rows = append(rows, session.SiteAlive{Site: p.Site(int(key.site)), Generation: int64(key.generation),
			Born: int64(key.born), Amount: a})
	}
	slices.SortFunc(rows, func(a, b session.SiteAlive) int {
		return cmp.Or(cmp.Compare(a.Site, b.Site), cmp.Compare(a.Generation, b.Generation), cmp.Compare(a.Born, b.Born))
	})
	p.lifetime.alive, p.lifetime.aliveWritten = nil, true
	return p.recording.w.InsertSiteAlive(rows)
}

// ended says whether a collection ended and a site is in the session: what refers to them can be written.
func (p *Process) ended(gc, site uint32) (session.GCID, bool) {
	id, ok := p.lifetime.gcs[gc]
	return id, ok && int(site) < p.sites.Len()
}

func (p *Process) writeSurvivals() error {
	l := &p.lifetime
	var keys []survivalKey // eight bytes each, where rows have 64
	for key, s := range l.survivals {
		if _, ok := p.ended(key.gc, key.site); ok && !s.written {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b survivalKey) int {
		return cmp.Or(cmp.Compare(l.gcs[a.gc], l.gcs[b.gc]), cmp.Compare(a.site, b.site))
	})
	for keys := range slices.Chunk(keys, ChunkRows) {
		rows := make([]session.Survival, len(keys))
		for i, key := range keys {
			s := l.survivals[key]
			rows[i] = session.Survival{GC: l.gcs[key.gc], Site: p.Site(int(key.site)), Uncollected: s.Uncollected,
				Rooted: s.Rooted, Reachable: s.Reachable}
			s.written = true
		}
		if err := p.recording.w.ReplaceSurvivals(rows); err != nil {
			return err
		}
	}
	maps.DeleteFunc(l.survivals, func(key survivalKey, s *survival) bool { return s.written && key.gc < l.last })
	return nil
}

func (p *Process) writeRoots() error {
	l := &p.lifetime
	var rows []session.Root
	for key, c := range l.roots {
		if gc, ok := p.ended(key.gc, key.site); ok && !c.written {
			rows = append(rows, session.Root{GC: gc, Site: p.Site(int(key.site)), Kind: key.Kind,
				Flags:    int64(key.Flags),
				Function: key.Function, References: c.count})
			c.written = true
		}
	}
	maps.DeleteFunc(l.roots, func(key rootKey, c *references) bool { return c.written && key.gc < l.last })
	slices.SortFunc(rows, func(a, b session.Root) int {
		return cmp.Or(cmp.Compare(a.GC, b.GC), cmp.Compare(a.Site, b.Site), cmp.Compare(a.Kind, b.Kind),
			cmp.Compare(a.Flags, b.Flags), cmp.Compare(a.Function, b.Function))
	})
	return p.recording.w.ReplaceRoots(rows)
}

// CutGC returns what a collection that did not end found dead, if all others have reported what they found: the process
// was killed within it, or the recording ended. Their records and the deaths of the sites then differ.
func (p *Process) CutGC() (quantity.Amount, bool) {
	l := &p.lifetime
	if int(l.last) != len(l.gcs) {
		return quantity.Amount{}, false
	}
	more := l.allDead
	for _, a := range l.found {
		more = more.Sub(a)
	}
	for _, f := range l.freed {
		if l.ending != 0 && f.number > l.ending {
			more = more.Add(f.row.Amount) // no death of a site
		}
	}
	return more, !more.IsZero()
}
