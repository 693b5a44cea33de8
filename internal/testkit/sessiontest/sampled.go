package sessiontest

import (
	"slices"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// Sampled makes of a session one whose small objects were sampled: each object that was counted is a sample of so many
// now. What was counted object by object, as references and what is in snapshots of the heap, is as it was, and so are
// sites with deaths on the large object heap, and what collections found there and on that of pinned objects.
func (b *Builder) Sampled(weight uint32) *Builder {
	b.Info[session.KeyObjects] = session.ObjectsLarge
	for i := range b.Processes {
		b.Processes[i].Sampler = session.SamplerRandom
	}
	// Of a collection that was cut off, sites of samples do not know more than the collection.
	for _, l := range b.Losses {
		b.Deaths = slices.DeleteFunc(b.Deaths, func(d session.SiteDeath) bool {
			return l.Reason == session.LossGCCut && d.Amount == l.Amount
		})
	}
	b.Losses = slices.DeleteFunc(b.Losses, func(l session.Loss) bool { return l.Reason == session.LossGCCut })
	large := map[session.SiteID]bool{}
	for _, d := range b.Deaths {
		large[d.Site] = large[d.Site] || d.Generation == session.GenerationLarge
	}
	of := func(site session.SiteID, amounts ...*q.Amount) {
		for _, a := range amounts {
			if !large[site] {
				a.Allocations, a.Bytes = a.Allocations*q.Count(weight), a.Bytes*q.Bytes(weight)
			}
		}
	}
	for i := range b.Sites {
		if s := &b.Sites[i]; !large[s.ID] {
			s.Weight = weight
		}
	}
	for i := range b.SiteValues {
		of(b.SiteValues[i].Site, &b.SiteValues[i].Amount)
	}
	for i := range b.Deaths {
		of(b.Deaths[i].Site, &b.Deaths[i].Amount)
	}
	for i := range b.GCBirths {
		of(b.GCBirths[i].Site, &b.GCBirths[i].Amount)
	}
	for i := range b.GCDeaths {
		of(b.GCDeaths[i].Site, &b.GCDeaths[i].Amount)
	}
	for i := range b.Alive {
		of(b.Alive[i].Site, &b.Alive[i].Amount)
	}
	for i := range b.Survivals {
		s := &b.Survivals[i]
		of(s.Site, &s.Uncollected, &s.Rooted, &s.Reachable)
	}
	for i := range b.Ages {
		if !large[b.Ages[i].Site] {
			b.Ages[i].Objects *= q.Count(weight)
		}
	}
	b.sampledCollections(weight)
	return b
}

// sampledCollections does it with what collections found in all.
func (b *Builder) sampledCollections(weight uint32) {
	of := func(generation int64, amounts ...*q.Amount) {
		for _, a := range amounts {
			if generation != session.GenerationLarge && generation != session.GenerationPinned {
				a.Allocations, a.Bytes = a.Allocations*q.Count(weight), a.Bytes*q.Bytes(weight)
			}
		}
	}
	for i := range b.GCGenerations {
		g := &b.GCGenerations[i]
		of(g.Generation, &g.Before, &g.Dead, &g.Promoted)
	}
	for i := range b.GCHeaps {
		of(b.GCHeaps[i].Generation, &b.GCHeaps[i].Before, &b.GCHeaps[i].After)
	}
}
