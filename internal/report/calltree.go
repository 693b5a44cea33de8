package report

import (
	"cmp"
	"slices"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/calltree"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// callTreeView is the call tree.
var callTreeView = View{
	Name:    "calltree",
	Short:   "processes, and below them who called whom",
	Text:    Options{Top: 10, Depth: 40, Min: 0.5},
	Shaped:  true,
	isTree:  true,
	columns: keys("name level " + identity[len("name "):] + amounts),
	text: keys("name inclusive_bytes inclusive_bytes_percent exclusive_bytes exclusive_bytes_percent " +
		"inclusive_allocations module exclusive_allocations"),
	sort:     "inclusive_bytes",
	build:    buildCallTree,
	groups:   []string{string(analysis.ByModule), string(analysis.ByNamespace)},
	awaits:   true,
	optional: bothLifetimes,
	readLifetimes: func(b *builder, l *analysis.Lifetimes) {
		b.lifetimes.paths, b.lifetimes.processes = l.Paths(), l.Processes()
	},
	timed: timedView{
		columns: keys(timeKeys(true)),
		text:    keys(textTimes),
		both:    keys(textBoth),
		sort:    "elapsed_inclusive",
	},
}

func buildCallTree(b *builder) error {
	roots, err := b.processRows()
	if err != nil {
		return err
	}
	for i := range roots {
		asRoot(&roots[i])
	}
	if roots, err = b.shape(roots); err != nil {
		return err
	}
	if b.options.Hot {
		return b.onlyHot(roots)
	}
	if b.options.BottomUp {
		return b.bottomUp(roots)
	}
	return b.tree(roots, inclusiveCost, b.pathsBelow)
}

// asRoot makes the row of a process the root of its call tree: itself it allocates nothing, takes no time and is not
// called.
func asRoot(r *Row) {
	r.values.Exclusive = q.Amount{}
	if r.time != nil {
		t := *r.time
		t.Exclusive, t.Calls, t.Running = q.Time{}, 0, 0
		r.time = &t
	}
}

func (c *context) pathRow(p session.PathValue) Row {
	row := c.functionRow(p.Function, p.Amounts)
	row.path, row.level, row.process = p.ID, int(max(p.Level, 0)), p.Process // a damaged session may have any level
	if c.logical != nil {
		row.async, row.await = c.logical.Role(p.ID), c.logical.Await(p.ID)
	}
	if row.async == analysis.AsyncGroup {
		c.asGroup(&row, c.treeBy)
	}
	return row
}

// asGroup makes the row of a function that of its module or namespace.
func (c *context) asGroup(r *Row, by analysis.By) {
	f := c.functions.get(r.function)
	r.async, r.function = analysis.AsyncNone, 0
	if r.kind = rowModule; by == analysis.ByNamespace {
		r.kind, r.module = rowNamespace, 0
		r.text = cmp.Or(analysis.FunctionNamespace(f), analysis.NoNamespace)
	}
}

// hotPath returns the hot path from a row of the call tree, without it: by what weighs, bytes or time.
func (c *context) hotPath(from Row, weight func(cost) int64) ([]Row, error) {
	return calltree.HotPath(from, weight(exclusiveCost(&from)), func(r Row) ([]calltree.Weighted[Row], error) {
		below, err := c.pathsBelow(&r)
		if recorded := c.recorded(below, weight); len(recorded) > 0 {
			below = recorded
		}
		var out []calltree.Weighted[Row]
		for _, b := range below {
			out = append(out, calltree.Weighted[Row]{Node: b, Inclusive: weight(inclusiveCost(&b)),
				Exclusive: weight(exclusiveCost(&b))})
		}
		return out, err
	})
}

// isExcluded reports whether a row stands for code that is not recorded.
func (c *context) isExcluded(r *Row) bool {
	f := c.functions.get(r.function)
	return r.function != 0 && f.Kind == session.FunctionPseudo && f.RawName == session.NameExcluded
}

// recorded are those of some rows that weigh something, without those of code that is not recorded: the hot path goes
// past that, however much it is, as it ends there and leads nowhere.
func (c *context) recorded(rows []Row, weight func(cost) int64) []Row {
	var out []Row
	for i := range rows {
		if !c.isExcluded(&rows[i]) && weight(inclusiveCost(&rows[i])) > 0 {
			out = append(out, rows[i])
		}
	}
	return out
}

// passed is the row of code that is not recorded which the hot path from a row goes past, though it weighs more; nil:
// there is none.
func (c *context) passed(from Row, hot []Row, weight func(cost) int64) (*Row, error) {
	below, err := c.pathsBelow(&from)
	for i := range below {
		if r := &below[i]; len(hot) > 0 && c.isExcluded(r) && !c.isExcluded(&hot[0]) &&
			weight(inclusiveCost(r)) > weight(inclusiveCost(&hot[0])) {
			return r, err
		}
	}
	return nil, err
}

// share is the part of what a row weighs that another one does.
func share(of, part Row, weight func(cost) int64) q.Percent {
	return q.PercentOf(q.Bytes(weight(inclusiveCost(&part))), q.Bytes(weight(inclusiveCost(&of))))
}

// onlyHot shows the hot path of the root that weighs most.
func (b *builder) onlyHot(roots []Row) error {
	if len(roots) == 0 {
		return nil
	}
	heaviest, hot, err := b.hottest(roots)
	if err != nil {
		return err
	}
	b.table.Rows = append([]Row{heaviest}, hot...)
	b.noteHot()
	passed, err := b.passed(heaviest, hot, b.heavier())
	if passed != nil {
		b.note(NoteHotPassed, share(heaviest, *passed, b.heavier()), pick(b.hasTime(), "time", "bytes"))
	}
	return err
}

// noteHot says what the hot path is of.
func (b *builder) noteHot() {
	what := "bytes"
	if b.hasTime() {
		what = "time"
	}
	b.note(NoteHotPath, what)
}

// hottest returns the root that weighs most, and the hot path below it.
func (c *context) hottest(roots []Row) (heaviest Row, hot []Row, err error) {
	weight := c.heavier()
	heaviest = slices.MaxFunc(roots, func(x, y Row) int {
		return cmp.Compare(weight(inclusiveCost(&x)), weight(inclusiveCost(&y)))
	})
	hot, err = c.hotPath(heaviest, weight)
	return heaviest, hot, err
}
