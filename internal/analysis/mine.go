package analysis

import (
	"cmp"
	"slices"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/usercode"
)

// Place is where user code does something: a function and a line of it, 0 if that is not known. The zero Place is
// outside of user code.
type Place struct {
	Function session.FunctionID
	Line     session.LineID
}

// UserAllocation is what was allocated from one place in user code: objects of a type, made by a function. That is the
// function of the place, or framework code that it called, with all that this did until user code was called again.
// Function 0 is framework code that no user code called: starting threads, dispatching work.
type UserAllocation struct {
	Function session.FunctionID
	Type     session.TypeID
	From     Place
	q.Amount
}

// UserTime is the time of a function by the same rule: its own, exclusive, and for framework code that of what it
// called.
type UserTime struct {
	Function session.FunctionID
	From     Place
	q.Time
}

// userFunctions says of each function by position whether it is user code.
func (d *Data) userFunctions() []bool {
	out := make([]bool, len(d.Functions))
	for i := range out {
		m := d.functionModule[i]
		out[i] = m >= 0 && usercode.Origin(d.Modules[m].Origin).IsUser()
	}
	return out
}

// attribution says of each node to which function its values go, and from which place in user code.
type attribution struct {
	function []int32 // by position; none: to framework code that no user code called
	nearest  []int32 // the innermost node of user code, none if there is none
}

// attribute walks down the tree, once: parents come before their children.
func (d *Data) attribute() *attribution {
	if d.attributed != nil {
		return d.attributed
	}
	user := d.userFunctions()
	a := &attribution{make([]int32, len(d.Nodes)), make([]int32, len(d.Nodes))}
	for n, function := range d.nodeFunction {
		parent := d.tree.Parent[n]
		a.function[n], a.nearest[n] = none, none
		if parent >= 0 {
			a.function[n], a.nearest[n] = a.function[parent], a.nearest[parent]
		}
		switch {
		case function >= 0 && user[function]:
			a.function[n], a.nearest[n] = function, int32(n)
		case parent >= 0 && a.nearest[n] == parent: // called by user code
			a.function[n] = function
		}
	}
	d.attributed = a
	return a
}

// place returns the place of a node.
func (d *Data) place(node int32) Place {
	if node < 0 {
		return Place{}
	}
	p := Place{Function: d.functionID(d.nodeFunction[node])}
	if i := d.nodeInstruction[node]; i >= 0 {
		if l := d.instructionLine[i]; l >= 0 {
			p.Line = d.Lines[l].ID
		}
	}
	return p
}

// places numbers the places of nodes.
type places struct {
	numbering[Place]
	data  *Data
	nodes []int32 // numbers plus 1, by node and after none; 0: not looked at yet
}

func (d *Data) places() *places { return &places{data: d, nodes: make([]int32, len(d.Nodes)+1)} }

// at returns the number of a node's place; of none that of the zero Place.
func (p *places) at(node int32) int32 {
	known := &p.nodes[node+1]
	if *known == 0 {
		*known = p.number(p.data.place(node)) + 1
	}
	return *known - 1
}

// ranks returns by number where each place is in their order.
func (p *places) ranks() []int32 {
	order := make([]int32, len(p.list))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(x, y int32) int { return comparePlaces(p.list[x], p.list[y]) })
	out := make([]int32, len(order))
	for rank, n := range order {
		out[n] = int32(rank)
	}
	return out
}

// ordered is the number of something that is sorted by two values.
type ordered struct {
	first  uint64
	second int32
	number int32
}

// inOrder sorts, and returns the numbers.
func inOrder(list []ordered) []int32 {
	slices.SortFunc(list, func(x, y ordered) int {
		if x.first != y.first {
			return cmp.Compare(x.first, y.first)
		}
		return cmp.Compare(x.second, y.second)
	})
	out := make([]int32, len(list))
	for i := range list {
		out[i] = list[i].number
	}
	return out
}

func (d *Data) functionID(at int32) session.FunctionID {
	if at < 0 {
		return 0
	}
	return d.Functions[at].ID
}

// UserAllocations returns the allocations that are selected, in the order of function, type and place.
func (d *Data) UserAllocations() ([]UserAllocation, error) {
	amounts, err := d.SiteAmounts()
	if err != nil {
		return nil, err
	}
	type key struct{ function, typ, place int32 }
	a, p := d.attribute(), d.places()
	var keys numbering[key]
	var sums []q.Amount
	for site, amount := range amounts {
		node := d.siteNode[site]
		if amount == (q.Amount{}) || node < 0 {
			continue
		}
		n := keys.number(key{a.function[node], d.siteType[site], p.at(a.nearest[node])})
		if int(n) == len(sums) {
			sums = append(sums, q.Amount{})
		}
		sums[n] = sums[n].Add(amount)
	}
	ranks, sorted := p.ranks(), make([]ordered, len(keys.list))
	for n, k := range keys.list { // none comes before all others
		sorted[n] = ordered{uint64(k.function+1)<<32 | uint64(k.typ+1), ranks[k.place], int32(n)}
	}
	out := make([]UserAllocation, len(keys.list))
	for i, n := range inOrder(sorted) {
		k := keys.list[n]
		out[i] = UserAllocation{Function: d.functionID(k.function), From: p.list[k.place], Amount: sums[n]}
		if k.typ >= 0 {
			out[i].Type = d.Types[k.typ].ID
		}
	}
	return out, nil
}

// UserTimes returns the times that are selected, in the order of function and place; nil without times. Folded calls
// are at their caller, without a line.
func (d *Data) UserTimes() []UserTime {
	times := d.exclusiveTimes()
	if times == nil {
		return nil
	}
	a := d.attribute()
	type key struct {
		function int32
		from     Place
	}
	sums := map[key]q.Time{}
	for node := range times.own {
		if t := times.measured(int32(node)); t != (q.Time{}) {
			k := key{a.function[node], d.place(a.nearest[node])}
			sums[k] = sums[k].Add(t)
		}
	}
	out := make([]UserTime, 0, len(sums))
	for k, t := range sums {
		out = append(out, UserTime{d.functionID(k.function), k.from, t})
	}
	slices.SortFunc(out, func(x, y UserTime) int {
		return cmp.Or(cmp.Compare(x.Function, y.Function), comparePlaces(x.From, y.From))
	})
	return out
}

func comparePlaces(x, y Place) int {
	return cmp.Or(cmp.Compare(x.Function, y.Function), cmp.Compare(x.Line, y.Line))
}

// UserAllocations returns what was allocated, by place in user code.
func (v *Source) UserAllocations() ([]UserAllocation, error) {
	d, err := v.load()
	if err != nil {
		return nil, err
	}
	return d.UserAllocations()
}

// UserTimes returns the times, by place in user code; nil without times.
func (v *Source) UserTimes() ([]UserTime, error) {
	d, err := v.load()
	if err != nil {
		return nil, err
	}
	return d.UserTimes(), nil
}
