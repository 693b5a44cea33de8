package analysis

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/clrprof/clrprof/internal/analysis/calltree"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// Sections of a summary.
const (
	SectionWaste   = "promotion_waste" // what died in generation 2
	SectionYoung   = "short_lived"     // what died in generation 0
	SectionGrowing = "growing"         // what is alive of sites that only grow
)

// userSection begins the names of the same sections of user code.
const userSection = "user_"

// UserSection is the name of a section of which only what comes from user code is taken.
func UserSection(name string) string { return userSection + name }

// sections are in the order of their names, in which they are stored.
var sections = []string{SectionGrowing, SectionWaste, SectionYoung, UserSection(SectionGrowing),
	UserSection(SectionWaste), UserSection(SectionYoung)}

// summarySites is how many sites of a section are kept, so that a summary opens at once: far more than a person reads.
const summarySites = 1000

// LifetimeSection is a section of a summary: groups of sites with one cause, and a part of their lifetimes.
type LifetimeSection struct {
	Sites q.Count  // all groups
	All   q.Amount // their parts together
	Rows  []LifetimeRow
}

// LifetimeRow is a group of a section; what it says of a stack is that of the site that allocated most. Those with most
// bytes come first.
type LifetimeRow struct {
	Group
	Lifetime
	Part q.Amount
}

// LifetimeSummary is what a summary says of lifetimes.
type LifetimeSummary struct {
	Total    Lifetime
	Sections map[string]LifetimeSection
}

// causes are groups of sites by what a reader would mend: the type, and the place in user code from which its objects
// came or, if no user code is on it, the stack. A run can have millions of sites and few of these.
type causes struct {
	data      *Data
	of        []int32 // by position of a site: the number of its group, or none
	chief     []int32 // the site of each group that allocated most
	user      []bool  // groups with a place in user code
	lifetimes *lifetimeList
}

// causes groups the sites at which something happened; born is what a site allocated.
func (d *Data) causes(happened func(site int) bool, born func(site int) q.Bytes) *causes {
	g, attributed := &causes{data: d}, d.attribute()
	places := d.places(attributed)
	rows := rowsWith(len(d.Sites), func(site int32) bool {
		return d.siteNode[site] >= 0 && d.siteType[site] >= 0 && happened(int(site))
	})
	var first []int32
	g.of, first = groupRows(rows, len(d.Sites),
		keyColumn{func(site int32) int32 { return d.siteType[site] }, len(d.Types)},
		keyColumn{func(site int32) int32 { // the place, or after all places the node of what has none
			node := d.siteNode[site]
			if nearest := attributed.nearest[node]; nearest >= 0 {
				return places.at(nearest)
			}
			return int32(len(places.list)) + node
		}, len(places.list) + len(d.Nodes)})
	g.chief, g.user = first, make([]bool, len(first))
	for n, site := range first {
		g.user[n] = attributed.nearest[d.siteNode[site]] >= 0
	}
	for site, n := range g.of {
		if n >= 0 && born(site) > born(int(g.chief[n])) {
			g.chief[n] = int32(site)
		}
	}
	return g
}

// summary finds the sites of each section, at most so many of them; 0: all.
func (v *Lifetimes) summary(limit int) (LifetimeSummary, error) {
	var g *causes
	if err := atOnce(func() error {
		_, err := v.data.growing() // is kept
		return err
	}, func() error {
		g = v.data.causes(func(site int) bool { return !v.sites.isZero(site) },
			func(site int) q.Bytes { return v.sites.born[site].Bytes })
		g.lifetimes = v.sites.sumList(g.of, len(g.chief))
		return nil
	}); err != nil {
		return LifetimeSummary{}, err
	}
	return g.summary(v.Total(), limit)
}

func (g *causes) summary(total Lifetime, limit int) (LifetimeSummary, error) {
	growing, err := g.growing()
	if err != nil {
		return LifetimeSummary{}, err
	}
	out := LifetimeSummary{Total: total, Sections: map[string]LifetimeSection{}}
	for _, name := range sections {
		part, user := strings.CutPrefix(name, userSection)
		of := func(n int) q.Amount { return g.lifetimes.deadIn(n, 2) }
		switch part {
		case SectionYoung:
			of = func(n int) q.Amount { return g.lifetimes.deadIn(n, 0) }
		case SectionGrowing:
			of = func(n int) q.Amount {
				if !growing[n] {
					return q.Amount{}
				}
				return g.lifetimes.at(n).Alive()
			}
		}
		out.Sections[name] = g.section(func(n int) q.Amount {
			if user && !g.user[n] {
				return q.Amount{}
			}
			return of(n)
		}, limit)
	}
	return out, nil
}

// growing says which groups have a site that only grows.
func (g *causes) growing() ([]bool, error) {
	sites, err := g.data.growing()
	if err != nil {
		return nil, err
	}
	out := make([]bool, len(g.chief))
	for site, n := range g.of {
		if n >= 0 && sites[site] {
			out[n] = true
		}
	}
	return out, nil
}

// section chooses the groups with the greatest parts.
func (g *causes) section(part func(group int) q.Amount, limit int) LifetimeSection {
	var s LifetimeSection
	sizes := greatest{most: limit}
	for n := range g.chief {
		if a := part(n); !a.IsZero() {
			s.Sites++
			s.All = s.All.Add(a)
			sizes.add(a.Bytes)
		}
	}
	least := q.Bytes(math.MinInt64)
	if limit > 0 && s.Sites > q.Count(limit) {
		least = sizes.least()
	}
	var order []int32
	for n := range g.chief {
		if a := part(n); !a.IsZero() && a.Bytes >= least {
			order = append(order, int32(n))
		}
	}
	slices.SortFunc(order, func(x, y int32) int {
		return cmp.Or(cmp.Compare(part(int(y)).Bytes, part(int(x)).Bytes), cmp.Compare(x, y))
	})
	if limit > 0 && len(order) > limit {
		order = order[:limit]
	}
	d := g.data
	for _, n := range order {
		site := g.chief[n]
		s.Rows = append(s.Rows, LifetimeRow{d.group(BySite, d.siteNode[site], d.siteType[site]),
			g.lifetimes.at(int(n)), part(int(n))})
	}
	return s
}

// deriveSummary computes the tables from which a summary opens; born is what each site allocated. What died is added up
// by stack and type, as lifetimes of all sites are some hundred megabytes, and for groups, unless they are nil.
func (d *Data) deriveSummary(out *session.Derived, born []q.Amount, groups *lifetimeGroups) error {
	g := d.causes(func(site int) bool { return !born[site].IsZero() }, func(site int) q.Bytes {
		return born[site].Bytes
	})
	total := Lifetime{Born: totalOf(born)}
	g.lifetimes = newLifetimeList(born).sumList(g.of, len(g.chief))
	threads, types := make([]Lifetime, len(d.Threads)), make([]Lifetime, len(d.Types))
	err := d.eachDeath(everySlice, func(_, site int32, dead *session.SiteDeath) {
		if dead.Generation < 0 || dead.Generation >= session.Generations {
			return
		}
		add := func(sum *Lifetime) { sum.Dead[dead.Generation] = sum.Dead[dead.Generation].Add(dead.Amount) }
		add(&total)
		if n := g.of[site]; n >= 0 {
			sum := g.lifetimes.died(n, dead.Generation)
			*sum = sum.Add(dead.Amount)
		}
		if t := d.siteThread[site]; t >= 0 {
			add(&threads[t])
		}
		if t := d.siteType[site]; t >= 0 {
			add(&types[t])
		}
		if groups != nil {
			groups.types.died(site, dead)
			groups.functions.died(site, dead)
			groups.sites.died(site, dead)
		}
	})
	if err != nil {
		return err
	}
	s, err := g.summary(total, summarySites)
	if err != nil {
		return err
	}
	for i, l := range calltree.Sum(threads, d.threadProcess, len(d.Processes)) {
		for generation, a := range l.Dead {
			if !a.IsZero() {
				out.ProcessDeaths = append(out.ProcessDeaths,
					session.ProcessDeath{Process: d.Processes[i].ID, Generation: int64(generation), Amount: a})
			}
		}
	}
	for i := range types {
		for generation, a := range types[i].Dead {
			if !a.IsZero() {
				out.TypeDeaths = append(out.TypeDeaths,
					session.TypeDeath{Type: d.Types[i].ID, Generation: int64(generation), Amount: a})
			}
		}
	}
	for _, name := range sections {
		section := s.Sections[name]
		out.SummarySections = append(out.SummarySections, session.SummarySection{Section: name, Sites: section.Sites,
			Amount: section.All})
		for i, r := range section.Rows {
			out.SummarySites = append(out.SummarySites, session.SummarySite{Section: name, Position: int64(i) + 1,
				Process: r.Process, Node: r.Node, Type: r.Type,
				Function: r.Function, Line: r.Line, Part: r.Part, Born: r.Born, Dead: r.Dead})
		}
	}
	return nil
}

// Summary returns what a summary says of lifetimes, with the first sites of each section: at least so many, 0: all.
// Errors are those of Lifetimes.
func (v *Source) Summary(top int) (LifetimeSummary, error) {
	if v.derived == nil && v.lifetimes == nil && top > 0 && top <= summarySites {
		return v.storedSummary()
	}
	lifetimes, err := v.Lifetimes()
	if err != nil {
		return LifetimeSummary{}, err
	}
	if top > 0 {
		top = max(top, summarySites) // so that nothing depends on what is stored
	}
	return lifetimes.summary(top)
}

func (v *Source) storedSummary() (LifetimeSummary, error) {
	out := LifetimeSummary{Sections: map[string]LifetimeSection{}}
	if rows, err := v.session.ProcessLifetimes(); err != nil || len(rows) == 0 {
		return out, cmp.Or(err, ErrNoLifetime)
	}
	var err error
	if out.Total.Born, err = v.Total(); err != nil {
		return out, err
	}
	dead, err := v.session.ProcessDeaths()
	if err != nil {
		return out, err
	}
	for _, x := range dead {
		if x.Generation >= 0 && x.Generation < session.Generations {
			out.Total.Dead[x.Generation] = out.Total.Dead[x.Generation].Add(x.Amount)
		}
	}
	all, err := v.session.SummarySections()
	if err != nil {
		return out, err
	}
	for _, s := range all {
		if s.Section == sectionSites { // of another view
			continue
		}
		out.Sections[s.Section] = LifetimeSection{Sites: s.Sites, All: s.Amount}
	}
	sites, err := v.session.SummarySites()
	for _, r := range sites {
		if r.Section == sectionSites {
			continue
		}
		s := out.Sections[r.Section]
		s.Rows = append(s.Rows, LifetimeRow{Group{Process: r.Process, Type: r.Type, Function: r.Function, Line: r.Line,
			Node: r.Node}, Lifetime{Born: r.Born, Dead: r.Dead}, r.Part})
		out.Sections[r.Section] = s
	}
	return out, err
}

// Stack returns the stack of a node, the top first, at most limit frames of it.
func (v *Source) Stack(node session.NodeID, limit int) ([]Frame, error) {
	if v.lifetimes != nil {
		return v.lifetimes.Stack(node, limit), nil
	}
	nodes, err := v.session.Stack(node, limit)
	if err != nil {
		return nil, err
	}
	out := make([]Frame, len(nodes))
	for i, n := range nodes {
		line, err := v.session.LineOf(n.Instruction)
		if err != nil {
			return nil, err
		}
		out[i] = Frame{n.Function, line}
	}
	return out, nil
}
