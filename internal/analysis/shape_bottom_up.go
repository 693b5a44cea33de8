package analysis

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// BottomUpTree is a call tree from below: the functions that did something themselves, and below each those that called
// it. All values of a row are what the function at its root did itself when it was called so: inclusive is the same as
// exclusive.
type BottomUpTree struct {
	shaper
	small TooSmall
	rows  []treeRow // of the tree that it is made of
	above []int32   // their parents
	roles map[session.PathID]AsyncRole
	parts map[session.PathID][]bottomUpPart // of rows whose callers were not asked for
	level map[session.PathID]int64
	last  session.PathID
	// groups are, by the number of what a node is, the groups that callers makes, and one more: all 0 in between
	groups []int32
	// places says of which rows the ids are that were given; nil: the rows below one are asked for once
	places map[session.PathID]bottomUpPlace
}

// bottomUpPlace is what tells a row from all others.
type bottomUpPlace struct {
	above session.PathID
	key   logicalKey
}

// bottomUpPart is what a row did itself, seen from one of its callers.
type bottomUpPart struct{ own, caller int32 }

// BottomUp returns a tree, nil: the physical one, from below. What is too small is one row, AsyncLeftOut, for each row;
// with nil nothing is.
func (v *Source) BottomUp(of *LogicalTree, small TooSmall) (*BottomUpTree, error) {
	s, err := v.newShaper(of)
	if err != nil {
		return nil, err
	}
	n := s.expected() // what is not used of so many is not touched
	t := &BottomUpTree{shaper: *s, small: small, roles: map[session.PathID]AsyncRole{},
		parts: map[session.PathID][]bottomUpPart{},
		level: map[session.PathID]int64{}, rows: make([]treeRow, 0, n), above: make([]int32, 0, n)}
	own := make([]bottomUpPart, 0, n)
	t.eachRow(func(above int32, r *treeRow) int32 {
		n := int32(len(t.rows))
		if r.time != nil && t.beneath.rows == nil { // else it stays as it is
			r.time = new(*r.time)
		}
		t.rows, t.above = append(t.rows, *r), append(t.above, above)
		if !r.amounts.Exclusive.IsZero() || r.time != nil && !(r.time.Exclusive.IsZero() && r.time.Calls == 0) {
			own = append(own, bottomUpPart{n, n})
		}
		return n
	})
	t.parts[0] = own
	return t, nil
}

// Role returns what a row stands for.
func (t *BottomUpTree) Role(id session.PathID) AsyncRole { return t.roles[id] }

// Await returns nil: how a method waited is of the method as a whole.
func (t *BottomUpTree) Await(session.PathID) *session.FunctionAwait { return nil }

// errNoRow means that a tree has no row with an id.
var errNoRow = errors.New("the tree has no such row")

// Keep has the tree answer any number of times, under ids that are the same in any tree of the same session: for those
// who open one row after the other. What was opened stays in memory.
func (t *BottomUpTree) Keep() { t.places = map[session.PathID]bottomUpPlace{} }

// Open makes the rows at and below the last of some rows known, each of which is below the one before it. Errors are
// errNoRow.
func (t *BottomUpTree) Open(rows []session.PathID) error {
	above := session.PathID(0)
	for _, id := range rows {
		if t.level[id] == 0 {
			t.Below(above)
		}
		if t.level[id] == 0 || t.places[id].above != above {
			return errNoRow
		}
		above = id
	}
	return nil
}

// IsLeaf reports whether nothing called what a row stands for.
func (t *BottomUpTree) IsLeaf(id session.PathID) bool {
	return !slices.ContainsFunc(t.parts[id], func(p bottomUpPart) bool { return p.caller != none })
}

// Below returns the callers of a row (0: the functions that did something themselves), in the order of id. Unless the
// tree is kept they can be asked for once: there are many more rows than in the tree that it is made of.
func (t *BottomUpTree) Below(id session.PathID) (amounts []session.PathValue, times []session.PathTime) {
	parts, level := t.parts[id], t.level[id]+1
	if t.places == nil {
		delete(t.parts, id)
		delete(t.level, id)
	}
	keys, nodes, of := t.callers(parts)
	leftOut := map[session.ProcessID]int{}
	for n := range len(nodes) {
		time := q.Time{}
		if nodes[n].time != nil {
			time = nodes[n].time.Exclusive
		}
		if t.small == nil || !t.small(int(level), nodes[n].amounts.Exclusive, time) {
			continue
		}
		process := keys[n].process
		to, known := leftOut[process]
		if !known {
			to, leftOut[process] = len(nodes), len(nodes)
			keys = append(keys, logicalKey{none, none, process, AsyncLeftOut})
			nodes, of = append(nodes, logicalNode{}), append(of, nil)
		}
		for _, p := range of[n] {
			nodes[to].take(&t.rows[p.own])
		}
		of[n] = nil
		keys[n].process = 0 // it has no row
	}
	for n, key := range keys {
		if key.process == 0 {
			continue
		}
		amount, time := t.row(id, level, key, &nodes[n])
		if key.role != AsyncLeftOut {
			t.parts[amount.ID] = of[n]
		}
		if key.role != AsyncLeftOut || t.places != nil {
			t.level[amount.ID] = level
		}
		if amounts = append(amounts, amount); nodes[n].time != nil {
			times = append(times, time)
		}
	}
	if t.places != nil {
		slices.SortFunc(amounts, func(a, b session.PathValue) int { return cmp.Compare(a.ID, b.ID) })
		slices.SortFunc(times, func(a, b session.PathTime) int { return cmp.Compare(a.ID, b.ID) })
	}
	return amounts, times
}

// callers groups parts by what called them: the key of each group, its sum, and the parts as their callers have them.
func (t *BottomUpTree) callers(parts []bottomUpPart) (keys []logicalKey, nodes []logicalNode, of [][]bottomUpPart) {
	var names []int32                      // of groups
	groups := make([]int32, 0, len(parts)) // of parts
	for _, p := range parts {
		if p.caller == none {
			groups = append(groups, none)
			continue
		}
		r := &t.rows[p.caller]
		name := t.nameOfNode(r.process, r.function, r.role)
		for int(name) >= len(t.groups) {
			t.groups = append(t.groups, 0)
		}
		if t.groups[name] == 0 {
			names = append(names, name)
			t.groups[name] = int32(len(names))
			keys = append(keys, logicalKey{none, r.function, r.process, r.role})
		}
		groups = append(groups, t.groups[name]-1)
	}
	for _, name := range names {
		t.groups[name] = 0
	}
	nodes, of = make([]logicalNode, len(keys)), make([][]bottomUpPart, len(keys))
	sizes := make([]int32, len(keys))
	for _, n := range groups {
		if n != none {
			sizes[n]++
		}
	}
	for n, size := range sizes {
		of[n] = make([]bottomUpPart, 0, size)
	}
	for i, n := range groups {
		if n != none {
			nodes[n].take(&t.rows[parts[i].own])
			of[n] = append(of[n], bottomUpPart{parts[i].own, t.above[parts[i].caller]})
		}
	}
	return keys, nodes, of
}

// take adds what a row has itself.
func (n *logicalNode) take(r *treeRow) {
	n.amounts.Exclusive = n.amounts.Exclusive.Add(r.amounts.Exclusive)
	if r.time != nil {
		n.addTime(r.time)
	}
}

// row makes a row with a new id.
func (t *BottomUpTree) row(parent session.PathID, level int64, key logicalKey, n *logicalNode) (session.PathValue,
	session.PathTime) {
	function := session.FunctionID(0)
	if key.function >= 0 {
		function = t.functions.rows[key.function].ID
	}
	if t.last++; t.places != nil {
		t.last = t.lasting(bottomUpPlace{parent, key}, function)
	}
	if key.role != AsyncNone {
		t.roles[t.last] = key.role
	}
	n.amounts.Inclusive = n.amounts.Exclusive
	amount := session.PathValue{ID: t.last, Parent: parent, Level: level, Process: key.process, Function: function,
		Amounts: n.amounts}
	if n.time == nil {
		return amount, session.PathTime{}
	}
	n.time.Inclusive, n.time.single.Extremes = n.time.Exclusive, n.time.extent.Extremes
	return amount, session.PathTime{ID: t.last, Parent: parent, Level: level, Process: key.process, Function: function,
		TimeValue: n.time.TimeValue, SingleCalls: n.time.single}
}

// lasting returns the id of a row, which depends on nothing but what the row is and what is above it. Of two that would
// have one id, of which there is a pair among a hundred thousand rows, the later one gets the next: Open does not find
// it in a tree in which it came first.
func (t *BottomUpTree) lasting(of bottomUpPlace, function session.FunctionID) session.PathID {
	hash := fnv.New32a()
	fmt.Fprintf(hash, "%d %d %d %s", of.above, of.key.process, function, of.key.role)
	for id := session.PathID(hash.Sum32()); ; id++ {
		if place, taken := t.places[id]; id != 0 && (!taken || place == of) {
			t.places[id] = of
			return id
		}
	}
}
