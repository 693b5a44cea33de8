package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/clrprof/clrprof/internal/analysis"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// Options say what of a view is wanted. The zero Options want all of it.
type Options struct {
	Top      int          // rows, in trees for each parent; 0: all
	Depth    int          // levels of a tree; 0: all
	Min      float64      // hide tree rows with less than this percent of bytes, of allocations and of time
	Sort     string       // key of a column; "": the view's own
	Columns  []string     // keys; empty: the view's own
	Argument string       // the function of callers, the type of types, the collections of survivors and diff-gcs
	By       analysis.By  // what the rows of a Grouped view are about, "": types; functions: what they are grouped by, "": nothing
	Range    string       // functions: only those that match the pattern, and a row for all of them
	Raw      bool         // elapsed times with what the probes added
	AllCode  bool         // of a summary: all functions, not only the user's and what they call
	Quick    bool         // of a summary: only what needs no look at every allocation: no findings, and all functions
	Physical bool         // calltree: the stacks as they were, also those of async methods
	Root     string       // calltree: only what is at and below this function
	Hot      bool         // calltree: only the hot path
	Fold     bool         // calltree: recursion is folded
	BottomUp bool         // calltree: the functions that did something themselves, and below them their callers
	MinShare float64      // calltree: rows with less than this percent of bytes, of allocations and of time are one row for each parent
	Disabled []string     // of a summary and of rules: ids of rules that are not applied
	Between  func() error // of a summary: called between its parts, which take long; an error ends it
	nonzero  bool         // leave out, without counting them, rows that have nothing of what they are ordered by
}

// View describes a view of a session.
type View struct {
	Name     string
	Short    string  // one line
	Argument string  // what its argument is, "" if it takes none
	Text     Options // the limits that text has when none are given
	Grouped  bool    // its rows can be of types, sites, functions or lines: Options.By
	columns  []string
	text     []string // columns of text, the most important first
	sort     string
	isTree   bool
	groups   []string // what its rows can be grouped by: Options.By
	places   bool     // reads lines and instructions
	section  bool     // of a summary alone, which knows what the session holds
	build    func(*builder) error
}

// keys splits a list of column keys.
func keys(s string) []string { return strings.Fields(s) }

const (
	identity = "name module module_path source_file line process_id process_name "
	amounts  = "inclusive_allocations inclusive_allocations_percent exclusive_allocations exclusive_allocations_percent " +
		"inclusive_bytes inclusive_bytes_percent exclusive_bytes exclusive_bytes_percent"
	exclusive   = "exclusive_allocations exclusive_allocations_percent exclusive_bytes exclusive_bytes_percent"
	allocations = "allocations allocations_percent bytes bytes_percent"
	instances   = "instances instances_percent bytes bytes_percent "
	position    = "process_id process_name module module_path source_file function function_line line_begin column_begin line_end column_end "
	textAmounts = "inclusive_bytes inclusive_bytes_percent exclusive_bytes exclusive_bytes_percent " +
		"exclusive_allocations exclusive_allocations_percent inclusive_allocations inclusive_allocations_percent"
)

// views is in the order of the help.
var views = []View{
	{Name: "functions", Short: "one row per function: what it and its callees allocated", Text: Options{Top: 30},
		columns: keys(identity + amounts), text: keys("name " + textAmounts + " module"), sort: "inclusive_bytes", build: buildFunctions,
		groups: []string{string(analysis.ByModule), string(analysis.ByNamespace)}},
	{Name: "calltree", Short: "processes, and below them who called whom", Text: Options{Top: 10, Depth: 40, Min: 0.5}, isTree: true,
		columns: keys("name level " + identity[len("name "):] + amounts), text: keys("name inclusive_bytes inclusive_bytes_percent exclusive_bytes exclusive_bytes_percent inclusive_allocations module exclusive_allocations"), sort: "inclusive_bytes", build: buildCallTree},
	{Name: "callers", Short: "the callers and callees of a function", Argument: "FUNCTION", Text: Options{Top: 20},
		columns: keys("type " + identity + "root_function_name level " + amounts), text: keys("name type " + textAmounts + " module"), sort: "inclusive_bytes", build: buildCallers},
	{Name: "function", Short: "a function: its callers, its own part and its calls, its callees and lines", Argument: "FUNCTION", Text: Options{Top: 20}, places: true,
		columns: keys("type " + identity + "root_function_name function_bytes_percent " + amounts + " line_begin column_begin line_end source_text"),
		text:    keys("name type function_bytes_percent " + textAmounts + " module source_text"), sort: "inclusive_bytes", build: buildFunction},
	{Name: "modules", Short: "modules, and below them functions, lines and instructions", Text: Options{Top: 15, Depth: 2}, isTree: true, places: true,
		columns: keys("name kind level " + identity[len("name "):] + amounts), text: keys("name " + textAmounts), sort: "inclusive_bytes", build: buildModules},
	{Name: "lines", Short: "one row per statement that allocated", Text: Options{Top: 30}, places: true,
		columns: keys(position + "line_name " + exclusive), text: keys("place function exclusive_bytes exclusive_bytes_percent exclusive_allocations exclusive_allocations_percent module"), sort: "exclusive_bytes", build: buildLines},
	{Name: "ips", Short: "one row per instruction that allocated", Text: Options{Top: 30}, places: true,
		columns: keys(position + "instruction_address " + exclusive), text: keys("instruction_address function place exclusive_bytes exclusive_bytes_percent exclusive_allocations exclusive_allocations_percent module"), sort: "exclusive_bytes", build: buildInstructions},
	{Name: "types", Short: "types, and below them the call paths that created them", Argument: "[TYPE]", Text: Options{Top: 20, Depth: 1, Min: 0.1}, isTree: true,
		columns: keys("name kind level " + identity[len("name "):] + instances + amounts), text: keys("name bytes bytes_percent instances instances_percent module"), sort: "bytes", build: buildTypes,
		groups: []string{string(analysis.ByModule), string(analysis.ByNamespace)}},
	{Name: "lifetime", Short: "in which generation objects died, or that they are alive", Text: Options{Top: 30}, Grouped: true,
		columns: keys(instances + lifetimeKeys("")), text: keys("instances instances_percent bytes bytes_percent alive_instances alive_bytes " + diedKeys()), sort: "bytes", build: buildLifetime},
	{Name: "marks", Short: "moments that somebody marked, in the order of time", Text: Options{Top: 60},
		columns: keys("mark_id mark_name mark_number mark_ns mark_text mark_source process_id process_name thread_id"), text: keys("mark_name mark_ns mark_text mark_source mark_id"), build: buildMarks},
	{Name: "gcs", Short: "garbage collections in the order of time", Text: Options{Top: 60},
		columns: keys("number process_id process_name generation induced at_ns pause_ns agent_ns finalizable before_objects before_bytes dead_objects dead_bytes survived_objects survived_bytes promoted_objects promoted_bytes pinned heap_before_objects heap_before_bytes heap_after_objects heap_after_bytes"),
		text:    keys("number generation at_ns pause_ns before_bytes dead_bytes survived_bytes chart pause_chart heap_after_bytes promoted_bytes pinned induced finalizable agent_ns"), sort: "at_ns", build: buildGCs},
	{Name: "ages", Short: "how many collections objects survived", Text: Options{Top: 30}, Grouped: true,
		columns: keys("instances dead_instances " + ageKeys(session.AgeGCs) + ageKeys(session.AgeTime) + ageKeys("alive")), text: keys("instances " + ageKeys(session.AgeGCs) + ageKeys("alive")), sort: "instances", build: buildAges},
	{Name: "survivors", Short: "why objects survived a collection", Argument: "[GC]", Text: Options{Top: 20, Depth: 2}, isTree: true, Grouped: true,
		columns: keys("kind level gc surviving_objects surviving_bytes rooted_objects rooted_bytes reachable_objects reachable_bytes uncollected_objects uncollected_bytes root_kind root_flags references"),
		text:    keys("surviving_bytes surviving_objects rooted_objects reachable_objects uncollected_objects references"), sort: "surviving_bytes", build: buildSurvivors},
	{Name: "diff-gcs", Short: "what was born between two collections and is still alive", Argument: "A B", Text: Options{Top: 30}, Grouped: true,
		columns: keys(instances + "gen0_instances gen1_instances gen2_instances loh_instances poh_instances gen0_bytes gen1_bytes gen2_bytes loh_bytes poh_bytes"),
		text:    keys("bytes instances bytes_percent gen0_instances gen1_instances gen2_instances loh_instances poh_instances"), sort: "bytes", build: buildDiffGCs},
	{Name: "snapshot", Short: "what retains the memory of the heap (run --snapshot)", Argument: "[TYPE]", Text: Options{Top: 30}, isTree: true,
		columns: keys(snapshotKeys), text: keys(snapshotText), sort: "retained_bytes", build: buildSnapshot},
	{Name: "processes", Short: "the processes of the session", Text: Options{Top: 50},
		columns: keys("unique_id process_id parent_process_id name path arguments runtime_version begin_ns end_ns end_state threads agent_bytes " + allocations),
		text:    keys("name process_id bytes bytes_percent allocations allocations_percent threads end_state begin_ns end_ns runtime_version agent_bytes parent_process_id"), sort: "bytes", build: buildProcesses},
	{Name: "threads", Short: "the threads of the session", Text: Options{Top: 50},
		columns: keys("unique_id process_id process_name thread_id name begin_ns end_ns " + allocations),
		text:    keys("name thread_id bytes bytes_percent allocations allocations_percent begin_ns end_ns process_id"), sort: "bytes", build: buildThreads,
		groups: []string{string(analysis.ByName)}},
	{Name: "rules", Short: "what the program does that costs much, and what to do instead", Text: Options{Top: 40}, places: true,
		columns: keys("rule severity evidence from source_file line_begin function object_type called instances bytes finding_calls waited_ns title advice process_id process_name"),
		text:    keys("rule severity evidence from"), build: buildRules},
	{Name: "header", Short: "what is known about the session as a whole",
		columns: keys("key value"), text: keys("key value"), build: buildHeader},
}

// Views returns all views but the summary, in the order in which help lists them.
func Views() []View { return slices.Clone(views) }

// FindView returns the view with a name.
func FindView(name string) (View, error) {
	for _, v := range views {
		if v.Name == name {
			return v, nil
		}
	}
	names := []string{"summary"}
	for _, v := range views {
		names = append(names, v.Name)
	}
	return View{}, Unknown("view", name, names)
}

// ColumnKeys returns the keys of the view's columns, in their order; those of a Grouped view by type.
func (v View) ColumnKeys() []string {
	if grouped, err := v.groupedBy(""); err == nil {
		v = grouped
	}
	return slices.Clone(v.columns)
}

// OptionalKeys returns the keys of the columns that the view has only when they are asked for.
func (v View) OptionalKeys() []string {
	if timedViews[v.Name].sort == "" {
		return v.optional()
	}
	out := append(v.optional(), keys(waitKeys())...)
	if slices.Contains(awaitViews, v.Name) {
		out = append(out, awaitKeys...)
	}
	return out
}

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
}

// Build computes a view. Errors are those of reading the session, and an
// *UnknownError for an argument or option that names nothing.
func (v View) Build(src *analysis.Source, o Options) (*Table, error) {
	c, err := newContext(src, o.Raw)
	if err != nil {
		return nil, err
	}
	return v.buildIn(c, o)
}

func (v View) buildIn(c *context, o Options) (*Table, error) {
	v, err := v.groupedBy(o.By)
	if err != nil {
		return nil, err
	}
	available := v.available()
	if v, err = v.withData(c); err != nil {
		return nil, err
	}
	if v.Name == "lines" && c.source.Selection().OfUserLines() && !slices.Contains(v.columns, "kind") {
		v.columns = append(slices.Clone(v.columns), "kind")
	}
	if o.BottomUp {
		v, available = v.exclusive(), exclusiveKeys(available)
	}
	b := &builder{context: c, view: v, options: o, available: available, table: &Table{View: v.Name, IsTree: v.isTree, TextColumns: v.text, context: c}}
	if err := b.chooseColumns(); err != nil {
		return nil, err
	}
	if b.table.Notes, err = c.notes(); err != nil {
		return nil, err
	}
	if c.raw {
		b.table.Notes = append(b.table.Notes, rawNote)
	}
	if b.table.Losses, err = c.losses(); err != nil {
		return nil, err
	}
	b.showOrder()
	b.showProcess()
	err = v.build(b)
	if b.cut {
		b.table.Next = append(b.table.Next, fmt.Sprintf("Hidden: what is deeper than %d levels; --depth 0 shows it.", o.Depth))
	}
	if b.trimmed {
		b.table.Next = append(b.table.Next, fmt.Sprintf("Hidden: what is less than %g %% of %s; --min 0 shows it.", o.Min, c.measures()))
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
			return Unknown("column", k, slices.Concat(v.columns, timedViews[v.Name].columns))
		}
		if err := b.checkData(k); err != nil {
			return err
		}
	}
	for _, k := range wanted {
		b.table.Columns = append(b.table.Columns, allColumns[k])
	}
	if len(o.Columns) == 0 { // columns that only text has
		for _, k := range v.text {
			if !slices.Contains(v.columns, k) {
				column := allColumns[k]
				column.textOnly = true
				b.table.Columns = append(b.table.Columns, column)
			}
		}
	}
	b.order, b.table.Order = allColumns[key], key
	if v.places {
		if err := b.readPlaces(); err != nil {
			return err
		}
	}
	if !v.Grouped && slices.ContainsFunc(append(slices.Clone(o.Columns), key), func(k string) bool { return slices.Contains(v.lifetimeColumns(), k) }) {
		return b.readLifetimes()
	}
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
	if share := key + "_percent"; allColumns[share].Key != "" {
		first = append(first, share)
	}
	rest := slices.DeleteFunc(slices.Clone(t.TextColumns), func(k string) bool { return slices.Contains(first, k) })
	names := max(0, slices.IndexFunc(rest, func(k string) bool { return allColumns[k].Kind.IsNumeric() }))
	t.TextColumns = slices.Concat(rest[:names], first, rest[names:])
	for _, k := range first {
		if !slices.ContainsFunc(t.Columns, func(c Column) bool { return c.Key == k }) {
			column := allColumns[k]
			column.textOnly = true
			t.Columns = append(t.Columns, column)
		}
	}
}

// sorted orders rows by the column: numbers descending, text ascending, equal ones by
// name and then as they were.
func (b *builder) sorted(list []Row) []Row {
	by, name := b.order, allColumns["name"]
	var keys []Cell
	if by.cell != nil {
		keys = make([]Cell, len(list))
		for i := range list {
			keys[i] = by.cell(b.context, &list[i])
		}
	}
	order := make([]int32, len(list)) // rows are large, and there can be a million
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(x, y int32) int {
		if keys != nil {
			if d := compare(by, keys[x], keys[y]); d != 0 {
				return d
			}
		}
		return cmp.Or(compare(name, name.cell(b.context, &list[x]), name.cell(b.context, &list[y])), cmp.Compare(x, y))
	})
	old := slices.Clone(list)
	for i, at := range order {
		list[i] = old[at]
	}
	return list
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
	b.sorted(list)
	keep := len(list)
	if b.options.Top > 0 {
		keep = min(keep, b.options.Top)
	}
	var out []Row
	rest := Row{kind: rowRest}
	for i := range list {
		if i < keep && !b.tooSmall(list[i].level, inclusiveCost(&list[i])) {
			out = append(out, list[i])
			continue
		}
		rest.rest++
		rest.level, rest.role = list[i].level, list[i].role
		rest.text = string(list[i].kind)
		if list[i].kind == rowBody || list[i].kind == rowOutside { // among lines
			rest.text = string(rowLine)
		}
		rest.hidden = rest.hidden.add(value(&list[i]))
		rest.exclusive = rest.exclusive || value(&list[i]) != inclusiveCost(&list[i])
	}
	switch {
	case rest.rest == 0:
	case b.tooSmall(1, rest.hidden): // said once for the whole tree
		b.trimmed = true
	default:
		out = append(out, rest)
	}
	return out
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
		if row.kind == rowRest || b.view.Name == "types" && b.options.Depth == 1 && b.options.By == "" {
			continue
		}
		below, err := children(&row)
		if err != nil {
			return err
		}
		if len(below) > 0 && b.options.Depth > 0 && row.level+1 >= b.options.Depth {
			b.cut = true
		} else if len(below) > 0 {
			stack = append(stack, frame{rows: b.limit(below, value)})
		}
	}
	return nil
}

func (c *context) readNotes() ([]string, error) {
	s := c.source.Session()
	state, err := s.State()
	if err != nil {
		return nil, err
	}
	var out []string
	switch state {
	case session.Recording:
		out = append(out, "The recording was cut off (clrprof was killed, or is still at work): these are the numbers up to then.")
	case session.Recorded:
		out = append(out, "The session was cut off before its symbols were resolved: names are those of the metadata.")
	case session.Resolved, session.Complete:
	}
	if left := c.leftRunning(); left != "" && state != session.Recording {
		out = append(out, left)
	}
	pauses, err := c.paused()
	if err != nil {
		return nil, err
	}
	out = append(out, pauses...)
	slept, err := c.suspended()
	if err != nil {
		return nil, err
	}
	if slept > 0 {
		out = append(out, fmt.Sprintf("The machine was suspended for %s during the recording: elapsed times may contain it.", slept))
	}
	if c.hasMemory() && c.hasTime() {
		out = append(out, probesNote)
	}
	selected, err := c.selectionNotes()
	return append(out, selected...), err
}

// selectionNotes say which part of the session is shown, and how.
func (c *context) selectionNotes() ([]string, error) {
	sel := c.source.Selection()
	out, err := sel.Notes(c.source.Session(), "; percentages are of the whole run")
	if err != nil {
		return nil, err
	}
	if len(c.allTimed) > 0 && !c.hasTime() {
		out = append(out, "Times are left out: of them neither types of objects are known, nor when collections ended.")
	}
	spans, err := c.source.GCSpans()
	for _, p := range c.processes.list {
		if span, ok := spans[p.ID]; ok && span != sel.GCs && sel.HasProcess(p.ID) {
			out = append(out, fmt.Sprintf("Process %d: %s: what changed is known of no closer span.", p.PID, span))
		}
	}
	return out, err
}

func (c *context) readLosses() ([]string, error) {
	list, err := c.source.Session().Losses()
	if err != nil {
		return nil, err
	}
	var out []string
	for _, l := range list {
		if !c.source.Selection().HasProcess(l.Process) {
			continue
		}
		p := c.processes.get(l.Process)
		what := counted(l.Events, l.Unit())
		switch {
		case l.IsUncounted():
			what = "an unknown number of allocations"
		case l.Allocations == 0 && l.Bytes != 0: // how many objects they are is not known
			what = fmt.Sprintf("%s at %s", l.Bytes, counted(l.Events, "place"))
		case !l.Amount.IsZero():
			what = fmt.Sprintf("%s, %s in %s", counted(l.Allocations, "allocation"), l.Bytes, what)
		}
		format := "Inexact: %s: %s (%s, process %d %s)."
		if l.IsMissing() {
			format = "Lost: %s: %s (%s, process %d %s); the numbers above are too low by that."
		}
		out = append(out, fmt.Sprintf(format, what, l.Meaning(), l.Reason, p.PID, p.Name))
	}
	folded, err := c.folded()
	return append(out, folded...), err
}

// ExpandedDepth is how many levels of call paths are shown below the types that
// were asked for by name.
const ExpandedDepth = 40

// probesNote is said where memory and times were recorded together.
const probesNote = "Recorded with times: the program can allocate more than with --memory alone."
