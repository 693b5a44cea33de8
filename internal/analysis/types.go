package analysis

import (
	"slices"

	"github.com/clrprof/clrprof/internal/pattern"

	"github.com/clrprof/clrprof/internal/analysis/calltree"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// TypeTrees gives, for each type, the call tree of the paths that created its objects.
type TypeTrees struct {
	data   *Data
	tree   *calltree.Merged
	bySite []q.Amount
	sites  []int32 // positions, those of a type in a row
	first  []int32 // of the sites of a type, by its position, in sites; at the end the number of all
	// by path, for one call: what was created of the type, and where the path is among those of the type, or none
	own      []q.Amount
	position []int32
}

// TypeTrees prepares the trees of what is selected.
func (d *Data) TypeTrees() (*TypeTrees, error) {
	t := &TypeTrees{data: d}
	if err := atOnce(func() (err error) { t.bySite, err = d.SiteAmounts(); return err },
		func() error { t.tree = d.merged(); return nil }); err != nil {
		return nil, err
	}
	t.findSites(nil)
	return t, nil
}

// typeTreesOf is TypeTrees for some types alone: only the nodes on whose paths they were created are merged.
func (d *Data) typeTreesOf(types []session.TypeID) (*TypeTrees, error) {
	wanted := make([]bool, len(d.Types))
	for _, id := range types {
		if at, ok := d.typeIndex.find(id); ok && at != none {
			wanted[at] = true
		}
	}
	part, in := *d, *d.in // of which only their sites are selected
	part.in, in.sites = &in, make([]bool, len(d.Sites))
	for i, typ := range d.siteType {
		in.sites[i] = lets(wanted, typ) && lets(d.in.sites, int32(i))
	}
	t := &TypeTrees{data: d}
	if err := atOnce(func() (err error) { t.bySite, err = part.addUpSites(); return err },
		func() error { t.tree = d.mergedOf(in.sites); return nil }); err != nil {
		return nil, err
	}
	t.findSites(wanted)
	return t, nil
}

// mergedOf is merged for the paths of some sites alone, which are in the same order there.
func (d *Data) mergedOf(sites []bool) *calltree.Merged {
	if d.pathNodes {
		return &d.paths
	}
	keep := make([]bool, d.tree.Len())
	for i, in := range sites {
		for n := d.siteNode[i]; in && n >= 0 && !keep[n]; n = d.tree.Parent[n] {
			keep[n] = true
		}
	}
	at := slices.Repeat([]int32{none}, d.tree.Len()) // by node: the number of its path, if that is wanted
	key := func(node int) pair {
		if p := d.tree.Parent[node]; p >= 0 {
			return pair{at[p], d.nodeFunction[node]}
		}
		return pair{none, d.nodeFunction[node]}
	}
	var paths pairNumbering
	for i, in := range keep {
		if in {
			at[i] = paths.number(key(i))
		}
	}
	m := &calltree.Merged{Of: at}
	if len(paths.list) == 0 {
		return m
	}
	// a path has its place in the order by its first node, on which none of the sites need be
	order := slices.Repeat([]int32{none}, len(paths.list))
	for i, p := range d.tree.Parent {
		if p >= 0 && at[p] == none {
			continue
		}
		number := paths.find(key(i)).number - 1 // none, if it is not wanted
		if at[i] = number; number == none || order[number] != none {
			continue
		}
		above := int32(none)
		if p >= 0 {
			above = order[at[p]]
		}
		order[number] = int32(len(m.Parent))
		m.Parent, m.Group = append(m.Parent, above), append(m.Group, d.nodeFunction[i])
	}
	for i, number := range at {
		if number != none {
			at[i] = order[number]
		}
	}
	return m
}

// findSites finds the sites of each type that is wanted; nil: of all.
func (t *TypeTrees) findSites(wanted []bool) {
	d := t.data
	t.own = make([]q.Amount, t.tree.Len())
	t.position = slices.Repeat([]int32{none}, t.tree.Len())
	t.first = make([]int32, len(d.Types)+1)
	has := func(site int) bool {
		return d.siteType[site] >= 0 && lets(wanted, d.siteType[site]) && d.siteNode[site] >= 0 &&
			!t.bySite[site].IsZero()
	}
	for i, typ := range d.siteType {
		if has(i) {
			t.first[typ+1]++
		}
	}
	for i := range d.Types {
		t.first[i+1] += t.first[i]
	}
	t.sites = make([]int32, t.first[len(d.Types)])
	next := slices.Clone(t.first)
	for i, typ := range d.siteType {
		if has(i) {
			t.sites[next[typ]] = int32(i)
			next[typ]++
		}
	}
}

// ofType returns the positions of the sites that allocated objects of a type.
func (t *TypeTrees) ofType(of session.TypeID) []int32 {
	at, ok := t.data.typeIndex.find(of)
	if !ok || at == none {
		return nil
	}
	return t.sites[t.first[at]:t.first[at+1]]
}

// Paths returns the paths on which objects of a type were created, with the
// values of that type alone, parents before children. The ids order the paths;
// they are not those of path_value. The work is proportional to the result.
func (t *TypeTrees) Paths(of session.TypeID) []session.PathValue {
	paths := t.reach(of)
	out := make([]session.PathValue, len(paths))
	for i, p := range paths {
		function := t.data.Functions[t.tree.Group[p]]
		out[i] = session.PathValue{ID: session.PathID(p + 1), Parent: session.PathID(t.tree.Parent[p] + 1), Level: 1,
			Process: function.Process, Function: function.ID,
			Amounts: q.Amounts{Exclusive: t.own[p], Inclusive: t.own[p]}}
		if parent := t.tree.Parent[p]; parent >= 0 {
			out[i].Level = out[t.position[parent]].Level + 1
		}
	}
	for i := len(paths) - 1; i >= 0; i-- {
		if parent := t.tree.Parent[paths[i]]; parent >= 0 {
			above := &out[t.position[parent]]
			above.Inclusive = above.Inclusive.Add(out[i].Inclusive)
		}
	}
	t.forget(paths)
	return out
}

// reach returns the paths on which objects of a type were created, parents first, until they are forgotten: with what
// was created on them in own, and where they are in position.
func (t *TypeTrees) reach(of session.TypeID) []int32 {
	var paths []int32
	for _, site := range t.ofType(of) {
		at := t.tree.Of[t.data.siteNode[site]]
		t.own[at] = t.own[at].Add(t.bySite[site])
		for p := at; p >= 0 && t.position[p] == none; p = t.tree.Parent[p] {
			t.position[p] = 0
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	for i, p := range paths {
		t.position[p] = int32(i)
	}
	return paths
}

func (t *TypeTrees) forget(paths []int32) {
	for _, p := range paths {
		t.own[p], t.position[p] = q.Amount{}, none
	}
}

// HotPath returns the path on which most bytes of a type were allocated, the root first; nothing: there is none. It
// goes past code that is not recorded, where there is other code.
func (t *TypeTrees) HotPath(of session.TypeID) []session.TypePath {
	paths := t.reach(of)
	inclusive, best := make([]q.Bytes, len(paths)), make([]int32, len(paths)) // best: the heaviest below, after none
	// of several that are equal the first is taken
	heavier := func(i, than int32) bool {
		if than < 0 {
			return true
		}
		a, b := inclusive[i] > 0 && !t.isExcluded(paths[i]), inclusive[than] > 0 && !t.isExcluded(paths[than])
		return a && !b || a == b && inclusive[i] >= inclusive[than]
	}
	root := int32(-1)
	for i := len(paths) - 1; i >= 0; i-- {
		p := paths[i]
		inclusive[i] += t.own[p].Bytes
		above := t.tree.Parent[p]
		if above < 0 {
			if heavier(int32(i), root) {
				root = int32(i)
			}
			continue
		}
		at := t.position[above]
		inclusive[at] += inclusive[i]
		if heavier(int32(i), best[at]-1) {
			best[at] = int32(i) + 1
		}
	}
	var out []session.TypePath
	for i := root; i >= 0 && inclusive[i] > 0; i = best[i] - 1 {
		function := t.data.Functions[t.tree.Group[paths[i]]].ID
		if n := len(out) - 1; n >= 0 && out[n].Function == function {
			out[n].Times, out[n].Bytes = out[n].Times+1, inclusive[i]
		} else {
			out = append(out, session.TypePath{Type: of, Position: int64(len(out)) + 1, Function: function, Times: 1,
				Bytes: inclusive[i]})
		}
		if b := best[i] - 1; b >= 0 && t.own[paths[i]].Bytes >= inclusive[b] {
			break
		}
	}
	t.forget(paths)
	return out
}

// isExcluded reports whether a path is of code that is not recorded.
func (t *TypeTrees) isExcluded(path int32) bool {
	f := &t.data.Functions[t.tree.Group[path]]
	return f.Kind == session.FunctionPseudo && f.RawName == session.NameExcluded
}

// PathType is what was allocated of a type on a path itself, by the id of PathValue.
type PathType struct {
	Path session.PathID
	Type session.TypeID
	q.Amount
}

// PathTypes returns what was allocated of each type on each path itself, paths in the order of their ids.
func (v *Source) PathTypes() ([]PathType, error) {
	d, err := v.load()
	if err != nil {
		return nil, err
	}
	bySite, err := d.SiteAmounts()
	if err != nil {
		return nil, err
	}
	nodes := make([]q.Amount, len(d.Nodes))
	for i, a := range bySite {
		if n := d.siteNode[i]; n >= 0 {
			nodes[n] = nodes[n].Add(a)
		}
	}
	all, tree := d.merged(), d.callTree(nodes, d.exclusiveTimes())
	path := func(site int32) int32 { return tree.of[all.Of[d.siteNode[site]]] }
	rows := rowsWith(len(bySite), func(site int32) bool {
		return d.siteNode[site] >= 0 && !bySite[site].IsZero() && path(site) != none
	})
	var out []PathType
	var last uint64
	for i, x := range sortRows(rows, keyColumn{path, tree.Len()},
		keyColumn{func(site int32) int32 { return d.siteType[site] }, len(d.Types)}) {
		if i == 0 || x.key != last {
			out = append(out, PathType{Path: session.PathID(path(x.row) + 1), Type: d.Sites[x.row].Type})
		}
		sum := &out[len(out)-1]
		sum.Amount, last = sum.Add(bySite[x.row]), x.key
	}
	return out, nil
}

// mostElements bounds arrays of arrays: the agent follows as many (wire.MaxNesting).
const mostElements = 32

// TypeNamespace returns the namespace of a type, of an array that of its elements; "" if there is none.
func TypeNamespace(id session.TypeID, get func(session.TypeID) *session.Type) string {
	t := get(id)
	for range mostElements {
		if t.ElementType == 0 {
			break
		}
		t = get(t.ElementType)
	}
	return pattern.Namespace(t.RawName)
}
