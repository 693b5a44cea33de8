package analysis

import (
	"math/bits"
	"slices"

	"github.com/clrprof/clrprof/internal/session"
)

// keyColumn is a part of what rows are grouped by: a number of each row, from none up to below a bound.
type keyColumn struct {
	of    func(row int32) int32
	bound int
}

// bits is how many bits the numbers of a column need.
func (k keyColumn) bits() int { return bits.Len64(uint64(k.bound)) }

// keyedRow is a row with its numbers in all columns in one: of rows with the same numbers it is the same.
type keyedRow struct {
	key uint64
	row int32
}

// sortRows sorts rows by their numbers, of which the first count most; rows with the same numbers stay in their order.
// There can be millions: they are put where they belong by counting, and their columns, which are all over the memory,
// are looked at once.
func sortRows(rows []int32, keys ...keyColumn) []keyedRow {
	width := 0
	for _, k := range keys {
		width += k.bits()
	}
	if n := len(keys) - 1; width > 64 { // the last two become one, which has no more numbers than there are rows
		return sortRows(rows, append(slices.Clone(keys[:n-1]), rankOf(rows, keys[n-1:]...))...)
	}
	list := make([]keyedRow, len(rows))
	for i, r := range rows {
		list[i].row = r
	}
	for _, k := range keys {
		shift := k.bits()
		for i := range list {
			x := &list[i]
			x.key = x.key<<shift | uint64(k.of(x.row)+1)
		}
	}
	return sortKeys(list, width)
}

// rankOf makes a column of the positions that rows have in the order of others.
func rankOf(rows []int32, keys ...keyColumn) keyColumn {
	ranks, rank := make(map[int32]int32, len(rows)), int32(0)
	sorted := sortRows(rows, keys...)
	for i, x := range sorted {
		if i > 0 && x.key != sorted[i-1].key {
			rank++
		}
		ranks[x.row] = rank
	}
	return keyColumn{func(row int32) int32 { return ranks[row] }, int(rank) + 1}
}

// sortKeys sorts by keys of so many bits.
func sortKeys(list []keyedRow, width int) []keyedRow {
	const digit = 11 // bits that are sorted by at once: as many counters stay in the processor's cache
	out := make([]keyedRow, len(list))
	for shift := 0; shift < width; shift += digit {
		var next [1<<digit + 1]int32 // where the next row with a digit goes
		for i := range list {
			next[list[i].key>>shift&(1<<digit-1)+1]++
		}
		for i := range next[1:] {
			next[i+1] += next[i]
		}
		for i := range list {
			at := &next[list[i].key>>shift&(1<<digit-1)]
			out[*at] = list[i]
			*at++
		}
		list, out = out, list
	}
	return list
}

// groupRows gives rows with the same numbers one number, in the order of the first row of each, which it returns, too.
// It takes the rows in ascending order, out of so many; those that are left out have none.
func groupRows(rows []int32, all int, keys ...keyColumn) (of, first []int32) {
	of = make([]int32, all)
	for i := range of {
		of[i] = none
	}
	if groups := groupsAtMost(keys, len(rows)); groups > 0 {
		return of, groupFew(rows, of, groups, keys)
	}
	var leader keyedRow // the first row of a group
	for i, x := range sortRows(rows, keys...) {
		if i == 0 || x.key != leader.key {
			leader = x
		}
		of[x.row] = leader.row
	}
	for i, leader := range of {
		switch {
		case leader == int32(i):
			of[i] = int32(len(first))
			first = append(first, leader)
		case leader != none:
			of[i] = of[leader]
		}
	}
	return of, first
}

// groupsAtMost is how many groups the numbers of columns can make; 0: more than so many.
func groupsAtMost(keys []keyColumn, most int) int {
	groups := 1
	for _, k := range keys {
		if groups *= k.bound + 1; groups > most {
			return 0
		}
	}
	return groups
}

// groupFew is groupRows where there is room for a counter of each group that there can be.
func groupFew(rows, of []int32, groups int, keys []keyColumn) (first []int32) {
	numbers := make([]int32, groups) // and one more
	for _, row := range rows {
		key := int32(0)
		for _, k := range keys {
			key = key*int32(k.bound+1) + k.of(row) + 1
		}
		if numbers[key] == 0 {
			first = append(first, row)
			numbers[key] = int32(len(first))
		}
		of[row] = numbers[key] - 1
	}
	return first
}

// rowsWith returns those of so many rows that have something.
func rowsWith(all int, has func(row int32) bool) []int32 {
	out := make([]int32, 0, all)
	for i := range int32(all) {
		if has(i) {
			out = append(out, i)
		}
	}
	return out
}

// SiteGroups says in which group sites are.
type SiteGroups struct {
	data *Data
	of   []int32 // by position
}

// Of returns the position of the group that a site is in.
func (g SiteGroups) Of(site session.SiteID) (group int, ok bool) {
	at, known := g.data.siteIndex.find(site)
	if !known || at == none || g.of[at] == none {
		return 0, false
	}
	return int(g.of[at]), true
}

// Process returns the process whose thread allocated at a site, 0 if it is not known.
func (g SiteGroups) Process(site session.SiteID) session.ProcessID {
	at, known := g.data.siteIndex.find(site)
	if !known || at == none || g.data.siteThread[at] == none {
		return 0
	}
	return g.data.Threads[g.data.siteThread[at]].Process
}
