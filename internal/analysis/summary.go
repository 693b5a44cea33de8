package analysis

import (
	"cmp"
	"math"
	"slices"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// Sections of a summary.
const (
	SectionWaste   = "promotion_waste" // what died in generation 2
	SectionYoung   = "short_lived"     // what died in generation 0
	SectionGrowing = "growing"         // what is alive of sites that only grow
)

// sections are in the order of their names, in which they are stored.
var sections = []string{SectionGrowing, SectionWaste, SectionYoung}

// summarySites is how many sites of a section are kept, so that a summary opens at once: far more than a person reads.
const summarySites = 1000

// LifetimeSection is a section of a summary: sites, by stack and type, and a part of their lifetimes.
type LifetimeSection struct {
	Sites q.Count  // all of them
	All   q.Amount // their parts together
	Rows  []LifetimeRow
}

// LifetimeRow is a site of a section. Those with most bytes come first.
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

// summary finds the sites of each section, at most so many of them; 0: all. There can be millions, so of each only what decides is added
// up first, and its whole lifetime when it is chosen.
func (v *Lifetimes) summary(limit int) (LifetimeSummary, error) {
	grows, err := v.growing()
	if err != nil {
		return LifetimeSummary{}, err
	}
	of, first := v.stackAndType()
	out := LifetimeSummary{Total: v.Total(), Sections: map[string]LifetimeSection{}}
	for _, name := range sections {
		parts := make([]q.Amount, len(first))
		for site, g := range of {
			if g < 0 {
				continue
			}
			switch lifetime := &v.sites[site]; {
			case name == SectionWaste:
				parts[g] = parts[g].Add(lifetime.Dead[2])
			case name == SectionYoung:
				parts[g] = parts[g].Add(lifetime.Dead[0])
			default:
				parts[g] = parts[g].Add(lifetime.Alive())
			}
		}
		if name == SectionGrowing {
			keepGrowing(parts, of, grows)
		}
		out.Sections[name] = v.section(parts, of, first, limit)
	}
	return out, nil
}

// keepGrowing leaves out what has no site that grows.
func keepGrowing(parts []q.Amount, of []int32, grows []bool) {
	keep := make([]bool, len(parts))
	for site, g := range of {
		if g >= 0 && grows[site] {
			keep[g] = true
		}
	}
	for g := range parts {
		if !keep[g] {
			parts[g] = q.Amount{}
		}
	}
}

// stackAndType groups the sites of several threads as Groups(BySite) does: of is the number of each site's group, by position, or none;
// first is a site of each group, the first one.
func (v *Lifetimes) stackAndType() (of, first []int32) {
	d := v.data
	at := make(map[uint64]int32, len(d.Nodes))
	of = make([]int32, len(v.sites))
	for i := range v.sites {
		of[i] = none
		node, typ := d.siteNode[i], d.siteType[i]
		if node < 0 || typ < 0 || v.sites[i].IsZero() {
			continue
		}
		key := uint64(node)<<32 | uint64(typ)
		g, ok := at[key]
		if !ok {
			g = int32(len(first))
			at[key] = g
			first = append(first, int32(i))
		}
		of[i] = g
	}
	return of, first
}

// section chooses the groups with the greatest parts.
func (v *Lifetimes) section(parts []q.Amount, of, first []int32, limit int) LifetimeSection {
	var s LifetimeSection
	var sizes []q.Bytes
	for _, a := range parts {
		if !a.IsZero() {
			s.Sites++
			s.All = s.All.Add(a)
			sizes = append(sizes, a.Bytes)
		}
	}
	slices.Sort(sizes) // a million numbers are sorted soon, a million sites are not
	least := q.Bytes(math.MinInt64)
	if limit > 0 && len(sizes) > limit {
		least = sizes[len(sizes)-limit]
	}
	var order []int32
	for g, a := range parts {
		if !a.IsZero() && a.Bytes >= least {
			order = append(order, int32(g))
		}
	}
	slices.SortFunc(order, func(x, y int32) int { return cmp.Or(cmp.Compare(parts[y].Bytes, parts[x].Bytes), cmp.Compare(x, y)) })
	if limit > 0 && len(order) > limit {
		order = order[:limit]
	}
	row := map[int32]int{}
	for i, g := range order {
		row[g] = i
		site := first[g]
		s.Rows = append(s.Rows, LifetimeRow{Group: v.data.group(BySite, v.data.siteNode[site], v.data.siteType[site]), Part: parts[g]})
	}
	for site, g := range of {
		if i, ok := row[g]; ok {
			s.Rows[i].Lifetime = s.Rows[i].Add(v.sites[site])
		}
	}
	return s
}

// deriveSummary computes the tables from which a summary opens; born is what each site allocated.
func (d *Data) deriveSummary(out *session.Derived, born []q.Amount) error {
	v, err := d.lifetimesBorn(born)
	if err != nil {
		return err
	}
	s, err := v.summary(summarySites)
	if err != nil {
		return err
	}
	processes := v.Processes()
	for _, p := range d.Processes {
		for g, a := range processes[p.ID].Dead {
			if !a.IsZero() {
				out.ProcessDeaths = append(out.ProcessDeaths, session.ProcessDeath{Process: p.ID, Generation: int64(g), Amount: a})
			}
		}
	}
	for _, name := range sections {
		section := s.Sections[name]
		out.SummarySections = append(out.SummarySections, session.SummarySection{Section: name, Sites: section.Sites, Amount: section.All})
		for i, r := range section.Rows {
			out.SummarySites = append(out.SummarySites, session.SummarySite{Section: name, Position: int64(i) + 1, Process: r.Process, Node: r.Node, Type: r.Type,
				Function: r.Function, Line: r.Line, Part: r.Part, Born: r.Born, Dead: r.Dead})
		}
	}
	return nil
}

// Summary returns what a summary says of lifetimes, with the first sites of each section: at least so many, 0: all. Errors are
// those of Lifetimes.
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
		out.Sections[s.Section] = LifetimeSection{Sites: s.Sites, All: s.Amount}
	}
	sites, err := v.session.SummarySites()
	for _, r := range sites {
		s := out.Sections[r.Section]
		s.Rows = append(s.Rows, LifetimeRow{Group{Process: r.Process, Type: r.Type, Function: r.Function, Line: r.Line, Node: r.Node}, Lifetime{Born: r.Born, Dead: r.Dead}, r.Part})
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
