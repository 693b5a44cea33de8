package text

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/clrprof/clrprof/internal/present/report"
)

// records are records that are being written.
type records struct{ *report.Records }

// leastDecimals and mostDecimals are how many decimals values have.
const leastDecimals, mostDecimals = 2, 12

// decimals is how many decimals of a value say something: two, and of less than one as many as three digits need.
func decimals(v float64) int {
	n := leastDecimals
	for x := math.Abs(v); x > 0 && x < 1 && n < mostDecimals; x *= 10 {
		n++
	}
	return n
}

// percent prints a share as Percent.Number does: one that is not zero is not printed as 0.00, nor as -0.00.
func percent(v float64) string {
	text := strconv.FormatFloat(v, 'f', leastDecimals, 64)
	switch {
	case v > 0 && text == "0.00":
		return "<0.01"
	case v < 0 && text == "-0.00":
		return ">-0.01"
	}
	return text
}

// text prints a value of a column.
func (r records) text(column int, v any) string {
	switch v := v.(type) {
	case float64:
		if strings.HasSuffix(r.Columns[column], "percent") {
			return percent(v)
		}
		return strconv.FormatFloat(v, 'f', decimals(v), 64)
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
		titles = append(titles, r.title(name))
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

// Below these widths the columns of records are not cut, or left out before: minStack of the functions of a stack,
// mostGood of names of which a part of a class or method would be cut.
const minStack, mostGood = 40, 52

// narrowing is a step in which records become narrower: columns are cut down to a width, or one is left out.
type narrowing struct {
	how   report.Cut
	least int
	good  bool   // or to where a part of a class or method would be cut, if that is more
	leave string // the key of a column
}

// narrowings are the steps, those that lose least first.
func (r records) narrowings() []narrowing {
	out := []narrowing{{how: report.CutPath, least: minStack}, {how: report.CutMiddle, least: minOther}}
	for i, key := range r.Optional {
		if i == 1 { // names say less without their types than without their modules, and more than a stack
			out = append(out, narrowing{how: report.CutParts, least: mostLeast, good: true})
		}
		out = append(out, narrowing{leave: key})
	}
	return append(out, narrowing{how: report.CutParts, least: mostLeast},
		narrowing{how: report.CutParts, least: minOther}, narrowing{how: report.CutPath, least: minOther})
}

// goodWidths are the widths of columns of names below which a part of a class or method would be cut.
func (r records) goodWidths(titles []string, cells [][]string) []int {
	out := make([]int, len(titles))
	for i, key := range r.Columns {
		if how := r.Cut[key]; how == report.CutParts {
			out[i] = Width(titles[i])
			for _, row := range cells {
				out[i] = max(out[i], Width(shortest(report.Column{Cut: how}, row[i])))
			}
			out[i] = min(out[i], mostGood)
		}
	}
	return out
}

// cutTo makes the columns as narrow as the width wants, and returns which are left out. good are goodWidths.
func (r records) cutTo(width int, widths, good []int) (left map[int]bool) {
	left = map[int]bool{}
	natural := slices.Clone(widths)
	over := len(gap)*(len(widths)-1) - width
	for _, w := range widths {
		over += w
	}
	for _, step := range r.narrowings() {
		for i := len(widths) - 1; i >= 0 && width > 0 && over > 0; i-- {
			how, cut := r.Cut[r.Columns[i]]
			switch {
			case left[i]:
			case step.leave != "" && step.leave == r.Columns[i]:
				left[i] = true
				over -= widths[i] + len(gap)
			case step.leave == "" && cut && how == step.how:
				least := step.least
				if step.good {
					least = max(least, good[i])
				}
				less := min(over, max(0, widths[i]-least))
				widths[i] -= less
				over -= less
			}
		}
	}
	for i := range widths { // what was left out has made room for those that were cut before
		if more := min(-over, natural[i]-widths[i]); more > 0 && !left[i] {
			widths[i] += more
			over += more
		}
	}
	return left
}

// passOn gives what the cells of cut columns leave of these to the columns whose cells are cut further than they need.
func (r records) passOn(cells [][]string, widths, natural []int, left map[int]bool) {
	spare := 0
	for i, key := range r.Columns {
		how, cuts := r.Cut[key]
		if left[i] || !cuts || widths[i] >= natural[i] {
			continue
		}
		used := Width(r.title(key))
		for _, row := range cells {
			used = max(used, Width(cut(how, row[i], widths[i])))
		}
		if used < widths[i] {
			spare += widths[i] - used
			widths[i], natural[i] = used, used
		}
	}
	for i := range widths {
		if more := min(spare, natural[i]-widths[i]); more > 0 && !left[i] {
			widths[i] += more
			spare -= more
		}
	}
}

// title is what text calls a column.
func (r records) title(key string) string {
	if title := r.Titles[key]; title != "" {
		key = title
	}
	return Printable(key)
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
	natural := slices.Clone(widths)
	left := r.cutTo(o.Width, widths, r.goodWidths(titles, cells))
	r.passOn(cells, widths, natural, left)
	line := func(row []string, style string) {
		var parts []string
		for i, s := range row {
			if !left[i] {
				parts = append(parts, pad(cut(r.Cut[r.Columns[i]], s, widths[i]), widths[i], numeric[i]))
			}
		}
		fmt.Fprintln(out, o.style(style, strings.TrimRight(strings.Join(parts, gap), " ")))
	}
	line(titles, styleBold)
	for _, row := range cells {
		line(row, "")
	}
	var hidden []string
	for i := range titles {
		if left[i] {
			hidden = append(hidden, titles[i])
		}
	}
	if len(hidden) > 0 {
		fmt.Fprintln(out, wrap(notShown(hidden), o.Width))
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
			fmt.Fprintf(out, "| %s ", pick(isCode(r.Columns[i]) && s != "", codeSpan(s), markdownText.Replace(s)))
		}
		out.WriteString("|\n")
	}
	return out.Flush()
}

// isCode reports whether a column has names of code.
func isCode(column string) bool { return column == "name" || column == "maker" || column == "stack" }
