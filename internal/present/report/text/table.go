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

	"github.com/clrprof/clrprof/internal/present/report"
	"github.com/clrprof/clrprof/internal/present/report/words"
	"github.com/clrprof/clrprof/internal/printable"
	q "github.com/clrprof/clrprof/internal/quantity"
)

// Options say how text is laid out.
type Options struct {
	Width     int  // columns of the terminal; 0: no limit, nothing is shortened
	Color     bool // use escape sequences for bold and colours
	Unit      Unit // of durations
	FullNames bool // show functions and types with their namespaces
	Lines     int  // of a summary: as few as can be if they are more; 0: no limit
	Markdown  bool // for comments on pull requests and summaries of pipelines
}

// table is a table that is being written.
type table struct{ *report.Table }

const (
	// maxIndent is how many levels of a tree are drawn; deeper rows say their level.
	maxIndent = 32
	// indentWidth is the width of the lines of one level.
	indentWidth = 2
	// Below these widths names say little, so other columns are dropped before: minName of what a table is about,
	// minTreeName of trees, with their lines; mostLeast of functions and types beside the place in the user's code,
	// which need less where nothing of a class is cut; minOther of other names.
	minName     = 36
	mostLeast   = 28
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

// What stands before an estimate, and in place of one of which too little is known.
const (
	aboutSign  = q.EstimateSign
	fewSamples = "<10 samples"
)

// about is what stands before numbers that are estimates if any are.
func (t table) about() string { return pick(t.IsEstimated(), aboutSign, "") }

// cellText prints a cell for a person.
func cellText(c report.Column, cell report.Cell) string {
	switch {
	case cell.Estimate.IsFew() && c.Kind != report.Percent:
		return fewSamples
	case cell.Empty:
		return ""
	case cell.Estimate != nil:
		counted := cell
		counted.Estimate = nil
		return aboutSign + cellText(c, counted)
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

// Estimate says of how many samples a number is an estimate, and where it lies.
func Estimate(c report.Column, e *report.Estimate) string {
	switch {
	case e.IsFew():
		return fmt.Sprintf("%s: too few for a number", counted(q.Count(e.Samples), "sample"))
	case c.Kind == report.Percent:
		return fmt.Sprintf("a share of an estimate by %s", counted(q.Count(e.Samples), "sample"))
	case e.Interval == nil:
		return fmt.Sprintf("an estimate by at least %s", counted(q.Count(e.Samples), "sample"))
	}
	print := func(n int64) string { return cellText(c, report.Cell{Number: n}) }
	return fmt.Sprintf("an estimate by %s: in 95 of 100 recordings between %s and %s",
		counted(q.Count(e.Samples), "sample"), print(e.Interval.Low), print(e.Interval.High))
}

// Printable replaces control characters, so that a name cannot steer the terminal.
func Printable(s string) string { return printable.Text(s) }

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

// units are what numbers are of: both stand on one line.
var units = []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ns", "µs", "ms", "s", "min", "h", "%"}

// unbroken parts a sentence between words, but not a number from its unit.
func unbroken(s string) []string {
	var words []string
	for _, word := range strings.Split(s, " ") {
		n := len(words)
		if n > 0 && slices.Contains(units, strings.TrimRight(word, ".,:;)")) && isNumber(words[n-1]) {
			words[n-1] += " " + word
		} else {
			words = append(words, word)
		}
	}
	return words
}

// isNumber reports whether a word is one, in parentheses or not.
func isNumber(word string) bool {
	word = strings.TrimLeft(word, "(<-")
	return word != "" && strings.Trim(word, "0123456789.,") == ""
}

// wrap breaks a sentence between words into lines of at most width columns; 0: no limit. A longer word has its own
// line.
func wrap(s string, width int) string {
	if width <= 0 {
		return s
	}
	var b strings.Builder
	used := 0
	for i, word := range unbroken(s) {
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
	least    []int    // by column: the width below which it says too little
	good     []int    // and that below which a class, a method or a place would be cut
	hidden   []string // titles of the columns that do not fit
}

// textColumns chooses the first n of the wanted columns, and the one that rows are ordered by: words first, then
// numbers, names, and last whose code it is.
func (t table) textColumns(n int) []report.Column {
	var words, numbers, names, places []report.Column
	wanted := t.TextColumns[:n:n]
	if slices.Contains(t.TextColumns[n:], t.Order) {
		wanted = append(wanted, t.Order)
	}
	for _, key := range wanted {
		for _, c := range t.Columns {
			switch {
			case c.Key != key:
			case c.Kind == report.Name && c.Cut == report.CutBeginning:
				places = append(places, c)
			case c.Kind == report.Name:
				names = append(names, c)
			case c.Kind == report.Text:
				words = append(words, c)
			default:
				numbers = append(numbers, c)
			}
		}
	}
	return slices.Concat(words, numbers, names, places)
}

// lay prints the cells of the first n text columns and measures them.
func (t table) lay(n int, o Options) layout {
	l := layout{columns: t.textColumns(n), name: -1, prefixes: t.prefixes(maxIndent)}
	for i, c := range l.columns {
		l.columns[i].Title = o.Unit.title(c)
		title := Width(l.columns[i].Title)
		l.widths, l.good = append(l.widths, title), append(l.good, title)
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
			l.good[i] = max(l.good[i], width+Width(shortest(l.columns[i], cells[i])))
		}
		l.cells = append(l.cells, cells)
	}
	l.needs(t.IsTree)
	return l
}

// needs finds the widths below which columns are dropped.
func (l *layout) needs(isTree bool) {
	places := slices.ContainsFunc(l.columns, func(c report.Column) bool { return c.Cut == report.CutBeginning })
	for i, c := range l.columns {
		least := min(l.good[i], mostLeast)
		switch {
		case i == l.name && isTree:
			least = min(l.widths[i], minTreeName)
		case i == l.name && !places: // there is room enough for some parameters
			least = min(l.widths[i], minName)
		case c.Cut == report.CutMiddle || c.Cut == report.CutEnd:
			least = min(l.good[i], minOther)
		}
		l.least = append(l.least, least)
	}
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
	said := fmt.Sprintf("%s %s", ellipsis, counted(rest.Rows, "more "+rest.Of))
	if len(rest.Shares) == 0 {
		return said
	}
	shares := make([]string, len(rest.Shares))
	for i, share := range rest.Shares {
		shares[i] = t.about() + share.Percent.String() + " of " + share.Of
	}
	return fmt.Sprintf("%s, %s%s", said, strings.Join(shares, ", "), pick(rest.Exclusive, " (excl.)", ""))
}

// fit chooses as many columns as fit into width and cuts the names to it.
func (t table) fit(o Options) layout {
	width := o.Width
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
			case c.Kind == report.Name:
				wanted += l.least[i]
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
		l.passOn()
		if l.name >= 0 && t.IsTree && l.widths[l.name] < natural { // at most half of the column is lines
			l.prefixes = t.prefixes(min(maxIndent, l.widths[l.name]/2/indentWidth))
		}
		return l
	}
}

// shareNames gives the columns of names what is left: first what each needs so that no class, method or place is cut,
// then the places that say whose code it is all they want, then the others, the first one before the rest.
func (l *layout) shareNames(left int) {
	var all, places []int
	for i, c := range l.columns {
		switch {
		case c.Kind != report.Name:
		case c.Cut == report.CutBeginning:
			places = append(places, i)
		case i == l.name:
			all = slices.Insert(all, 0, i)
		default:
			all = append(all, i)
		}
	}
	all = append(all, places...)
	natural := slices.Clone(l.widths)
	for k, i := range all { // even where there is not enough for all
		l.widths[i] = min(l.least[i], max(left/(len(all)-k), 1))
		left -= l.widths[i]
	}
	grow := func(columns, to []int) {
		for _, i := range columns {
			more := max(0, min(to[i]-l.widths[i], left))
			l.widths[i] += more
			left -= more
		}
	}
	grow(all, l.least)
	grow(places, natural)
	grow(all, l.good)
	grow(all, natural)
}

// passOn gives what the cut cells of columns of names leave of their columns to those whose cells are cut.
func (l *layout) passOn() {
	natural, left := slices.Clone(l.widths), 0
	gives := make([]bool, len(l.columns))
	for i, c := range l.columns {
		if c.Kind != report.Name {
			continue
		}
		natural[i] = Width(c.Title)
		used := min(Width(c.Title), l.widths[i])
		for row, cells := range l.cells {
			prefix := 0
			if i == l.name {
				prefix = Width(l.prefixes[row])
			}
			natural[i] = max(natural[i], prefix+Width(cells[i]))
			used = max(used, min(prefix+Width(cutCell(c, cells[i], l.widths[i]-prefix)), l.widths[i]))
		}
		gives[i] = used < l.widths[i]
		left += l.widths[i] - used
		l.widths[i] = used
	}
	for _, to := range [][]int{l.good, natural} {
		for i, c := range l.columns {
			if c.Kind == report.Name && !gives[i] {
				more := max(0, min(to[i]-l.widths[i], left))
				l.widths[i] += more
				left -= more
			}
		}
	}
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
	case t.Prose == report.ProseFacts && o.Width > 0 && len(t.TextColumns) == 2:
		t.writeFacts(out, o)
	case t.Prose == report.ProseFindings, t.Prose == report.ProseLosses:
		t.writeProse(out, o)
	default:
		if hidden := t.writeGrid(out, o); len(hidden) > 0 {
			fmt.Fprintln(out, wrap(notShown(hidden), o.Width))
		}
	}
	for _, loss := range t.Losses {
		fmt.Fprintln(out, o.style(styleBold, wrap(Printable(words.Note(loss)), o.Width)))
	}
	for _, next := range t.Next {
		fmt.Fprintln(out, wrap(Printable(words.Note(next)), o.Width))
	}
	return out.Flush()
}

// notShown names columns for which there is no room. A title can end with a period, as Voluntary excl. does.
func notShown(titles []string) string {
	return "Not shown for lack of width: " + strings.TrimSuffix(strings.Join(titles, ", "), ".") + "."
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

// rest places what is said about hidden rows where the names begin, or before that if there is no room for it: its
// numbers are not cut.
func (l *layout) rest(row int, text string, width int) string {
	indent := 0
	for i := range max(l.name, 0) {
		indent += l.widths[i] + len(gap)
	}
	text = l.prefixes[row] + text
	if width > 0 {
		indent = max(0, min(indent, width-Width(text)))
		text = shorten(text, width)
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
	s := fmt.Sprintf("↳ %s%s in ", t.about(), share)
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
