package analysis

import (
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// UsesOf says which uses are asked for: there can be millions, of which nearly all are too small to matter. Objects are
// left out by place, and times by the function that is called.
type UsesOf struct {
	Type  func(session.TypeID) bool // objects of this type mark their place
	Large q.Bytes                   // likewise those of a site where they have so many bytes on average
	// Place reports whether the objects of a place are asked for, by what they are at most; all is what was born.
	Place func(sum *PlaceSum, all q.Amount) bool
	Call  func(session.FunctionID) bool // reports whether times are asked for, by the first function of a chain
}

// PlaceSum is how much the objects of a place are: no part of them is more.
type PlaceSum struct {
	All     q.Amount // those that were born and, in a span of time, those that died
	Growing q.Amount // those of sites that only grow
	Marked  bool     // by an object of UsesOf.Type, or a site of UsesOf.Large
}

// usedObjects are the sites that are asked for.
type usedObjects struct {
	sites     []int32    // positions, in ascending order
	lifetimes []Lifetime // of each of them
	growing   []bool     // by position of a site; nil: it is not known
}

// objectsOf returns the objects that are asked for, and adds up all.
func (d *Data) objectsOf(u *Uses, a *attribution, p *places, asked *UsesOf) (*usedObjects, error) {
	born, err := d.SiteAmounts()
	if err != nil {
		return nil, err
	}
	out := &usedObjects{}
	u.HasMemory = len(born) > 0 // also where nothing of it is selected
	if u.Lifetimes = len(d.Followed) > 0; u.Lifetimes {
		if out.growing, err = d.growing(); err != nil {
			return nil, err
		}
	}
	u.Total.Born = totalOf(born)
	var dead *lifetimeList // by position of a site; nil: nothing died that was not born before, or it is not known
	if u.Lifetimes && d.in.selection.Spans() {
		if dead, err = d.endsOfSites(); err != nil {
			return nil, err
		}
	}
	at := d.nodePlaces(a, p)
	kept := keptPlaces(d.placeSums(born, dead, out.growing, at, len(p.list), asked), u.Total.Born, asked)
	for site := range born {
		n := d.siteNode[site]
		if n >= 0 && a.nearest[n] >= 0 && kept(at[n]) && (!born[site].IsZero() || dead != nil && !dead.isZero(site)) {
			out.sites = append(out.sites, int32(site))
		}
	}
	out.lifetimes = make([]Lifetime, len(out.sites))
	for i, site := range out.sites {
		if dead != nil {
			out.lifetimes[i] = dead.at(int(site))
		}
		out.lifetimes[i].Born = born[site]
	}
	if dead != nil {
		u.Total.Dead = dead.total().Dead
	}
	if u.Lifetimes && dead == nil {
		return out, d.addKeptDeaths(u, out)
	}
	return out, nil
}

// endsOfSites returns what became of the objects of sites, for who looks at the dead alone: what was born may be
// missing.
func (d *Data) endsOfSites() (*lifetimeList, error) {
	if d.ends != nil {
		return d.ends.sites, nil
	}
	out := newLifetimeList(make([]q.Amount, len(d.Sites)))
	return out, d.addDeaths(out)
}

// nodePlaces returns the number of the place of each node; that of the zero Place where no user code is on the stack.
func (d *Data) nodePlaces(a *attribution, p *places) []int32 {
	out := make([]int32, d.tree.Len())
	for n := range out {
		out[n] = p.at(a.nearest[n])
	}
	return out
}

// placeSums adds up what sites have, by the number of their place.
func (d *Data) placeSums(born []q.Amount, dead *lifetimeList, growing []bool, at []int32, places int,
	asked *UsesOf) []PlaceSum {
	if asked == nil {
		return nil
	}
	marked := make([]bool, len(d.Types))
	for i := range marked {
		marked[i] = asked.Type(d.Types[i].ID)
	}
	out := make([]PlaceSum, places)
	for site, most := range born {
		node, typ := d.siteNode[site], d.siteType[site]
		if node < 0 {
			continue
		}
		sum := &out[at[node]]
		sum.Marked = sum.Marked || most.Allocations > 0 &&
			(typ >= 0 && marked[typ] || most.Bytes >= asked.Large*q.Bytes(most.Allocations))
		if dead != nil {
			most = most.Add(dead.collected(site))
		}
		sum.All = sum.All.Add(most)
		if growing != nil && growing[site] {
			sum.Growing = sum.Growing.Add(most)
		}
	}
	return out
}

// keptPlaces says which places are asked for, by number.
func keptPlaces(sums []PlaceSum, all q.Amount, asked *UsesOf) func(place int32) bool {
	if asked == nil {
		return func(int32) bool { return true }
	}
	out := make([]bool, len(sums))
	for i := range out {
		out[i] = asked.Place(&sums[i], all)
	}
	return func(place int32) bool { return out[place] }
}

// addKeptDeaths adds what died to the objects that are asked for, and to the sum of all.
func (d *Data) addKeptDeaths(u *Uses, to *usedObjects) error {
	at := make([]int32, len(d.Sites)) // 1 + position
	for i, site := range to.sites {
		at[site] = int32(i) + 1
	}
	return d.eachSelectedDeath(func(site int32, dead *session.SiteDeath) {
		sum := &u.Total.Dead[dead.Generation]
		*sum = sum.Add(dead.Amount)
		if i := at[site]; i > 0 {
			sum = &to.lifetimes[i-1].Dead[dead.Generation]
			*sum = sum.Add(dead.Amount)
		}
	})
}
