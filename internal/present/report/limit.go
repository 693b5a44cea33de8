package report

import "slices"

// Limit leaves the first rows of the table, at most so many. Every format then says whether there are more: JSON is an
// object with the rows instead of an array.
func (t *Table) Limit(rows int) {
	if !t.limited {
		t.limited, t.all = true, t.shown()
	}
	t.leave(rows)
	for i := range t.Functions {
		rows -= t.Functions[i].leave(rows)
	}
}

// Skip leaves out the first rows, after which Limit leaves so many of the others. InAll counts them, too.
func (t *Table) Skip(rows int) {
	if !t.limited {
		t.limited, t.all = true, t.shown()
	}
	at := 0
	for ; at < len(t.Rows) && rows > 0; at++ {
		if !t.IsRest(at) && t.Rows[at].kind != rowSource {
			rows--
		}
	}
	t.Rows = t.Rows[at:]
}

// leave leaves the first rows, at most so many, and returns how many these are.
func (t *Table) leave(rows int) int {
	shown := 0
	for i := range t.Rows {
		if t.IsRest(i) || t.Rows[i].kind == rowSource {
			continue
		}
		if shown == rows {
			t.Rows = t.Rows[:i]
			break
		}
		shown++
	}
	return shown
}

// leave does it in the sections of a function, in their order.
func (d *FunctionDetails) leave(rows int) int {
	shown := 0
	for _, section := range []*Table{d.Callers, d.Itself, d.Callees, d.Lines} {
		all := len(section.Rows)
		shown += section.leave(rows - shown)
		section.limited = len(section.Rows) < all
	}
	d.Source = d.Source[:len(d.Lines.Rows)]
	return shown
}

// IsCut reports whether Limit left rows of a section of a function out.
func (t *Table) IsCut() bool { return t.limited }

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
	w := value(of)
	r.hidden = r.hidden.add(w)
	r.exclusive = r.exclusive || w != inclusiveCost(of)
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

// limiter is limit for rows that come one by one: those that it cuts are not kept.
type limiter struct {
	b     *builder
	value func(*Row) cost
	list  []Row
	rest  Row
	worst Cell // what the first rows so far are ordered by at least; good if full
	full  bool
}

func (b *builder) newLimiter(value func(*Row) cost) *limiter {
	return &limiter{b: b, value: value, rest: Row{kind: rowRest}}
}

// mostWaiting is how many rows wait until they are compared with the first ones, for each of these, and at least.
const (
	mostWaiting  = 16
	leastWaiting = 1 << 11
)

// hide hides a row that all of the first rows come before, whatever comes later; false: it is to be added.
func (l *limiter) hide(r *Row) bool {
	if !l.isBehind(r) {
		return false
	}
	l.rest.addHidden(r, l.value)
	return true
}

// isBehind reports whether all of the first rows come before a row, whatever comes later.
func (l *limiter) isBehind(r *Row) bool {
	return l.full && compare(l.b.order, l.b.order.cell(l.b.context, r), l.worst) > 0
}

// hideAll hides so many rows of which there is the sum.
func (l *limiter) hideAll(rows int, sum *Row) {
	if rows > 0 {
		l.rest.addHidden(sum, l.value)
		l.rest.rest += rows - 1
	}
}

// add adds a row.
func (l *limiter) add(r Row) {
	top := l.b.options.Top
	if l.list = append(l.list, r); top <= 0 || len(l.list) < max(mostWaiting*top, leastWaiting) {
		return
	}
	l.b.front(l.list, top)
	for i := range l.list[top:] {
		l.rest.addHidden(&l.list[top+i], l.value)
	}
	l.list = l.list[:top]
	if by := l.b.order; by.cell != nil {
		l.worst, l.full = by.cell(l.b.context, &l.list[top-1]), true
	}
}

// rows returns the rows that are shown.
func (l *limiter) rows() []Row {
	b, list := l.b, l.list
	keep := len(list)
	if b.options.Top > 0 {
		keep = min(keep, b.options.Top)
	}
	b.front(list, keep)
	var out []Row
	for i := range list {
		if i < keep && !b.tooSmall(list[i].level, inclusiveCost(&list[i])) {
			out = append(out, list[i])
			continue
		}
		l.rest.addHidden(&list[i], l.value)
	}
	switch {
	case l.rest.rest == 0:
	case b.tooSmall(1, l.rest.hidden): // said once for the whole tree
		b.trimmed = true
	default:
		out = append(out, l.rest)
	}
	return out
}
