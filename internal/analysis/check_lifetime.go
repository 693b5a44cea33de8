package analysis

import (
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// lifetimes checks what the session says of the ends of objects.
func (c *checker) lifetimes(s *session.Session, d *Data, derived *session.Derived) error {
	if len(d.Followed) == 0 {
		deaths := 0
		err := d.eachDeath(everySlice, func(_, _ int32, _ *session.SiteDeath) { deaths++ })
		if deaths > 0 {
			c.add("lifetimes", "there are deaths and no process whose objects were followed")
		}
		return err
	}
	v, err := d.Lifetimes()
	if err != nil {
		return err
	}
	if err := c.deaths(d, v); err != nil {
		return err
	}
	c.lifetimesAgree(v, derived)
	l := &lifetimeTables{cut: map[session.ProcessID]bool{}, sampled: map[session.ProcessID]bool{}}
	for _, p := range d.Processes {
		l.sampled[p.ID] = p.Sampler != ""
	}
	if err := l.read(s); err != nil {
		return err
	}
	c.endings(l)
	c.freedBySite(d, l)
	c.collections(d, v, l)
	if err := c.changes(s, d, v, l); err != nil {
		return err
	}
	c.atEnd(d, v, l)
	c.heapAtEnd(d, l)
	c.reasons(d, l)
	return nil
}

// lifetimeTables are the tables that only the check reads as a whole.
type lifetimeTables struct {
	losses      []session.Loss
	gcs         []session.GC
	generations []session.GCGeneration
	details     []session.GCDetail
	heaps       []session.GCHeap
	endings     map[session.ProcessID]session.ProcessEnding
	freed       []session.GCFreed
	siteFreed   []session.SiteFreed
	bySite      bool // whether siteFreed is known
	ages        []session.SiteAge
	alive       []session.SiteAlive
	survivals   []session.Survival
	roots       []session.Root
	cut         map[session.ProcessID]bool // what is known of these ends within a collection, or before its end
	sampled     map[session.ProcessID]bool
}

func (l *lifetimeTables) read(s *session.Session) error {
	for _, read := range []func() error{
		func() error { return into(&l.losses, s.Losses) },
		func() error { return into(&l.gcs, s.GCs) },
		func() error { return into(&l.generations, s.GCGenerations) },
		func() error { return into(&l.details, s.GCDetails) },
		func() error { return into(&l.heaps, s.GCHeaps) },
		func() error { return into(&l.freed, s.GCFreed) },
		func() error { return into(&l.ages, s.SiteAges) },
		func() error { return into(&l.alive, s.SiteAlive) },
		func() error { return into(&l.survivals, s.Survivals) },
		func() error { return into(&l.roots, s.Roots) },
	} {
		if err := read(); err != nil {
			return err
		}
	}
	var err error
	if l.endings, err = endings(s); err != nil {
		return err
	}
	if l.siteFreed, l.bySite, err = s.SiteFreed(); err != nil {
		return err
	}
	for _, loss := range l.losses {
		switch loss.Reason {
		case session.LossGCCut, session.LossMoves, session.LossLifetimeFull, session.LossArenaFull,
			session.LossUntracked, session.LossDamaged:
			l.cut[loss.Process] = true
		}
	}
	return nil
}

// deaths checks that nothing died that was not born, site by site.
func (c *checker) deaths(d *Data, v *Lifetimes) error {
	err := d.eachDeath(everySlice, func(slice, _ int32, f *session.SiteDeath) {
		if f.Generation < 0 || f.Generation >= session.Generations || f.Allocations < 0 || f.Bytes < 0 {
			c.add("deaths", "site %d has %d objects and %d bytes dead in generation %d", f.Site, f.Allocations, f.Bytes,
				f.Generation)
		}
		if slice < 0 {
			c.add("references", "deaths of site %d have no slice", f.Site)
		}
	})
	for i := range d.Sites {
		l := v.sites.at(i)
		alive := l.Alive()
		// Of a process that runs, an object can be counted as dead whose bytes were not yet.
		bytesOnly := alive.Allocations == 0 && alive.Bytes != 0 && !d.siteRuns(i)
		if alive.Allocations < 0 || alive.Bytes < 0 || bytesOnly {
			c.add("deaths", "site %d has %d objects and %d bytes alive", d.Sites[i].ID, alive.Allocations, alive.Bytes)
		}
		if d.Sites[i].Frozen && !l.Collected().IsZero() {
			c.add("deaths", "site %d is frozen and %d of its objects died", d.Sites[i].ID, l.Collected().Allocations)
		}
	}
	return err
}

// siteRuns reports whether a site's process still ran when it was last looked at.
func (d *Data) siteRuns(site int) bool {
	t := d.siteThread[site]
	if t < 0 || d.threadProcess[t] < 0 {
		return false
	}
	return d.Processes[d.threadProcess[t]].EndState == session.EndRunning
}

// lifetimesAgree checks that the ends of objects add up to the same in every view, and that what was born is
// what was allocated.
func (c *checker) lifetimesAgree(v *Lifetimes, derived *session.Derived) {
	total := v.Total()
	same := func(what string, sum Lifetime) {
		if sum != total {
			c.add("lifetimes", "%s add up to %+v, the sites to %+v", what, sum, total)
		}
	}
	types, functions, lines, paths := v.Types(), v.Functions(), v.Lines(), v.Paths()
	same("types", sumOfLifetimes(types, func(l Lifetime) Lifetime { return l }))
	same("functions (exclusive)", sumOfLifetimes(functions, func(l LifetimeAmounts) Lifetime { return l.Exclusive }))
	same("paths (exclusive)", sumOfLifetimes(paths, func(l LifetimeAmounts) Lifetime { return l.Exclusive }))
	same("processes", sumOfLifetimes(v.Processes(), func(l Lifetime) Lifetime { return l }))
	for _, by := range []By{ByType, BySite, ByFunction, ByLine, ByModule, ByNamespace} {
		var sum Lifetime
		_, lifetimes, _ := v.Groups(by)
		for _, l := range lifetimes {
			sum = sum.Add(l)
		}
		same("groups by "+string(by), sum)
	}
	var roots Lifetime
	born := func(what string, id int64, got, want q.Amount) {
		if got != want {
			c.add("lifetimes", "of %s %d, %d objects and %d bytes were born, %d and %d allocated", what, id,
				got.Allocations, got.Bytes, want.Allocations, want.Bytes)
		}
	}
	for _, r := range derived.Types {
		born("type", int64(r.Type), types[r.Type].Born, r.Amount)
	}
	for _, r := range derived.Functions {
		born("function", int64(r.Function), functions[r.Function].Exclusive.Born, r.Exclusive)
		born("function (inclusive)", int64(r.Function), functions[r.Function].Inclusive.Born, r.Inclusive)
	}
	for _, r := range derived.Lines {
		born("line", int64(r.Line), lines[r.Line].Born, r.Amount)
	}
	for _, r := range derived.Paths {
		born("path", int64(r.ID), paths[r.ID].Exclusive.Born, r.Exclusive)
		born("path (inclusive)", int64(r.ID), paths[r.ID].Inclusive.Born, r.Inclusive)
		if r.Parent == 0 {
			roots = roots.Add(paths[r.ID].Inclusive)
		}
	}
	same("roots (inclusive)", roots)
}

func sumOfLifetimes[K comparable, V any](values map[K]V, lifetime func(V) Lifetime) Lifetime {
	var sum Lifetime
	for _, v := range values {
		sum = sum.Add(lifetime(v))
	}
	return sum
}

// collections checks each collection by itself, and that all that they found dead are the deaths of the sites.
func (c *checker) collections(d *Data, v *Lifetimes, l *lifetimeTables) {
	process := map[session.GCID]session.ProcessID{}
	last := map[session.ProcessID]int64{}
	for _, g := range l.gcs {
		process[g.ID] = g.Process
		if g.Number != last[g.Process]+1 && !l.cut[g.Process] {
			c.add("collections", "collection %d of process %d follows number %d", g.Number, g.Process, last[g.Process])
		}
		last[g.Process] = g.Number
		if g.Pause < 0 || g.Agent < 0 || g.Agent > g.Pause {
			c.add("collections", "collection %d lasts %d ns, of which the agent %d", g.Number, g.Pause, g.Agent)
		}
	}
	type key struct {
		process    session.ProcessID
		generation int64
	}
	found := map[key]q.Amount{}
	for _, g := range l.generations {
		p, ok := process[g.GC]
		if !ok {
			c.add("references", "a generation belongs to collection %d, which does not exist", g.GC)
			continue
		}
		survived := g.Before.Sub(g.Dead)
		if survived.Allocations < g.Promoted.Allocations || survived.Bytes < g.Promoted.Bytes ||
			g.Promoted.Allocations < 0 {
			c.add("collections", "collection %d: %d objects in generation %d before, %d of them dead, %d promoted",
				g.GC, g.Before.Allocations, g.Generation, g.Dead.Allocations, g.Promoted.Allocations)
		}
		k := key{p, g.Generation}
		found[k] = found[k].Add(g.Dead)
	}
	for _, f := range l.freed {
		k := key{process[f.GC], f.Generation}
		found[k] = found[k].Sub(f.Amount)
	}
	processes := v.Processes()
	for _, p := range d.Processes {
		for g, dead := range processes[p.ID].Dead {
			want := found[key{p.ID, int64(g)}]
			if l.sampled[p.ID] && (dead.Allocations > want.Allocations || dead.Bytes > want.Bytes) {
				c.add("collections", "process %d: the sites have more dead in generation %d than the collections", p.ID, g)
			}
			if dead != want && p.EndState == session.EndExited && !l.cut[p.ID] && !l.sampled[p.ID] {
				c.add("collections",
					"process %d: the sites have %d objects and %d bytes dead in generation %d, the collections "+
						"%d and %d",
					p.ID, dead.Allocations, dead.Bytes, g, want.Allocations, want.Bytes)
			}
		}
	}
}

// endings checks that what processes freed while they ended is a part of what collections found dead after the
// beginning of the end.
func (c *checker) endings(l *lifetimeTables) {
	type key struct {
		gc         session.GCID
		generation int64
	}
	dead := map[key]q.Amount{}
	for _, g := range l.generations {
		dead[key{g.GC, g.Generation}] = g.Dead
	}
	gcs := newIndex(l.gcs, func(r *session.GC) session.GCID { return r.ID })
	ended := map[session.ProcessID]bool{}
	for _, f := range l.freed {
		i, _ := gcs.find(f.GC)
		if i == none {
			c.add("references", "something was freed in collection %d, which does not exist", f.GC)
			continue
		}
		g := l.gcs[i]
		e, ok := l.endings[g.Process]
		if !ok || g.Number <= e.GCNumber {
			c.add("endings", "process %d frees in collection %d, before it begins to end", g.Process, g.Number)
		}
		rest := dead[key{f.GC, f.Generation}].Sub(f.Amount)
		if rest.Allocations < 0 || rest.Bytes < 0 || f.Allocations < 0 || f.Bytes < 0 {
			c.add("endings", "collection row %d freed %d objects in generation %d, and found fewer dead", f.GC,
				f.Allocations, f.Generation)
		}
	}
	for _, g := range l.gcs {
		ended[g.Process] = ended[g.Process] || l.endings[g.Process].GCNumber == g.Number
	}
	for p := range l.endings {
		if !ended[p] && !l.cut[p] {
			c.add("endings", "process %d begins to end at a collection that does not exist", p)
		}
	}
}

// freedBySite checks that sites freed what collections found, and no more than they had when their process began to
// end.
func (c *checker) freedBySite(d *Data, l *lifetimeTables) {
	type key struct {
		process    session.ProcessID
		generation int64
	}
	sites := newIndex(d.Sites, func(r *session.Site) session.SiteID { return r.ID })
	rest := map[key]q.Amount{} // freed by collections, and by no site
	gcs := newIndex(l.gcs, func(r *session.GC) session.GCID { return r.ID })
	for _, f := range l.freed {
		if i, _ := gcs.find(f.GC); i != none {
			k := key{l.gcs[i].Process, f.Generation}
			rest[k] = rest[k].Add(f.Amount)
		}
	}
	had := map[session.SiteID]q.Amount{}
	for _, a := range l.alive {
		if i, _ := sites.find(a.Site); i != none && d.siteThread[i] != none {
			if e, ends := l.endings[d.Threads[d.siteThread[i]].Process]; ends && e.Has(&a) {
				had[a.Site] = had[a.Site].Add(a.Amount)
			}
		}
	}
	for _, f := range l.siteFreed {
		i, _ := sites.find(f.Site)
		if i == none || d.siteThread[i] == none {
			c.add("references", "site %d, which freed something, does not exist", f.Site)
			continue
		}
		k := key{d.Threads[d.siteThread[i]].Process, f.Generation}
		rest[k] = rest[k].Sub(f.Amount)
		had[f.Site] = had[f.Site].Sub(f.Amount)
		if h := had[f.Site]; (h.Allocations < 0 || h.Bytes < 0 || f.Allocations <= 0) && !l.cut[k.process] {
			c.add("endings", "site %d freed %d objects in generation %d, and had fewer", f.Site, f.Allocations,
				f.Generation)
		}
	}
	for _, loss := range l.losses {
		for g := range int64(session.Generations) {
			if k := (key{loss.Process, g}); loss.Reason == session.LossChanges && rest[k].Allocations >= 0 {
				delete(rest, k) // not all was reported
			}
		}
	}
	for k, r := range rest {
		if l.bySite && !r.IsZero() && !l.cut[k.process] {
			c.add("endings", "process %d freed %d objects and %d bytes in generation %d more than its sites", k.process,
				r.Allocations, r.Bytes, k.generation)
		}
	}
}

// endings returns the processes whose beginning of the end is known.
func endings(s *session.Session) (map[session.ProcessID]session.ProcessEnding, error) {
	rows, err := s.ProcessEndings()
	out := map[session.ProcessID]session.ProcessEnding{}
	for _, r := range rows {
		out[r.Process] = r
	}
	return out, err
}

// atEnd checks what is said of the objects that live at the end, and of the ages of the others.
func (c *checker) atEnd(d *Data, v *Lifetimes, l *lifetimeTables) {
	sites := v.Sites()
	known := newIndex(d.Sites, func(r *session.Site) session.SiteID { return r.ID })
	alive := map[session.SiteID]q.Amount{}
	for _, a := range l.alive {
		if a.Generation < 0 || a.Generation >= session.Generations || a.Allocations <= 0 {
			c.add("alive", "site %d has %d objects alive in generation %d", a.Site, a.Allocations, a.Generation)
		}
		alive[a.Site] = alive[a.Site].Add(a.Amount)
	}
	for id, a := range alive {
		if at, ok := known.find(id); !ok || at == none {
			c.add("references", "site %d, some of whose objects are alive, does not exist", id)
			continue
		}
		// More can be alive: what was allocated after the last collection.
		if rest := sites[id].Alive().Sub(a); rest.Allocations < 0 || rest.Bytes < 0 {
			c.add("alive", "site %d has %d objects and %d bytes alive, %d and %d reachable", id,
				sites[id].Alive().Allocations, sites[id].Alive().Bytes, a.Allocations, a.Bytes)
		}
	}
	byGCs, byTime := map[session.SiteID]q.Count{}, map[session.SiteID]q.Count{}
	for _, a := range l.ages {
		switch {
		case a.Measure == session.AgeGCs && a.Bucket > 0 && a.Bucket < session.AgeBuckets:
			byGCs[a.Site] += a.Objects
		case a.Measure == session.AgeTime && a.Bucket >= 0 && a.Bucket < session.AgeBuckets:
			byTime[a.Site] += a.Objects
		default:
			c.add("ages", "site %d has %d objects of age %s %d", a.Site, a.Objects, a.Measure, a.Bucket)
		}
	}
	for i, s := range d.Sites {
		if t := d.siteThread[i]; t >= 0 && l.cut[d.Threads[t].Process] {
			continue
		}
		if dead := sites[s.ID].Collected().Allocations; byGCs[s.ID] != byTime[s.ID] || byGCs[s.ID] > dead {
			c.add("ages", "site %d has %d dead objects, %d with an age in collections and %d with one in time", s.ID,
				dead, byGCs[s.ID], byTime[s.ID])
		}
	}
}

// reasons checks that what is said of survivors is of collections and sites that exist, and of all survivors.
func (c *checker) reasons(d *Data, l *lifetimeTables) {
	sites := newIndex(d.Sites, func(r *session.Site) session.SiteID { return r.ID })
	functions := newIndex(d.Functions, func(r *session.Function) session.FunctionID { return r.ID })
	gcs := newIndex(l.gcs, func(r *session.GC) session.GCID { return r.ID })
	exist := func(what string, gc session.GCID, site session.SiteID, function session.FunctionID) bool {
		_, a := gcs.find(gc)
		_, b := sites.find(site)
		_, f := functions.find(function)
		if !a || !b || !f || gc == 0 || site == 0 {
			c.add("references", "%s of collection %d, site %d, function %d: not all of them exist", what, gc, site,
				function)
		}
		return a && b && f
	}
	explained := map[session.GCID]q.Amount{}
	for _, s := range l.survivals {
		if exist("survivors", s.GC, s.Site, 0) {
			explained[s.GC] = explained[s.GC].Add(s.Rooted).Add(s.Reachable)
		}
	}
	for _, r := range l.roots {
		exist("roots", r.GC, r.Site, r.Function)
	}
	survived := map[session.GCID]q.Amount{}
	for _, g := range l.generations {
		survived[g.GC] = survived[g.GC].Add(g.Before).Sub(g.Dead)
	}
	for _, g := range l.gcs {
		e, ok := explained[g.ID]
		if rest := survived[g.ID].Sub(e); l.sampled[g.Process] && rest.Allocations >= 0 && rest.Bytes >= 0 {
			continue // samples without a site yet are not explained
		}
		if ok && e != survived[g.ID] && !l.cut[g.Process] {
			c.add("survivors", "collection %d of process %d: %d objects and %d bytes survived, %d and %d are explained",
				g.Number, g.Process, survived[g.ID].Allocations, survived[g.ID].Bytes, e.Allocations, e.Bytes)
		}
	}
}
