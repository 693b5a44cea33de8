package sessiontest

import (
	"cmp"
	"math/rand/v2"
	"slices"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// Followed says that the objects of a process are followed to their end.
func (b *Builder) Followed(p session.ProcessID, aliveKnown bool) {
	b.Lifetimes = append(b.Lifetimes, session.ProcessLifetime{Process: p, AliveKnown: aliveKnown})
}

// Collect adds a collection of the generations up to one of 0, 1 and 2, at a time and with a pause; 2 collects the
// large and the pinned objects too. Nothing survives it until Survive says so.
func (b *Builder) Collect(p session.ProcessID, generation int64, induced bool, at, pause q.Nanoseconds) session.GCID {
	g := session.GC{ID: session.GCID(len(b.GCs) + 1), Process: p, Generation: generation, Induced: induced, Begin: at,
		Pause: pause, Agent: pause / 4}
	for i := range b.Lifetimes {
		if b.Lifetimes[i].Process == p {
			b.Lifetimes[i].GCs++
			g.Number = int64(b.Lifetimes[i].GCs)
		}
	}
	g.Collected = []int64{1, 3, 31}[generation]
	b.GCs = append(b.GCs, g)
	b.GCDetails = append(b.GCDetails, session.GCDetail{GC: g.ID, Since: g.Number - 1})
	for i := range int64(session.Generations) {
		if g.Collected>>i&1 != 0 {
			b.GCGenerations = append(b.GCGenerations, session.GCGeneration{GC: g.ID, Generation: i})
		}
	}
	return g.ID
}

func (b *Builder) generation(gc session.GCID, generation int64) *session.GCGeneration {
	i := slices.IndexFunc(b.GCGenerations, func(g session.GCGeneration) bool {
		return g.GC == gc && g.Generation == generation
	})
	return &b.GCGenerations[i]
}

// Die records that a collection found objects of a site dead, within a slice.
func (b *Builder) Die(slice session.SliceID, site session.SiteID, gc session.GCID, generation int64, n q.Count,
	bytes q.Bytes) {
	a := q.Amount{Allocations: n, Bytes: bytes}
	g := b.generation(gc, generation)
	g.Before, g.Dead = g.Before.Add(a), g.Dead.Add(a)
	b.dieIn(gc, site, generation, a)
	for i := range b.Deaths {
		if f := &b.Deaths[i]; f.Slice == slice && f.Site == site && f.Generation == generation {
			f.Amount = f.Add(a)
			return
		}
	}
	b.Deaths = append(b.Deaths, session.SiteDeath{Slice: slice, Site: site, Generation: generation, Amount: a})
}

// dieIn records that a collection tells of objects of a site that are dead.
func (b *Builder) dieIn(gc session.GCID, site session.SiteID, generation int64, a q.Amount) {
	key := session.GCDeath{GC: gc, Site: site, Generation: generation}
	at, ok := b.deathAt[key]
	if !ok {
		if b.deathAt == nil {
			b.deathAt = map[session.GCDeath]int{}
		}
		at = len(b.GCDeaths)
		b.deathAt[key] = at
		b.GCDeaths = append(b.GCDeaths, key)
	}
	b.GCDeaths[at].Amount = b.GCDeaths[at].Add(a)
}

// bornIn records that what the sites of a process allocated in a slice, or 0 in all, was there at a collection.
func (b *Builder) bornIn(gc session.GCID, slice session.SliceID) {
	p := b.GCs[gc-1].Process
	at := map[session.SiteID]int{}
	for _, v := range b.SiteValues {
		if slice != 0 && v.Slice != slice || b.Threads[b.Sites[v.Site-1].Thread-1].Process != p || v.IsZero() {
			continue
		}
		i, ok := at[v.Site]
		if !ok {
			i = len(b.GCBirths)
			at[v.Site] = i
			b.GCBirths = append(b.GCBirths, session.GCBirth{GC: gc, Site: v.Site})
		}
		b.GCBirths[i].Amount = b.GCBirths[i].Add(v.Amount)
	}
}

// Survive records that objects survived a collection; promoted, that they are in a higher generation then.
func (b *Builder) Survive(gc session.GCID, generation int64, promoted bool, n q.Count, bytes q.Bytes) {
	a := q.Amount{Allocations: n, Bytes: bytes}
	g := b.generation(gc, generation)
	g.Before = g.Before.Add(a)
	if promoted {
		g.Promoted = g.Promoted.Add(a)
	}
}

// Aging is a program whose objects die in every generation: buffers at once, messages in generation 1, cached entries
// in 2, a table on the large object heap, and a list that only grows. Its second process is killed.
func Aging() *Builder {
	b := New()
	b.Info[session.KeyMode], b.Info[session.KeyDuration] = "memory,lifetime", "4000000000"
	b.Slices = nil
	for i := range session.SliceID(4) {
		b.Slices = append(b.Slices, session.Slice{ID: i + 1, Begin: q.Nanoseconds(i) * 1e9,
			End: q.Nanoseconds(i+1) * 1e9})
	}
	p := b.Process("Aging", 77)
	b.Followed(p, true)
	main, app := b.Thread(p, "main"), b.Module(p, "Aging.dll", true)
	buffer, message, entry := b.Type(app, "Aging.Buffer"), b.Type(app, "Aging.Message"), b.Type(app,
		"Aging.Cache.Entry")
	table, item, text := b.Type(app, "Aging.Table[]"), b.Type(app, "Aging.Item"), b.Type(app, "string")
	entryPoint := b.Function(app, "Aging.Program.Main()", "/src/Aging.cs", 5)
	work := b.Function(app, "Aging.Worker.Run(int)", "/src/Aging.cs", 20)
	cache := b.Function(app, "Aging.Cache.Add(string)", "/src/Cache.cs", 8)
	top := Frame{entryPoint, 7}
	gcs := []session.GCID{b.Collect(p, 0, false, 4e8, 2e6), b.Collect(p, 1, false, 13e8, 3e6),
		b.Collect(p, 0, true, 24e8, 2e6), b.Collect(p, 2, true, 38e8, 9e6)}
	for i, gc := range gcs {
		slice := session.SliceID(i + 1)
		n := q.Count(100 * (i + 1))
		site := b.Allocate(slice, main, buffer, n, q.Bytes(n)*64, top, Frame{work, 22})
		b.Die(slice, site, gc, 0, n, q.Bytes(n)*64)
		b.Allocate(slice, main, item, 10, 400, top, Frame{work, 25}) // a list that only grows
		b.Survive(gc, 0, true, 10, 400)
	}
	b.Survive(gcs[0], 0, true, 40, 1280) // messages
	b.Survive(gcs[0], 0, true, 30, 1440) // entries
	b.Survive(gcs[1], 1, true, 30, 1440)
	b.Survive(gcs[1], 1, true, 10, 400) // items
	b.Survive(gcs[3], 1, true, 20, 800)
	b.die(main, message, 40, 1280, 1, 2, gcs[1], 1, top, Frame{work, 23})
	b.die(main, entry, 30, 1440, 1, 4, gcs[3], 2, top, Frame{cache, 9})
	b.die(main, table, 2, 200_000, 2, 4, gcs[3], session.GenerationLarge, top)
	b.Survive(gcs[3], session.GenerationPinned, false, 1, 8184)
	pinned := b.Allocate(1, main, table, 1, 8184, top)
	items := b.Allocate(4, main, item, 0, 0, top, Frame{work, 25})
	b.Alive = []session.SiteAlive{{Site: items, Generation: 1, Born: 3, Amount: q.Amount{Allocations: 10, Bytes: 400}},
		{Site: items, Generation: 2, Born: 0, Amount: q.Amount{Allocations: 10, Bytes: 400}},
		{Site: items, Generation: 2, Born: 1, Amount: q.Amount{Allocations: 20, Bytes: 800}},
		{Site: pinned, Generation: 4, Born: 0, Amount: q.Amount{Allocations: 1, Bytes: 8184}}}
	b.Survive(gcs[3], 2, false, 10, 400)
	b.Survivals = []session.Survival{{GC: gcs[3], Site: items, Rooted: q.Amount{Allocations: 1, Bytes: 40},
		Reachable: q.Amount{Allocations: 39, Bytes: 1560}},
		{GC: gcs[3], Site: pinned, Rooted: q.Amount{Allocations: 1, Bytes: 8184}}}
	b.Roots = []session.Root{{GC: gcs[3], Site: items, Kind: session.RootStack, Function: work, References: 2},
		{GC: gcs[3], Site: pinned, Kind: session.RootHandle, Flags: session.RootPinning, References: 1}}
	frozen := b.Allocate(1, main, text, 3, 120, top)
	b.Sites[frozen-1].Frozen = true
	for i, gc := range gcs {
		b.bornIn(gc, session.SliceID(i+1))
	}
	b.heaps(gcs)
	b.GCDetails[gcs[3]-1].Pinned = 1
	b.killed()
	b.sortLifetimes()
	return b
}

// heaps says what there was in the generations before and after the collections of a process: survivors of 0 and 1 are
// in the next one afterwards, and large and pinned objects were born at once, as far as the sample has any.
func (b *Builder) heaps(gcs []session.GCID) {
	large, pinned := q.Amount{Allocations: 2, Bytes: 200_000}, q.Amount{Allocations: 1, Bytes: 8184}
	live := [session.Generations]q.Amount{session.GenerationPinned: pinned}
	for n, gc := range gcs {
		if n == 1 { // the tables are born in the second slice
			live[session.GenerationLarge] = large
		}
		var before, after [session.Generations]q.Amount
		before = live
		for g := range int64(session.Generations) {
			if b.GCs[gc-1].Collected>>g&1 == 0 {
				after[g] = after[g].Add(before[g])
				continue
			}
			found := b.generation(gc, g)
			before[g] = found.Before
			after[g] = after[g].Add(found.Before.Sub(found.Dead).Sub(found.Promoted))
			if g < 2 {
				after[g+1] = after[g+1].Add(found.Promoted)
			}
		}
		for g := range int64(session.Generations) {
			if !before[g].IsZero() || !after[g].IsZero() {
				b.GCHeaps = append(b.GCHeaps, session.GCHeap{GC: gc, Generation: g, Before: before[g], After: after[g]})
			}
		}
		live = after
	}
}

// die allocates objects in one slice that a collection finds dead in another. Ages follow from the generation.
func (b *Builder) die(t session.ThreadID, typ session.TypeID, n q.Count, bytes q.Bytes, born, dead session.SliceID,
	gc session.GCID, generation int64, stack ...Frame) {
	site := b.Allocate(born, t, typ, n, bytes, stack...)
	b.Die(dead, site, gc, generation, n, bytes)
	survived := min(generation, 2)
	b.Ages = append(b.Ages, session.SiteAge{Site: site, Measure: session.AgeGCs, Bucket: survived, Objects: n},
		session.SiteAge{Site: site, Measure: session.AgeTime, Bucket: 3 + survived, Objects: n})
}

// killed adds a process that died within its second collection.
func (b *Builder) killed() {
	p := b.Process("Killed", 78)
	b.Processes[p-1].EndState = session.EndDied
	b.Followed(p, false)
	t, m := b.Thread(p, "main"), b.Module(p, "Killed.dll", true)
	typ, f := b.Type(m, "Killed.Thing"), b.Function(m, "Killed.Program.Main()", "/src/Killed.cs", 3)
	site := b.Allocate(1, t, typ, 50, 1200, Frame{f, 4})
	gc := b.Collect(p, 0, false, 5e8, 1e6)
	b.Die(1, site, gc, 0, 20, 480)
	b.GCHeaps = append(b.GCHeaps, session.GCHeap{GC: gc, Before: q.Amount{Allocations: 20, Bytes: 480}})
	b.GCBirths = append(b.GCBirths, session.GCBirth{GC: gc, Site: site, Amount: q.Amount{Allocations: 40, Bytes: 960}})
	b.Deaths = append(b.Deaths, session.SiteDeath{Slice: 2, Site: site, Generation: 0,
		Amount: q.Amount{Allocations: 5, Bytes: 120}})
	b.Losses = append(b.Losses, session.Loss{Process: p, Reason: session.LossGCCut, Events: 1,
		Amount: q.Amount{Allocations: 5, Bytes: 120}})
}

// sortLifetimes puts rows in the order of their keys, in which they are read.
func (b *Builder) sortLifetimes() {
	slices.SortFunc(b.GCGenerations, func(x, y session.GCGeneration) int {
		return cmp.Or(cmp.Compare(x.GC, y.GC), cmp.Compare(x.Generation, y.Generation))
	})
	slices.SortFunc(b.GCBirths, func(x, y session.GCBirth) int {
		return cmp.Or(cmp.Compare(x.GC, y.GC), cmp.Compare(x.Site, y.Site))
	})
	slices.SortFunc(b.GCDeaths, func(x, y session.GCDeath) int {
		return cmp.Or(cmp.Compare(x.GC, y.GC), cmp.Compare(x.Site, y.Site), cmp.Compare(x.Generation, y.Generation))
	})
	slices.SortFunc(b.Deaths, func(x, y session.SiteDeath) int {
		return cmp.Or(cmp.Compare(x.Slice, y.Slice), cmp.Compare(x.Site, y.Site),
			cmp.Compare(x.Generation, y.Generation))
	})
}

// follow gives a random session lifetimes: of each site some objects die, at random.
func (b *Builder) follow(r *rand.Rand) {
	for _, p := range b.Processes {
		b.Followed(p.ID, r.IntN(2) == 0)
		last := b.Collect(p.ID, 2, true, 9e8, 1e6)
		for _, v := range b.SiteValues {
			s := b.Sites[v.Site-1]
			if b.Threads[s.Thread-1].Process != p.ID {
				continue
			}
			each, dead := v.Bytes/q.Bytes(v.Allocations), q.Count(0)
			for g := range int64(session.Generations) {
				if n := q.Count(r.Int64N(int64(v.Allocations-dead) + 1)); n > 0 && n+dead < v.Allocations {
					b.Die(v.Slice, v.Site, last, g, n, q.Bytes(n)*each)
					dead += n
				}
			}
		}
		b.bornIn(last, 0)
	}
	b.sortLifetimes()
}
