package text

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/clrprof/clrprof/internal/report"
)

// records are records that are being written.
type records struct{ *report.Records }

// text prints a value of a column.
func (r records) text(column int, v any) string {
	switch v := v.(type) {
	case float64:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case int64:
		if r.Format != nil {
			return r.Format(r.Columns[column], v)
		}
	}
	return Printable(report.ValueText(v))
}

// Values prints the values of a row of records.
func Values(r *report.Records, row []any) []string {
	out := make([]string, len(row))
	for i, v := range row {
		out[i] = records{r}.text(i, v)
	}
	return out
}

// grid is the cells as text prints them, below their titles, and which columns are numbers.
func (r records) grid() (titles []string, cells [][]string, numeric []bool) {
	numeric = make([]bool, len(r.Columns))
	for i, name := range r.Columns {
		titles = append(titles, Printable(name))
		numeric[i] = r.Len() > 0
	}
	cells = make([][]string, r.Len())
	for k := range cells {
		row := r.Row(k)
		cells[k] = Values(r.Records, row)
		for i, v := range row {
			switch v.(type) {
			case string, []byte, report.LateText:
				numeric[i] = false
			}
		}
	}
	return titles, cells, numeric
}

// cutTo makes the columns that may be cut as narrow as the width wants, names last.
func (r records) cutTo(width int, widths []int) {
	over := len(gap)*(len(widths)-1) - width
	for _, w := range widths {
		over += w
	}
	for _, step := range []struct {
		how   report.Cut
		least int
	}{{report.CutMiddle, minOther}, {report.CutParts, mostLeast}, {report.CutParts, minOther}} {
		for i := len(widths) - 1; i >= 0 && width > 0; i-- {
			if how, ok := r.Cut[r.Columns[i]]; ok && how == step.how && over > 0 {
				less := min(over, max(0, widths[i]-step.least))
				widths[i] -= less
				over -= less
			}
		}
	}
}

// WriteRecords writes records as a table. It shortens no name of a query's result: who writes one asks for what it
// returns.
func WriteRecords(w io.Writer, of *report.Records, o Options) error {
	r := records{of}
	if o.Markdown {
		return r.writeMarkdown(w)
	}
	out := bufio.NewWriter(w)
	titles, cells, numeric := r.grid()
	widths := make([]int, len(titles))
	for _, row := range append([][]string{titles}, cells...) {
		for i, s := range row {
			widths[i] = max(widths[i], Width(s))
		}
	}
	r.cutTo(o.Width, widths)
	line := func(row []string, style string) {
		parts := make([]string, len(row))
		for i, s := range row {
			parts[i] = pad(cut(r.Cut[r.Columns[i]], s, widths[i]), widths[i], numeric[i])
		}
		fmt.Fprintln(out, o.style(style, strings.TrimRight(strings.Join(parts, gap), " ")))
	}
	line(titles, styleBold)
	for _, row := range cells {
		line(row, "")
	}
	return out.Flush()
}

// writeMarkdown writes a table; names are code.
func (r records) writeMarkdown(w io.Writer) error {
	out := bufio.NewWriter(w)
	titles, cells, numeric := r.grid()
	for _, title := range titles {
		fmt.Fprintf(out, "| %s ", markdownText.Replace(title))
	}
	out.WriteString("|\n")
	for _, is := range numeric {
		out.WriteString(pick(is, "| ---: ", "| --- "))
	}
	out.WriteString("|\n")
	for _, row := range cells {
		for i, s := range row {
			fmt.Fprintf(out, "| %s ", pick(r.Columns[i] == "name", codeSpan(s), markdownText.Replace(s)))
		}
		out.WriteString("|\n")
	}
	return out.Flush()
}
