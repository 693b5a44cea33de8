package report

import (
	"cmp"
	"slices"

	"github.com/clrprof/clrprof/internal/analysis"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// grouped are the columns that say what a row of lifetimes is about, by Options.By: for programs and in text.
var grouped = map[analysis.By][2]string{
	analysis.ByType: {"name module module_path process_id process_name ", "name "},
	analysis.BySite: {"name function from stack module module_path source_file line process_id process_name ",
		"name from "},
	analysis.ByFunction:  {identity, "name "},
	analysis.ByLine:      {position + "line_name ", "place function "},
	analysis.ByModule:    {"name module_path process_id process_name ", "name "},
	analysis.ByNamespace: {"name process_id process_name ", "name "},
}

// byNames are the values of Options.By.
var byNames = []string{string(analysis.ByType), string(analysis.BySite), string(analysis.ByFunction),
	string(analysis.ByLine), string(analysis.ByModule), string(analysis.ByNamespace)}

// mostBeforeFunction is how many text columns of sites come before the function that allocated: where there is no room
// for it, the place in the user's code says enough.
const mostBeforeFunction = 6

// groupedBy returns the view with the columns for its groups.
func (v View) groupedBy(by analysis.By) (View, error) {
	if v.groups != nil && by != "" {
		return v.inGroups(by)
	}
	if !v.Grouped {
		if by != "" {
			return v, &UnknownError{What: "grouping", Name: string(by)}
		}
		return v, nil
	}
	if v.ways != nil {
		if by != "" && !slices.Contains(v.ways, string(by)) {
			return v, Unknown("grouping", string(by), v.ways)
		}
		return v, nil
	}
	g, ok := grouped[cmp.Or(by, analysis.ByType)]
	if !ok {
		return v, Unknown("grouping", string(by), byNames)
	}
	v.columns = slices.Concat(keys(g[0]), v.columns)
	v.text = slices.Concat(keys(g[1]), v.text)
	if by == analysis.BySite { // after what the view is about
		v.text = slices.Insert(v.text, min(mostBeforeFunction, len(v.text)), "function")
	}
	v.places = true
	if by = cmp.Or(by, analysis.ByType); by == analysis.ByType || by == analysis.ByFunction {
		v.text = append(v.text, "module")
	}
	return v, nil
}

// groupRow makes a row about a group.
func (c *context) groupRow(g analysis.Group) Row {
	row := Row{process: g.Process, typ: g.Type, function: g.Function, line: g.Line, node: g.Node}
	switch {
	case g.Node != 0:
		row.kind, row.module = rowSite, c.functions.get(g.Function).Module
	case g.Line != 0:
		row.kind, row.module = rowLine, c.functions.get(g.Function).Module
	case g.Function != 0:
		row.kind, row.module = rowFunction, c.functions.get(g.Function).Module
	default:
		row.kind, row.module = rowType, c.types.get(g.Type).Module
	}
	return row
}

// groups returns a row for each group with its lifetime, and the positions of the groups of sites.
func (b *builder) groups() ([]Row, analysis.SiteGroups, error) {
	lifetimes, err := b.source.Lifetimes()
	if err != nil {
		return nil, analysis.SiteGroups{}, err
	}
	groups, values, of := lifetimes.Groups(cmp.Or(b.options.By, analysis.ByType))
	list := make([]Row, len(groups))
	for i, g := range groups {
		list[i] = b.rowOfGroup(g)
		list[i].values, list[i].lifetime = both(values[i].Born), &values[i]
	}
	return list, of, nil
}

// rowOfGroup makes the row of a group without its values.
func (b *builder) rowOfGroup(g analysis.Group) Row {
	row := b.groupRow(g)
	if b.options.By == analysis.ByModule || b.options.By == analysis.ByNamespace {
		b.asGroup(&row, b.options.By)
	}
	return row
}

// groupLifetimes returns a row for each group with its lifetime, and if they are wanted with its ages, for a view that
// needs no sites.
func (b *builder) groupLifetimes(ages bool) ([]Row, error) {
	groups, err := b.source.GroupLifetimes(cmp.Or(b.options.By, analysis.ByType), ages)
	list := make([]Row, len(groups))
	for i := range groups {
		g := &groups[i]
		list[i] = b.rowOfGroup(g.Group)
		list[i].values, list[i].lifetime = both(g.Born), &g.Lifetime
		if ages {
			list[i].ages, list[i].sampledAges = &g.Ages, g.Sampled
		}
	}
	return list, err
}

// siteGroups returns the rows of groups of sites that are shown. There can be as many as sites.
func (b *builder) siteGroups() ([]Row, error) {
	if followed, err := b.source.HasLifetimes(); err != nil {
		return nil, err
	} else if followed && b.order.Key == "bytes" {
		if stored, err := b.source.TopSites(b.options.Top); stored != nil || err != nil {
			return b.topSites(stored), err
		}
	}
	lifetimes, err := b.source.Lifetimes()
	if err != nil {
		return nil, err
	}
	shown, groups := b.newLimiter(exclusiveCost), lifetimes.GroupList(analysis.BySite)
	ofAmounts := slices.Contains(keys(instances+lifetimeKeys("")), b.order.Key) // whatever a row is about
	next := Row{kind: rowSite, lifetime: new(analysis.Lifetime)}
	hidden, sum := 0, q.Amount{}
	for n := range groups.Len() {
		*next.lifetime = groups.Lifetime(n)
		next.values = both(next.lifetime.Born)
		if ofAmounts && shown.isBehind(&next) {
			hidden, sum = hidden+1, sum.Add(next.lifetime.Born)
			continue
		}
		row, lifetime := b.groupRow(groups.Group(n)), *next.lifetime
		row.values, row.lifetime = next.values, &lifetime
		shown.add(row)
	}
	shown.hideAll(hidden, &Row{kind: rowSite, values: both(sum)})
	return shown.rows(), nil
}

// topSites is siteGroups for what is stored of them.
func (b *builder) topSites(stored *analysis.TopSites) []Row {
	if stored == nil {
		return nil
	}
	shown := b.newLimiter(exclusiveCost)
	for i := range stored.List {
		g := &stored.List[i]
		row := b.groupRow(g.Group)
		row.values, row.lifetime = both(g.Born), &g.Lifetime
		shown.add(row)
	}
	shown.hideAll(int(stored.More), &Row{kind: rowSite, values: both(stored.Hidden)})
	return shown.rows()
}

// typeGroups returns the rows of types, for a view that needs no sites.
func (b *builder) typeGroups() ([]Row, error) {
	types, err := b.source.TypeLifetimes()
	list := make([]Row, len(types))
	for i := range types {
		t := &types[i]
		list[i] = b.groupRow(analysis.Group{Process: b.types.get(t.Type).Process, Type: t.Type})
		list[i].values, list[i].lifetime = both(t.Born), &t.Lifetime
	}
	return list, err
}

// aliveRow is a cohort with the group of its site and the collections that its process had.
type aliveRow struct {
	session.SiteAlive
	group int
	gcs   int64
}

// aliveAtEnd returns what is reachable at the end at the sites that are wanted.
func (b *builder) aliveAtEnd(of analysis.SiteGroups) ([]aliveRow, error) {
	s := b.source.Session()
	cohorts, err := s.SiteAlive()
	if err != nil {
		return nil, err
	}
	collections, err := s.GCs()
	if err != nil {
		return nil, err
	}
	last := map[session.ProcessID]int64{}
	for _, g := range collections {
		last[g.Process] = max(last[g.Process], g.Number)
	}
	var out []aliveRow
	for _, a := range cohorts {
		if group, wanted := of.Of(a.Site); wanted {
			out = append(out, aliveRow{a, group, last[of.Process(a.Site)]})
		}
	}
	return out, nil
}

// aliveKnown reports whether a process ended with a last collection.
func (c *context) aliveKnown() (bool, error) {
	rows, err := c.source.Session().ProcessLifetimes()
	return slices.ContainsFunc(rows, func(r session.ProcessLifetime) bool { return r.AliveKnown }), err
}

// HasBy reports whether the view can be asked what its rows are about, or are grouped by.
func (v View) HasBy() bool { return len(v.Groups()) > 0 }

// Groups returns what the view's rows can be about, the first unless another is asked for, or be grouped by.
func (v View) Groups() []string {
	if v.ways != nil {
		return slices.Clone(v.ways)
	}
	if v.Grouped {
		return slices.Clone(byNames)
	}
	return slices.Clone(v.groups)
}

// inGroups returns the view with groups above its rows.
func (v View) inGroups(by analysis.By) (View, error) {
	if !slices.Contains(v.groups, string(by)) {
		return v, Unknown("grouping", string(by), v.groups)
	}
	v.columns = slices.Clone(v.columns)
	if name := slices.Index(v.columns, "name"); !v.isTree {
		v.columns = slices.Insert(v.columns, name+1, "kind", "level")
	}
	v.isTree = true
	return v, nil
}

// groupKey is what makes rows one of a group.
type groupKey struct {
	process session.ProcessID
	module  session.ModuleID
	name    string
}

// merged adds rows below others that have the sums of their values. Each value is of one row alone, so the sums add up
// to the same.
func (b *builder) merged(list []Row, group func(*Row) Row) error {
	at := map[groupKey]int{}
	var roots []Row
	var below [][]Row
	for _, r := range list {
		g := group(&r)
		key := groupKey{g.process, g.module, g.text}
		n, ok := at[key]
		if !ok {
			n = len(roots)
			at[key] = n
			g.rest = n
			roots, below = append(roots, g), append(below, nil)
		}
		sum := &roots[n]
		sum.values = both(sum.values.Exclusive.Add(r.values.Exclusive))
		sum.time = sumOfTimes(sum.time, r.time)
		r.level = 1
		below[n] = append(below[n], r)
	}
	b.note(NoteSums, b.options.By)
	return b.tree(roots, exclusiveCost, func(r *Row) ([]Row, error) {
		if r.level > 0 {
			return nil, nil
		}
		return below[r.rest], nil
	})
}

// sumOfTimes adds the times of rows that have no calls of their own; nil: it has none.
func sumOfTimes(a, b *rowTime) *rowTime {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	return place(session.TimeValue{Calls: a.Calls + b.Calls, Running: a.Running + b.Running,
		Times: a.Times.Add(b.Times)})
}

// groupOfType is the row of the module or namespace of a type's row.
func (b *builder) groupOfType(r *Row) Row {
	if b.options.By == analysis.ByModule {
		return Row{kind: rowModule, module: r.module, process: r.process}
	}
	return Row{kind: rowNamespace, process: r.process, text: cmp.Or(analysis.TypeNamespace(r.typ, b.types.get),
		analysis.NoNamespace)}
}
