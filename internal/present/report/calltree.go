package report

import (
	"cmp"

	"github.com/clrprof/clrprof/internal/analysis"
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
