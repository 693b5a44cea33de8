package analysis

import (
	"cmp"
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

type useKey struct {
	from  Place
	chain int32
	typ   int32
}

// Uses returns what user code did, of what is selected.
func (d *Data) Uses() (*Uses, error) {
	a := d.attribute()
	all, of := d.chainsOf(a)
	u := &Uses{}
	at := map[useKey]int32{}
	var list []*Use // not moved when it grows: there can be a million
	lists := make([][]session.FunctionID, len(all.parent))
	use := func(node, typ int32) *Use {
		key := useKey{d.place(a.nearest[node]), of[node], typ}
		i, known := at[key]
		if !known {
			if lists[key.chain] == nil {
				lists[key.chain] = d.chain(&all, key.chain)
			}
			i = int32(len(list))
			at[key] = i
			list = append(list, &Use{From: key.from, Chain: lists[key.chain]})
			if typ >= 0 {
				list[i].Type = d.Types[typ].ID
			}
		}
		return list[i]
	}
	if err := d.addObjects(u, of, use); err != nil {
		return nil, err
	}
	d.addTimes(u, of, use)
	slices.SortFunc(list, func(x, y *Use) int {
		return cmp.Or(comparePlaces(x.From, y.From), slices.Compare(x.Chain, y.Chain), cmp.Compare(x.Type, y.Type))
	})
	u.List = make([]Use, len(list))
	for i, x := range list {
		u.List[i] = *x
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

// addObjects adds what was allocated, and what became of it.
func (d *Data) addObjects(u *Uses, of []int32, use func(node, typ int32) *Use) error {
	born, err := d.SiteAmounts()
	if err != nil {
		return err
	}
	sites := make([]Lifetime, len(d.Sites))
	for i, amount := range born {
		sites[i].Born = amount
	}
	growing := make([]bool, len(d.Sites))
	if u.Lifetimes = len(d.Followed) > 0; u.Lifetimes {
		if err := d.addDeaths(sites); err != nil {
			return err
		}
		if growing, err = d.growing(); err != nil {
			return err
		}
	}
	u.HasMemory = len(sites) > 0 // also where nothing of it is selected
	for site, l := range sites {
		if l.IsZero() {
			continue
		}
		u.Total = u.Total.Add(l)
		if node := d.siteNode[site]; node >= 0 && of[node] != none {
			x := use(node, d.siteType[site])
			x.Lifetime, x.Growing = x.Lifetime.Add(l), x.Growing || growing[site]
		}
	}
	return nil
}

// addTimes adds times and calls.
func (d *Data) addTimes(u *Uses, of []int32, use func(node, typ int32) *Use) {
	times := d.exclusiveTimes()
	if u.Timed = times != nil; !u.Timed {
		return
	}
	for node := range times.own {
		t, calls := times.measured(int32(node)), times.counts[node].calls
		u.Time = u.Time.Add(t)
		if (t == q.Time{}) && calls == 0 || of[node] == none {
			continue
		}
		x := use(int32(node), none)
		x.Time, x.Calls = x.Time.Add(t), x.Calls+calls
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
