package report

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	q "github.com/clrprof/clrprof/internal/quantity"
)

// builder is a view under construction.
type builder struct {
	*context
	view      View
	options   Options
	available []string // columns that can be asked for
	order     Column
	table     *Table
	cut       bool // there are levels below the last that is shown
	trimmed   bool // rows were hidden that are too little, all together, for a rest row
	keeps     bool // a tree from below is asked more than once for the same rows
}

func (v View) buildIn(c *context, o Options) (*Table, error) {
	v, err := v.groupedBy(o.By)
	if err != nil {
		return nil, err
	}
	available := v.available()
	if v.counted(c) {
		available = append(available, c.counters.keys...)
	}
	if v, err = v.withData(c); err != nil {
		return nil, err
	}
	if v.adapt != nil {
		v = v.adapt(c, v)
	}
	if o.BottomUp {
		v, available = v.exclusive(), exclusiveKeys(available)
	}
	b := &builder{context: c, view: v, options: o, available: available,
		table: &Table{View: v.Name, IsTree: v.isTree, TextColumns: v.text, context: c}}
	if err := b.chooseColumns(); err != nil {
		return nil, err
	}
	if b.table.Notes, err = c.notes(); err != nil {
		return nil, err
	}
	if c.raw {
		b.note(NoteRaw)
	}
	if n := c.unknownAwaits(); n > 0 && v.awaits && c.hasTime() {
		b.note(NoteAwaitsUnknown, Things{n, "async method"})
	}
	if b.table.Losses, err = c.losses(); err != nil {
		return nil, err
	}
	b.showOrder()
	b.showProcess()
	err = v.build(b)
	if b.cut {
		b.next(NoteDeeper, Things{o.Depth, "level"})
	}
	if b.trimmed {
		b.next(NoteSmaller, o.Min, c.measures())
	}
	return b.table, err
}

// chooseColumns takes the columns and the order that are asked for, or the view's own, and reads what they need.
func (b *builder) chooseColumns() error {
	v, o := b.view, b.options
	wanted := v.columns
	if o.Range != "" { // it tells the row of the range
		wanted = slices.Insert(slices.Clone(wanted), 1, "kind")
		b.available = append(b.available, "kind")
	}
	if len(o.Columns) > 0 {
		wanted, b.table.TextColumns = o.Columns, o.Columns
	}
	key := cmp.Or(o.Sort, v.sort)
	for _, k := range append(slices.Clone(wanted), key) {
		if k != "" && !slices.Contains(b.available, k) {
			return Unknown("column", k, slices.Concat(v.columns, v.timed.columns))
		}
		if err := b.checkData(k); err != nil {
			return err
		}
	}
	for _, k := range wanted {
		b.table.Columns = append(b.table.Columns, b.column(k))
	}
	if len(o.Columns) == 0 { // columns that only text has
		for _, k := range v.text {
			if !slices.Contains(v.columns, k) {
				column := b.column(k)
				column.textOnly = true
				b.table.Columns = append(b.table.Columns, column)
			}
		}
	}
	b.order, b.table.Order = b.column(key), key
	if v.places {
		if err := b.readPlaces(); err != nil {
			return err
		}
	}
	if v.readLifetimes == nil || !slices.ContainsFunc(append(slices.Clone(o.Columns), key), func(k string) bool {
		return slices.Contains(v.optional, k)
	}) {
		return nil
	}
	lifetimes, err := b.source.Lifetimes()
	if err != nil {
		return err
	}
	b.lifetimes = shownLifetimes{}
	v.readLifetimes(b, lifetimes)
	return nil
}

// showProcess adds the process to the columns of text if there are several.
func (b *builder) showProcess() {
	t := b.table
	if len(b.processes.list) < 2 || len(b.source.Selection().Processes) == 1 || len(b.options.Columns) > 0 ||
		!slices.Contains(b.view.columns, "process_id") || slices.Contains(t.TextColumns, "process_id") {
		return
	}
	t.TextColumns = slices.Insert(slices.Clone(t.TextColumns), 1, "process_id")
}

// showOrder puts the column of times that the rows are ordered by, if that was asked for, before the others: a narrow
// terminal leaves out the last ones.
func (b *builder) showOrder() {
	t, key := b.table, b.options.Sort
	if key == "" || len(b.options.Columns) > 0 || b.order.data != dataTime {
		return
	}
	first := []string{key}
	if share := key + "_percent"; b.column(share).Key != "" {
		first = append(first, share)
	}
	rest := slices.DeleteFunc(slices.Clone(t.TextColumns), func(k string) bool { return slices.Contains(first, k) })
	names := max(0, slices.IndexFunc(rest, func(k string) bool { return b.column(k).Kind.IsNumeric() }))
	t.TextColumns = slices.Concat(rest[:names], first, rest[names:])
	for _, k := range first {
		if !slices.ContainsFunc(t.Columns, func(c Column) bool { return c.Key == k }) {
			column := b.column(k)
			column.textOnly = true
			t.Columns = append(t.Columns, column)
		}
	}
}

// first returns as many rows as --top asks for, and says how many more there are; more names one of them.
func (b *builder) first(rows []Row, more string) []Row {
	n := len(rows) - b.options.Top
	if b.options.Top <= 0 || n <= 0 {
		return rows
	}
	b.next(NoteMore, Things{n, more})
	return rows[:b.options.Top]
}

// sorted orders rows by the column: numbers descending, text ascending, equal ones by
// name and then as they were.
func (b *builder) sorted(list []Row) []Row {
	order := make([]int32, len(list)) // rows are large, and there can be a million
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, b.inOrder(list))
	old := slices.Clone(list)
	for i, at := range order {
		list[i] = old[at]
	}
	return list
}

// inOrder compares rows of a list, by position, as sorted has them.
func (b *builder) inOrder(list []Row) func(x, y int32) int {
	by, name := b.order, allColumns["name"]
	var keys []Cell
	if by.cell != nil {
		keys = make([]Cell, len(list))
		for i := range list {
			keys[i] = by.cell(b.context, &list[i])
		}
	}
	return func(x, y int32) int {
		if keys != nil {
			if d := compare(by, keys[x], keys[y]); d != 0 {
				return d
			}
		}
		return cmp.Or(compare(name, name.cell(b.context, &list[x]), name.cell(b.context, &list[y])), cmp.Compare(x, y))
	}
}

// mostPicked is how many rows are picked out of a list one by one: each is put in its place among those before it.
const mostPicked = 1_000

// front puts the first n rows, as sorted has them, at the beginning of a list, and leaves the others in any order: the
// names of a million rows that nobody sees are not compared.
func (b *builder) front(list []Row, n int) {
	if n == 0 || n >= len(list)/4 || n > mostPicked {
		b.sorted(list)
		return
	}
	inOrder, best := b.inOrder(list), make([]int32, 0, n+1)
	for i := range int32(len(list)) {
		if len(best) == n && inOrder(i, best[n-1]) > 0 {
			continue
		}
		at, _ := slices.BinarySearchFunc(best, i, inOrder)
		best = slices.Insert(best, at, i)
		best = best[:min(len(best), n)]
	}
	rows, picked := make([]Row, n), make(map[int32]bool, n)
	for i, at := range best {
		rows[i], picked[at] = list[at], true
	}
	to := len(list) - 1
	for i := to; i >= 0; i-- {
		if !picked[int32(i)] {
			if i != to {
				list[to] = list[i]
			}
			to--
		}
	}
	copy(list, rows)
}

func compare(column Column, x, y Cell) int {
	switch {
	case x.Empty != y.Empty:
		if x.Empty {
			return 1
		}
		return -1
	case column.Kind == Percent:
		return cmp.Compare(y.Percent.Part, x.Percent.Part)
	case column.Kind.IsNumeric() && column.Kind != Number && column.Kind != Address && column.Kind != Time:
		return cmp.Compare(y.Number, x.Number)
	case column.Kind.IsNumeric():
		return cmp.Compare(x.Number, y.Number) // ids, lines, addresses and times ascend
	}
	return strings.Compare(x.Text, y.Text)
}

// limit sorts rows and cuts them. What is cut becomes a rest row; value says what
// a row has there, so that nothing counts twice.
func (b *builder) limit(list []Row, value func(*Row) cost) []Row {
	if b.options.nonzero {
		list = slices.DeleteFunc(list, func(r Row) bool { return b.order.cell(b.context, &r).Number == 0 })
	}
	l := b.newLimiter(value)
	l.list = list
	return l.rows()
}

// limitOf is limit for rows that stay as they are. There can be many more than are shown, so only those are copied that
// may be, and the next row can overwrite one, and its time.
func (b *builder) limitOf(list iter.Seq[*Row], value func(*Row) cost) []Row {
	l := b.newLimiter(value)
	for r := range list {
		if b.options.nonzero && b.order.cell(b.context, r).Number == 0 || l.hide(r) {
			continue
		}
		row := *r
		if row.time != nil {
			row.time = new(*row.time)
		}
		l.add(row)
	}
	return l.rows()
}

// counted prints a number of things: "1 event", "1,234 events", "2 processes".
func counted[T ~int | ~int64](n T, thing string) string {
	return q.Count(n).Of(thing)
}

// tree adds rows and what is below them, depth first and without recursion.
func (b *builder) tree(roots []Row, value func(*Row) cost, children func(*Row) ([]Row, error)) error {
	type frame struct {
		rows []Row
		next int
	}
	stack := []frame{{rows: b.limit(roots, value)}}
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		if top.next == len(top.rows) {
			stack = stack[:len(stack)-1]
			continue
		}
		row := top.rows[top.next]
		top.next++
		b.table.Rows = append(b.table.Rows, row)
		if row.kind == rowRest || b.view.Paths && b.options.Depth == 1 && b.options.By == "" {
			continue
		}
		deepest := b.isDeepest(&row)
		if deepest && b.cut { // that there is more is known
			continue
		}
		below, err := children(&row)
		if err != nil {
			return err
		}
		if deepest && len(below) > 0 {
			b.cut = true
		} else if len(below) > 0 {
			stack = append(stack, frame{rows: b.limit(below, value)})
		}
	}
	return nil
}

// isDeepest reports whether what is below a row of a tree is not shown, but that it is there.
func (b *builder) isDeepest(r *Row) bool { return b.options.Depth > 0 && r.level+1 >= b.options.Depth }
