package report

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
