// Package text writes what a report found for a person: on a terminal, or as Markdown.
//
// Only here are numbers rounded and names shortened; numbers are never cut. At most maxIndent levels of a tree are
// drawn, and deeper rows say their level.
package text

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/report"
	"github.com/clrprof/clrprof/internal/report/words"
)

// Options say how text is laid out.
type Options struct {
	Width     int  // columns of the terminal; 0: no limit, nothing is shortened
	Color     bool // use escape sequences for bold and colours
	Unit      Unit // of durations
	FullNames bool // show functions and types with their namespaces
	Markdown  bool // for comments on pull requests and summaries of pipelines
}

// table is a table that is being written.
type table struct{ *report.Table }

const (
	// maxIndent is how many levels of a tree are drawn; deeper rows say their level.
	maxIndent = 32
	// indentWidth is the width of the lines of one level.
	indentWidth = 2
	// minName, minTreeName (with the lines of the tree) and minOther (columns other than the
	// first) are widths below which names say little: other columns are dropped before.
	minName     = 36
	minTreeName = 52
	minOther    = 14
	// minKept columns are never dropped.
	minKept  = 3
	ellipsis = "…"
	gap      = "  "
)

// Escape sequences, used only with Options.Color.
const (
	styleBold  = "\x1b[1m"
	styleDim   = "\x1b[2m"
	styleHot   = "\x1b[33m"
	styleReset = "\x1b[0m"
)

// hotPercent is the share from which a percentage is coloured.
const hotPercent = 10

func (o Options) style(style, s string) string {
	if !o.Color || s == "" || style == "" {
		return s
	}
	return style + s + styleReset
}

// cellText prints a cell for a person.
func cellText(c report.Column, cell report.Cell) string {
	if cell.Empty {
		return ""
	}
	switch c.Kind {
	case report.Number:
		return strconv.FormatInt(cell.Number, 10)
	case report.Count:
		return q.Count(cell.Number).String()
	case report.Bytes:
		return q.Bytes(cell.Number).String()
	case report.Percent:
		return cell.Percent.Number()
	case report.Time, report.Duration:
		return q.Nanoseconds(cell.Number).String()
	case report.Address:
		return "0x" + strconv.FormatUint(uint64(cell.Number), 16)
	}
	return Printable(cell.Text)
}

// Printable replaces control characters, so that a name cannot steer the terminal.
func Printable(s string) string {
	if isPlain(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u202e' || r == '\u2028' || r == '\u2029' {
			return '\uFFFD'
		}
		return r
	}, s)
}

// isPlain reports whether a text is of printable ASCII alone, as nearly all names are.
func isPlain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// shorten cuts the middle out of s so that it is at most width columns wide. The end
// says more about a function than the beginning, so it gets two thirds.
func shorten(s string, width int) string {
	if width <= 0 || Width(s) <= width {
		return s
	}
	if width == 1 {
		return ellipsis
	}
	head := (width - 1) / 3
	runes := []rune(s)
	front, back := 0, len(runes)
	for used := 0; front < back; front++ {
		if used += runeWidth(runes[front]); used > head {
			break
		}
	}
	for used := 0; back > front; back-- {
		if used += runeWidth(runes[back-1]); used > width-1-head {
			break
		}
	}
	return string(runes[:front]) + ellipsis + string(runes[back:])
}

// wrap breaks a sentence between words into lines of at most width columns; 0: no limit. A longer word has its own
// line.
func wrap(s string, width int) string {
	if width <= 0 {
		return s
	}
	var b strings.Builder
	used := 0
	for i, word := range strings.Split(s, " ") {
		n := Width(word)
		switch {
		case i == 0:
		case used+1+n > width:
			b.WriteByte('\n')
			used = 0
		default:
			b.WriteByte(' ')
			used++
		}
		b.WriteString(word)
		used += n
	}
	return b.String()
}

func pad(s string, width int, right bool) string {
	space := strings.Repeat(" ", max(0, width-Width(s)))
	if right {
		return space + s
	}
	return s + space
}

// layout is a text table whose cells are printed but not yet cut.
type layout struct {
	columns  []report.Column
	cells    [][]string // by row; the name column without its tree lines
	prefixes []string   // by row: the tree lines
	widths   []int
	name     int      // position of the column that takes what is left; -1: none
	hidden   []string // titles of the columns that do not fit
}

// textColumns chooses the first n of the wanted columns, and the one that rows are ordered by: words first, then
// numbers, names last.
func (t table) textColumns(n int) []report.Column {
	var words, numbers, names []report.Column
	wanted := t.TextColumns[:n:n]
	if slices.Contains(t.TextColumns[n:], t.Order) {
		wanted = append(wanted, t.Order)
	}
	for _, key := range wanted {
		for _, c := range t.Columns {
			switch {
			case c.Key != key:
			case c.Kind == report.Name:
				names = append(names, c)
			case c.Kind == report.Text:
				words = append(words, c)
			default:
				numbers = append(numbers, c)
			}
		}
	}
	return append(append(words, numbers...), names...)
}

// lay prints the cells of the first n text columns and measures them.
func (t table) lay(n int, o Options) layout {
	l := layout{columns: t.textColumns(n), name: -1, prefixes: t.prefixes(maxIndent)}
	for i, c := range l.columns {
		l.columns[i].Title = o.Unit.title(c)
		l.widths = append(l.widths, Width(l.columns[i].Title))
		if c.Kind == report.Name && l.name < 0 {
			l.name = i
		}
	}
	names := make([]func(int) string, len(l.columns))
	for i, c := range l.columns {
		names[i] = t.namer(c, o)
	}
	for row := range t.Rows {
		cells := make([]string, len(l.columns))
		for i := range l.columns {
			width := 0
			if t.IsRest(row) {
				continue // it runs over the columns to its right, which are empty
			}
			cells[i] = names[i](row)
			if i == l.name {
				width = Width(l.prefixes[row])
			}
			l.widths[i] = max(l.widths[i], width+Width(cells[i]))
		}
		l.cells = append(l.cells, cells)
	}
	return l
}

// text prints a cell of a row.
func (t table) text(row int, c report.Column, unit Unit) string {
	cell := t.Cell(row, c)
	switch {
	case c.Kind == report.Duration && unit != "" && !cell.Empty:
		return unit.print(q.Nanoseconds(cell.Number), t.TicksPerSecond())
	}
	return cellText(c, cell)
}

// Rest says what a row of a table stands for that a limit hides.
func Rest(t *report.Table, row int) string { return table{t}.restText(row) }

// restText says what a row stands for that a limit hides.
func (t table) restText(row int) string {
	rest := t.Rest(row)
	shares := make([]string, len(rest.Shares))
	for i, share := range rest.Shares {
		shares[i] = share.Percent.String() + " of " + share.Of
	}
	return fmt.Sprintf("%s %s, %s%s", ellipsis, counted(rest.Rows, "more "+rest.Of), strings.Join(shares, ", "),
		pick(rest.Exclusive, " (excl.)", ""))
}

// fit chooses as many columns as fit into width and cuts the names to it.
func (t table) fit(o Options) layout {
	width := o.Width
	least := minName
	if t.IsTree {
		least = minTreeName
	}
	for n := len(t.TextColumns); ; n-- {
		l := t.lay(n, o)
		if width == 0 {
			return l
		}
		left, wanted := width, 0
		for i, c := range l.columns {
			if i > 0 {
				left -= len(gap)
			}
			switch {
			case i == l.name:
				wanted += min(least, l.widths[i])
			case c.Kind == report.Name:
				wanted += min(minOther, l.widths[i])
			default:
				left -= l.widths[i]
			}
		}
		if left < wanted && n > minKept {
			continue
		}
		for _, c := range t.textColumns(len(t.TextColumns)) {
			if c.Kind != report.Percent && !slices.ContainsFunc(l.columns, func(shown report.Column) bool {
				return shown.Key == c.Key
			}) {
				l.hidden = append(l.hidden, o.Unit.title(c))
			}
		}
		natural := l.widths[max(l.name, 0)]
		l.shareNames(max(left, minOther))
		if l.name >= 0 && t.IsTree && l.widths[l.name] < natural { // at most half of the column is lines
			l.prefixes = t.prefixes(min(maxIndent, l.widths[l.name]/2/indentWidth))
		}
		return l
	}
}

// shareNames gives the first name column two thirds, and what the others do not need.
func (l *layout) shareNames(left int) {
	var others []int
	need := 0
	for i, c := range l.columns {
		if c.Kind == report.Name && i != l.name {
			others = append(others, i)
			need += l.widths[i]
		}
	}
	if l.name < 0 {
		return
	}
	if l.widths[l.name]+need <= left {
		return
	}
	forOthers := max(left/3, left-l.widths[l.name])
	if len(others) == 0 {
		forOthers = 0
	}
	for k, i := range others {
		share := forOthers / (len(others) - k)
		l.widths[i] = min(l.widths[i], max(share, 1))
		forOthers -= l.widths[i]
		left -= l.widths[i]
	}
	l.widths[l.name] = min(l.widths[l.name], left)
}

// prefixes returns the lines that draw the tree before each row's name.
func (t table) prefixes(limit int) []string {
	out := make([]string, len(t.Rows))
	if !t.IsTree {
		return out
	}
	more := make([]bool, limit+2) // more[l]: a later row of level l has the same parent
	for i := len(t.Rows) - 1; i >= 0; i-- {
		level := t.Rows[i].Level()
		drawn := min(level, limit)
		var b strings.Builder
		for l := 1; l < drawn; l++ {
			b.WriteString(pick(more[l], "│ ", "  "))
		}
		switch {
		case level > limit:
			fmt.Fprintf(&b, "[%d] ", level)
		case level > 0:
			b.WriteString(pick(more[level], "├ ", "└ "))
		}
		out[i] = b.String()
		more[drawn] = level <= limit
		for l := drawn + 1; l < len(more); l++ {
			more[l] = false
		}
	}
	return out
}

// counted prints a number of things: "1 event", "1,234 events", "2 processes".
func counted[T ~int | ~int64](n T, thing string) string { return q.Count(n).Of(thing) }

func pick(condition bool, yes, no string) string {
	if condition {
		return yes
	}
	return no
}

// WriteTable writes a table: its notes, its rows and its losses.
func WriteTable(w io.Writer, of *report.Table, o Options) error {
	t := table{of}
	if o.Markdown {
		return t.writeMarkdown(w, o)
	}
	out := bufio.NewWriter(w)
	for _, note := range t.Notes {
		fmt.Fprintln(out, wrap(Printable(words.Note(note)), o.Width))
	}
	if len(t.Notes) > 0 {
		fmt.Fprintln(out)
	}
	switch {
	case t.Functions != nil:
		t.writeFunctions(out, o)
	case t.Prose != report.ProseNone:
		t.writeProse(out, o)
	default:
		if hidden := t.writeGrid(out, o); len(hidden) > 0 {
			fmt.Fprintln(out, wrap(fmt.Sprintf("Not shown, for want of width: %s.", strings.Join(hidden, ", ")),
				o.Width))
		}
	}
	for _, loss := range t.Losses {
		fmt.Fprintln(out, o.style(styleBold, wrap(Printable(words.Note(loss)), o.Width)))
	}
	for _, next := range t.Next {
		fmt.Fprintln(out, words.Note(next))
	}
	return out.Flush()
}

// writeGrid writes the rows and returns the titles of the columns for which there was no room.
func (t table) writeGrid(out *bufio.Writer, o Options) (hidden []string) {
	if len(t.Rows) == 0 {
		fmt.Fprintln(out, "Nothing to show.")
		return nil
	}
	l := t.fit(o)
	var head []string
	for i, c := range l.columns {
		head = append(head, o.style(styleBold, pad(shorten(c.Title, l.widths[i]), l.widths[i], c.Kind.IsNumeric())))
	}
	fmt.Fprintln(out, strings.TrimRight(strings.Join(head, gap), " "))
	for row, cells := range l.cells {
		if t.IsRest(row) {
			fmt.Fprintln(out, o.style(styleDim, l.rest(row, t.restText(row), o.Width)))
			continue
		}
		for i, c := range l.columns {
			s := cells[i]
			if i == l.name {
				s = l.prefixes[row] + cutCell(c, s, l.widths[i]-Width(l.prefixes[row]))
			}
			s = pad(cutCell(c, s, l.widths[i]), l.widths[i], c.Kind.IsNumeric())
			if c.Kind == report.Percent && t.Cell(row, c).Percent.Float() >= hotPercent {
				s = o.style(styleHot, s)
			}
			cells[i] = s
		}
		fmt.Fprintln(out, strings.TrimRight(strings.Join(cells, gap), " "))
		t.writeFrom(out, o, row)
	}
	return l.hidden
}

// rest places what is said about hidden rows where the names begin.
func (l *layout) rest(row int, text string, width int) string {
	indent := 0
	for i := range max(l.name, 0) {
		indent += l.widths[i] + len(gap)
	}
	text = l.prefixes[row] + text
	if width > 0 {
		text = shorten(text, max(width-indent, minOther))
	}
	return strings.Repeat(" ", indent) + text
}

// writeFrom writes the line below a type that says on which path most of it was created.
func (t table) writeFrom(out *bufio.Writer, o Options, row int) {
	path, share := t.HotPath(row)
	if len(path) == 0 {
		return
	}
	const indent = 4
	width := 0
	if o.Width > 0 {
		width = max(minOther, o.Width-indent)
	}
	s := fmt.Sprintf("↳ %s in ", share)
	s += pathText(pathNames(path), width-Width(s), o.Width > 0)
	fmt.Fprintln(out, strings.Repeat(" ", indent)+o.style(styleDim, s))
}

// pathNames prints the functions of a path, recursion as "name ×5".
func pathNames(path []report.PathStep) []string {
	var names []string
	for _, step := range path {
		name := Printable(step.Function)
		if step.Times > 1 {
			name += fmt.Sprintf(" ×%d", step.Times)
		}
		names = append(names, name)
	}
	return names
}

// pathText joins the names of a path and, if there is a limit, leaves out the
// first ones that do not fit: the end of the path is where the objects were created.
func pathText(names []string, width int, limited bool) string {
	const arrow = " › "
	s := strings.Join(names, arrow)
	for i := 1; limited && Width(s) > width && i < len(names); i++ {
		s = ellipsis + arrow + strings.Join(names[i:], arrow)
	}
	if limited {
		s = shorten(s, max(width, 1))
	}
	return s
}
