package analysis

import (
	"cmp"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// GroupLifetime is what became of the objects of a group, with what is known of their ages.
type GroupLifetime struct {
	Group
	Lifetime
	session.Ages
	Sampled *SampledAges // what of the ages is estimated; nil: nothing
}

// SampledAges says what of session.Ages is estimated.
type SampledAges struct {
	GCs, Time, AliveGCs [session.AgeBuckets]q.Sampled
}

// add adds what samples of a weight are among ages. Ages less than zero are taken out of others.
func (s *SampledAges) add(ages *session.Ages, weight q.Count) {
	for _, part := range []struct {
		to *[session.AgeBuckets]q.Sampled
		of *[session.AgeBuckets]q.Count
	}{{&s.GCs, &ages.GCs}, {&s.Time, &ages.Time}, {&s.AliveGCs, &ages.AliveGCs}} {
		for i, n := range part.of {
			if n < 0 {
				part.to[i] = part.to[i].Sub(q.SamplesOf(-n, weight))
				continue
			}
			part.to[i] = part.to[i].Add(q.SamplesOf(n, weight))
		}
	}
}

// GroupLifetimes returns the groups as Lifetimes.Groups does, with ages if they are wanted. Those by type and by
// function are stored.
func (v *Source) GroupLifetimes(by By, ages bool) ([]GroupLifetime, error) {
	if v.derived == nil {
		if out, err := v.storedGroupLifetimes(by); len(out) > 0 || err != nil {
			return out, err
		}
	}
	lifetimes, err := v.Lifetimes()
	if err != nil {
		return nil, err
	}
	all := lifetimes.GroupList(by)
	out := make([]GroupLifetime, all.Len())
	for n := range out {
		out[n] = GroupLifetime{Group: all.Group(n), Lifetime: all.Lifetime(n)}
		out[n].Ages.GCs[0] = out[n].Collected().Allocations
		if ages && v.estimates {
			out[n].Sampled = &SampledAges{}
			out[n].Sampled.GCs[0] = out[n].Collected().Sampled
		}
	}
	if ages {
		d := lifetimes.data
		err = d.eachAge(func(site int32, add func(*session.Ages)) {
			n := all.of[site]
			if n == none {
				return
			}
			add(&out[n].Ages)
			if weight := d.Sites[site].Weight; v.estimates && weight > 0 {
				var one session.Ages
				add(&one)
				out[n].Sampled.add(&one, q.Count(weight))
			}
		})
	}
	return out, err
}

// SiteGroups returns the groups that Lifetimes.Groups does, for who needs no lifetimes: they take longer to add up.
// Errors are those of Lifetimes.
func (v *Source) SiteGroups(by By) ([]Group, SiteGroups, error) {
	if !v.selection.IsZero() { // what of a site is selected tells whether something happened there
		lifetimes, err := v.Lifetimes()
		if err != nil {
			return nil, SiteGroups{}, err
		}
		groups, _, of := lifetimes.Groups(by)
		return groups, of, nil
	}
	if followed, err := v.HasLifetimes(); !followed {
		return nil, SiteGroups{}, cmp.Or(err, ErrNoLifetime)
	}
	d, err := v.load()
	if err != nil {
		return nil, SiteGroups{}, err
	}
	of, n, group := d.groupSites(by, func(int32) bool { return true })
	groups := make([]Group, n)
	for i := range groups {
		groups[i] = group(i)
	}
	return groups, SiteGroups{d, of}, nil
}

// HasLifetimes reports whether objects were followed in a process.
func (v *Source) HasLifetimes() (bool, error) {
	rows, err := v.session.ProcessLifetimes()
	return len(rows) > 0, err
}

// storedGroupLifetimes returns what is stored, if anything is.
func (v *Source) storedGroupLifetimes(by By) ([]GroupLifetime, error) {
	if followed, err := v.HasLifetimes(); !followed {
		return nil, cmp.Or(err, ErrNoLifetime)
	}
	switch by {
	case ByType:
		rows, err := v.session.TypeLifetimes()
		return groupLifetimes(rows, func(r *session.TypeLifetime) (Group, *session.LifetimeSums) {
			return Group{Process: r.Process, Type: r.Type}, &r.LifetimeSums
		}), err
	case ByFunction:
		rows, err := v.session.FunctionLifetimes()
		return groupLifetimes(rows, func(r *session.FunctionLifetime) (Group, *session.LifetimeSums) {
			return Group{Process: r.Process, Function: r.Function}, &r.LifetimeSums
		}), err
	}
	return nil, nil
}

func groupLifetimes[Row any](rows []Row, of func(*Row) (Group, *session.LifetimeSums)) []GroupLifetime {
	out := make([]GroupLifetime, len(rows))
	for i := range rows {
		group, sums := of(&rows[i])
		out[i] = GroupLifetime{group, Lifetime{sums.Born, sums.Dead}, sums.Ages, nil}
	}
	return out
}

// eachAge calls fn with the position of each site of which ages are known, and with what adds them to sums.
func (d *Data) eachAge(fn func(site int32, add func(*session.Ages))) error {
	ages, err := d.session.SiteAges()
	if err != nil {
		return err
	}
	var age *session.SiteAge
	addAge := func(sum *session.Ages) { sum.Add(age) }
	for i := range ages {
		if site, _ := d.siteIndex.find(ages[i].Site); site != none {
			age = &ages[i]
			fn(site, addAge)
		}
	}
	alive, err := d.session.SiteAlive()
	if err != nil {
		return err
	}
	gcs, err := d.collectionsOfThreads()
	if err != nil {
		return err
	}
	endings, err := endings(d.session)
	if err != nil {
		return err
	}
	var cohort *session.SiteAlive
	had := int64(0)
	addAlive := func(sum *session.Ages) { sum.AddAlive(cohort, had) }
	for i := range alive {
		if site, _ := d.siteIndex.find(alive[i].Site); site != none {
			cohort, had = &alive[i], gcs[d.siteThread[site]+1]
			if t := d.siteThread[site]; t != none {
				if e, ends := endings[d.Threads[t].Process]; ends && e.Has(cohort) {
					had = e.GCNumber
				}
			}
			fn(site, addAlive)
		}
	}
	return nil
}

// collectionsOfThreads returns how many collections the process of each thread had, the first for none.
func (d *Data) collectionsOfThreads() ([]int64, error) {
	collections, err := d.session.GCs()
	if err != nil {
		return nil, err
	}
	last := map[session.ProcessID]int64{}
	for _, g := range collections {
		last[g.Process] = max(last[g.Process], g.Number)
	}
	out := make([]int64, 1, len(d.Threads)+1)
	for i := range d.Threads {
		out = append(out, last[d.Threads[i].Process])
	}
	return out, nil
}

// groupTables are the tables of groups, which a session that was completed by an older clrprof lacks.
var groupTables = []string{"TypeLifetimes", "FunctionLifetimes"}

// groupSums adds up what is stored of groups of sites.
type groupSums struct {
	of    []int32 // by position of the site; none: it is in none
	group func(n int) Group
	sums  []session.LifetimeSums
	lost  bool // something died where nothing was born: what is stored would not be what is computed
}

// newGroupSums groups the sites at which something was born.
func (d *Data) newGroupSums(by By, born []q.Amount) *groupSums {
	of, groups, group := d.groupSites(by, func(site int32) bool { return !born[site].IsZero() })
	out := &groupSums{of: of, group: group, sums: make([]session.LifetimeSums, groups)}
	for site, n := range of {
		if n != none {
			out.sums[n].Born = out.sums[n].Born.Add(born[site])
		}
	}
	return out
}

// died adds what died at a site.
func (g *groupSums) died(site int32, dead *session.SiteDeath) {
	n := g.of[site]
	if n == none {
		g.lost = g.lost || !dead.IsZero()
		return
	}
	sum := &g.sums[n]
	sum.Dead[dead.Generation] = sum.Dead[dead.Generation].Add(dead.Amount)
	sum.GCs[0] += dead.Allocations
}

// lifetimeGroups are the groups that are stored.
type lifetimeGroups struct {
	types, functions *groupSums
	sites            *topSites
}

// deriveGroupLifetimes computes the rows of what became of the objects of types and functions.
func (d *Data) deriveGroupLifetimes(out *session.Derived, g *lifetimeGroups) error {
	if g.types.lost || g.functions.lost {
		return nil
	}
	g.sites.addTo(out)
	err := d.eachAge(func(site int32, add func(*session.Ages)) {
		for _, of := range []*groupSums{g.types, g.functions} {
			if n := of.of[site]; n != none {
				add(&of.sums[n].Ages)
			}
		}
	})
	if err != nil {
		return err
	}
	for n, sums := range g.types.sums {
		of := g.types.group(n)
		out.TypeLifetimes = append(out.TypeLifetimes, session.TypeLifetime{Position: int64(n) + 1,
			Process: of.Process, Type: of.Type, LifetimeSums: sums})
	}
	for n, sums := range g.functions.sums {
		of := g.functions.group(n)
		out.FunctionLifetimes = append(out.FunctionLifetimes, session.FunctionLifetime{Position: int64(n) + 1,
			Process: of.Process, Function: of.Function, LifetimeSums: sums})
	}
	return nil
}

// deriveLifetimes computes the tables of lifetimes, those of groups if they are wanted; born is what each site
// allocated.
func (d *Data) deriveLifetimes(out *session.Derived, born []q.Amount, groups bool) error {
	if !groups {
		return d.deriveSummary(out, born, nil)
	}
	of := &lifetimeGroups{d.newGroupSums(ByType, born), d.newGroupSums(ByFunction, born), d.newTopSites(born)}
	if err := d.deriveSummary(out, born, of); err != nil {
		return err
	}
	return d.deriveGroupLifetimes(out, of)
}
