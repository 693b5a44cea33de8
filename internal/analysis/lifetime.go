package analysis

import (
	"errors"

	"github.com/clrprof/clrprof/internal/analysis/calltree"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// ErrNoLifetime means that the ends of objects were not recorded.
var ErrNoLifetime = errors.New("this session holds no lifetimes: it was recorded with --memory or --time and without " +
	"--lifetime, by an older clrprof, or by another tool: clrprof run --lifetime records them")

// Lifetime is what became of objects: Born = ΣDead + Alive, in objects and in bytes. With a filter by time, Born and
// Dead are what happened in that time, so Alive is by how much the living changed and can be negative.
type Lifetime struct {
	Born q.Amount
	Dead [session.Generations]q.Amount // by the generation in which they were found dead
}

// Collected returns all that died.
func (l Lifetime) Collected() q.Amount {
	var sum q.Amount
	for _, a := range l.Dead {
		sum = sum.Add(a)
	}
	return sum
}

// Alive returns what did not die.
func (l Lifetime) Alive() q.Amount { return l.Born.Sub(l.Collected()) }

// Add returns the sum of two lifetimes.
func (l Lifetime) Add(o Lifetime) Lifetime {
	l.Born = l.Born.Add(o.Born)
	for g := range l.Dead {
		l.Dead[g] = l.Dead[g].Add(o.Dead[g])
	}
	return l
}

// IsZero reports whether nothing was born and nothing died.
func (l Lifetime) IsZero() bool { return l == Lifetime{} }

// Lifetimes are lifetimes by what a view shows. They are computed when they are asked for.
type Lifetimes struct {
	data      *Data
	sites     *lifetimeList
	nodes     []Lifetime // by position; nil until something needs them
	nodeIndex index[session.NodeID]
}

// LifetimeAmounts are lifetimes by the inclusive and by the exclusive rule.
type LifetimeAmounts struct {
	Inclusive, Exclusive Lifetime
}

// Lifetimes returns the lifetimes of what is selected, or ErrNoLifetime.
func (d *Data) Lifetimes() (*Lifetimes, error) {
	if len(d.Followed) == 0 {
		return nil, ErrNoLifetime
	}
	born, err := d.addUpSites()
	if err != nil {
		return nil, err
	}
	return d.lifetimesBorn(born)
}

// lifetimesBorn adds the deaths to what SiteAmounts returned.
func (d *Data) lifetimesBorn(born []q.Amount) (*Lifetimes, error) {
	sites := newLifetimeList(born)
	if err := d.addDeaths(sites); err != nil {
		return nil, err
	}
	return d.lifetimesOf(sites), nil
}

// addDeaths adds what died to the lifetimes of sites, by position.
func (d *Data) addDeaths(sites *lifetimeList) error {
	if d.in.gcs != nil {
		return d.deadBetween(sites)
	}
	return d.eachSelectedDeath(func(site int32, dead *session.SiteDeath) {
		sum := sites.died(site, dead.Generation)
		*sum = sum.Add(dead.Amount)
	})
}

// eachSelectedDeath calls fn with what died that is selected, where no span of collections is.
func (d *Data) eachSelectedDeath(fn func(site int32, dead *session.SiteDeath)) error {
	return d.eachDeath(d.in.span, func(slice, site int32, dead *session.SiteDeath) {
		if d.in.inSlice(slice) && lets(d.in.sites, site) && dead.Generation >= 0 &&
			dead.Generation < session.Generations {
			fn(site, dead)
		}
	})
}

// lifetimesOf are the lifetimes of sites, by position.
func (d *Data) lifetimesOf(sites *lifetimeList) *Lifetimes {
	return &Lifetimes{data: d, sites: sites,
		nodeIndex: newIndex(d.Nodes, func(r *session.Node) session.NodeID { return r.ID })}
}

// ofNodes returns the lifetimes of what was allocated at each node.
func (v *Lifetimes) ofNodes() []Lifetime {
	if v.nodes == nil {
		v.nodes = v.sites.sum(v.data.siteNode, len(v.data.Nodes))
	}
	return v.nodes
}

// byID leaves out lifetimes in which nothing happened.
func byID[Row any, ID comparable, V comparable](rows []Row, values []V, id func(*Row) ID) map[ID]V {
	out := map[ID]V{}
	var zero V
	for i := range rows {
		if values[i] != zero {
			out[id(&rows[i])] = values[i]
		}
	}
	return out
}

// Total returns the lifetime of everything.
func (v *Lifetimes) Total() Lifetime { return v.sites.total() }

// Sites returns the lifetimes of sites.
func (v *Lifetimes) Sites() map[session.SiteID]Lifetime {
	out := map[session.SiteID]Lifetime{}
	for i := range v.data.Sites {
		if !v.sites.isZero(i) {
			out[v.data.Sites[i].ID] = v.sites.at(i)
		}
	}
	return out
}

// EachFrozen calls fn for the sites of which the objects never die, with what was allocated there.
func (v *Lifetimes) EachFrozen(fn func(site session.SiteID, born q.Amount)) {
	for i := range v.data.Sites {
		if s := &v.data.Sites[i]; s.Frozen && !v.sites.isZero(i) {
			fn(s.ID, v.sites.born[i])
		}
	}
}

// Types returns the lifetimes of types.
func (v *Lifetimes) Types() map[session.TypeID]Lifetime {
	return byID(v.data.Types, v.sites.sum(v.data.siteType, len(v.data.Types)),
		func(r *session.Type) session.TypeID { return r.ID })
}

// Processes returns the lifetimes of processes.
func (v *Lifetimes) Processes() map[session.ProcessID]Lifetime {
	threads := v.sites.sum(v.data.siteThread, len(v.data.Threads))
	return byID(v.data.Processes, calltree.Sum(threads, v.data.threadProcess, len(v.data.Processes)),
		func(r *session.Process) session.ProcessID { return r.ID })
}

// Lines returns the lifetimes of what the statements themselves allocated.
func (v *Lifetimes) Lines() map[session.LineID]Lifetime {
	at := calltree.Sum(v.ofNodes(), v.data.nodeInstruction, len(v.data.Instructions))
	return byID(v.data.Lines, calltree.Sum(at, v.data.instructionLine, len(v.data.Lines)),
		func(r *session.Line) session.LineID { return r.ID })
}

// Functions returns the lifetimes of what functions allocated.
func (v *Lifetimes) Functions() map[session.FunctionID]LifetimeAmounts {
	all, n := v.data.merged(), len(v.data.Functions)
	own := calltree.Sum(v.ofNodes(), all.Of, all.Len())
	inclusive := calltree.Presence(all.Tree, calltree.Inclusive(all.Tree, own), all.Group, n)
	both := joinLifetimes(inclusive, calltree.Sum(own, all.Group, n))
	return byID(v.data.Functions, both, func(r *session.Function) session.FunctionID { return r.ID })
}

func joinLifetimes(inclusive, exclusive []Lifetime) []LifetimeAmounts {
	out := make([]LifetimeAmounts, len(inclusive))
	for i := range out {
		out[i] = LifetimeAmounts{inclusive[i], exclusive[i]}
	}
	return out
}

// Paths returns the lifetimes of what was allocated on the paths of the call tree, by the ids of PathValue.
func (v *Lifetimes) Paths() map[session.PathID]LifetimeAmounts {
	all := v.data.merged()
	own := calltree.Sum(v.ofNodes(), all.Of, all.Len())
	inclusive := calltree.Inclusive(all.Tree, own)
	born := make([]q.Amount, len(v.nodes)) // which are made above
	for i := range born {
		born[i] = v.nodes[i].Born
	}
	out := map[session.PathID]LifetimeAmounts{}
	tree := v.data.callTree(born, v.data.exclusiveTimes())
	for i, path := range tree.merged {
		if tree.memory.keep[path] {
			out[session.PathID(i+1)] = LifetimeAmounts{inclusive[path], own[path]}
		}
	}
	return out
}

// By says of what the rows of a view are.
type By string

// What lifetimes can be grouped by.
const (
	ByType     By = "type"
	BySite     By = "site"     // stack and type
	ByFunction By = "function" // that allocated
	ByLine     By = "line"     // that allocated; without symbols, the function
)

// What functions, types and threads can be grouped by, and sites by the function that allocated.
const (
	ByModule    By = "module"
	ByNamespace By = "namespace"
	ByName      By = "name" // of threads
)

// Group is what a row of a view of lifetimes is about. Ids that do not apply are 0.
type Group struct {
	Process  session.ProcessID
	Type     session.TypeID     // with ByType and BySite
	Function session.FunctionID // with all but ByType; with ByModule and ByNamespace one of those in it
	Line     session.LineID     // with ByLine and BySite
	Node     session.NodeID     // with BySite
}

// Groups returns the groups of all sites at which something was born or died, in the order of their first site, their
// lifetimes, and for each of these sites the position of its group. Where stacks are shown with user code, the line is
// that of user code, as Data.UserLines has it, if there is some on the stack.
func (v *Lifetimes) Groups(by By) ([]Group, []Lifetime, SiteGroups) {
	all := v.GroupList(by)
	groups, lifetimes := make([]Group, all.Len()), make([]Lifetime, all.Len())
	for n := range groups {
		groups[n], lifetimes[n] = all.Group(n), all.Lifetime(n)
	}
	return groups, lifetimes, SiteGroups{v.data, all.of}
}

// GroupList is Groups for who needs few of them: what they are about is looked up when it is asked for.
type GroupList struct {
	of        []int32 // by position of the site; none: it is in none
	lifetimes *lifetimeList
	group     func(n int) Group
}

// Len is how many groups there are.
func (l *GroupList) Len() int { return l.lifetimes.len() }

// Lifetime returns the lifetime of a group.
func (l *GroupList) Lifetime(n int) Lifetime { return l.lifetimes.at(n) }

// Group says what a group is.
func (l *GroupList) Group(n int) Group { return l.group(n) }

// GroupList groups the sites.
func (v *Lifetimes) GroupList(by By) *GroupList {
	of, groups, group := v.data.groupSites(by, func(site int32) bool { return !v.sites.isZero(int(site)) })
	return &GroupList{of, v.sites.sumList(of, groups), group}
}

// groupSites groups the sites at which something happened: it returns the position of the group of each, or none, how
// many groups there are, and what says what a group is.
func (d *Data) groupSites(by By, happened func(site int32) bool) (of []int32, groups int, group func(n int) Group) {
	nearest := []int32(nil)
	if by == ByLine && d.in.selection.OfUserLines() {
		nearest = d.attribute().nearest
	}
	var first []int32 // by function: the one that stands for its module or namespace
	if by == ByModule || by == ByNamespace {
		first = groupsOfFunctions(d.Functions, by)
	}
	node := func(site int32) int32 {
		n := d.siteNode[site]
		if nearest != nil && nearest[n] >= 0 {
			return nearest[n]
		}
		return n
	}
	function := func(site int32) int32 { return d.nodeFunction[node(site)] }
	rows := rowsWith(len(d.Sites), func(site int32) bool {
		return d.siteNode[site] >= 0 && d.siteType[site] >= 0 && happened(site)
	})
	of, leaders := groupRows(rows, len(d.Sites), d.groupKeys(by, node, first)...)
	return of, len(leaders), func(n int) Group {
		site := leaders[n]
		g := d.group(by, node(site), d.siteType[site])
		if first != nil {
			g.Function = d.functionID(first[function(site)])
		}
		return g
	}
}

// groupKeys are the numbers of sites by which they are grouped; node is the node that they count for, and first as in
// groupSites.
func (d *Data) groupKeys(by By, node func(site int32) int32, first []int32) []keyColumn {
	function := keyColumn{func(site int32) int32 { return d.nodeFunction[node(site)] }, len(d.Functions)}
	keys := []keyColumn{{func(site int32) int32 { return d.nodeProcess[node(site)] }, len(d.Processes)}}
	switch by {
	case ByType:
		return append(keys, keyColumn{func(site int32) int32 { return d.siteType[site] }, len(d.Types)})
	case BySite:
		return append(keys, keyColumn{func(site int32) int32 { return d.siteType[site] }, len(d.Types)},
			keyColumn{node, len(d.Nodes)})
	case ByFunction:
		return append(keys, function)
	case ByModule, ByNamespace:
		return append(keys, keyColumn{func(site int32) int32 { return first[function.of(site)] }, len(d.Functions)})
	case ByLine:
		return append(keys, function, keyColumn{func(site int32) int32 {
			if in := d.nodeInstruction[node(site)]; in >= 0 {
				return d.instructionLine[in]
			}
			return none
		}, len(d.Lines)})
	}
	return keys
}

// group makes the group of a node and a type, both by position.
func (d *Data) group(by By, node, typ int32) Group {
	g := Group{Process: d.Nodes[node].Process}
	if by == ByType || by == BySite {
		g.Type = d.Types[typ].ID
	}
	if by != ByType {
		g.Function = d.Nodes[node].Function
	}
	if in := d.nodeInstruction[node]; in >= 0 && (by == ByLine || by == BySite) {
		g.Line = d.Instructions[in].Line
	}
	if by == BySite {
		g.Node = d.Nodes[node].ID
	}
	return g
}

// Frame is a function on a stack, and the line there at which it calls or allocates, 0 without symbols.
type Frame struct {
	Function session.FunctionID
	Line     session.LineID
}

// Stack returns the stack of a node, the top first, at most limit frames of it.
func (v *Lifetimes) Stack(node session.NodeID, limit int) []Frame {
	d := v.data
	at, ok := v.nodeIndex.find(node)
	var out []Frame
	for ok && at >= 0 && len(out) < limit {
		f := Frame{Function: d.Nodes[at].Function}
		if in := d.nodeInstruction[at]; in >= 0 {
			f.Line = d.Instructions[in].Line
		}
		out = append(out, f)
		at = d.tree.Parent[at]
	}
	return out
}

// Growing returns the sites that only grow: in at least three slices of time more of their objects were born than
// died, and in none fewer. Sites of the same node and type grow together: threads of a pool take turns. Frozen objects,
// which never die, do not count.
func (v *Lifetimes) Growing() ([]session.SiteID, error) {
	grows, err := v.data.growing()
	var out []session.SiteID
	for i, s := range v.data.Sites {
		if err == nil && grows[i] && !v.sites.isZero(i) {
			out = append(out, s.ID)
		}
	}
	return out, err
}

// growing says which sites, by position, only grow.
func (d *Data) growing() ([]bool, error) {
	if d.grows != nil {
		return d.grows, nil
	}
	together := d.alikeSites()
	change := make([]q.Count, len(d.Sites)) // within one slice
	ups := make([]uint8, len(d.Sites))
	const down = growingSlices + 1
	var touched []int32
	add := func(site int32, n q.Count) {
		site = together[site]
		if change[site] == 0 {
			touched = append(touched, site)
		}
		change[site] += n
	}
	for _, slice := range d.Slices {
		only := [2]session.SliceID{slice.ID, slice.ID}
		err := d.eachValue(only, func(_, site int32, value *session.SiteValue) {
			add(site, value.Allocations)
		})
		if err == nil {
			err = d.eachDeath(only, func(_, site int32, dead *session.SiteDeath) {
				add(site, -dead.Allocations)
			})
		}
		if err != nil {
			return nil, err
		}
		for _, site := range touched {
			switch {
			case change[site] < 0:
				ups[site] = down
			case change[site] > 0 && ups[site] < growingSlices:
				ups[site]++
			}
			change[site] = 0
		}
		touched = touched[:0]
	}
	grows := make([]bool, len(d.Sites))
	for i, s := range d.Sites {
		grows[i] = ups[together[i]] == growingSlices && !s.Frozen
	}
	d.grows = grows
	return grows, nil
}

// alikeSites is for each site, by position, the first one of the same node and type, frozen or not.
func (d *Data) alikeSites() []int32 {
	type key struct {
		node   session.NodeID
		typ    session.TypeID
		frozen bool
	}
	first, out := make(map[key]int32, len(d.Sites)), make([]int32, len(d.Sites))
	for i := range d.Sites {
		s := &d.Sites[i]
		k := key{s.Node, s.Type, s.Frozen}
		at, known := first[k]
		if !known {
			at = int32(i)
			first[k] = at
		}
		out[i] = at
	}
	return out
}

// growingSlices is in how many slices of time a site must grow to be called growing: two could be chance.
const growingSlices = 3
