package analysis

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// ErrNoMemory means that allocations were not counted.
var ErrNoMemory = errors.New("this session holds no allocations: it was recorded with --time alone")

// ErrNothingInCommon means that no column can be compared.
var ErrNothingInCommon = errors.New("the sessions have nothing in common: " +
	"one was recorded with --time alone, the other without it")

// Change is something that two sessions of a program have, by its key, with a value in each: the sum over its
// processes.
type Change struct {
	Key          string
	Name, Module string
	File         string // of a line
	Line         int64  // of a line: where it is in the new session, or was in the old one
	OldLine      int64  // of a line: where it was; 0: it is not in the old session
	InOld, InNew bool   // has a value there
	Old, New     int64
}

// Delta is by how much the value grew.
func (c *Change) Delta() int64 { return c.New - c.Old }

// Comparison is what two sessions have of one column of a view.
type Comparison struct {
	View, Column string
	Unit         string   // count, bytes or nanoseconds
	Old, New     int64    // the whole; only of columns that add up
	AddsUp       bool     // the column does: inclusive ones do not
	Changes      []Change // of which the values differ, the greatest difference first
}

// comparedColumn is a column that can be compared.
type comparedColumn struct {
	key, unit string
	time      bool
	amount    func(q.Amounts) int64
	value     func(session.TimeValue) int64
}

// amountColumns are columns of memory, timeColumns of times, as views have them.
var (
	amountColumns = []comparedColumn{
		amountColumn("exclusive_bytes", "bytes", func(a q.Amounts) int64 { return int64(a.Exclusive.Bytes) }),
		amountColumn("exclusive_allocations", "count", func(a q.Amounts) int64 { return int64(a.Exclusive.Allocations) }),
		amountColumn("inclusive_bytes", "bytes", func(a q.Amounts) int64 { return int64(a.Inclusive.Bytes) }),
		amountColumn("inclusive_allocations", "count", func(a q.Amounts) int64 { return int64(a.Inclusive.Allocations) }),
	}
	typeColumns = []comparedColumn{
		{key: "bytes", unit: "bytes", amount: amountColumns[0].amount},
		{key: "instances", unit: "count", amount: amountColumns[1].amount},
	}
	timeColumns = []comparedColumn{
		timeColumn("elapsed_exclusive", func(t session.TimeValue) q.Nanoseconds { return t.Exclusive.Elapsed }),
		timeColumn("elapsed_inclusive", func(t session.TimeValue) q.Nanoseconds { return t.Inclusive.Elapsed }),
		timeColumn("application_exclusive", func(t session.TimeValue) q.Nanoseconds { return t.Exclusive.Application }),
		timeColumn("application_inclusive", func(t session.TimeValue) q.Nanoseconds { return t.Inclusive.Application }),
		timeColumn("cpu_exclusive", func(t session.TimeValue) q.Nanoseconds { return t.Exclusive.CPU }),
		timeColumn("cpu_inclusive", func(t session.TimeValue) q.Nanoseconds { return t.Inclusive.CPU }),
		{key: "calls", unit: "count", time: true, value: func(t session.TimeValue) int64 { return int64(t.Calls) }},
	}
)

func amountColumn(key, unit string, amount func(q.Amounts) int64) comparedColumn {
	return comparedColumn{key: key, unit: unit, amount: amount}
}

func timeColumn(key string, value func(session.TimeValue) q.Nanoseconds) comparedColumn {
	return comparedColumn{key: key, unit: "nanoseconds", time: true,
		value: func(t session.TimeValue) int64 { return int64(value(t)) }}
}

// comparedView is a view that can be compared.
type comparedView struct {
	name    string
	columns []comparedColumn
}

// comparedViews are the views that can be compared, with their columns.
var comparedViews = []comparedView{
	{"functions", slices.Concat(timeColumns, amountColumns)},
	{"types", typeColumns},
	{"lines", slices.Concat(timeColumns, amountColumns[:2])},
	{"modules", slices.Concat(timeColumns, amountColumns)},
}

// ComparedViews returns the names of the views that can be compared, the default first.
func ComparedViews() []string {
	var out []string
	for _, v := range comparedViews {
		out = append(out, v.name)
	}
	return out
}

// Compare compares a column of a view ("": the first that both sessions have) by the keys of its rows. Errors are a
// *TermError for a view or column, ErrNoTime or ErrNoMemory where a session does not have it, and those of reading.
func Compare(from, to *Source, view, column string) (*Comparison, error) {
	c, err := findColumn(from, to, view, column)
	if err != nil {
		return nil, err
	}
	old, err := from.compared(view, c)
	if err != nil {
		return nil, err
	}
	now, err := to.compared(view, c)
	if err != nil {
		return nil, err
	}
	out := &Comparison{View: view, Column: c.key, Unit: c.unit, AddsUp: !strings.Contains(c.key, "inclusive")}
	for key, x := range now {
		if was := old[key]; was != nil {
			x.InOld, x.Old, x.OldLine = true, was.New, was.Line
			delete(old, key)
		}
		x.InNew = true
		out.add(x)
	}
	for _, x := range old {
		x.InOld, x.Old, x.OldLine, x.New = true, x.New, x.Line, 0
		out.add(x)
	}
	slices.SortFunc(out.Changes, func(a, b Change) int {
		x, y := a.Delta(), b.Delta()
		return cmp.Or(cmp.Compare(max(y, -y), max(x, -x)), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Key, b.Key))
	})
	return out, nil
}

func (c *Comparison) add(x *Change) {
	if c.AddsUp {
		c.Old, c.New = c.Old+x.Old, c.New+x.New
	}
	if x.Old != x.New {
		c.Changes = append(c.Changes, *x)
	}
}

// findColumn finds a column of a view that both sessions have.
func findColumn(from, to *Source, view, column string) (*comparedColumn, error) {
	at := slices.IndexFunc(comparedViews, func(v comparedView) bool { return v.name == view })
	if at < 0 {
		return nil, &TermError{What: "view to compare", Text: view, Names: ComparedViews()}
	}
	var has [2]dataSets
	for i, v := range []*Source{from, to} {
		var err error
		if has[i], err = v.dataSets(); err != nil {
			return nil, err
		}
	}
	var names []string
	for i := range comparedViews[at].columns {
		c := &comparedViews[at].columns[i]
		names = append(names, c.key)
		if column != "" && c.key != column {
			continue
		}
		missing := ErrNoMemory
		if c.time {
			missing = ErrNoTime
		}
		switch {
		case has[0].has(c) && has[1].has(c):
			return c, nil
		case column != "" && !has[0].has(c):
			return nil, fmt.Errorf("session %s: %w", from.session.Path(), missing)
		case column != "":
			return nil, fmt.Errorf("session %s: %w", to.session.Path(), missing)
		}
	}
	if column == "" {
		return nil, fmt.Errorf("%w: %s and %s", ErrNothingInCommon, from.session.Path(), to.session.Path())
	}
	return nil, &TermError{What: "column", Text: column, Names: names}
}

// dataSets says what a session holds.
type dataSets struct{ memory, time bool }

func (d dataSets) has(c *comparedColumn) bool { return c.time && d.time || !c.time && d.memory }

func (v *Source) dataSets() (dataSets, error) {
	timed, err := v.session.ProcessTimes()
	if err != nil {
		return dataSets{}, err
	}
	total, err := v.Total()
	return dataSets{len(timed) == 0 || !total.IsZero(), len(timed) > 0 && v.selection.hasTimes()}, err
}

// named is Data with what keys are made of.
func (v *Source) named() (*Data, error) {
	d, s := &Data{}, v.session
	for _, read := range []func() error{
		func() error { return into(&d.Modules, s.Modules) },
		func() error { return into(&d.Types, s.Types) },
		func() error { return into(&d.Functions, s.Functions) },
		func() error { return into(&d.Lines, s.Lines) },
	} {
		if err := read(); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// compared returns the rows of a view that have a value in a column, by key: their New is the value.
func (v *Source) compared(view string, c *comparedColumn) (map[string]*Change, error) {
	d, err := v.named()
	if err != nil {
		return nil, err
	}
	out, keys := map[string]*Change{}, d.Keys()
	modules := newIndex(d.Modules, func(r *session.Module) session.ModuleID { return r.ID })
	moduleName := func(id session.ModuleID) string { return cmp.Or(at(d.Modules, modules, id).Name, noModule) }
	add := func(key string, value int64, row Change) {
		if value == 0 {
			return
		}
		x := out[key]
		if x == nil {
			x = &row
			x.Key, out[key] = key, x
		}
		x.New += value
	}
	functions := newIndex(d.Functions, func(r *session.Function) session.FunctionID { return r.ID })
	switch view {
	case "modules":
		return out, v.eachModule(c, func(id session.ModuleID, value int64) {
			add(moduleName(id), value, Change{Name: moduleName(id), Module: moduleName(id)})
		})
	case "types":
		types := newIndex(d.Types, func(r *session.Type) session.TypeID { return r.ID })
		values, err := v.Types()
		for _, r := range values {
			if i, ok := types.find(r.Type); ok && i >= 0 {
				name := session.TypeDisplayName(r.Type, func(id session.TypeID) *session.Type { return at(d.Types, types, id) })
				row := Change{Name: name, Module: moduleName(d.Types[i].Module)}
				add(keys.Type(int(i)), c.amount(q.Amounts{Exclusive: r.Amount}), row)
			}
		}
		return out, err
	case "lines":
		lines := newIndex(d.Lines, func(r *session.Line) session.LineID { return r.ID })
		files, err := v.session.SourceFiles()
		if err != nil {
			return nil, err
		}
		paths := map[session.FileID]string{}
		for _, f := range files {
			paths[f.ID] = f.Path
		}
		return out, v.eachLine(c, func(id session.LineID, value int64) {
			if i, ok := lines.find(id); ok && i >= 0 {
				l := &d.Lines[i]
				f := at(d.Functions, functions, l.Function)
				row := Change{Name: f.DisplayName(), Module: moduleName(f.Module), File: paths[l.File], Line: l.LineBegin}
				add(keys.Line(int(i)), value, row)
			}
		})
	}
	return out, v.eachFunction(c, func(id session.FunctionID, value int64) {
		if i, ok := functions.find(id); ok && i >= 0 {
			f := &d.Functions[i]
			add(keys.Function(int(i)), value, Change{Name: f.DisplayName(), Module: moduleName(f.Module)})
		}
	})
}

// eachFunction calls fn with the values of functions in a column.
func (v *Source) eachFunction(c *comparedColumn, fn func(session.FunctionID, int64)) error {
	if c.time {
		rows, err := v.FunctionTimes()
		for _, r := range rows {
			fn(r.Function, c.value(r.TimeValue))
		}
		return err
	}
	rows, err := v.Functions()
	for _, r := range rows {
		fn(r.Function, c.amount(r.Amounts))
	}
	return err
}

// eachModule calls fn with the values of modules in a column.
func (v *Source) eachModule(c *comparedColumn, fn func(session.ModuleID, int64)) error {
	if c.time {
		rows, err := v.ModuleTimes()
		for _, r := range rows {
			fn(r.Module, c.value(r.TimeValue))
		}
		return err
	}
	rows, err := v.Modules()
	for _, r := range rows {
		fn(r.Module, c.amount(r.Amounts))
	}
	return err
}

// eachLine calls fn with the values of lines in a column. What is on none is of no line.
func (v *Source) eachLine(c *comparedColumn, fn func(session.LineID, int64)) error {
	if c.time {
		rows, err := v.LineTimes()
		for _, r := range rows {
			fn(r.Line, c.value(r.TimeValue))
		}
		return err
	}
	rows, err := v.Lines()
	for _, r := range rows {
		fn(r.Line, c.amount(q.Amounts{Exclusive: r.Amount}))
	}
	return err
}
