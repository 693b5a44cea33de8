package text

import (
	"bufio"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/clrprof/clrprof/internal/present/report"
)

// writeFunctions writes the sections of functions.
func (t table) writeFunctions(out *bufio.Writer, o Options) {
	for i := range t.Functions {
		d := &t.Functions[i]
		name := d.Name
		if !o.FullNames {
			name = d.ShortName
		}
		if len(t.Functions) > 1 {
			name += fmt.Sprintf(", process %d", d.PID)
		}
		fmt.Fprintf(out, "%s%s\n", pick(i > 0, "\n", ""), o.style(styleBold, Printable(name)))
		for _, section := range []struct {
			title string
			of    *report.Table
		}{{"Calling functions", d.Callers}, {"The function", d.Itself}, {"Called functions", d.Callees}} {
			fmt.Fprintf(out, "\n%s\n", o.style(styleBold, section.title))
			if len(section.of.Rows) > 0 {
				table{section.of}.writeGrid(out, o)
			} else {
				fmt.Fprintln(out, noRows(section.of, d))
			}
		}
		writeLines(out, o, d)
	}
}

// noRows says why a section has none.
func noRows(section *report.Table, d *report.FunctionDetails) string {
	switch {
	case section.IsCut():
		return "Left out by --limit."
	case d.Selected:
		return "None in the part that is shown."
	}
	return "None."
}

// writeLines writes the lines of a function beside their text.
func writeLines(out *bufio.Writer, o Options, d *report.FunctionDetails) {
	if d.Lines.IsCut() && len(d.Source) == 0 {
		fmt.Fprintf(out, "\n%s\n%s\n", o.style(styleBold, "Lines of "+Printable(d.File)), noRows(d.Lines, d))
		return
	}
	if len(d.Source) == 0 {
		fmt.Fprintf(out, "\nIts lines are not known: %s.\n",
			pick(d.File == "", "the module has no symbols", "nothing was counted at one"))
		return
	}
	fmt.Fprintf(out, "\n%s\n", o.style(styleBold, "Lines of "+Printable(d.File)))
	// Where the values stand is the same for all rows, also those that have none.
	sub := table{d.Lines}
	widths := make([]int, len(sub.Columns))
	cells := make([][]string, len(d.Source))
	for row := range d.Source {
		for i, column := range sub.Columns {
			cell := ""
			if d.Source[row].HasValues {
				cell = sub.text(row, column, o.Unit)
			}
			cells[row] = append(cells[row], cell)
			widths[i] = max(widths[i], Width(cell), Width(o.Unit.title(column)))
		}
	}
	shown := beside(sub.Columns, widths, o.Width)
	aligned := func(texts func(i int) string, more ...string) string {
		var out []string
		for _, i := range shown {
			out = append(out, pad(texts(i), widths[i], true))
		}
		return strings.Join(append(out, more...), gap)
	}
	fmt.Fprintln(out, o.style(styleBold, aligned(func(i int) string { return o.Unit.title(sub.Columns[i]) }, "  Line",
		"Source")))
	for row, line := range d.Source {
		text := aligned(func(i int) string { return cells[row][i] }, pad(lineNumber(line), minLineNumber, true),
			Printable(line.Text))
		if o.Width > 0 {
			text = cutEnd(text, o.Width)
		}
		fmt.Fprintln(out, o.style(pick(line.HasValues, "", styleDim), strings.TrimRight(text, " ")))
	}
}

// minSource is how much of the text of a line there is room for, if columns of values can be left out for it.
const minSource = 24

// beside returns the positions of the columns that leave room for source text in a width; 0: there is no limit. Shares
// are left out first, then the number of objects: the values that they are beside say the same.
func beside(columns []report.Column, widths []int, width int) []int {
	room := width - minLineNumber - minSource - len(gap)
	shown := make([]int, len(columns))
	for i := range columns {
		shown[i] = i
		room -= widths[i] + len(gap)
	}
	for _, kind := range []report.Kind{report.Percent, report.Count} {
		for at := len(shown) - 1; at >= 0 && width > 0 && room < 0; at-- {
			if i := shown[at]; columns[i].Kind == kind && columns[i].Key != "calls" {
				room += widths[i] + len(gap)
				shown = slices.Delete(shown, at, at+1)
			}
		}
	}
	return shown
}

// minLineNumber is the width of the column of line numbers.
const minLineNumber = 6

// lineNumber is the number of a line, or what stands for it.
func lineNumber(line report.SourceLine) string {
	if line.Number == 0 {
		return "(body)"
	}
	return strconv.FormatInt(line.Number, 10)
}
