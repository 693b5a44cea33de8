package top

import (
	"cmp"
	"slices"

	"github.com/clrprof/clrprof/internal/capture/live"
	"github.com/clrprof/clrprof/internal/quantity"
)

// Screen is what is shown of a recording.
type Screen struct {
	last      live.Message
	rate      live.Numbers
	hasRate   bool
	functions table
	types     table
	gcs       []live.GC // the last one first
}

// table has the rows of a list in no order.
type table struct {
	rows    []row
	leftOut int       // rows that a View has no room for
	rest    live.Rest // of the last message
}

type row struct {
	name        string
	rate, total live.Numbers
	few         bool // of an estimate: it may be from too few samples for a number
}

// NewScreen takes what a view shows now.
func NewScreen(v *live.View) Screen {
	s := Screen{last: v.Last, rate: v.Rate(), hasRate: v.Span() > 0, gcs: slices.Clone(v.GCs)}
	s.functions, s.types = newTable(v, &v.Functions, v.Last.Functions.Rest), newTable(v, &v.Types, v.Last.Types.Rest)
	slices.Reverse(s.gcs)
	return s
}

func newTable(v *live.View, e *live.Entries, rest live.Rest) table {
	t := table{leftOut: e.LeftOut, rest: rest}
	for _, entry := range e.Rows {
		few := v.Last.Estimated && quantity.SamplesIn(entry.Total.Bytes) < quantity.LeastSamples
		t.rows = append(t.rows, row{entry.Short, v.RateOf(entry), entry.Total, few})
	}
	return t
}

// Order is by which value a list is sorted, largest first.
type Order int

// Orders, in the order in which the key s goes through them.
const (
	byByteRate Order = iota
	byObjectRate
	byCallRate
	byBytes
	byObjects
	byCalls

	orders
)

var orderNames = [orders]string{"bytes/s", "objects/s", "calls/s", "bytes", "objects", "calls"}

// Orders are the names of the orders, by number.
func Orders() []string { return orderNames[:] }

// value is what an order compares.
func (o Order) value(r *row) int64 {
	n := &r.total
	if o < byBytes {
		n = &r.rate
	}
	switch o % byBytes {
	case byByteRate:
		return int64(n.Bytes)
	case byObjectRate:
		return int64(n.Allocations)
	}
	return int64(n.Calls)
}

// sort sorts rows; what is equal by name.
func (t *table) sort(o Order) {
	last := func(r *row) int {
		if r.few {
			return 1
		}
		return 0
	}
	slices.SortFunc(t.rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(last(&a), last(&b)), cmp.Compare(o.value(&b), o.value(&a)),
			cmp.Compare(b.total.Bytes, a.total.Bytes),
			cmp.Compare(a.name, b.name))
	})
}
