// Package vsperf writes a session's reports as VSPerfReport did: a CSV or an XML file for each kind of report, with the
// names, the order and the shape of its columns, for the scripts that people have.
//
//   - Files are named BASE_FunctionSummary.csv, and so on.
//   - Each line of CSV, the header too, ends with a comma; texts are quoted, numbers plain, percents have two decimals.
//   - Each row of XML is an element, with an attribute for each column whose name is the title without spaces,
//     Inclusive and Exclusive shortened: InclBytes, ExclBytesPercent, PID.
//   - Times are whole nanoseconds, where the original had ticks of its clock.
//
// Columns of values that the original did not have (pinned objects, processor time) come after those that it had. There
// is no address of a function, since it can have several bodies.
package vsperf

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/present/report"
	"github.com/clrprof/clrprof/internal/printable"
)

// Format is a way to write a report.
type Format string

// The formats; the first two are also the extensions of files.
const (
	CSV Format = "csv"
	XML Format = "xml"
	// SafeCSV is CSV for a spreadsheet: a text that it would run has an apostrophe before it.
	SafeCSV Format = "safe-csv"
)

// Kind is a kind of report.
type Kind struct {
	Name    string // as VSPerfReport takes it
	view    string
	options report.Options
	columns []column // in their order; other columns of the view are not written
}

// column is a column of the view under the title of VSPerfReport.
type column struct{ key, title string }

// columns reads lines of a key and a title.
func columns(lists ...string) []column {
	var out []column
	for _, list := range lists {
		for line := range strings.Lines(list) {
			if key, title, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
				out = append(out, column{key, strings.TrimSpace(title)})
			}
		}
	}
	return out
}

const (
	place = `
		source_file Source File
		line Function Line Number
		module Module Name
		module_path Module Path`
	process = `
		process_name Process Name
		process_id Process ID`
	memory = `
		inclusive_allocations Inclusive Allocations
		exclusive_allocations Exclusive Allocations
		inclusive_allocations_percent Inclusive Allocations %
		exclusive_allocations_percent Exclusive Allocations %
		inclusive_bytes Inclusive Bytes
		exclusive_bytes Exclusive Bytes
		inclusive_bytes_percent Inclusive Bytes %
		exclusive_bytes_percent Exclusive Bytes %`
	allocated = `
		allocations Allocations
		allocations_percent Allocations %
		bytes Bytes
		bytes_percent Bytes %`
	times = `
		elapsed_inclusive Elapsed Inclusive Time
		elapsed_exclusive Elapsed Exclusive Time
		application_inclusive Application Inclusive Time
		application_exclusive Application Exclusive Time
		elapsed_inclusive_percent Elapsed Inclusive Time %
		elapsed_exclusive_percent Elapsed Exclusive Time %
		application_inclusive_percent Application Inclusive Time %
		application_exclusive_percent Application Exclusive Time %
		probe_overhead_inclusive Time Inclusive Probe Overhead
		probe_overhead_exclusive Time Exclusive Probe Overhead
		min_elapsed_inclusive Min Elapsed Inclusive Time
		avg_elapsed_inclusive Avg Elapsed Inclusive Time
		max_elapsed_inclusive Max Elapsed Inclusive Time
		min_elapsed_exclusive Min Elapsed Exclusive Time
		avg_elapsed_exclusive Avg Elapsed Exclusive Time
		max_elapsed_exclusive Max Elapsed Exclusive Time
		min_application_inclusive Min Application Inclusive Time
		avg_application_inclusive Avg Application Inclusive Time
		max_application_inclusive Max Application Inclusive Time
		min_application_exclusive Min Application Exclusive Time
		avg_application_exclusive Avg Application Exclusive Time
		max_application_exclusive Max Application Exclusive Time
		calls Number of Calls`
	processor = `
		cpu_inclusive CPU Inclusive Time
		cpu_exclusive CPU Exclusive Time
		cpu_inclusive_percent CPU Inclusive Time %
		cpu_exclusive_percent CPU Exclusive Time %`
	statement = `
		source_file Source File
		line_begin Line Begin
		column_begin Character Begin
		line_end Line End
		column_end Character End`
	lifetimes = `
		gen0_instances Gen 0 Instances Collected
		gen1_instances Gen 1 Instances Collected
		gen2_instances Gen 2 Instances Collected
		loh_instances Large Object Heap Instances Collected
		alive_instances Instances Alive At End
		bytes Total Bytes Allocated
		gen0_bytes Gen 0 Bytes Collected
		gen1_bytes Gen 1 Bytes Collected
		gen2_bytes Gen 2 Bytes Collected
		loh_bytes Large Object Heap Bytes Collected
		instances_percent Total Instances %
		bytes_percent Total Bytes %`
	pinned = `
		poh_instances Pinned Object Heap Instances Collected
		poh_bytes Pinned Object Heap Bytes Collected
		alive_bytes Bytes Alive At End`
	span = `
		begin_ns Begin Time
		end_ns End Time`
)

// kinds are in the order of VSPerfReport's help.
var kinds = []Kind{
	{Name: "CallerCallee", view: "callers", options: report.Options{Argument: report.AllFunctions},
		columns: columns("type Type\nname Function Name", times, memory, place, "root_function_name Root Function Name",
			process, processor)},
	{Name: "Function", view: "functions", columns: columns("name Function Name", times, memory, place, process,
		processor)},
	{Name: CallTree, view: "calltree", columns: columns("level Level\nname Function Name", times, memory, place,
		process, processor)},
	{Name: "Ip", view: "ips", columns: columns("instruction_address Instruction Address\nfunction Function Name", times,
		memory, statement,
		"module Module Name\nmodule_path Module Path", process, processor)},
	{Name: "Life", view: "lifetime", columns: columns("name Class Name\ninstances Instances", lifetimes,
		"module Module Name", process, pinned)},
	{Name: "Line", view: "lines", columns: columns("line_name Line Name\nfunction Function Name", times, memory,
		statement,
		"module Module Name\nmodule_path Module Path", process, processor)},
	{Name: "Header", view: "header", columns: columns("key Name\nvalue Value")},
	{Name: "Module", view: "modules", options: report.Options{Depth: 1},
		columns: columns("name Module Name\nmodule_path Module Path", times, memory, process, processor)},
	{Name: "Process", view: "processes",
		columns: columns("name Process Name\nprocess_id Process ID\nunique_id Unique ID", span, allocated, times,
			processor)},
	{Name: Thread, view: "threads", columns: columns("name Thread Name\nthread_id Thread ID\nunique_id Unique ID",
		span, allocated, times, process, processor)},
	{Name: "Type", view: "types", options: report.Options{Depth: 1},
		columns: columns("name Class Name\ninstances Instances\ninstances_percent Total Instances %\nbytes " +
			"Bytes\nbytes_percent Total Bytes %\n" +
			"module Module Name\nmodule_path Module Path" + process)},
	{Name: "GC", view: "gcs",
		columns: columns("number Number\ngeneration Generation\ninduced Induced\nat_ns Begin Time\npause_ns Pause\n" +
			"before_bytes Bytes Before\ndead_bytes Bytes Collected\nsurvived_bytes Bytes Survived\npromoted_bytes Bytes Promoted\n" +
			"heap_after_bytes Heap Bytes After" + process)},
}

// Kinds returns all kinds. Which of them a session has depends on what was recorded: see Applies.
func Kinds() []Kind { return slices.Clone(kinds) }

// File is the name of the file of the kind of report, after a base.
func (k Kind) File(base string, f Format) string {
	return base + "_" + k.Name + "Summary." + strings.TrimPrefix(string(f), "safe-")
}

// Applies reports whether an error of Build says that the session does not hold what the kind is about.
func Applies(err error) bool {
	return !errors.Is(err, report.ErrNoMemory) && !errors.Is(err, analysis.ErrNoLifetime) &&
		!errors.Is(err, analysis.ErrNoTime)
}

// Report is a report that can be written.
type Report struct {
	kind    Kind
	table   *report.Table
	columns []column
	of      []report.Column
}

// Names of kinds that have shapes.
const (
	CallTree = "CallTree"
	Thread   = "Thread"
)

// Build makes the report of a kind; tree and threads are how CallTree and Thread are put together. Errors are those of
// the view: see Applies.
func (k Kind) Build(src *analysis.Source, tree, threads report.Options) (*Report, error) {
	view, err := report.FindView(k.view)
	if err != nil {
		return nil, err
	}
	o := k.options
	switch k.Name {
	case CallTree:
		o = tree
	case Thread:
		o = threads
	}
	table, err := view.Build(src, o)
	if err != nil {
		return nil, err
	}
	out := &Report{kind: k, table: table}
	for _, c := range k.columns {
		if i := slices.IndexFunc(table.Columns, func(x report.Column) bool { return x.Key == c.key }); i >= 0 {
			out.columns, out.of = append(out.columns, c), append(out.of, table.Columns[i])
		}
	}
	return out, nil
}

// Write writes the report.
func (r *Report) Write(w io.Writer, f Format) error {
	out := bufio.NewWriter(w)
	if f == XML {
		r.writeXML(out)
	} else {
		r.writeCSV(out, f == SafeCSV)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("writing the report %s: %w", r.kind.Name, err)
	}
	return nil
}

// text prints a cell; isText says that it is quoted. Names have no control characters, in both formats.
func text(c report.Column, cell report.Cell) (s string, isText bool) {
	isText = !c.Kind.IsNumeric()
	switch {
	case cell.Empty:
		return "", isText
	case c.Kind == report.Percent:
		return strconv.FormatFloat(cell.Percent.Float(), 'f', 2, 64), false
	case c.Kind == report.Address:
		return fmt.Sprintf("0x%08X", uint64(cell.Number)), false
	case isText:
		return printable.Text(cell.Text), true
	}
	return strconv.FormatInt(cell.Number, 10), false
}

// each calls fn for the cells of each row, between begin and end. An error of the output stays until it is flushed.
func (r *Report) each(begin, end func(), fn func(column, string, bool)) {
	for _, i := range r.order() {
		begin()
		for k, c := range r.of {
			s, isText := text(c, r.table.Cell(i, c))
			if role := roles[s]; r.columns[k].key == roleKey && role != "" {
				s = role
			}
			fn(r.columns[k], s, isText)
		}
		end()
	}
}

// isEstimated reports whether some number of a column is an estimate by samples.
func (r *Report) isEstimated(c report.Column) bool {
	for i := range r.table.Rows {
		if r.table.IsEstimated() && r.table.Cell(i, c).Estimate != nil {
			return true
		}
	}
	return false
}

func (r *Report) writeCSV(out *bufio.Writer, safe bool) {
	put := func(s string, isText bool) {
		if isText && safe {
			s = printable.Inert(s)
		}
		if isText {
			s = `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
		}
		out.WriteString(s + ",")
	}
	for k, c := range r.columns {
		title := c.title
		if r.isEstimated(r.of[k]) {
			title += " (estimated)"
		}
		put(title, true)
	}
	out.WriteString("\n")
	r.each(func() {}, func() { out.WriteString("\n") }, func(_ column, s string, isText bool) { put(s, isText) })
}
