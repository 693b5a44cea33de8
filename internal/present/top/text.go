package top

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/clrprof/clrprof/internal/capture/live"
	"github.com/clrprof/clrprof/internal/present/report/text"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// Tab is one of the lists.
type Tab int

// Tabs, in their order on the screen.
const (
	tabFunctions Tab = iota
	tabTypes
	tabGCs

	tabs
)

var tabNames = [tabs]string{"functions", "types", "collections"}

// Layout says what is shown and where.
type Layout struct {
	Tab           Tab
	Order         Order
	Width, Height int // of the screen; Height 0: no limit, and no list of tabs
	First         int // of the rows of the list that is at the top
	Color         bool
	Note          string // at the end, instead of the keys
	Paused        bool
	Help          bool // the keys instead of the list
}

// The styles of a terminal (ECMA-48, SGR).
const (
	bold    = "\x1b[1m"
	dim     = "\x1b[2m"
	reverse = "\x1b[7m"
	plain   = "\x1b[0m"
)

func (l *Layout) style(style, s string) string {
	if !l.Color || s == "" {
		return s
	}
	return style + s + plain
}

// Text lays the screen out. Every line has at most the width.
func (s *Screen) Text(l Layout) string {
	lines := s.head(&l)
	if l.Height > 0 {
		lines = append(lines, l.tabs())
	}
	list := s.list(&l)
	if l.Help {
		list = l.help()
	}
	room := len(list)
	if l.Height > 0 {
		room = max(1, l.Height-len(lines)-1) // the last line is of keys
	}
	first := min(max(0, l.First), max(0, len(list)-1))
	if len(list) > 0 { // the titles stay
		lines = append(lines, l.style(bold, list[0]))
		list = list[min(len(list), 1+first):]
		room--
	}
	lines = append(lines, list[:min(len(list), room)]...)
	if l.Height > 0 {
		for len(lines) < l.Height-1 {
			lines = append(lines, "")
		}
		lines = append(lines, l.style(dim, l.foot(len(list)-room)))
	}
	return strings.Join(lines, "\n")
}

// Head lays out the first rows of the list, 0: all, below what is said of the recording. Left is how many rows that
// leaves out.
func (s *Screen) Head(l Layout, rows int) (text string, left int) {
	l.Height, l.First = 0, 0
	lines := strings.Split(s.Text(l), "\n")
	most := len(s.head(&l)) + 1 + rows
	if rows == 0 || len(lines) <= most {
		return strings.Join(lines, "\n"), 0
	}
	return strings.Join(lines[:most], "\n"), len(lines) - most
}

// head says how the recording is as a whole.
func (s *Screen) head(l *Layout) []string {
	m := &s.last
	state := ""
	if l.Paused {
		state = "  [paused: the recording continues]"
	}
	if m.Paused {
		state += "  [nothing is recorded now]"
	}
	lines := []string{
		fmt.Sprintf("%s  %s  %s  %s%s", text.Printable(m.Session), m.End, count(m.Processes, "process", "processes"),
			count(m.Threads, "thread", "threads"), state),
		s.rates(),
	}
	if len(s.gcs) > 0 {
		gc := &s.gcs[0]
		before := fmt.Sprintf("heap after collection %d: ", gc.Number)
		lines = append(lines, before+heapText(gc.Heap, l.Width-len(before)))
	}
	for _, loss := range m.Losses {
		if loss.Events > 0 || loss.Allocations > 0 {
			lines = append(lines, fmt.Sprintf("lost: %s, %s, %s, %s", loss.Reason, loss.Events.Of("time"),
				loss.Allocations.Of("object"), loss.Bytes))
		}
	}
	for i := range lines {
		lines[i] = cut(lines[i], l.Width)
	}
	lines[0] = l.style(bold, lines[0])
	return lines
}

func (s *Screen) rates() string {
	var parts []string
	if s.hasRate && s.recordsMemory() {
		parts = append(parts, fmt.Sprintf("%s%s/s, %s%s objects/s", s.about(), s.rate.Bytes, s.about(),
			s.rate.Allocations))
	}
	if s.hasRate && s.recordsTime() {
		parts = append(parts, fmt.Sprintf("%s calls/s", s.rate.Calls))
	}
	if s.recordsMemory() {
		parts = append(parts, fmt.Sprintf("in all %s%s in %s%s", s.about(), s.last.Total.Bytes, s.about(),
			s.last.Total.Allocations.Of("object")))
	}
	if s.recordsTime() {
		parts = append(parts, "in all "+s.last.Total.Calls.Of("call"))
	}
	return strings.Join(parts, "; ")
}

// about is what stands before numbers of objects and bytes.
func (s *Screen) about() string {
	if s.last.Estimated {
		return quantity.EstimateSign
	}
	return ""
}

// said is a number of objects or bytes of a row that has so many bytes in all. Of an estimate there is none where too
// few samples may be behind it.
func (s *Screen) said(text fmt.Stringer, all quantity.Bytes) string {
	switch {
	case !s.last.Estimated:
		return text.String()
	case quantity.SamplesIn(all) < quantity.LeastSamples:
		return "<10 samples"
	}
	return quantity.EstimateSign + text.String()
}

func (s *Screen) records(set string) bool {
	return slices.Contains(strings.Split(s.last.Mode, ","), set)
}

func (s *Screen) recordsTime() bool { return s.records(session.ModeTime) }

func (s *Screen) recordsMemory() bool { return s.last.Mode != session.ModeTime }

var generationNames = [session.Generations]string{"gen 0", "gen 1", "gen 2", "large", "pinned"}

// heapText says how large the heap is in so many columns, 0 or fewer: as many as it takes. Where there is no room for
// all generations those without objects are left out, and then all but the sum.
func heapText(heap []live.Population, width int) string {
	var all, some []string
	sum := quantity.Bytes(0)
	for i, p := range heap {
		if i >= len(generationNames) {
			break
		}
		sum += p.Bytes
		part := generationNames[i] + " " + p.Bytes.String()
		if all = append(all, part); p.Bytes > 0 {
			some = append(some, part)
		}
	}
	for _, parts := range [][]string{all, some} {
		if text := strings.Join(parts, ", "); width <= 0 || len(parts) > 0 && len(text) <= width {
			return text
		}
	}
	return sum.String()
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

func (l *Layout) tabs() string {
	var parts []string
	width := 0
	for i, name := range tabNames {
		text := fmt.Sprintf(" %d %s ", i+1, name)
		if width += len(text); l.Width > 0 && width > l.Width {
			break
		}
		if Tab(i) == l.Tab {
			text = l.style(reverse, text)
			if !l.Color {
				text = "[" + strings.TrimSpace(text) + "]"
			}
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "")
}

// foot says how many rows there are below the screen, and which keys there are.
func (l *Layout) foot(more int) string {
	before := ""
	if more > 0 && !l.Help {
		before = fmt.Sprintf("%s more   ", quantity.Count(more))
	}
	if l.Note != "" {
		return cut(before+l.Note, l.Width)
	}
	for most := len(hints); ; most-- {
		var parts []string
		for _, h := range hints {
			if h.rank < most {
				parts = append(parts, h.text)
			}
		}
		text := before + strings.Join(parts, "   ")
		if l.Width <= 0 || text == "" || utf8.RuneCountInString(text) <= l.Width {
			return text
		}
		if most == 1 { // how many rows there are says less than how to leave
			return cut(parts[0], l.Width)
		}
	}
}

// hints are the keys that the last line has room for: those with higher ranks go first.
var hints = []struct {
	text string
	rank int
}{{"1 2 3 list", 3}, {"s sort", 2}, {"space pause", 4}, {"↑ ↓ more rows", 5}, {"? help", 1}, {"q quit", 0}}

// help says what each key does.
func (l *Layout) help() []string {
	lines := []string{cut("Keys", l.Width)}
	for _, k := range [][2]string{
		{"1 2 3", "the list: " + strings.Join(tabNames[:], ", ")},
		{"tab →, ←", "the next list, the one before"},
		{"s, S", "sort by the next value, by the one before:"},
		{"", strings.Join(orderNames[:], ", ")},
		{"space, p", "hold what is shown, and go on; the recording continues"},
		{"↓ j, ↑ k", "one row down, one row up"},
		{"pgdn, pgup", "a page down, a page up"},
		{"home, g", "the first row"},
		{"?, h", "these keys, or the list again (also esc, which else quits)"},
		{"q, ^C", "quit; the recording continues"},
	} {
		lines = append(lines, cut("  "+text.Align(k[0], 12, false)+k[1], l.Width))
	}
	return lines
}

// column is a number of a list.
type column struct {
	title string
	width int
	rank  int // those with higher ones go first where there is no room
	order Order
	text  func(*row) string
}

func (s *Screen) columns(tab Tab) []column {
	var out []column
	if s.recordsMemory() {
		out = append(out,
			column{"bytes/s", 12, 1, byByteRate, func(r *row) string { return s.said(r.rate.Bytes, r.total.Bytes) }},
			column{"objects/s", 12, 4, byObjectRate, func(r *row) string {
				return s.said(r.rate.Allocations, r.total.Bytes)
			}})
	}
	if s.recordsTime() && tab == tabFunctions {
		out = append(out, column{"calls/s", 13, 2, byCallRate, func(r *row) string { return r.rate.Calls.String() }},
			column{"calls", 15, 5, byCalls, func(r *row) string { return r.total.Calls.String() }})
	}
	if s.recordsMemory() {
		out = append(out, column{"bytes", 12, 3, byBytes, func(r *row) string {
			return s.said(r.total.Bytes, r.total.Bytes)
		}},
			column{"objects", 14, 6, byObjects, func(r *row) string {
				return s.said(r.total.Allocations, r.total.Bytes)
			}})
	}
	return out
}

// leastName is how much room names have at least: other columns go before.
const leastName = 24

// fit returns the columns that there is room for, and the room for names. The one that the list is sorted by is always
// there.
func fit(columns []column, l *Layout) (kept []column, name int) {
	if l.Width <= 0 {
		return columns, 0
	}
	for {
		used, last := 0, -1
		for i, c := range columns {
			used += c.width + 1
			if c.order != l.Order && (last < 0 || c.rank >= columns[last].rank) {
				last = i
			}
		}
		if name = l.Width - used - 1; name >= leastName || last < 0 {
			return columns, max(1, name)
		}
		columns = slices.Delete(columns, last, last+1)
	}
}

// list returns the lines of the list, the first one with titles.
func (s *Screen) list(l *Layout) []string {
	switch l.Tab {
	case tabGCs:
		return s.gcList(l)
	case tabTypes:
		return s.tableList(l, &s.types, "type")
	}
	return s.tableList(l, &s.functions, "function")
}

func (s *Screen) tableList(l *Layout, t *table, title string) []string {
	t.sort(l.Order)
	kept, nameWidth := fit(s.columns(l.Tab), l)
	line := func(name string, value func(column) string) string {
		var b strings.Builder
		for _, c := range kept {
			b.WriteString(text.Align(value(c), c.width, true) + " ")
		}
		return cut(b.String()+" "+name, l.Width)
	}
	lines := []string{line(title, func(c column) string {
		if c.order == l.Order {
			return c.title + "▼"
		}
		return c.title
	})}
	for i := range t.rows {
		r := &t.rows[i]
		lines = append(lines, line(text.Fit(r.name, nameWidth), func(c column) string { return c.text(r) }))
	}
	if t.rest.Rows > 0 {
		var what []string
		if s.recordsMemory() {
			what = append(what, fmt.Sprintf("%s in %s", t.rest.New.Bytes, t.rest.New.Allocations.Of("object")))
		}
		if s.recordsTime() && l.Tab == tabFunctions {
			what = append(what, t.rest.New.Calls.Of("call"))
		}
		lines = append(lines, cut(fmt.Sprintf("and in the last moment %s of %s", strings.Join(what, ", "),
			quantity.Count(t.rest.Rows).Of("more "+title)), l.Width))
	}
	if t.leftOut > 0 {
		lines = append(lines, cut(fmt.Sprintf("and more than %d %ss that there is no room for", live.MaxEntries, title),
			l.Width))
	}
	return lines
}

func (s *Screen) gcList(l *Layout) []string {
	if len(s.gcs) == 0 {
		if s.records(session.ModeLifetime) {
			return []string{cut("no collection has ended yet", l.Width)}
		}
		return []string{cut("collections are recorded with --lifetime", l.Width)}
	}
	lines := []string{cut("collection gen          at       pause         died  heap after it", l.Width)}
	for i := range s.gcs {
		gc := &s.gcs[i]
		why := ""
		if gc.Induced {
			why = "  (induced)"
		}
		if s.last.Processes > 1 {
			why += fmt.Sprintf("  process %d", gc.Process)
		}
		text := fmt.Sprintf("%10d %3d %11s %11s %12s  ", gc.Number, gc.Generation, gc.Begin, gc.Pause, gc.Died.Bytes)
		room := 0
		if l.Width > 0 {
			room = max(1, l.Width-utf8.RuneCountInString(text)-len(why))
		}
		lines = append(lines, cut(text+heapText(gc.Heap, room)+why, l.Width))
	}
	if more := s.last.GCs.Total - int64(len(s.gcs)); more > 0 {
		lines = append(lines, cut(fmt.Sprintf("and %d earlier ones", more), l.Width))
	}
	return lines
}

func cut(s string, width int) string {
	if width <= 0 {
		return s
	}
	return strings.TrimRight(text.Align(s, width, false), " ")
}
