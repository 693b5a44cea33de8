package report

import "slices"

// Limit leaves the first rows of the table, at most so many. Every format then says whether there are more: JSON is an
// object with the rows instead of an array.
func (t *Table) Limit(rows int) {
	if !t.limited {
		t.limited, t.all = true, t.shown()
	}
	shown := 0
	for i := range t.Rows {
		if t.IsRest(i) {
			continue
		}
		if shown == rows {
			t.Rows = t.Rows[:i]
			return
		}
		shown++
	}
}

// First returns the table with the first rows of its list alone, at most so many, and a row for the others.
func (t *Table) First(rows int) *Table {
	if t.shown() <= rows {
		return t
	}
	out := *t
	out.Rows = slices.Clone(t.Rows[:rows])
	rest := Row{kind: rowRest}
	for i := range t.Rows[rows:] {
		r := &t.Rows[rows+i]
		switch {
		case r.kind == rowRest:
			rest.rest, rest.text, rest.hidden = rest.rest+r.rest, r.text, rest.hidden.add(r.hidden)
			rest.exclusive = rest.exclusive || r.exclusive
		default:
			rest.addHidden(r, exclusiveCost)
		}
	}
	out.Rows = append(out.Rows, rest)
	return &out
}

// addHidden adds a row to those that a rest row stands for; value says what a row has there.
func (r *Row) addHidden(of *Row, value func(*Row) cost) {
	r.rest++
	r.level, r.role = of.level, of.role
	r.text = string(of.kind)
	if of.kind == rowBody || of.kind == rowOutside { // among lines
		r.text = string(rowLine)
	}
	r.hidden = r.hidden.add(value(of))
	r.exclusive = r.exclusive || value(of) != inclusiveCost(of)
}

// Left returns how many rows Limit left out.
func (t *Table) Left() int {
	if !t.limited {
		return 0
	}
	return t.all - t.shown()
}

// shown counts the rows that stand for themselves.
func (t *Table) shown() int {
	n := 0
	for i := range t.Rows {
		if !t.IsRest(i) {
			n++
		}
	}
	return n
}

// InAll returns how many rows there were before Limit; ok: Limit was asked for.
func (t *Table) InAll() (rows int, ok bool) { return t.all, t.limited }
