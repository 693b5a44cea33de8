package text

import (
	"strings"

	"github.com/clrprof/clrprof/internal/report"
	"github.com/clrprof/clrprof/internal/report/names"
)

// Rows of one table that would have the same short name keep their full ones, and --full-names shows all of them in
// full.

// Cells returns what prints the cells of a column of a table.
func Cells(t *report.Table, c report.Column, o Options) func(row int) string {
	return table{t}.namer(c, o)
}

// namer returns what prints the cells of a column: with short names where it has them.
func (t table) namer(c report.Column, o Options) func(row int) string {
	full := func(row int) string { return t.text(row, c, o.Unit) }
	if o.FullNames {
		return func(row int) string { return full(row) + t.runningText(row, c) }
	}
	fulls := map[string]string{} // by short name; "" if there are several
	for row := range t.Rows {
		if short := Printable(t.ShortName(row, c)); short != "" {
			if one, ok := fulls[short]; ok && one != full(row) {
				fulls[short] = ""
			} else {
				fulls[short] = full(row)
			}
		}
	}
	return func(row int) string {
		short := Printable(t.ShortName(row, c))
		if short == "" || fulls[short] == "" {
			short = full(row)
		}
		return short + t.runningText(row, c)
	}
}

// running marks the names of functions that had not ended.
const running = " (running)"

func (t table) runningText(row int, c report.Column) string {
	return pick(c.Key == "name" && t.Rows[row].IsRunning(), running, "")
}

// cutCell makes a printed cell at most width columns wide.
func cutCell(c report.Column, s string, width int) string {
	if width <= 0 || Width(s) <= width {
		return shorten(s, width)
	}
	if name, ok := strings.CutSuffix(s, running); ok && c.Cut != report.CutMiddle && width > len(running) {
		return cut(c.Cut, name, width-len(running)) + running
	}
	return cut(c.Cut, s, width)
}

// cut makes a text at most width columns wide, as its column wants it.
func cut(how report.Cut, s string, width int) string {
	switch how {
	case report.CutParts:
		return cutName(s, width)
	case report.CutBeginning:
		return cutBefore(s, width)
	case report.CutEnd:
		return cutEnd(s, width)
	case report.CutMiddle:
	}
	return shorten(s, width)
}

// cutBefore leaves out the beginning of a text up to its last word: Program.cs:12 of "Worker.Run Program.cs:12".
func cutBefore(s string, width int) string {
	return shorten(s[strings.LastIndexByte(s, ' ')+1:], width)
}

// cutName makes a short name of a function or type at most width columns wide.
func cutName(name string, width int) string {
	if width <= 0 || Width(name) <= width {
		return name
	}
	head, parameters := names.CutParameters(name)
	if parameters != "" {
		if end := strings.LastIndexByte(parameters, ')'); end > 1 {
			parameters = "(" + ellipsis + parameters[end:]
		}
		if name = head + parameters; Width(name) <= width {
			return name
		}
	}
	if name = emptyArguments(head) + parameters; Width(name) <= width {
		return name
	}
	head = emptyArguments(head)
	for n := strings.Count(head, "."); n >= 2; n-- {
		if name = names.LastParts(head, n) + parameters; Width(name) <= width {
			return name
		}
	}
	return shorten(name, width)
}

// emptyArguments leaves out the type arguments of a name: List<…>.Add.
func emptyArguments(name string) string {
	var b strings.Builder
	depth := 0
	for _, r := range name {
		if r == '>' {
			depth = max(0, depth-1)
		}
		if depth == 0 {
			b.WriteRune(r)
		}
		if r == '<' {
			if depth++; depth == 1 {
				b.WriteString(ellipsis)
			}
		}
	}
	return b.String()
}

// cutEnd makes a line of source fit: its beginning says most.
func cutEnd(s string, width int) string {
	runes, used := []rune(s), 0
	for i, r := range runes {
		if used += runeWidth(r); used >= width && (i+1 < len(runes) || used > width) {
			return string(runes[:i]) + ellipsis
		}
	}
	return s
}
