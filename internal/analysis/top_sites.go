package analysis

import (
	"cmp"
	"slices"
	"strings"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// sectionSites is stored as the sections of a summary are: stacks with types, those that allocated most bytes.
const sectionSites = "sites"

// TopSites are the stacks with types that allocated most bytes, and what became of their objects.
type TopSites struct {
	List   []GroupLifetime
	More   q.Count  // that are not in the list
	Hidden q.Amount // what these allocated
}

// TopSites returns so many stacks with types at least, and those that allocated as many bytes as the last of these;
// nil: that is not stored, and takes more than to add up what was allocated.
func (v *Source) TopSites(most int) (*TopSites, error) {
	stored, err := v.storedSites(most)
	if stored != nil || err != nil || most <= 0 || most > summarySites {
		return stored, err
	}
	if followed, err := v.HasLifetimes(); followed || err != nil {
		return nil, err
	}
	d, err := v.load()
	if err != nil {
		return nil, err
	}
	born, err := d.SiteAmounts()
	if err != nil {
		return nil, err
	}
	sums := d.newTopSites(born)
	return listSites(sums.rows, &sums.all), nil
}

// storedSites returns what is stored of so many stacks with types; nil: it is not enough.
func (v *Source) storedSites(most int) (*TopSites, error) {
	if v.derived != nil {
		return nil, nil
	}
	sections, err := v.session.SummarySections()
	at := slices.IndexFunc(sections, func(s session.SummarySection) bool { return s.Section == sectionSites })
	if err != nil || at < 0 {
		return nil, err
	}
	rows, err := v.session.SummarySites()
	if err != nil {
		return nil, err
	}
	rows = slices.DeleteFunc(rows, func(r session.SummarySite) bool { return r.Section != sectionSites })
	all := &sections[at]
	if n := q.Count(len(rows)); n < all.Sites &&
		(most <= 0 || n <= q.Count(most) || rows[most-1].Born.Bytes <= rows[n-1].Born.Bytes) {
		return nil, nil // others that are not stored may be among the first
	}
	return listSites(rows, all), nil
}

// listSites lists rows of a section as sites.
func listSites(rows []session.SummarySite, all *session.SummarySection) *TopSites {
	out := &TopSites{More: all.Sites, Hidden: all.Amount}
	for i := range rows {
		r := &rows[i]
		out.List = append(out.List, GroupLifetime{Group: Group{Process: r.Process, Type: r.Type, Function: r.Function,
			Line: r.Line, Node: r.Node}, Lifetime: Lifetime{Born: r.Born, Dead: r.Dead}})
		out.More, out.Hidden = out.More-1, out.Hidden.Sub(r.Born)
	}
	return out
}

// topSites adds up what is stored of sites.
type topSites struct {
	of   []int32 // by position of a site: the row of its stack and type, or none
	rows []session.SummarySite
	all  session.SummarySection
}

// newTopSites finds the stacks with types that allocated most bytes; born is what each site allocated.
func (d *Data) newTopSites(born []q.Amount) *topSites {
	of, groups, group := d.groupSites(BySite, func(site int32) bool { return !born[site].IsZero() })
	out := &topSites{of: of, all: session.SummarySection{Section: sectionSites, Sites: q.Count(groups)}}
	sums := newLifetimeList(born).sumList(of, groups).born
	sizes := greatest{most: summarySites}
	for _, a := range sums {
		out.all.Amount = out.all.Add(a)
		sizes.add(a.Bytes)
	}
	order := rowsWith(groups, func(n int32) bool { return sums[n].Bytes >= sizes.least() })
	slices.SortFunc(order, func(x, y int32) int {
		return cmp.Or(cmp.Compare(sums[y].Bytes, sums[x].Bytes), cmp.Compare(x, y))
	})
	order = order[:min(len(order), summarySites)]
	ranks := make([]int32, groups) // 1 + position
	for i, n := range order {
		g := group(int(n))
		ranks[n] = int32(i) + 1
		out.rows = append(out.rows, session.SummarySite{Section: sectionSites, Position: int64(i) + 1,
			Process: g.Process, Node: g.Node, Type: g.Type, Function: g.Function, Line: g.Line, Part: sums[n],
			Born: sums[n]})
	}
	for site, n := range of {
		if n != none {
			of[site] = ranks[n] - 1
		}
	}
	return out
}

// died adds what died at a site.
func (t *topSites) died(site int32, dead *session.SiteDeath) {
	if i := t.of[site]; i != none {
		sum := &t.rows[i].Dead[dead.Generation]
		*sum = sum.Add(dead.Amount)
	}
}

// addTo adds what is stored to the sections of the summary.
func (t *topSites) addTo(out *session.Derived) {
	out.SummarySections = append(out.SummarySections, t.all)
	out.SummarySites = append(out.SummarySites, t.rows...)
	slices.SortFunc(out.SummarySections, func(a, b session.SummarySection) int {
		return strings.Compare(a.Section, b.Section)
	})
	slices.SortStableFunc(out.SummarySites, func(a, b session.SummarySite) int {
		return strings.Compare(a.Section, b.Section)
	})
}

// withoutSites returns derived tables as an older clrprof stored them, if others lack what this one stores of sites.
func withoutSites(d, other *session.Derived) *session.Derived {
	if slices.ContainsFunc(other.SummarySections, func(s session.SummarySection) bool {
		return s.Section == sectionSites
	}) {
		return d
	}
	out := *d
	out.SummarySections = matching(d.SummarySections, func(s *session.SummarySection) bool {
		return s.Section != sectionSites
	})
	out.SummarySites = matching(d.SummarySites, func(r *session.SummarySite) bool { return r.Section != sectionSites })
	return &out
}
