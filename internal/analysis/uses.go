package analysis

import (
	"slices"

	"github.com/clrprof/clrprof/internal/calltree"
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

// chainsOf returns the chain of each node below user code, and numbers them; none for other nodes.
func (d *Data) chainsOf(a *attribution) (chains, []int32) {
	c := chains{parent: []int32{none}, function: []int32{none}, at: map[[2]int32]int32{}}
	of := make([]int32, len(d.Nodes))
	for n := range of {
		parent := d.tree.Parent[n]
		switch {
		case a.nearest[n] == none:
			of[n] = none
		case a.nearest[n] == int32(n):
			of[n] = 0
		case parent != calltree.None:
			of[n] = c.longer(of[parent], d.nodeFunction[n])
		}
	}
	return c, of
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

// Uses returns what user code did, of what is selected.
func (d *Data) Uses() (*Uses, error) {
	a := d.attribute()
	all, of := d.chainsOf(a)
	u, places := &Uses{}, d.places(a)
	sites, growing, err := d.objectsOf(u)
	if err != nil {
		return nil, err
	}
	for site := range sites {
		u.Total = u.Total.Add(sites[site])
	}
	times := d.exclusiveTimes()
	d.addTimes(u, times)
	node := func(row int32) int32 { // rows are sites, and the nodes after them
		if int(row) < len(sites) {
			return d.siteNode[row]
		}
		return row - int32(len(sites))
	}
	rows := rowsWith(len(sites)+len(d.Nodes), func(row int32) bool {
		n := node(row)
		switch {
		case n < 0 || of[n] == none:
			return false
		case int(row) < len(sites):
			return !sites[row].IsZero()
		}
		return times != nil && (times.counts[n].calls != 0 || times.measured(n) != (q.Time{}))
	})
	ranks := all.ranks(len(d.Functions))
	keys := []keyColumn{{func(row int32) int32 { return places.at(a.nearest[node(row)]) }, len(places.list)},
		{func(row int32) int32 { return ranks[of[node(row)]] }, len(ranks)},
		{func(row int32) int32 {
			if int(row) < len(sites) {
				return d.siteType[row]
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
				if row := sorted[i].row; int(row) < len(sites) {
					x.Lifetime, x.Growing = x.Lifetime.Add(sites[row]), x.Growing || growing[row]
				} else {
					n := node(row)
					x.Time, x.Calls = x.Time.Add(times.measured(n)), x.Calls+times.counts[n].calls
				}
			}
			fn(&x)
		}
	}
	return u, nil
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

// objectsOf returns what was allocated by site, what became of it, and which sites only grow.
func (d *Data) objectsOf(u *Uses) (sites []Lifetime, growing []bool, err error) {
	born, err := d.SiteAmounts()
	if err != nil {
		return nil, nil, err
	}
	sites, growing = make([]Lifetime, len(d.Sites)), make([]bool, len(d.Sites))
	for i, amount := range born {
		sites[i].Born = amount
	}
	u.HasMemory = len(sites) > 0 // also where nothing of it is selected
	if u.Lifetimes = len(d.Followed) > 0; !u.Lifetimes {
		return sites, growing, nil
	}
	if err := d.addDeaths(sites); err != nil {
		return nil, nil, err
	}
	growing, err = d.growing()
	return sites, growing, err
}

// addTimes adds up the times of all code.
func (d *Data) addTimes(u *Uses, times *nodeTimes) {
	if u.Timed = times != nil; !u.Timed {
		return
	}
	for node := range times.own {
		u.Time = u.Time.Add(times.measured(int32(node)))
	}
}

// Uses returns what user code did, of what is selected.
func (v *Source) Uses() (*Uses, error) {
	d, err := v.load()
	if err != nil {
		return nil, err
	}
	return d.Uses()
}
