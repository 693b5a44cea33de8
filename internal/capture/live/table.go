package live

import (
	"cmp"
	"slices"
)

// maxRows is how many rows a table of a message has at most: more than a screen shows. A message then has some 50 KB.
const maxRows = 200

// changed is a row that differs.
type changed struct {
	id         int
	new, total Sums
}

// difference returns the rows that changed since before, those that changed most first, and what is left out. Half of
// the room is for those with the most calls, if there are calls.
func difference(now, before []Sums, calls bool, most int) ([]changed, Rest) {
	var rows []changed
	for i := range now {
		d := now[i]
		if i < len(before) {
			d = d.Sub(before[i])
		}
		if !d.IsZero() {
			rows = append(rows, changed{i, d, now[i]})
		}
	}
	kept := 0
	if calls && len(rows) > most {
		slices.SortFunc(rows, func(a, b changed) int {
			return cmp.Or(cmp.Compare(b.new.Calls, a.new.Calls), cmp.Compare(a.id, b.id))
		})
		kept = most / 2
	}
	byBytes := func(a, b changed) int {
		return cmp.Or(cmp.Compare(b.new.Bytes, a.new.Bytes), cmp.Compare(b.new.Allocations, a.new.Allocations),
			cmp.Compare(b.new.Calls, a.new.Calls), cmp.Compare(a.id, b.id))
	}
	slices.SortFunc(rows[kept:], byBytes)
	var rest Rest
	if len(rows) > most {
		var left Sums
		for _, row := range rows[most:] {
			left = left.Add(row.new)
		}
		rest = Rest{len(rows) - most, numbers(left)}
		rows = rows[:most]
	}
	slices.SortFunc(rows, byBytes)
	return rows, rest
}

func (f *Feed) functionTable(now, before []Sums, calls bool) Table {
	rows, rest := difference(now, before, calls, maxRows)
	f.names.nameFunctions(rows)
	out := Table{Rows: make([]Row, len(rows)), Rest: rest}
	for i, row := range rows {
		out.Rows[i] = f.names.functions[row.id].row(row)
	}
	return out
}

func (f *Feed) typeTable(now, before []Sums) Table {
	rows, rest := difference(now, before, false, maxRows)
	f.names.nameTypes(rows)
	out := Table{Rows: make([]Row, len(rows)), Rest: rest}
	for i, row := range rows {
		out.Rows[i] = f.names.types[row.id].row(row)
	}
	return out
}

func (l label) row(c changed) Row {
	return Row{ID: int64(c.id), Name: l.name, Short: l.short, Module: l.module, New: numbers(c.new),
		Total: numbers(c.total)}
}
