package report

import (
	"fmt"

	"github.com/clrprof/clrprof/internal/analysis"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

const (
	// maxHolders is how many holders of a type have rows, and maxHeldPlaces how many places each: strings have hundreds
	// of both, and the first ones have nearly all bytes. One row more has the rest, so that rows add up.
	maxHolders    = 12
	maxHeldPlaces = 5
)

// holder is who holds objects of a type, and below it the places in user code that made these.
type holder struct {
	row    Row
	places []Row
}

// holderRows are who holds the objects of a type, each object once, in the order of bytes. They need a snapshot that
// has holders: nil, if it has none.
func (b *builder) holderRows(of *Row) ([]Row, error) {
	holds, err := b.source.Holds(of.typ)
	if err != nil {
		return nil, err
	}
	statics, err := analysis.ReadStatics(b.source.Session())
	if err != nil {
		return nil, err
	}
	var list []*holder
	by := map[session.SnapshotHolder]*holder{}
	for i := range holds {
		h := &holds[i]
		if h.Holder.Process != of.process {
			continue
		}
		to := by[h.Holder]
		if to == nil {
			to = &holder{row: b.holderRow(&h.Holder, statics, of)}
			by[h.Holder] = to
			list = append(list, to)
		}
		to.row.heap.add(h.Amount)
		if !b.source.HasEstimates() || h.From.Function != 0 { // who made what was not sampled is not known
			to.places = append(to.places, b.heldPlace(h, of))
		}
	}
	sortByBytes(list)
	var out []Row
	rest := heapRow{whole: of.heap.whole, noRetained: true}
	for i, h := range list {
		if i >= maxHolders {
			rest.add(h.row.heap.amount())
			continue
		}
		out = append(append(out, h.row), firstPlaces(h.places)...)
	}
	if n := len(list) - maxHolders; n > 0 {
		out = append(out, Row{kind: rowOutside, level: 1, process: of.process, heap: &rest,
			text: fmt.Sprintf("(%s)", counted(n, "more holder"))})
	}
	return out, nil
}

// firstPlaces are the first places of a holder, and a row of the others. Places are in the order of bytes.
func firstPlaces(places []Row) []Row {
	if len(places) == 1 && places[0].from.Function == 0 {
		return nil // it would say that nothing is known
	}
	if len(places) <= maxHeldPlaces {
		return places
	}
	rest := places[maxHeldPlaces]
	sum := *rest.heap
	for _, p := range places[maxHeldPlaces+1:] {
		sum.add(p.heap.amount())
	}
	return append(places[:maxHeldPlaces:maxHeldPlaces], Row{kind: rowOutside, level: 2, process: rest.process,
		heap: &sum, text: fmt.Sprintf("(%s)", counted(len(places)-maxHeldPlaces, "more place"))})
}

// holderRow is the row of a holder of objects of a type, which holds nothing yet.
func (b *builder) holderRow(h *session.SnapshotHolder, statics *analysis.Statics, of *Row) Row {
	row := Row{kind: rowRoot, level: 1, typ: h.Through, function: h.Function, process: of.process,
		held: &rootRow{kind: h.Kind, flags: h.Flags, through: h.Through != 0},
		heap: &heapRow{whole: of.heap.whole, noRetained: true}}
	if field := statics.Field(h.Process, h.Static); field != nil {
		row.typ, row.held.static = field.Type, field
	}
	row.module = b.types.get(row.typ).Module
	if row.typ == 0 && h.Function != 0 {
		row.module = b.functions.get(h.Function).Module
	}
	return row
}

func (b *builder) heldPlace(h *analysis.Hold, of *Row) Row {
	place := Row{kind: rowFunction, level: 2, function: h.From.Function, from: h.From, process: of.process,
		module: b.functions.get(h.From.Function).Module, heap: &heapRow{whole: of.heap.whole, noRetained: true}}
	if h.From.Function == 0 {
		place.kind, place.text = rowOutside, "(code that is not yours)"
	}
	made := h.Amount
	if b.source.HasEstimates() {
		made = h.Estimate
	}
	place.heap.add(made)
	return place
}

// add counts more objects in the row.
func (h *heapRow) add(a q.Amount) {
	sum := h.amount().Add(a)
	h.objects, h.bytes, h.sampled = sum.Allocations, sum.Bytes, sum.Sampled
}
