package report

import (
	"cmp"
	"slices"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/session"
)

// functionsView is the list of functions.
var functionsView = View{
	Name:          "functions",
	Short:         "one row per function: what it and its callees allocated, and how long they took",
	Text:          Options{Top: 30},
	Ranged:        true,
	Followed:      true,
	code:          true,
	sparse:        true,
	columns:       keys(identity + amounts),
	text:          keys("name " + textAmounts + " module"),
	sort:          "inclusive_bytes",
	build:         buildFunctions,
	groups:        []string{string(analysis.ByModule), string(analysis.ByNamespace)},
	awaits:        true,
	optional:      bothLifetimes,
	asked:         keys("route"),
	readLifetimes: func(b *builder, l *analysis.Lifetimes) { b.lifetimes.functions = l.Functions() },
	timed: timedView{
		columns: keys(timeKeys(true)),
		text:    keys(textTimes),
		both:    keys(textBoth),
		sort:    "elapsed_inclusive",
	},
}

// buildFunctions lists the functions that filters by name select, and not those that only call them: callers have
// nothing of their own in such a part of the run, and are in the views of callers and trees.
func buildFunctions(b *builder) error {
	selected := b.source.Selection()
	if b.options.Range == "" && b.options.By == "" {
		each, err := b.eachFunction()
		if err == nil {
			b.table.Rows = b.limitOf(func(yield func(*Row) bool) {
				each(func(r *Row) bool { return !selected.HasFunction(r.function) || yield(r) })
			}, exclusiveCost)
		}
		return err
	}
	list, err := b.functionRows()
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(r Row) bool { return !selected.HasFunction(r.function) })
	var all []Row
	if b.options.Range != "" {
		if all, list, err = b.inRange(list); err != nil {
			return err
		}
	}
	if b.options.By != "" {
		return b.inGroups(list)
	}
	b.table.Rows = append(all, b.limit(list, exclusiveCost)...)
	return nil
}

// inGroups adds functions below the modules or namespaces that they are in.
func (b *builder) inGroups(functions []Row) error {
	groups, err := b.groupsOf(b.options.By)
	if err != nil {
		return err
	}
	at := map[session.FunctionID]int{}
	for i := range groups {
		for _, id := range groups[i].of {
			at[id] = i
		}
		groups[i].row.rest = i
	}
	below, roots := make([][]Row, len(groups)), make([]Row, 0, len(groups))
	for _, r := range functions {
		if n, ok := at[r.function]; ok {
			r.level = 1
			below[n] = append(below[n], r)
		}
	}
	for i := range groups {
		if len(below[i]) > 0 {
			roots = append(roots, groups[i].row)
		}
	}
	b.note(NoteGroups, b.options.By)
	return b.tree(roots, exclusiveCost, func(r *Row) ([]Row, error) {
		if r.kind == rowFunction {
			return nil, nil
		}
		return below[r.rest], nil
	})
}

// functionGroup is the row of a module or namespace, with the functions that are in it.
type functionGroup struct {
	row Row
	of  []session.FunctionID
}

// groupsOf returns the modules or namespaces.
func (b *builder) groupsOf(by analysis.By) ([]functionGroup, error) {
	var out []functionGroup
	if by == analysis.ByModule {
		modules, err := b.moduleRows()
		of := map[session.ModuleID][]session.FunctionID{}
		for i := range b.functions.list {
			f := &b.functions.list[i]
			of[f.Module] = append(of[f.Module], f.ID)
		}
		for _, r := range modules {
			out = append(out, functionGroup{r, of[r.module]})
		}
		return out, err
	}
	namespaces, err := b.source.Namespaces()
	for _, n := range namespaces {
		row := Row{kind: rowNamespace, process: n.Process, text: cmp.Or(n.Name, analysis.NoNamespace), values: n.Memory}
		if b.hasTime() {
			row.time = single(&n.Time, &n.Single)
		}
		row.time = b.orNone(row.time, row.process)
		out = append(out, functionGroup{row, n.Functions})
	}
	return out, err
}

// inRange leaves the functions that the range names, and makes a row for all of them.
func (b *builder) inRange(list []Row) (all, in []Row, err error) {
	r, err := b.source.Range(b.options.Range)
	if err != nil {
		return nil, nil, err
	}
	if len(r.Functions) == 0 {
		return nil, nil, &UnknownError{What: "range of functions", Name: b.options.Range}
	}
	wanted := map[session.FunctionID]bool{}
	for _, f := range r.Functions {
		wanted[f] = true
	}
	in = slices.DeleteFunc(list, func(r Row) bool { return !wanted[r.function] })
	row := Row{kind: rowRange, text: "(range " + b.options.Range + ")", values: r.Memory}
	if b.hasTime() {
		row.time = single(&r.Time, &r.Single)
	}
	return []Row{row}, in, nil
}
