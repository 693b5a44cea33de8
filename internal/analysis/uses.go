package analysis

import (
	"slices"

	"github.com/clrprof/clrprof/internal/analysis/calltree"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// Use is what a place in user code did by one chain of framework functions: objects of a type that the last of them
// allocated, or time in it. Without a chain it is what the function of the place did itself.
type Use struct {
	From  Place
	Chain []session.FunctionID // the function that From called first; empty: none
	Type  session.TypeID       // 0: of time

	Lifetime      // of the objects; without lifetimes only Born
	Growing  bool // a site of it only grows
	Calls    q.Count
	Time     q.Time // exclusive
}

// Uses is all that user code did, and had done: each object and each interval below a function of user code is in one
// of them.
type Uses struct {
	each      func(fn func(*Use))
	Total     Lifetime
	Time      q.Time // of all code
	Lifetimes bool   // deaths and growth are known
	Timed     bool
	HasMemory bool
}

// Each calls fn with each of the uses, in the order of place, chain and type. There can be millions, and they are
// large: so they are made one by one, and the next one overwrites it.
func (u *Uses) Each(fn func(*Use)) { u.each(fn) }

// chains numbers chains of functions: 0 is the empty one. A chain's parent is the chain without its last function.
type chains struct {
	parent   []int32
	function []int32
	at       map[[2]int32]int32
}

func (c *chains) longer(parent, function int32) int32 {
	key := [2]int32{parent, function}
	n, known := c.at[key]
	if !known {
		n = int32(len(c.parent))
		c.at[key] = n
		c.parent, c.function = append(c.parent, parent), append(c.function, function)
	}
	return n
}

// chainsOf returns the chain of each node below user code that is asked for, and numbers them; none for other nodes.
// What is asked for of a node must be asked for of all between it and user code; nil: all nodes.
func (d *Data) chainsOf(a *attribution, asked []bool) (chains, []int32) {
	c := chains{parent: []int32{none}, function: []int32{none}, at: map[[2]int32]int32{}}
	of := make([]int32, d.tree.Len())
	for n := range of {
		parent := a.above[n]
		switch {
		case a.nearest[n] == none || asked != nil && !asked[n]:
			of[n] = none
		case a.nearest[n] == int32(n):
			of[n] = 0
		case parent != calltree.None:
			of[n] = c.longer(of[parent], d.nodeFunction[n])
		}
	}
	return c, of
}

// firsts returns the function that each chain begins with, by position; none for the empty one.
func (c *chains) firsts() []int32 {
	out := make([]int32, len(c.parent))
	for n, p := range c.parent {
		switch {
		case p == none:
			out[n] = none
		case p == 0:
			out[n] = c.function[n]
		default:
			out[n] = out[p]
		}
	}
	return out
}

// ranks returns the position of each chain in the order of their functions, one after the other. Functions are in the
// order of id.
func (c *chains) ranks(functions int) []int32 {
	inOrder := make([]int32, len(c.parent)) // by function, last first
	starts := make([]int32, functions+2)
	for _, f := range c.function {
		starts[functions-int(f)]++
	}
	for i := 1; i < len(starts); i++ {
		starts[i] += starts[i-1]
	}
	for n, f := range c.function {
		at := &starts[functions-int(f)]
		*at--
		inOrder[*at] = int32(n)
	}
	tree := calltree.Children{FirstRoot: 0, First: make([]int32, len(c.parent)), Next: make([]int32, len(c.parent))}
	for n := range c.parent {
		tree.First[n], tree.Next[n] = none, none
	}
	for _, n := range inOrder {
		if p := c.parent[n]; p >= 0 {
			tree.Next[n], tree.First[p] = tree.First[p], n
		}
	}
	out, next := make([]int32, len(c.parent)), int32(0)
	calltree.Tree{Parent: c.parent}.Walk(tree, func(n int32) { out[n], next = next, next+1 }, func(int32) {})
	return out
}

// Uses returns what user code did, of what is selected, and of that what is asked for; nil: all.
func (d *Data) Uses(asked *UsesOf) (*Uses, error) { return d.uses(asked, d.exclusiveTimes()) }

// uses is Uses with the times of nodes, nil: there are none.
func (d *Data) uses(asked *UsesOf, times *nodeTimes) (*Uses, error) {
	a := d.attribute()
	u, places := &Uses{}, d.places(a)
	objects, err := d.objectsOf(u, a, places, asked)
	if err != nil {
		return nil, err
	}
	d.addTimes(u, times)
	all, of := d.chainsOf(a, d.nodesOf(objects, a, times != nil))
	sites := int32(len(objects.sites))
	node := func(row int32) int32 { // rows are sites, and the nodes after them
		if row < sites {
			return d.siteNode[objects.sites[row]]
		}
		return row - sites
	}
	called := d.calledFirst(&all, asked)
	rows := rowsWith(len(objects.sites)+d.tree.Len(), func(row int32) bool {
		if row < sites {
			return true
		}
		n := row - sites
		return times != nil && of[n] != none && called[of[n]] &&
			(times.own.counts(n).calls != 0 || times.measured(n) != (q.Time{}))
	})
	ranks := all.ranks(len(d.Functions))
	keys := []keyColumn{{func(row int32) int32 { return places.at(a.nearest[node(row)]) }, len(places.list)},
		{func(row int32) int32 { return ranks[of[node(row)]] }, len(ranks)},
		{func(row int32) int32 {
			if row < sites {
				return d.siteType[objects.sites[row]]
			}
			return none
		}, len(d.Types)}}
	sorted, lists := sortRows(rows, keys...), make([][]session.FunctionID, len(all.parent))
	u.each = func(fn func(*Use)) {
		for i := 0; i < len(sorted); {
			row := sorted[i].row
			n := node(row)
			if lists[of[n]] == nil {
				lists[of[n]] = d.chain(&all, of[n])
			}
			x := Use{From: places.list[keys[0].of(row)], Chain: lists[of[n]], Type: d.typeID(keys[2].of(row))}
			for key := sorted[i].key; i < len(sorted) && sorted[i].key == key; i++ {
				if row := sorted[i].row; row < sites {
					x.Lifetime = x.Lifetime.Add(objects.lifetimes[row])
					x.Growing = x.Growing || objects.growing != nil && objects.growing[objects.sites[row]]
				} else {
					n := node(row)
					times.addMeasured(&x.Time, n)
					x.Calls += times.own.counts(n).calls
				}
			}
			fn(&x)
		}
	}
	return u, nil
}

// nodesOf says which nodes lie between sites and user code; nil: all are asked for, as they have times.
func (d *Data) nodesOf(objects *usedObjects, a *attribution, all bool) []bool {
	if all {
		return nil
	}
	out := make([]bool, d.tree.Len())
	for _, site := range objects.sites {
		for n := d.siteNode[site]; !out[n]; n = a.above[n] {
			if out[n] = true; a.nearest[n] == n {
				break
			}
		}
	}
	return out
}

// calledFirst says of each chain whether times in it are asked for.
func (d *Data) calledFirst(all *chains, asked *UsesOf) []bool {
	wanted := make([]bool, len(d.Functions))
	for f := range wanted {
		wanted[f] = asked == nil || asked.Call(d.Functions[f].ID)
	}
	out := make([]bool, len(all.parent))
	for n, f := range all.firsts() {
		out[n] = asked == nil || f != none && wanted[f]
	}
	return out
}

// chain returns the functions of a chain.
func (d *Data) chain(all *chains, n int32) []session.FunctionID {
	var out []session.FunctionID
	for ; n > 0; n = all.parent[n] {
		out = append(out, d.functionID(all.function[n]))
	}
	slices.Reverse(out)
	return out
}

// addTimes adds up the times of all code.
func (d *Data) addTimes(u *Uses, times *nodeTimes) {
	if u.Timed = times != nil; !u.Timed {
		return
	}
	for node := range times.own.len() {
		times.addMeasured(&u.Time, int32(node))
	}
}

// Uses returns what user code did, of what is selected, and of that what is asked for; nil: all.
func (v *Source) Uses(asked *UsesOf) (*Uses, error) {
	d, err := v.load()
	if err != nil {
		return nil, err
	}
	if v.derived != nil {
		return d.uses(asked, v.derived.exclusiveTimes())
	}
	return d.Uses(asked)
}
