package report

import (
	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/analysis/rules"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// rowKind says what a row is about.
type rowKind string

const (
	rowProcess     rowKind = "process"
	rowThread      rowKind = "thread"
	rowThreads     rowKind = "threads" // all with one name
	rowModule      rowKind = "module"
	rowFunction    rowKind = "function"
	rowLine        rowKind = "line"
	rowInstruction rowKind = "instruction"
	rowNamespace   rowKind = "namespace"
	rowBody        rowKind = "body"    // of a function: what is on none of its lines
	rowOutside     rowKind = "outside" // of user code: of a process, what no user code did or called
	rowRange       rowKind = "range"   // a set of functions
	rowType        rowKind = "type"
	rowSite        rowKind = "site" // a stack and a type
	rowGC          rowKind = "collection"
	rowMark        rowKind = "mark"
	rowCase        rowKind = "case" // of a test: a part of its row
	rowInteraction rowKind = "interaction"
	rowEvent       rowKind = "event"       // an interval in which the operating system acted
	rowCall        rowKind = "system-call" // all of one name
	rowRoot        rowKind = "root"        // references that keep objects alive
	rowFact        rowKind = "fact"        // a key and a value of the header
	rowFinding     rowKind = "finding"
	rowLoss        rowKind = "loss"
	rowRest        rowKind = "rest"   // what a limit hides
	rowSource      rowKind = "source" // a line of a file that has no values; in text alone
)

// Row is one row of a Table. Which ids are set depends on what the row is about.
type Row struct {
	kind        rowKind
	level       int
	role        string // caller, current or callee; or the section of the summary
	process     session.ProcessID
	thread      session.ThreadID
	module      session.ModuleID
	function    session.FunctionID
	root        session.FunctionID // the current function of the callers view
	typ         session.TypeID
	line        session.LineID
	instruction session.InstructionID
	path        session.PathID // of a function in a call tree
	values      q.Amounts
	time        *rowTime           // nil: none
	key, text   string             // of a fact
	rest        int                // how many rows a rest row stands for
	hidden      cost               // and their cost, each allocation and interval once
	exclusive   bool               // hidden is by the exclusive rule, and the inclusive one would differ
	hotPath     []session.TypePath // the hot path on which a type was created
	isNumber    bool               // of a fact: it has one
	idle        bool               // of a hot path: the entry point of a program, whose waits are no work
	fromShare   q.Percent          // how much of the type was made at the end of hotPath
	from        analysis.Place     // of what is grouped by places in user code
	node        session.NodeID     // of a site
	lifetime    *analysis.Lifetime // what became of the objects, if that is known
	part        q.Amount           // of a list of parts of lifetimes: all that it is about
	where       *whereRow
	mark        *session.Mark // nil: it is none
	interaction *analysis.Interaction
	event       *eventRow
	gc          *gcRow
	ages        *session.Ages
	sampledAges *analysis.SampledAges // what of ages is estimated; nil: nothing
	why         *whyRow
	held        *rootRow
	heap        *heapRow
	finding     *findingRow
	loss        *session.Loss
	whole       *cost                  // of a row about a part of a function: the function's inclusive cost
	source      string                 // of a line: its text, if that is known
	async       analysis.AsyncRole     // of a row of a logical call tree
	await       *session.FunctionAwait // of an async method that waited; nil: none, or not known
	position    int                    // of an object on a path from a root
	number      int64                  // of the collection that why and held are about, or of a fact
}

// Kind says how a cell is sorted, aligned and printed.
type Kind int

// Kinds of cells.
const (
	Text     Kind = iota // a name or a word
	Name                 // a name that may be shortened in the middle
	Number               // a plain integer: an id, a line number
	Count                // with thousands separators in text
	Bytes                // with a binary unit in text
	Percent              // of the totals of the run
	Time                 // nanoseconds since the session's start
	Duration             // nanoseconds
	Address              // hexadecimal
)

var kindNames = map[Kind]string{Text: "text", Name: "name", Number: "number", Count: "count", Bytes: "bytes",
	Percent: "percent",
	Time:    "time", Duration: "duration", Address: "address"}

// String names the kind, as pages and other programs know it.
func (k Kind) String() string { return kindNames[k] }

// IsNumeric reports whether cells of the kind are numbers: right-aligned, never
// shortened, sorted descending.
func (k Kind) IsNumeric() bool { return k != Text && k != Name }

// Cell is the value of a column in a row. An empty cell prints as nothing, and as null in JSON.
type Cell struct {
	Empty   bool
	Text    string    // of the kinds Text and Name
	Number  int64     // of all other kinds but Percent
	Percent q.Percent // of the kind Percent

	Estimate *Estimate // nil: the value was counted, or is none
}

// Estimate says that a value comes from samples. With fewer than q.LeastSamples the cell is empty.
type Estimate struct {
	Samples  uint32
	Interval *q.Interval // nil: it is not known, as of a percentage
}

// IsFew reports whether an estimate has too few samples for a number.
func (e *Estimate) IsFew() bool { return e != nil && e.Samples < q.LeastSamples }

func textCell(s string) Cell { return Cell{Text: s} }

func numberCell[T ~int64 | ~uint64](n T) Cell { return Cell{Number: int64(n)} }

// Cut says which part of a cell goes where there is no room for all of it.
type Cut int

// The ways to cut.
const (
	CutMiddle    Cut = iota
	CutParts         // of the name of a function or type: parameters, then type arguments, then outer classes
	CutBeginning     // all but the last word
	CutEnd           // of a line of source: its beginning says most
	CutPath          // of the functions of a stack: the outer ones
)

// Column is a column of a table.
type Column struct {
	Key   string // snake_case: the name in JSON, CSV, --columns and --sort
	Title string // in text
	Kind  Kind
	cell  func(*context, *Row) Cell
	Cut   Cut                         // how text that is too wide is cut
	Drawn bool                        // with characters, which only text can show
	short func(*context, *Row) string // in text, where names are short; "": as cell. nil: no names
	data  dataSet                     // what the session must hold for it
	// textOnly columns are not in the other formats unless they are asked for.
	textOnly bool
}

// Table is a view: columns, rows and what must be said with them.
type Table struct {
	View    string
	Columns []Column
	// TextColumns are the keys shown as text when none are asked for, the most
	// important first; as many as fit are shown, in the order of Columns.
	TextColumns []string
	Rows        []Row
	IsTree      bool   // rows have levels, parents come before their children
	Notes       []Note // said before the table: a filter, an incomplete session
	Losses      []Note // said after it: what is missing from the numbers
	Next        []Note // said at the end of text: what a limit hides, what to try
	Order       string // key of the column that rows are ordered by
	// Functions are the rows in the sections of a person's text, one for each function that was asked for; nil: a grid.
	Functions []FunctionDetails
	Prose     Prose // how a person's text says the rows
	context   *context
	waste     q.Amount        // that the rows are shares of; zero: of all
	limited   bool            // by Limit
	all       int             // rows before that
	isLeaf    func(*Row) bool // of Reader.Below: nothing is below the row
}

// Prose says in which way a person's text says the rows of a table.
type Prose int

// The ways to say rows.
const (
	ProseNone     Prose = iota // a grid
	ProseFindings              // sentences, those about a rule together: Table.Broken
	ProseLosses                // sentences, those about a reason together: Table.Loss
	ProseFacts                 // keys, and beside each what is said of it
)

// Cell returns the value of a column in a row.
func (t *Table) Cell(row int, c Column) Cell { return c.cell(t.context, &t.Rows[row]) }

// IsEstimated reports whether numbers of allocations can be estimates.
func (t *Table) IsEstimated() bool { return t.context.source.HasEstimates() }

// IsRest reports whether a row stands for the rows that a limit hides. Only text shows it.
func (t *Table) IsRest(row int) bool { return t.Rows[row].kind == rowRest }

// Kind says in a word what the row is about.
func (r *Row) Kind() string { return string(r.kind) }

// Level is how deep the row is in its tree; 0: a root.
func (r *Row) Level() int { return r.level }

// IsRunning reports whether a row is about a function of which a call had not ended.
func (r *Row) IsRunning() bool { return r.kind == rowFunction && r.time != nil && r.time.Running > 0 }

// Process is the process that the row is about, 0: none.
func (r *Row) Process() session.ProcessID { return r.process }

// Path is the place of a row of a call tree, 0: it has none.
func (r *Row) Path() session.PathID { return r.path }

// ShortName returns what text shows for a cell where names are short; "": the cell.
func (t *Table) ShortName(row int, c Column) string {
	if c.short == nil {
		return ""
	}
	return c.short(t.context, &t.Rows[row])
}

// Rest is what a row says of the rows that a limit hides.
type Rest struct {
	Rows      int
	Of        string // the kind of the rows
	Exclusive bool   // the shares are by the exclusive rule, and the inclusive one would differ
	Shares    []Share
}

// Share is a part of a whole.
type Share struct {
	Percent q.Percent
	Of      string // bytes, or a kind of time
}

// Rest returns what a row stands for that IsRest.
func (t *Table) Rest(row int) Rest {
	r := &t.Rows[row]
	return Rest{r.rest, r.text, r.exclusive, t.shares(r.hidden)}
}

// PathStep is a function of a path that is called so often in a row, by itself.
type PathStep struct {
	Function string // its short name, without parameters
	Times    int
}

// HotPath returns the path on which most of a type was created, and how much was created at its end; no steps: it is
// not known.
func (t *Table) HotPath(row int) (path []PathStep, share q.Percent) {
	r := &t.Rows[row]
	if r.values.Inclusive.Sampled.IsFew() { // of a few samples no share is known
		return nil, share
	}
	for i, step := range r.hotPath {
		if i > 0 && step.Function == r.hotPath[i-1].Function {
			path[len(path)-1].Times += int(step.Times)
			continue
		}
		path = append(path, PathStep{t.context.frameName(step.Function), int(step.Times)})
	}
	return path, r.fromShare
}

// Broken returns the rule that a row of findings is about, and what it says of the program.
func (t *Table) Broken(row int) (rule *rules.Rule, said string) {
	r := &t.Rows[row]
	return r.finding.Rule, t.context.said(r)
}

// TicksPerSecond is the rate of the clock that times were measured with, 0 without times.
func (t *Table) TicksPerSecond() int64 { return t.context.ticksPerSecond() }

// IsLeaf reports whether it is known that nothing is below a row of a call tree.
func (t *Table) IsLeaf(row int) bool { return t.isLeaf != nil && t.isLeaf(&t.Rows[row]) }

// ExactColumns are the columns of the formats for programs: all that the view has, or those asked for.
func (t *Table) ExactColumns() []Column {
	var out []Column
	for _, c := range t.Columns {
		if !c.textOnly {
			out = append(out, c)
		}
	}
	return out
}

// Keys returns the keys of ExactColumns.
func (t *Table) Keys() []string {
	var out []string
	for _, c := range t.ExactColumns() {
		out = append(out, c.Key)
	}
	return out
}
