package analysis

import (
	"cmp"
	"slices"

	"github.com/clrprof/clrprof/internal/analysis/calltree"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// UserPlace is a place in user code, or a process: its framework code that no user code called.
type UserPlace struct {
	Process session.ProcessID // 0: the place says it
	Place
}

// UserLine is what a place in user code did, and had framework code do: what is below it on stacks, up to where user
// code is called again. Its calls are those that it made itself, as of any line, or, without a line, those of its
// function. While framework code that no user code called is the place, no user code is on the stack: its inclusive
// time is its exclusive time.
type UserLine struct {
	UserPlace
	q.Amount
	session.TimeValue
}

// userPlaces are the places in user code to which values go, by node: the lines, then the functions for what is on none
// of their lines, and then the processes for what no user code called.
type userPlaces struct {
	data *Data
	of   []int32
}

// userPlaces returns the places of what is selected.
func (d *Data) userPlaces() userPlaces {
	nearest := d.attribute().nearest
	p := userPlaces{d, make([]int32, len(d.Nodes))}
	for i, n := range nearest {
		switch {
		case n < 0 && d.nodeProcess[i] < 0:
			p.of[i] = none // a damaged session
		case n < 0:
			p.of[i] = p.firstProcess() + d.nodeProcess[i]
		default:
			p.of[i] = int32(len(d.Lines)) + d.nodeFunction[n]
			if in := d.nodeInstruction[n]; in >= 0 && d.instructionLine[in] >= 0 {
				p.of[i] = d.instructionLine[in]
			}
		}
	}
	return p
}

// firstProcess is the first place that is a process, count the number of all places.
func (p userPlaces) firstProcess() int32 { return int32(len(p.data.Lines) + len(p.data.Functions)) }
func (p userPlaces) count() int          { return int(p.firstProcess()) + len(p.data.Processes) }

// place says which place it is.
func (p userPlaces) place(i int) UserPlace {
	d, lines, first := p.data, len(p.data.Lines), int(p.firstProcess())
	switch {
	case i < lines:
		return UserPlace{Place: Place{d.Lines[i].Function, d.Lines[i].ID}}
	case i < first:
		return UserPlace{Place: Place{Function: d.Functions[i-lines].ID}}
	}
	return UserPlace{Process: d.Processes[i-first].ID}
}

// UserLines returns what is selected by place in user code, in the order of process, function and line. Together they
// are all that is selected.
func (d *Data) UserLines() ([]UserLine, error) { return d.userLines(d.exclusiveTimes()) }

// userLines is UserLines with the times of nodes, nil: there are none.
func (d *Data) userLines(all *nodeTimes) ([]UserLine, error) {
	bySite, err := d.SiteAmounts()
	if err != nil {
		return nil, err
	}
	places, own := d.userPlaces(), make([]q.Amount, len(d.Nodes))
	for i, a := range bySite {
		addTo(own, d.siteNode[i], a)
	}
	amounts, times := calltree.Sum(own, places.of, places.count()), d.userPlaceTimes(places, all)
	out := make([]UserLine, 0, len(amounts)) // growing would take as much again, several times over
	for i, amount := range amounts {
		row := UserLine{Amount: amount}
		if times != nil {
			row.TimeValue = times[i]
		}
		if row != (UserLine{}) {
			row.UserPlace = places.place(i)
			out = append(out, row)
		}
	}
	order := make([]int32, len(out)) // rows are large
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(x, y int32) int {
		a, b := &out[x], &out[y]
		return cmp.Or(cmp.Compare(a.Process, b.Process), comparePlaces(a.Place, b.Place))
	})
	sorted := make([]UserLine, len(out))
	for i, at := range order {
		sorted[i] = out[at]
	}
	return sorted, nil
}

// userPlaceTimes returns the times of places in user code, given those of nodes; nil without times.
func (d *Data) userPlaceTimes(places userPlaces, all *nodeTimes) []session.TimeValue {
	if all == nil {
		return nil
	}
	times := &nodeTimes{own: all.own, folded: all.folded.clone()}
	of := slices.Clone(places.of)
	called := slices.Clone(places.of)
	for i, n := range d.attribute().nearest {
		if n != int32(i) { // what framework code calls is no call of the line
			called[i] = none
		}
		if times.folded == nil {
			continue
		}
		if times.folded.end[i] { // the time of its folded calls is where they passed
			of[i], called[i] = none, none
		}
		if n != int32(i) && times.folded.inside[i] {
			times.folded.row(int32(i)).counts = counts{}
		}
	}
	sums := timedPlaces{place: of, called: called, places: places.count()}
	d.addPlaces(times, &sums)
	out := make([]session.TimeValue, places.count())
	for i, v := range sums.times() {
		switch out[i] = v.times; {
		case i >= int(places.firstProcess()):
			out[i].Inclusive = out[i].Exclusive
		case i >= len(d.Lines):
			out[i].Calls, out[i].Running = v.calls, v.running
		}
	}
	return out
}

// UserLines returns what objects became that were allocated from places in user code, as Data.UserLines has them.
func (v *Lifetimes) UserLines() map[UserPlace]Lifetime {
	places, out := v.data.userPlaces(), map[UserPlace]Lifetime{}
	for i, l := range calltree.Sum(v.ofNodes(), places.of, places.count()) {
		if !l.IsZero() {
			out[places.place(i)] = l
		}
	}
	return out
}

// UserLines returns what is selected, by place in user code: see Data.UserLines.
func (v *Source) UserLines() ([]UserLine, error) {
	d, err := v.load()
	if err != nil {
		return nil, err
	}
	if v.derived != nil {
		return d.userLines(v.derived.exclusiveTimes())
	}
	return d.UserLines()
}

// OfUserLines reports whether lines are those of user code, with what framework code did for them.
func (s Selection) OfUserLines() bool { return s.code != nil }
