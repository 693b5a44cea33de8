package analysis

import (
	"cmp"
	"slices"

	"github.com/clrprof/clrprof/internal/dotnet/usercode"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
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
		out[i] = m >= 0 && d.Functions[i].Kind != session.FunctionExtern &&
			usercode.Origin(d.Modules[m].Origin).IsUser()
	}
	return out
}

// collections are the positions of the functions that stand for garbage collections that threads waited for, one for a
// process: whatever code waits for one does nothing then.
func (d *Data) collections() []int32 {
	var out []int32
	for i := range d.Functions {
		if f := &d.Functions[i]; f.Kind == session.FunctionPseudo && f.RawName == session.NameCollection {
			out = append(out, int32(i))
		}
	}
	return out
}

// attribution says of each node to which function its values go, and from which place in user code.
type attribution struct {
	function []int32 // by position; none: to framework code that no user code called
	nearest  []int32 // the innermost node of user code, none if there is none
	above    []int32 // the node below which it belongs: see Data.returned
	places   *places // nil until something needs it
}

// attribute walks down the tree, once: parents come before their children.
func (d *Data) attribute() *attribution {
	if d.attributed != nil {
		return d.attributed
	}
	user, collections := d.userFunctions(), d.collections()
	a := &attribution{function: make([]int32, d.tree.Len()), nearest: make([]int32, d.tree.Len()), above: d.returned()}
	for n, function := range d.nodeFunction {
		parent := a.above[n]
		a.function[n], a.nearest[n] = none, none
		if parent >= 0 {
			a.function[n], a.nearest[n] = a.function[parent], a.nearest[parent]
		}
		switch {
		case function >= 0 && user[function]:
			a.function[n], a.nearest[n] = function, int32(n)
		case parent >= 0 && (a.nearest[n] == parent || // called by user code
			a.nearest[n] >= 0 && slices.Contains(collections, function)): // or nothing that the framework did
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

// places are the places of nodes of user code, numbered in their order: the zero Place is 0.
type places struct {
	list []Place
	of   []int32 // numbers, by node
}

// places numbers the places of the nodes that are the innermost of user code, once.
func (d *Data) places(a *attribution) *places {
	if a.places == nil {
		a.places = d.numberPlaces(a)
	}
	return a.places
}

func (d *Data) numberPlaces(a *attribution) *places {
	var found numbering[Place]
	found.number(Place{})
	p := &places{of: make([]int32, d.tree.Len())}
	type known struct{ function, number int32 }
	last := make([]known, len(d.Instructions)+1) // by instruction, after none: there are few, each in one function
	for n := range p.of {
		if a.nearest[n] != int32(n) {
			continue
		}
		at := &last[d.nodeInstruction[n]+1]
		if f := d.nodeFunction[n] + 1; at.function != f { // so that 0 is not known yet
			*at = known{f, found.number(d.place(int32(n)))}
		}
		p.of[n] = at.number
	}
	order := make([]int32, len(found.list))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(x, y int32) int { return comparePlaces(found.list[x], found.list[y]) })
	ranks := make([]int32, len(order))
	p.list = make([]Place, len(order))
	for rank, n := range order {
		ranks[n], p.list[rank] = int32(rank), found.list[n]
	}
	for n := range p.of {
		p.of[n] = ranks[p.of[n]]
	}
	return p
}

// at returns the number of the place of a node of user code; of none that of the zero Place.
func (p *places) at(node int32) int32 {
	if node < 0 {
		return 0
	}
	return p.of[node]
}

func (d *Data) functionID(at int32) session.FunctionID {
	if at < 0 {
		return 0
	}
	return d.Functions[at].ID
}

func (d *Data) typeID(at int32) session.TypeID {
	if at < 0 {
		return 0
	}
	return d.Types[at].ID
}

// UserAllocations returns the allocations that are selected, in the order of function, type and place.
func (d *Data) UserAllocations() ([]UserAllocation, error) {
	amounts, err := d.SiteAmounts()
	if err != nil {
		return nil, err
	}
	a := d.attribute()
	p := d.places(a)
	rows := rowsWith(len(amounts), func(site int32) bool {
		return amounts[site] != (q.Amount{}) && d.siteNode[site] >= 0
	})
	place := func(site int32) int32 { return p.at(a.nearest[d.siteNode[site]]) }
	function := func(site int32) int32 { return a.function[d.siteNode[site]] }
	var out []UserAllocation
	var last uint64
	for i, x := range sortRows(rows, keyColumn{function, len(d.Functions)},
		keyColumn{func(site int32) int32 { return d.siteType[site] }, len(d.Types)}, keyColumn{place, len(p.list)}) {
		if i == 0 || x.key != last {
			out = append(out, UserAllocation{Function: d.functionID(function(x.row)),
				Type: d.typeID(d.siteType[x.row]), From: p.list[place(x.row)]})
		}
		sum := &out[len(out)-1]
		sum.Amount, last = sum.Add(amounts[x.row]), x.key
	}
	return out, nil
}

// userTimes returns the times of nodes in the order of function and place. Folded calls are at their caller, without a
// line.
func (d *Data) userTimes(times *nodeTimes) []UserTime {
	a := d.attribute()
	p := d.places(a)
	var groups pairNumbering
	var found []q.Time // by the numbers of function and place: there are few
	for node := range int32(times.own.len()) {
		if !times.hasMeasured(node) {
			continue
		}
		n := groups.number(pair{a.function[node], p.at(a.nearest[node])})
		if int(n) == len(found) {
			found = append(found, q.Time{})
		}
		times.addMeasured(&found[n], node)
	}
	order := rowsWith(len(found), func(int32) bool { return true })
	slices.SortFunc(order, func(x, y int32) int {
		a, b := groups.list[x], groups.list[y]
		return cmp.Or(cmp.Compare(a.above, b.above), cmp.Compare(a.name, b.name))
	})
	out := make([]UserTime, len(order))
	for i, n := range order {
		g := groups.list[n]
		out[i] = UserTime{Function: d.functionID(g.above), From: p.list[g.name], Time: found[n]}
	}
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

// UserTimes returns the times, by place in user code, in the order of function and place. Folded calls are at their
// caller, without a line.
func (v *Source) UserTimes() ([]UserTime, error) {
	rows, err := choose(v, func(d *derivation) []session.UserTime {
		d.need(derivedUserTimes)
		return d.UserTimes
	}, v.session.UserTimes)
	if err != nil {
		return nil, err
	}
	out := make([]UserTime, len(rows))
	for i, r := range rows {
		out[i] = UserTime{r.Function, Place{r.FromFunction, r.FromLine}, r.Time}
	}
	if len(out) > 0 || v.derived != nil {
		return out, nil
	}
	if timed, err := v.session.ProcessTimeValues(); err != nil || len(timed) == 0 {
		return nil, err
	}
	d, err := v.load() // an older clrprof completed the session, or what was timed took no time
	if err != nil {
		return nil, err
	}
	if times := d.exclusiveTimes(); times != nil {
		return d.userTimes(times), nil
	}
	return nil, nil
}
