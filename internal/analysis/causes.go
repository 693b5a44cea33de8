package analysis

import (
	"cmp"
	"slices"

	q "github.com/clrprof/clrprof/internal/quantity"
)

// UserCauses are the allocations of user code by cause: type and place.
type UserCauses struct {
	// List are those with most bytes, the greatest first, each with the function that allocated most bytes of it. Those
	// with equally many are in the order of the first function that allocated some, type and place.
	List    []UserAllocation
	More    q.Count  // causes that are not in the list
	Hidden  q.Amount // what these allocated
	Outside q.Amount // allocated outside of user code
}

// cause is a cause, of which the sites stand together.
type cause struct {
	first, end int32 // of its sites
	q.Amount
}

// UserCauses returns the causes of what is selected, and lists so many of them, and those that allocated as many bytes
// as the last of these; 0: all. What allocated no bytes is no cause.
func (d *Data) UserCauses(most int) (*UserCauses, error) {
	amounts, err := d.SiteAmounts()
	if err != nil {
		return nil, err
	}
	a, out := d.attribute(), &UserCauses{}
	p := d.places(a)
	at := d.nodePlaces(a, p)
	rows := rowsWith(len(amounts), func(site int32) bool {
		n := d.siteNode[site]
		if n >= 0 && at[n] == 0 {
			out.Outside = out.Outside.Add(amounts[site])
		}
		return n >= 0 && at[n] != 0 && !amounts[site].IsZero()
	})
	place := keyColumn{func(site int32) int32 { return at[d.siteNode[site]] }, len(p.list)}
	typ := keyColumn{func(site int32) int32 { return d.siteType[site] }, len(d.Types)}
	function := func(site int32) int32 { return a.function[d.siteNode[site]] }
	sorted := sortRows(rows, place, typ)
	causes := make([]cause, 0, len(sorted)) // what is not used of it is not touched
	for i, x := range sorted {
		if i == 0 || x.key != sorted[i-1].key {
			causes = append(causes, cause{first: int32(i)})
		}
		c := &causes[len(causes)-1]
		c.Amount, c.end = c.Add(amounts[x.row]), int32(i)+1
	}
	causes = out.choose(causes, most)
	for _, c := range causes {
		slices.SortFunc(sorted[c.first:c.end], func(x, y keyedRow) int {
			return cmp.Compare(function(x.row), function(y.row))
		})
	}
	slices.SortFunc(causes, func(x, y cause) int {
		a, b := sorted[x.first].row, sorted[y.first].row
		return cmp.Or(cmp.Compare(y.Bytes, x.Bytes), cmp.Compare(function(a), function(b)),
			cmp.Compare(typ.of(a), typ.of(b)), cmp.Compare(place.of(a), place.of(b)))
	})
	for _, c := range causes {
		site, by := sorted[c.first].row, heaviest(sorted[c.first:c.end], amounts, function)
		out.List = append(out.List, UserAllocation{Function: d.functionID(by), Type: d.typeID(typ.of(site)),
			From: p.list[place.of(site)], Amount: c.Amount})
	}
	return out, nil
}

// choose returns the causes that are listed, and adds up the others.
func (u *UserCauses) choose(causes []cause, most int) []cause {
	causes = slices.DeleteFunc(causes, func(c cause) bool { return c.Bytes == 0 })
	if most == 0 || len(causes) <= most {
		return causes
	}
	sizes := greatest{most: most}
	for i := range causes {
		sizes.add(causes[i].Bytes)
	}
	least := sizes.least()
	return slices.DeleteFunc(causes, func(c cause) bool {
		if c.Bytes >= least {
			return false
		}
		u.More, u.Hidden = u.More+1, u.Hidden.Add(c.Amount)
		return true
	})
}

// greatest are the greatest of many numbers, at most so many of them, the least first: a million numbers are not sorted
// for a thousand.
type greatest struct {
	most  int // 0: none are kept
	sizes []q.Bytes
}

// add adds a number.
func (g *greatest) add(size q.Bytes) {
	if len(g.sizes) == g.most && (g.most == 0 || size <= g.sizes[0]) {
		return
	}
	at, _ := slices.BinarySearch(g.sizes, size)
	if len(g.sizes) < g.most {
		g.sizes = slices.Insert(g.sizes, at, size)
		return
	}
	copy(g.sizes, g.sizes[1:at])
	g.sizes[at-1] = size
}

// least returns the least of them; 0: there is none.
func (g *greatest) least() q.Bytes {
	if len(g.sizes) == 0 {
		return 0
	}
	return g.sizes[0]
}

// heaviest returns the function that allocated most bytes at sites, which are in the order of their functions: the
// first of several.
func heaviest(sites []keyedRow, amounts []q.Amount, function func(site int32) int32) int32 {
	best, most := function(sites[0].row), q.Bytes(0)
	for i := 0; i < len(sites); {
		f, sum := function(sites[i].row), q.Bytes(0)
		for ; i < len(sites) && function(sites[i].row) == f; i++ {
			sum += amounts[sites[i].row].Bytes
		}
		if sum > most {
			best, most = f, sum
		}
	}
	return best
}
