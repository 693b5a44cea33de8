package text

import (
	"strings"

	"github.com/clrprof/clrprof/internal/dotnet/names"
	"github.com/clrprof/clrprof/internal/present/report"
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
	if width <= 0 || Width(s) <= width {
		return s
	}
	switch how {
	case report.CutParts:
		return cutName(s, width)
	case report.CutBeginning:
		return cutBefore(s, width)
	case report.CutEnd:
		return cutEnd(s, width)
	case report.CutPath:
		return cutPath(s, width)
	case report.CutMiddle:
	}
	return shorten(s, width)
}

// cutBefore leaves out the beginning of a text up to its last word: Program.cs:12 of "Worker.Run Program.cs:12".
func cutBefore(s string, width int) string {
	return shorten(lastWord(s), width)
}

// lastWord is what of a place says where it is.
func lastWord(s string) string { return s[strings.LastIndexByte(s, ' ')+1:] }

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
	for _, name = range append(innerArguments(head, parameters), emptyArguments(head)+parameters) {
		if Width(name) <= width {
			return name
		}
	}
	head = emptyArguments(head)
	least := leastParts(head, parameters)
	for n := strings.Count(head, "."); n >= least; n-- {
		if name = names.LastParts(head, n) + parameters; Width(name) <= width {
			return name
		}
	}
	head = strings.ReplaceAll(names.LastParts(head, least), "<"+ellipsis+">", "")
	if name = head + parameters; Width(name) <= width {
		return name
	}
	behind := parameters[strings.LastIndexByte(parameters, ')')+1:] // ", on the stack"
	if bare := head + behind; Width(bare) <= width {                // "(…)" says less than any part of a class
		return bare
	}
	last := names.LastParts(head, 1) // what a function is called is whole as long as something of its class is there
	class, found := strings.CutSuffix(head, "."+last)
	if left := width - 1 - Width(last+parameters); found && left >= minClass {
		return shorten(class, left) + "." + last + parameters
	}
	return shorten(name, width)
}

// innerArguments are the ways to cut the name of a type that leave the type arguments of its last class: they alone
// tell apart what the compiler makes of asynchronous methods.
func innerArguments(head, parameters string) []string {
	last := names.LastParts(head, 1)
	outer, found := strings.CutSuffix(head, "."+last)
	if parameters != "" || !found || !strings.ContainsRune(last, '<') {
		return nil
	}
	return []string{emptyArguments(outer) + "." + last, last}
}

// minClass is how much of a class has to be left of its name, so that it says something beside its method.
const minClass = 8

// leastParts is how many parts of a name are left out last: class and method of a function, which has parameters, with
// what the compiler made of the method; the last class of a type.
func leastParts(head, parameters string) int {
	switch {
	case parameters == "":
		return 1
	case strings.HasPrefix(names.LastParts(head, 1), "<"):
		return 3
	}
	return 2
}

// shortestName is what is left of a name before a class, its outer class or a method is cut.
func shortestName(name string) string {
	head, parameters := names.CutParameters(name)
	if end := strings.LastIndexByte(parameters, ')'); end > 1 {
		parameters = "(" + ellipsis + parameters[end:]
	}
	head = emptyArguments(head)
	return names.LastParts(head, max(2, leastParts(head, parameters))) + parameters // Entry says little without Table
}

// shortest is what a cell can be cut to that still says what it is for.
func shortest(c report.Column, s string) string {
	switch c.Cut {
	case report.CutParts:
		return shortestName(s)
	case report.CutBeginning:
		return lastWord(s)
	case report.CutMiddle, report.CutEnd, report.CutPath:
	}
	return s
}

// cutPath leaves out the outer functions of a stack: those near what it is about say most.
func cutPath(s string, width int) string {
	const arrow = " › "
	frames := strings.Split(s, arrow)
	for len(frames) > 1 {
		frames = frames[1:]
		if inner := ellipsis + arrow + strings.Join(frames, arrow); Width(inner) <= width {
			return inner
		}
	}
	return cutName(frames[0], width)
}

// emptyArguments leaves out the type arguments of a name: List<…>.Add. What the compiler named, <lambda #0_1>, has
// none.
func emptyArguments(name string) string {
	var b strings.Builder
	depth, made, before := 0, 0, '.'
	for _, r := range name {
		if r == '<' && depth == 0 && (made > 0 || before == '.') {
			made++
		}
		before = r
		if made > 0 {
			b.WriteRune(r)
			if r == '>' {
				made--
			}
			continue
		}
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
