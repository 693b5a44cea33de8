package report

import (
	"slices"
	"strings"

	"github.com/clrprof/clrprof/internal/analysis"
)

// Options say what of a view is wanted. The zero Options want all of it.
type Options struct {
	Top      int      // rows, in trees for each parent; 0: all
	Depth    int      // levels of a tree; 0: all
	Min      float64  // hide tree rows with less than this percent of bytes, of allocations, of time and of CPU time
	Sort     string   // key of a column; "": the view's own
	Columns  []string // keys; empty: the view's own
	Argument string   // the function of callers, the type of types, the collections of survivors and diff-gcs
	// what the rows of a Grouped view are about, "": types; functions: what they are grouped by, "": nothing
	By       analysis.By
	Range    string   // functions: only those that match the pattern, and a row for all of them
	Sources  *Sources // of the view function; nil: they are read when they are needed
	Raw      bool     // elapsed times with what the probes added
	AllCode  bool     // of a summary: all functions, not only the user's and what they call
	Shown    bool     // of a summary: without hot paths that text does not show, for which the call tree is read
	Quick    bool     // of a summary: only what needs no look at every allocation: no findings, and all functions
	Physical bool     // calltree: the stacks as they were, also those of async methods
	Logical  bool     // callers, function: as in the call tree with async methods below their callers
	Root     string   // calltree: only what is at and below this function
	Hot      bool     // calltree: only the hot path
	Fold     bool     // calltree: recursion is folded
	BottomUp bool     // calltree: the functions that did something themselves, and below them their callers
	// calltree: rows with less than this percent of bytes, of allocations, of time and of CPU time are one row for each
	// parent
	MinShare float64
	Disabled []string     // of a summary and of rules: ids of rules that are not applied
	Between  func() error // of a summary: called between its parts, which take long; an error ends it
	nonzero  bool         // leave out, without counting them, rows that have nothing of what they are ordered by
}

// View describes a view of a session: what there is to know of it without a session. Who shows views asks this, not for
// names.
type View struct {
	Name     string
	Short    string // one line
	Argument string // what its argument is called, "" if it takes none
	Needs    Need
	TakesAll bool    // its argument can be AllFunctions
	Text     Options // the limits that text has when none are given
	Grouped  bool    // its rows can be of types, sites, functions or lines: Options.By
	Ranged   bool    // Options.Range is for it
	Async    bool    // Options.Logical is for it
	Shaped   bool    // it is the call tree: Physical, Root, Hot, Fold, BottomUp and MinShare are for it
	Judges   bool    // Options.Disabled is for it
	Paths    bool    // below its rows are call paths, which are far more: see Levels
	Followed bool    // its rows are what one looks at next, so where they lead to belongs to it

	columns  []string
	optional []string // columns that it has only when they are asked for, and that readLifetimes reads
	asked    []string // likewise, that need nothing
	text     []string // columns of text, the most important first
	sort     string
	timed    timedView // what it has in a session with times
	isTree   bool
	awaits   bool // it tells how async methods waited
	// its rows are code or what code made, of which a summary shows the user's first
	code          bool
	sparse        bool                                // of a session with memory and times not all rows have both
	groups        []string                            // what its rows can be grouped by: Options.By
	ways          []string                            // likewise, if Grouped, and not what others are about
	places        bool                                // reads lines and instructions
	section       bool                                // of a summary alone, which knows what the session holds
	readLifetimes func(*builder, *analysis.Lifetimes) // what the optional columns need; nil: nothing
	adapt         func(*context, View) View           // to what is selected; nil: it is the same for all selections
	build         func(*builder) error
	list          func(*builder) error // makes the rows of a list of a summary; nil: build
}

// Need is what argument a view cannot do without.
type Need int

// What views need.
const (
	NeedsNothing     Need = iota
	NeedsFunction         // the name of a function
	NeedsCollections      // the numbers of two collections
)

// Levels returns how many levels a program gets of the view unless it says how many, 0: all. With an argument, or in
// groups, there are few enough rows.
func (v View) Levels(argument string, by analysis.By) int {
	switch {
	case !v.Paths, by != "":
		return 0
	case argument != "":
		return expandedDepth
	}
	return 1
}

// keys splits a list of column keys.
func keys(s string) []string { return strings.Fields(s) }

const (
	identity = "name module module_path source_file line process_id process_name "
	amounts  = "inclusive_allocations inclusive_allocations_percent exclusive_allocations " +
		"exclusive_allocations_percent " +
		"inclusive_bytes inclusive_bytes_percent exclusive_bytes exclusive_bytes_percent"
	exclusive   = "exclusive_allocations exclusive_allocations_percent exclusive_bytes exclusive_bytes_percent"
	allocations = "allocations allocations_percent bytes bytes_percent"
	instances   = "instances instances_percent bytes bytes_percent "
	position    = "process_id process_name module module_path source_file function function_line line_begin " +
		"column_begin line_end column_end "
	textAmounts = "inclusive_bytes inclusive_bytes_percent exclusive_bytes exclusive_bytes_percent " +
		"exclusive_allocations exclusive_allocations_percent inclusive_allocations inclusive_allocations_percent"
)

// views is in the order of the help.
var views = []View{
	functionsView, callTreeView, callersView, functionView, testsView, endpointsView, modulesView, linesView, ipsView,
	typesView,
	lifetimeView, marksView, interactionsView, eventsView, gcsView,
	agesView, survivorsView, diffGCsView, snapshotView, processesView, threadsView, rulesView, lossesView, headerView,
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
	out := slices.Concat(v.optional, v.asked)
	if v.timed.sort == "" {
		return out
	}
	out = append(out, keys(waitKeys())...)
	if v.awaits {
		out = append(out, awaitKeys...)
	}
	return out
}

// IsOfRecorded reports whether a column is known of the stacks as they were recorded alone, in no other shape.
func (v View) IsOfRecorded(key string) bool { return v.Shaped && slices.Contains(v.optional, key) }

// expandedDepth is how many levels of call paths are shown below the types that
// were asked for by name.
const expandedDepth = 40

// Build computes a view. Errors are those of reading the session, and an
// *UnknownError for an argument or option that names nothing.
func (v View) Build(src *analysis.Source, o Options) (*Table, error) {
	var t *Table
	err := src.Session().AtOnce(func() error {
		c, err := newContext(src, o.Raw)
		if err == nil {
			t, err = v.buildIn(c, o)
		}
		return err
	})
	return t, err
}

// IsTree reports whether the view's rows have levels.
func (v View) IsTree() bool { return v.isTree }

// GroupsBy reports whether rows of the view can be grouped so.
func (v View) GroupsBy(by analysis.By) bool { return by != "" && slices.Contains(v.groups, string(by)) }
