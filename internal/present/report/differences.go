package report

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/dotnet/names"
	q "github.com/clrprof/clrprof/internal/quantity"
)

// DifferenceNote says what the whole is in both sessions, or that nothing differs.
func DifferenceNote(c *analysis.Comparison, from, to string) string {
	if c.Estimated && len(c.Changes) > 0 {
		return estimatedNote(c, filepath.Base(from), filepath.Base(to))
	}
	if severalRuns(c) {
		return runsNote(c)
	}
	what := whatDiffers(c)
	switch {
	case len(c.Changes) == 0:
		return what + ": no differences."
	case !c.AddsUp:
		return fmt.Sprintf("%s: %s differ.", what, q.Count(len(c.Changes)))
	}
	return fmt.Sprintf("%s: %s in %s, %s in %s, %s.", what, withUnit(c.Unit, c.Old), filepath.Base(from),
		withUnit(c.Unit, c.New), filepath.Base(to), signed(c.Unit, c.New-c.Old))
}

// lined are the views that only have what is on lines.
var lined = map[string]bool{"lines": true}

// WithoutLines says how much of what differs is on no line, and how to see the lines of user code that had it done: ""
// if that is nothing, or a row of lines has it already. olds and news are what is compared.
func WithoutLines(c *analysis.Comparison, olds, news []*analysis.Source) (string, error) {
	amount := map[string]func(q.Amount) int64{
		"exclusive_bytes":       func(a q.Amount) int64 { return int64(a.Bytes) },
		"exclusive_allocations": func(a q.Amount) int64 { return int64(a.Allocations) },
	}[c.Column]
	if !lined[c.View] || amount == nil || len(olds) != 1 || len(news) != 1 || news[0].Selection().IsMyCode() {
		return "", nil
	}
	before, err := olds[0].Total()
	if err != nil {
		return "", err
	}
	after, err := news[0].Total()
	more := amount(after) - amount(before) - (c.New - c.Old)
	if err != nil || more == 0 {
		return "", err
	}
	return fmt.Sprintf("Code without lines, as of the framework, differs by %s: add --my-code to see at which lines "+
		"of your code.", signed(c.Unit, more)), nil
}

// differing is what the rows of a comparison are, where it is not called like the view.
var differing = map[string]string{"calltree": "paths of the call tree", "lifetime": "types",
	"gcs": "garbage collections"}

// namedDifferences are what is compared, by view and column, where the one says what the other does.
var namedDifferences = map[string]string{"gcs collections": "Garbage collections"}

// whatDiffers says what is compared: a column, and what has it.
func whatDiffers(c *analysis.Comparison) string {
	if named := namedDifferences[c.View+" "+c.Column]; named != "" {
		return named
	}
	return comparedTitle(c) + " of " + cmp.Or(differing[c.View], c.View)
}

// comparedTitle is the heading that views have for the column that is compared.
func comparedTitle(c *analysis.Comparison) string { return ColumnTitle(c.Column) }

// ColumnTitle returns the heading of a column of views, by its key, which it is if there is no such column.
func ColumnTitle(key string) string { return cmp.Or(onlyCompared[key], allColumns[key].Title, key) }

// onlyCompared are the headings of columns that only comparisons have.
var onlyCompared = map[string]string{"collections": "Collections", "findings": "Findings"}

// runsNote says how much differs by more than runs of one side do.
func runsNote(c *analysis.Comparison) string {
	beyond := 0
	for i := range c.Changes {
		if c.Changes[i].Beyond() {
			beyond++
		}
	}
	return fmt.Sprintf("%s, means of %s before and %s after: %s beyond the spread of the runs (no run of one "+
		"side has a value between two values of the other side), "+
		"%s within it.", whatDiffers(c), counted(c.Runs[0], "run"), counted(c.Runs[1], "run"),
		counted(beyond, "difference"), counted(len(c.Changes)-beyond, "difference"))
}

// Differences makes a row for each change, when it is written.
func Differences(c *analysis.Comparison) *Records {
	r := &Records{Columns: strings.Fields("delta delta_percent baseline comparison name module")}
	if !c.HasModules() {
		r.Columns = r.Columns[:len(r.Columns)-1]
	}
	several := severalRuns(c) && !c.Estimated // what is known of estimates says how far runs are apart, too
	placed, stacked := c.HasLines(), c.HasStacks()
	if several {
		r.Columns = slices.Insert(r.Columns, 0, "beyond_spread")
		r.Columns = slices.Insert(r.Columns, 5, spread...)
	}
	if placed {
		r.Columns = append(r.Columns, "source_file", "line", "baseline_line", "state")
	}
	if stacked {
		r.Columns = append(r.Columns, "stack")
	}
	renames := c.Subject() == analysis.SubjectFunction
	if renames {
		r.Columns = append(r.Columns, "baseline_name")
	}
	if c.Estimated {
		r.Columns = append(r.Columns, estimatedKeys...)
	}
	r.count, r.late = len(c.Changes), func(i int) []any {
		x := c.At(i)
		var percent any // of nothing there is none
		if x.Old != 0 {
			percent = float64(x.Delta()) / float64(x.Old) * 100
		}
		row := []any{x.Delta(), percent, side(x.InOld, x.Old), side(x.InNew, x.New), x.Name, x.Module}
		unknownNumbers(row, x)
		if !c.HasModules() {
			row = row[:len(row)-1]
		}
		if several {
			from, to := x.Ranges()
			row = slices.Insert(row, 4, []any{from[0], from[1], to[0], to[1]}...)
			row = slices.Insert(row, 0, []any{pick(x.Beyond(), "yes", "no")}...)
		}
		if placed {
			row = append(row, x.File, side(x.Line != 0, x.Line), side(x.InOld && x.OldLine != 0, x.OldLine), state(x))
		}
		if stacked {
			row = append(row, LateText(x.AppendStack))
		}
		if renames {
			row = append(row, cmp.Or(x.OldName, pick(x.InOld, x.Name, "")))
		}
		if c.Estimated {
			row = append(row, estimatedValues(x)...)
		}
		return row
	}
	r.Cut = map[string]Cut{"name": CutParts, "module": CutMiddle, "source_file": CutMiddle, "stack": CutMiddle}
	r.Format = func(column string, n int64) string {
		switch column {
		case "delta":
			return signed(c.Unit, n)
		case "baseline", "comparison", "baseline_min", "baseline_max", "comparison_min", "comparison_max":
			return withUnit(c.Unit, n)
		}
		return fmt.Sprint(n)
	}
	return r
}

// differenceTitles are what text calls the columns of differences.
var differenceTitles = map[string]string{"delta": "Delta", "delta_percent": "%", "baseline": "Before",
	"comparison": "After", "beyond_spread": "Beyond spread", "baseline_min": "Min before",
	"baseline_max": "Max before", "comparison_min": "Min after", "comparison_max": "Max after", "name": "Name",
	"module": "Module", "maker": "Function", "place": "Place", "state": "State", "stack": "Stack"}

// optionalDifferences are the columns of each view for which a narrow terminal has no room, those that say least first:
// by how many percent something grew, and what it was before, follow from the others.
var optionalDifferences = map[string][]string{
	"functions": {"module", "delta_percent"}, "types": {"module", "delta_percent"},
	"lifetime": {"module", "delta_percent"},
	"calltree": {"module", "delta_percent", "name"}, // with which the stack ends
	"lines":    {"delta_percent", "state"},
	"rules":    {"delta_percent", "state"},
	"tests":    {"module", "delta_percent"}, "endpoints": {"module", "delta_percent"},
	"gcs":   {"delta_percent"},
	"sites": {"stack", "delta_percent", "state", "baseline", "comparison"},
}

// spread are the columns that say how far apart several runs of a side are.
var spread = []string{"baseline_min", "baseline_max", "comparison_min", "comparison_max"}

// optionalOf are the optional columns of a comparison. Whether a difference is beyond the spread of the runs says most
// of what there is to say about it.
func optionalOf(c *analysis.Comparison) []string {
	optional := optionalDifferences[c.View]
	if !severalRuns(c) || c.Estimated {
		return optional
	}
	at := slices.Index(optional, "baseline")
	if at < 0 {
		at = len(optional)
	}
	return slices.Insert(slices.Clone(optional), at, spread...)
}

// severalRuns reports whether a side has more than one run.
func severalRuns(c *analysis.Comparison) bool { return c.Runs[0]*c.Runs[1] != 1 }

// ReadableDifferences are Differences for a person: with short names, unless they are wanted in full, and places as
// views have them.
func ReadableDifferences(c *analysis.Comparison, full bool) *Records {
	exact := Differences(c)
	r := &Records{Titles: differenceTitles, Format: exact.Format, count: exact.count,
		Cut:      map[string]Cut{"name": CutParts, "maker": CutParts, "stack": CutPath},
		Optional: optionalOf(c)}
	for _, column := range exact.Columns {
		switch column {
		case "source_file":
			r.Columns = append(r.Columns, "place")
		case "line", "baseline_line", "baseline_name":
		case "beyond_uncertainty", "baseline_samples", "baseline_low_95", "baseline_high_95", "comparison_samples",
			"comparison_low_95", "comparison_high_95": // the numbers themselves say it
		case "module":
			if c.Subject() != analysis.SubjectModule && !c.HasLines() { // it is the name, or goes without saying
				r.Columns = append(r.Columns, column)
			}
		default:
			r.Columns = append(r.Columns, column)
			if column == "name" && c.HasStacks() && c.HasLines() { // of sites
				r.Columns = append(r.Columns, "maker")
			}
		}
	}
	at := map[string]int{}
	for i, column := range exact.Columns {
		at[column] = i
	}
	r.late = func(i int) []any {
		x, row := c.At(i), exact.late(i)
		out := make([]any, len(r.Columns))
		for k, column := range r.Columns {
			switch column {
			case "name":
				out[k] = readableName(x, c.Subject(), full)
			case "maker":
				out[k] = pick(full, x.Function, names.ShortFunction(x.Function, x.Within))
			case "place":
				out[k] = placeOf(x)
			case "stack":
				out[k] = LateText(func(to []byte) []byte { return append(to, readableStack(x, full)...) })
			default:
				if out[k] = estimatedText(c, x, column); out[k] == nil {
					out[k] = row[at[column]]
				}
			}
		}
		return out
	}
	return r
}

// readableName is the short name of what a row is about.
func readableName(x *analysis.Change, of analysis.Subject, full bool) string {
	switch of {
	case analysis.SubjectType:
		return pick(full, x.Name, names.ShortType(x.Name, x.Namespace))
	case analysis.SubjectFunction:
		return pick(full, x.Name, names.ShortFunction(x.Name, x.Namespace)) + formerName(x, full)
	case analysis.SubjectModule, analysis.SubjectThread, analysis.SubjectOther:
	}
	return x.Name
}

// formerName is what a function with the code of this one was called in the old session: " (was Parser.ParseLine)".
func formerName(x *analysis.Change, full bool) string {
	if x.OldName == "" {
		return ""
	}
	name := x.OldName
	if !full {
		head, _ := names.CutParameters(name)
		name = names.LastParts(head, 2)
	}
	return " (was " + name + ")"
}

// readableStack is the stack of a row, with the classes and methods of its functions alone.
func readableStack(x *analysis.Change, full bool) string {
	if full {
		return x.Stack()
	}
	frames := strings.Split(x.Stack(), stackArrow)
	for i, frame := range frames {
		if !strings.HasPrefix(frame, "… ") {
			head, parameters := names.CutParameters(frame)
			made := parameters[strings.LastIndexByte(parameters, ')')+1:] // by the compiler, such as a lambda
			frames[i] = names.LastParts(head, 2) + made
		}
	}
	return strings.Join(frames, stackArrow)
}

// stackArrow stands between a function and one that it called.
const stackArrow = " › "

// placeOf is where a line is, and where it was if that is elsewhere: Csv.cs:14 (was 12); "": that is not known.
func placeOf(x *analysis.Change) string {
	if x.File == "" {
		return ""
	}
	place := fmt.Sprintf("%s:%d", filepath.Base(x.File), x.Line)
	if x.InOld && x.InNew && x.OldLine != 0 && x.OldLine != x.Line {
		place += fmt.Sprintf(" (was %d)", x.OldLine)
	}
	return place
}

// state says what became of a line, or of the line of a site.
func state(x *analysis.Change) string {
	switch {
	case !x.InOld:
		return "new"
	case !x.InNew:
		return "gone"
	case x.Moved():
		return "moved"
	}
	return "changed"
}

// side is a value of a session that has it.
func side(there bool, n int64) any {
	if !there {
		return nil
	}
	return n
}

func withUnit(unit string, n int64) string {
	switch unit {
	case "bytes":
		return q.Bytes(n).String()
	case "nanoseconds":
		return q.Nanoseconds(n).String()
	}
	return q.Count(n).String()
}

// signed prints a difference with its sign.
func signed(unit string, n int64) string {
	if n > 0 {
		return "+" + withUnit(unit, n)
	}
	return withUnit(unit, n)
}
