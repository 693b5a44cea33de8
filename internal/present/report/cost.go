package report

import (
	"slices"
	"strings"

	q "github.com/clrprof/clrprof/internal/quantity"
)

// cost is what a row counts for: when rows are hidden, and whether they are too small to be shown.
type cost struct {
	amount q.Amount
	time   q.Time
}

func (w cost) add(o cost) cost { return cost{w.amount.Add(o.amount), w.time.Add(o.time)} }

func (w cost) isZero() bool { return w == cost{} }

func inclusiveCost(r *Row) cost {
	if r.kind == rowCase {
		return cost{} // its test has it
	}
	w := cost{amount: r.values.Inclusive}
	if r.time != nil {
		w.time = r.time.Inclusive
	}
	return w
}

func exclusiveCost(r *Row) cost {
	w := cost{amount: r.values.Exclusive}
	if r.time != nil {
		w.time = r.time.Exclusive
	}
	return w
}

// exclusiveCost is that of the row of a function.
func (v *functionValue) exclusiveCost() cost {
	w := cost{amount: v.amounts.Exclusive}
	if v.time != nil {
		w.time = v.time.Exclusive
	}
	return w
}

// tooSmall reports whether a tree row of a level is under the limit in all that the session holds.
func (b *builder) tooSmall(level int, w cost) bool {
	return b.below(b.options.Min, level, w)
}

// below reports whether a tree row of a level is less than so many percent of all that the session holds, whatever of
// that is looked at. Of a server, Main has nearly all elapsed time, as it waits for the end: what requests do shows as
// CPU time.
func (b *builder) below(percent float64, level int, w cost) bool {
	if percent <= 0 || level == 0 {
		return false
	}
	return q.PercentOf(w.amount.Bytes, b.total.Bytes).Float() < percent &&
		q.PercentOf(w.amount.Allocations, b.total.Allocations).Float() < percent &&
		q.PercentOf(w.time.Elapsed, b.totalTime.Inclusive.Elapsed).Float() < percent &&
		q.PercentOf(w.time.CPU, b.totalTime.Inclusive.CPU).Float() < percent
}

// measures names what tooSmall looks at.
func (c *context) measures() string {
	switch {
	case !c.hasTime():
		return "bytes and of allocations"
	case !c.hasMemory():
		return "time and of CPU time"
	}
	return "time, of CPU time, of bytes and of allocations"
}

// shares says what part of all a hidden rest is: of what the table's columns of text show, and of the kind of time that
// rows are ordered by. Of shares of the waste it is one, too.
func (t *Table) shares(w cost) []Share {
	c, order := t.context, t.Order
	if !t.waste.IsZero() {
		return []Share{{q.PercentOf(w.amount.Bytes, t.waste.Bytes), "the waste"}}
	}
	shows := func(data dataSet) bool {
		return slices.ContainsFunc(t.TextColumns, func(key string) bool { return c.column(key).data == data })
	}
	bytes := Share{q.PercentOf(w.amount.Bytes, c.total.Bytes), "bytes"}
	if !c.hasTime() || c.hasMemory() && !shows(dataTime) {
		return []Share{bytes}
	}
	if order == "awaited" { // a method awaits while what it awaits does: that does not add up
		return nil
	}
	all := c.totalTime.Inclusive
	time := Share{q.PercentOf(c.elapsed(w.time), c.elapsed(all)), "time"}
	switch {
	case strings.Contains(order, "application"):
		time = Share{q.PercentOf(w.time.Application, all.Application), "application time"}
	case strings.Contains(order, "cpu") && !strings.Contains(order, "off_cpu"):
		time = Share{q.PercentOf(w.time.CPU, all.CPU), "CPU time"}
	case strings.Contains(order, "blocked"):
		time = Share{q.PercentOf(w.time.Blocked, all.Blocked), "blocked time"}
	case strings.Contains(order, "waited"):
		time = Share{q.PercentOf(waited(w.time), waited(all)), "waiting"}
	}
	if c.hasMemory() && shows(dataMemory) {
		return []Share{time, bytes}
	}
	return []Share{time}
}
