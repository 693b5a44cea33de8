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
var ErrNoMemory = errors.New("this session holds no allocations: it was recorded with --time alone: clrprof run " +
	"--time --memory records both")

// ErrNoTimeSelected means that times of what is selected are not known, though the session has times.
var ErrNoTimeSelected = errors.New("times are known neither by type of object nor between collections, which the " +
	"selection needs")

// ErrNothingInCommon means that no column can be compared.
var ErrNothingInCommon = errors.New("the sessions have nothing in common")

// Change is something that two sessions of a program have, by its key, with a value in each: the sum over its
// processes. What it is about, from Key to Within, and whether it moved, is known of what Comparison.At returned.
type Change struct {
	Key          string
	Name, Module string
	File         string // of a line
	Line         int64  // of a line: where it is in the new session, or was in the old one
	OldLine      int64  // of a line: where it was; 0: it is not in the old session
	Function     string // of a site: the function that allocates
	Namespace    string // of what Name names: a function, or a type
	Within       string // of a site: the namespace of Function
	OldName      string // what a function with this code was called in the old session; "": as now
	InOld, InNew bool   // has a value there
	Old, New     int64  // of several runs the mean

	estimate  *changeEstimate // nil: all its values were counted
	number    int32           // of its key
	described bool            // it is known what it is about
	runs      [2][]int64      // by side
	moved     bool
	renamed   bool
	stack     func([]byte) []byte
}

// changeEstimate is what is known of values that are estimates, by side.
type changeEstimate struct {
	samples [2]uint32
	within  [2]q.Interval // of several runs: what the intervals of all of them cover
}

// ChangeSide is what is known of an estimated value, or of one that is compared with it.
type ChangeSide struct {
	Samples uint32     // 0: it was counted, or nothing of it was sampled
	Within  q.Interval // where it lies in 95 of 100 recordings
	Few     bool       // there are too few samples for a number
}

// Estimated returns what is known of the old value and of the new one; ok: one of them is an estimate.
func (c *Change) Estimated() (sides [2]ChangeSide, ok bool) {
	if c.estimate == nil {
		return sides, false
	}
	for n := range sides {
		e := c.estimate
		sides[n] = ChangeSide{e.samples[n], e.within[n],
			e.samples[n] < q.LeastSamples && e.within[n].Low != e.within[n].High}
	}
	return sides, true
}

// Delta is by how much the value grew.
func (c *Change) Delta() int64 { return c.New - c.Old }

// Moved reports whether a line, or that of a site, is elsewhere in its function.
func (c *Change) Moved() bool { return c.moved }

// Stack returns the functions from the root to what a row is about, "" of what is no path.
func (c *Change) Stack() string { return string(c.AppendStack(nil)) }

// AppendStack appends Stack: stacks of a million paths, all at once, are gigabytes.
func (c *Change) AppendStack(out []byte) []byte {
	if c.stack == nil {
		return out
	}
	return c.stack(out)
}

// Ranges returns the least and the greatest value of the runs of each side, and of estimates where they can lie.
func (c *Change) Ranges() (from, to [2]int64) {
	if e := c.estimate; e != nil {
		return [2]int64{e.within[0].Low, e.within[0].High}, [2]int64{e.within[1].Low, e.within[1].High}
	}
	return [2]int64{slices.Min(c.runs[0]), slices.Max(c.runs[0])},
		[2]int64{slices.Min(c.runs[1]), slices.Max(c.runs[1])}
}

// Beyond reports whether the difference is more than what runs of one side differ by, and than what is not known of
// estimates: all values of one side are less than all of the other.
func (c *Change) Beyond() bool {
	from, to := c.Ranges()
	return from[1] < to[0] || to[1] < from[0]
}

// Comparison is what two sessions have of one column of a view.
type Comparison struct {
	View, Column string
	Unit         string // count, bytes or nanoseconds
	Old, New     int64  // the whole; only of columns that add up
	AddsUp       bool   // the column does: inclusive ones do not
	Runs         [2]int // how many sessions there are on each side
	Estimated    bool   // values are estimates in some of them
	// Changes are what differs, those beyond the spread of runs first, then the greatest difference. The order of those
	// that differ as much is that of their names, where At was asked for one of them.
	Changes []Change
	Notes   []string // what is left out, in sentences
	sums    [2]int64
	sampled [2]q.Sampled  // what of the sums is estimated
	about   func(*Change) // says what a change is about
}

// WholeDiffers reports whether the whole differs by more than what is not known of estimates.
func (c *Comparison) WholeDiffers() bool {
	if !c.Estimated {
		return c.Old != c.New
	}
	before := intervalOf(c.Unit, value{c.Old, c.sampled[0]}, true)
	return !before.Overlaps(intervalOf(c.Unit, value{c.New, c.sampled[1]}, true))
}

// At returns a change by its position, with what it is about. There can be a million, of which a person sees some.
func (c *Comparison) At(i int) *Change {
	if x := &c.Changes[i]; c.about == nil || x.described {
		return x
	}
	same := func(k int) bool {
		return c.Changes[k].Beyond() == c.Changes[i].Beyond() && c.Changes[k].distance() == c.Changes[i].distance()
	}
	from, to := i, i+1
	for from > 0 && same(from-1) {
		from--
	}
	for to < len(c.Changes) && same(to) {
		to++
	}
	list := c.Changes[from:to]
	for k := range list {
		c.about(&list[k])
		list[k].described = true
	}
	sortChanges(list, func(x, y int32) int {
		return cmp.Or(cmp.Compare(list[x].Name, list[y].Name), cmp.Compare(list[x].Key, list[y].Key))
	})
	return &c.Changes[i]
}

// All returns all changes, with what they are about.
func (c *Comparison) All() []Change {
	for i := range c.Changes {
		c.At(i)
	}
	return c.Changes
}

// distance is how much a value differs.
func (c *Change) distance() int64 { return max(c.Delta(), -c.Delta()) }

// Subject is what the names of changes name.
type Subject int

// Subjects.
const (
	SubjectFunction Subject = iota
	SubjectType
	SubjectModule
	SubjectThread
	SubjectOther // what is called as it is: a route, a kind of collection, a rule
)

// ComparedRules is the view of rules: those who know them compare their rows.
const ComparedRules = "rules"

// Subject returns what the names of the changes name.
func (c *Comparison) Subject() Subject {
	switch c.View {
	case "types", "lifetime", "sites":
		return SubjectType
	case "modules":
		return SubjectModule
	case "threads":
		return SubjectThread
	case comparedEndpoints, comparedGCs, ComparedRules:
		return SubjectOther
	}
	return SubjectFunction
}

// HasLines reports whether the changes are those of places in the source.
func (c *Comparison) HasLines() bool { return hasLines(c.View) }

func hasLines(view string) bool { return view == "lines" || view == "sites" || view == ComparedRules }

// HasStacks reports whether the changes are those of stacks.
func (c *Comparison) HasStacks() bool { return c.View == "sites" || c.View == "calltree" }

// HasModules reports whether the changes are those of code, or of types, which are in modules.
func (c *Comparison) HasModules() bool {
	return c.View != "threads" && c.View != comparedGCs && c.View != ComparedRules
}

// comparedColumn is a column that can be compared.
type comparedColumn struct {
	key, unit string
	time      bool
	amount    func(q.Amounts) value
	ends      func(Lifetime) value
	value     func(session.TimeValue) int64
	gcs       func(session.GC, session.GCGeneration) int64 // of collections: what they have of a generation
	once      bool                                         // gcs has it of the collection, whatever it collected
}

// amountColumns are columns of memory, timeColumns of times, as views have them.
var (
	amountColumns = []comparedColumn{
		amountColumn("exclusive_bytes", "bytes", func(a q.Amounts) value { return bytesOf(a.Exclusive) }),
		amountColumn("exclusive_allocations", "count", func(a q.Amounts) value { return objectsOf(a.Exclusive) }),
		amountColumn("inclusive_bytes", "bytes", func(a q.Amounts) value { return bytesOf(a.Inclusive) }),
		amountColumn("inclusive_allocations", "count", func(a q.Amounts) value { return objectsOf(a.Inclusive) }),
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

// threadColumns are those of timeColumns that threads have: all that passed on them.
var threadColumns = slices.DeleteFunc(slices.Clone(timeColumns), func(c comparedColumn) bool {
	return strings.HasSuffix(c.key, "_exclusive")
})

// lifetimeColumns are the columns of lifetimes: what is promoted in vain first.
func lifetimeColumns() []comparedColumn {
	var out []comparedColumn
	for _, unit := range []string{"bytes", "instances"} {
		number := objectsOf
		if unit == "bytes" {
			number = bytesOf
		}
		kind := map[string]string{"bytes": "bytes", "instances": "count"}[unit]
		for _, g := range []int{2, 1, 0, 3, 4} {
			out = append(out, comparedColumn{key: lifetimeValues[g] + "_" + unit, unit: kind,
				ends: func(l Lifetime) value { return number(l.Dead[g]) }})
		}
		out = append(out, comparedColumn{key: "alive_" + unit, unit: kind, ends: func(l Lifetime) value {
			return number(l.Alive())
		}})
	}
	return out
}

func amountColumn(key, unit string, amount func(q.Amounts) value) comparedColumn {
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
	{"sites", typeColumns},
	{"calltree", slices.Concat(timeColumns, amountColumns)},
	{"lifetime", lifetimeColumns()},
	{"threads", slices.Concat(threadColumns, typeColumns[:1],
		[]comparedColumn{{key: "allocations", unit: "count", amount: amountColumns[1].amount}})},
	{comparedTests, entryColumns},
	{comparedEndpoints, entryColumns},
	{comparedGCs, gcColumns},
}

// ComparedViews returns the names of the views that can be compared, the default first.
func ComparedViews() []string {
	var out []string
	for _, v := range comparedViews {
		out = append(out, v.name)
	}
	return out
}

// ComparedView is a view that can be compared, with the columns that all sessions have.
type ComparedView struct {
	Name    string   `json:"name"`
	Columns []string `json:"columns"`
}

// ComparedColumns returns the views of which all sessions have columns, with these.
func ComparedColumns(all ...*Source) ([]ComparedView, error) {
	has, err := dataSetsOf(all)
	if err != nil {
		return nil, err
	}
	lacked, err := lackedEntries(all)
	if err != nil {
		return nil, err
	}
	var out []ComparedView
	for _, v := range comparedViews {
		if lacked[v.name] {
			continue
		}
		one := ComparedView{Name: v.name}
		for i := range v.columns {
			if !slices.ContainsFunc(has, func(d dataSets) bool { return !d.has(&v.columns[i]) }) {
				one.Columns = append(one.Columns, v.columns[i].key)
			}
		}
		if len(one.Columns) > 0 {
			out = append(out, one)
		}
	}
	return out, nil
}

// Compare compares a column of a view ("": the first that all sessions have) by the keys of its rows. Of several
// sessions on a side, runs of one program, the mean counts. Errors are a *TermError for a view or column, ErrNoTime,
// ErrNoMemory, ErrNoLifetime, ErrNoTimeSelected, ErrNoEntries or ErrNothingInCommon where a session does not have it,
// and those of reading.
func Compare(from, to []*Source, view, column string) (*Comparison, error) {
	c, err := findColumn(slices.Concat(from, to), view, column)
	if err != nil {
		return nil, err
	}
	sides, err := prepare(from, to, view)
	if err != nil {
		return nil, err
	}
	out := &Comparison{View: view, Column: c.key, Unit: c.unit, AddsUp: !strings.Contains(c.key, "inclusive") ||
		view == "threads",
		Runs: [2]int{len(from), len(to)}}
	var all []comparedRun
	keys := newComparedKeys(view)
	for n, list := range sides {
		for _, one := range list {
			run, err := one.compared(view, c, keys)
			if err != nil {
				return nil, err
			}
			run.side = n
			run.estimates = one.estimates && !c.isCounted()
			all = append(all, run)
		}
	}
	out.finish(keys, all)
	return out, nil
}

// finish adds the values of the runs, and orders what differs.
func (c *Comparison) finish(keys *comparedKeys, all []comparedRun) {
	most := 0
	for i := range all {
		most = max(most, len(all[i].values))
		c.Estimated = c.Estimated || all[i].estimates
	}
	c.addAll(int32(most), keys, all)
	for n := range c.Runs {
		c.sums[n] /= int64(c.Runs[n])
	}
	c.Old, c.New = c.sums[0], c.sums[1]
	c.sort()
}

// sort orders the changes by how much they differ. They are large: what orders them is looked at beside them.
func (c *Comparison) sort() {
	type place struct {
		beyond   bool
		distance int64
	}
	places := make([]place, len(c.Changes))
	for i := range c.Changes {
		places[i] = place{c.Changes[i].Beyond(), c.Changes[i].distance()}
	}
	sortChanges(c.Changes, func(x, y int32) int {
		a, b := &places[x], &places[y]
		if a.beyond != b.beyond {
			if a.beyond {
				return -1
			}
			return 1
		}
		return cmp.Compare(b.distance, a.distance)
	})
}

// sortChanges sorts changes, of which it compares the positions.
func sortChanges(list []Change, compare func(x, y int32) int) {
	order := make([]int32, len(list))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, compare)
	for i := range order { // each change that is not where it belongs is in a circle of such: a copy of all is large
		for at := i; ; {
			from := int(order[at])
			order[at] = int32(at)
			if from == i {
				break
			}
			list[at], list[from] = list[from], list[at]
			at = from
		}
	}
}

// addAll adds things with numbers below a limit. There can be a million, so it is counted first how many differ.
func (c *Comparison) addAll(limit int32, keys *comparedKeys, all []comparedRun) {
	var differ []int32
	for n := range limit {
		var sums [2]int64
		first, differs := all[0].of(n).value, false
		for i := range all {
			value := all[i].of(n).value
			sums[all[i].side] += value
			differs = differs || value != first
		}
		if c.AddsUp {
			c.sums[0], c.sums[1] = c.sums[0]+sums[0], c.sums[1]+sums[1]
			for i := range all {
				c.sampled[all[i].side] = c.sampled[all[i].side].Add(all[i].sampledOf(n))
			}
		}
		if differs {
			differ = append(differ, n)
		}
	}
	if len(differ) == 0 {
		return
	}
	c.Changes = make([]Change, len(differ))
	values := make([]int64, 0, len(differ)*len(all)) // of all of them
	for i, n := range differ {
		x := &c.Changes[i]
		x.number = n
		var sums [2]int64
		for side := range x.runs {
			from := len(values)
			for k := range all {
				if r := &all[k]; r.side == side {
					v := r.of(n)
					values, sums[side] = append(values, v.value), sums[side]+v.value
					x.InOld, x.InNew = x.InOld || side == 0 && v.first != 0, x.InNew || side == 1 && v.first != 0
				}
			}
			x.runs[side] = values[from:len(values):len(values)]
		}
		x.Old, x.New = sums[0]/int64(c.Runs[0]), sums[1]/int64(c.Runs[1])
		if c.Estimated {
			x.estimate = c.estimateOf(n, all)
		}
	}
	c.about = func(x *Change) { c.tell(x, keys, all) }
}

// tell says what a change is about.
func (c *Comparison) tell(x *Change, keys *comparedKeys, all []comparedRun) {
	n, values := x.number, *x
	last := len(all) - 1 // that has it: it tells where it is, and is a new one, if there is one
	for last > 0 && all[last].of(n).first == 0 {
		last--
	}
	moved, oldLine, oldName := false, int64(0), ""
	for i := range all {
		r := &all[i]
		v := r.of(n)
		if v.first == 0 {
			continue
		}
		if i == last || c.HasLines() || r.side == 0 && c.Subject() == SubjectFunction && oldName == "" {
			*x = r.describe(v.first - 1)
		}
		if r.side == 0 && x.renamed && oldName == "" {
			oldName = x.Name
		}
		if moved = moved || x.moved; r.side == 0 && oldLine == 0 {
			oldLine = x.Line
		}
	}
	x.number, x.runs, x.InOld, x.InNew = n, values.runs, values.InOld, values.InNew
	x.Old, x.New, x.estimate = values.Old, values.New, values.estimate
	x.Key, x.moved, x.OldLine = keys.text(n), moved, oldLine
	if x.Name != oldName {
		x.OldName = oldName
	}
}

// findColumn finds a column of a view that all sessions have.
func findColumn(all []*Source, view, column string) (*comparedColumn, error) {
	at := slices.IndexFunc(comparedViews, func(v comparedView) bool { return v.name == view })
	if at < 0 {
		return nil, &TermError{What: "view to compare", Text: view, Names: append(ComparedViews(), ComparedRules)}
	}
	has, err := dataSetsOf(all)
	if err != nil {
		return nil, err
	}
	if _, isOfEntries := entryKinds[view]; isOfEntries {
		lacked, err := lackedEntries(all)
		if err != nil {
			return nil, err
		}
		if lacked[view] {
			return nil, fmt.Errorf("%s: %w", view, ErrNoEntries)
		}
	}
	var names []string
	var missing error
	for i := range comparedViews[at].columns {
		c := &comparedViews[at].columns[i]
		names = append(names, c.key)
		if column != "" && c.key != column {
			continue
		}
		lacks := slices.IndexFunc(has, func(d dataSets) bool { return !d.has(c) })
		if lacks < 0 {
			return c, nil
		}
		if missing = fmt.Errorf("session %s: %w", all[lacks].session.Path(), c.missing(has[lacks])); column != "" {
			return nil, missing
		}
	}
	switch {
	case column != "":
		return nil, &TermError{What: "column", Text: column, Names: names}
	case view == "lifetime", view == comparedGCs: // it has columns of one kind
		return nil, missing
	}
	return nil, nothingInCommon(all, has)
}

// nothingInCommon says what the first session without times lacks, and the first without allocations.
func nothingInCommon(all []*Source, has []dataSets) error {
	var lacks []string
	for _, c := range []struct {
		has  func(dataSets) bool
		text string
	}{
		{func(d dataSets) bool { return d.time || d.unselected }, "no times (clrprof run --time records them)"},
		{func(d dataSets) bool { return d.memory }, "no allocations (clrprof run --time --memory records both)"},
	} {
		if at := slices.IndexFunc(has, func(d dataSets) bool { return !c.has(d) }); at >= 0 {
			lacks = append(lacks, fmt.Sprintf("%s holds %s", all[at].session.Path(), c.text))
		}
	}
	return fmt.Errorf("%w: %s", ErrNothingInCommon, strings.Join(lacks, ", "))
}

func dataSetsOf(all []*Source) ([]dataSets, error) {
	out := make([]dataSets, len(all))
	for i, v := range all {
		var err error
		if out[i], err = v.dataSets(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// dataSets says what a session holds.
type dataSets struct {
	memory, time, lifetimes bool
	unselected              bool // there are times, and none of what is selected
}

func (d dataSets) has(c *comparedColumn) bool {
	if c.gcs != nil {
		return d.lifetimes
	}
	return c.time && d.time || !c.time && d.memory && (c.ends == nil || d.lifetimes)
}

// missing is the error of a session that does not have a column.
func (c *comparedColumn) missing(in dataSets) error {
	switch {
	case c.time && in.unselected:
		return ErrNoTimeSelected
	case c.time:
		return ErrNoTime
	case c.ends != nil, c.gcs != nil:
		return ErrNoLifetime
	}
	return ErrNoMemory
}

func (v *Source) dataSets() (dataSets, error) {
	timed, err := v.session.ProcessTimes()
	if err != nil {
		return dataSets{}, err
	}
	lived, err := v.session.ProcessLifetimes()
	if err != nil {
		return dataSets{}, err
	}
	info, err := v.session.Info()
	memory := slices.Contains(strings.Split(info[session.KeyMode], ","), session.ModeMemory)
	selected := v.selection.HasTimes()
	return dataSets{memory: memory || len(timed) == 0, time: len(timed) > 0 && selected, lifetimes: len(lived) > 0,
		unselected: len(timed) > 0 && !selected}, err
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

// eachFunction calls fn with the values of functions in a column.
func (v *Source) eachFunction(c *comparedColumn, fn func(session.FunctionID, value)) error {
	if c.time {
		rows, err := v.FunctionTimes()
		for _, r := range rows {
			fn(r.Function, value{n: c.value(r.TimeValue)})
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
func (v *Source) eachModule(c *comparedColumn, fn func(session.ModuleID, value)) error {
	if c.time {
		rows, err := v.ModuleTimes()
		for _, r := range rows {
			fn(r.Module, value{n: c.value(r.TimeValue)})
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
func (v *Source) eachLine(c *comparedColumn, fn func(session.LineID, value)) error {
	if v.selection.OfUserLines() {
		rows, err := v.UserLines()
		for _, r := range rows {
			if c.time {
				fn(r.Line, value{n: c.value(r.TimeValue)})
			} else {
				fn(r.Line, c.amount(q.Amounts{Exclusive: r.Amount}))
			}
		}
		return err
	}
	if c.time {
		rows, err := v.LineTimes()
		for _, r := range rows {
			fn(r.Line, value{n: c.value(r.TimeValue)})
		}
		return err
	}
	rows, err := v.Lines()
	for _, r := range rows {
		fn(r.Line, c.amount(q.Amounts{Exclusive: r.Amount}))
	}
	return err
}
