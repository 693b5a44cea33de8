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
	List      []Use // in the order of place, chain and type
	Total     Lifetime
	Time      q.Time // of all code
	Lifetimes bool   // deaths and growth are known
	Timed     bool
	HasMemory bool
}

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

// useKey is what is one Use, by numbers of places and chains and the position of the type; none: of time.
type useKey struct{ place, chain, typ int32 }

// useKeys numbers uses. There can be a million, which are made when it is known how many.
type useKeys struct {
	numbering[useKey]
	places *places
}

// order returns the numbers of uses in the order of place, chain and type.
func (k *useKeys) order(chains []int32) []int32 {
	places := k.places.ranks()
	sorted := make([]ordered, len(k.list))
	for n, key := range k.list {
		sorted[n] = ordered{uint64(places[key.place])<<32 | uint64(chains[key.chain]), key.typ, int32(n)}
	}
	return inOrder(sorted)
}

// Uses returns what user code did, of what is selected.
func (d *Data) Uses() (*Uses, error) {
	a := d.attribute()
	all, of := d.chainsOf(a)
	u, k := &Uses{}, &useKeys{places: d.places()}
	sites, growing, err := d.objectsOf(u)
	if err != nil {
		return nil, err
	}
	siteUse := make([]int32, len(sites))
	for site := range sites {
		siteUse[site] = none
		if sites[site].IsZero() {
			continue
		}
		u.Total = u.Total.Add(sites[site])
		if node := d.siteNode[site]; node >= 0 && of[node] != none {
			siteUse[site] = k.number(useKey{k.places.at(a.nearest[node]), of[node], d.siteType[site]})
		}
	}
	times := d.exclusiveTimes()
	nodeUse := d.timesOf(u, times, func(node int32) int32 {
		if of[node] == none {
			return none
		}
		return k.number(useKey{k.places.at(a.nearest[node]), of[node], none})
	})
	position := d.listUses(u, k, &all)
	for site, n := range siteUse {
		if n >= 0 {
			x := &u.List[position[n]]
			x.Lifetime, x.Growing = x.Lifetime.Add(sites[site]), x.Growing || growing[site]
		}
	}
	for node, n := range nodeUse {
		if n >= 0 {
			x := &u.List[position[n]]
			x.Time, x.Calls = x.Time.Add(times.measured(int32(node))), x.Calls+times.counts[node].calls
		}
	}
	return u, nil
}

// listUses makes the list of what has numbers, without any values, and returns where each is.
func (d *Data) listUses(u *Uses, k *useKeys, all *chains) (position []int32) {
	lists := make([][]session.FunctionID, len(all.parent))
	u.List, position = make([]Use, len(k.list)), make([]int32, len(k.list))
	for i, n := range k.order(all.ranks(len(d.Functions))) {
		key := k.list[n]
		if lists[key.chain] == nil {
			lists[key.chain] = d.chain(all, key.chain)
		}
		position[n] = int32(i)
		u.List[i].From, u.List[i].Chain = k.places.list[key.place], lists[key.chain]
		if key.typ >= 0 {
			u.List[i].Type = d.Types[key.typ].ID
		}
	}
	return position
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

// timesOf adds up the times of all code, and returns by node the use that its time and calls are of; nil without times.
func (d *Data) timesOf(u *Uses, times *nodeTimes, use func(node int32) int32) []int32 {
	if u.Timed = times != nil; !u.Timed {
		return nil
	}
	out := make([]int32, len(times.own))
	for node := range times.own {
		t, calls := times.measured(int32(node)), times.counts[node].calls
		u.Time = u.Time.Add(t)
		if out[node] = none; (t != q.Time{}) || calls != 0 {
			out[node] = use(int32(node))
		}
	}
	return out
}

// Uses returns what user code did, of what is selected.
func (v *Source) Uses() (*Uses, error) {
	d, err := v.load()
	if err != nil {
		return nil, err
	}
	return d.Uses()
}
