package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/clrprof/clrprof/internal/analysis"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// marksView is the list of marks.
var marksView = View{
	Name:    "marks",
	Short:   "moments that were marked, in order of time",
	Text:    Options{Top: 60},
	columns: keys("mark_id mark_name mark_number mark_ns mark_text mark_source process_id process_name thread_id"),
	text:    keys("mark_name mark_ns mark_text mark_source mark_id"),
	build:   buildMarks,
	timed: timedView{
		text: keys("mark_name mark_ns mark_text mark_source mark_id"),
		both: keys("mark_name mark_ns mark_text mark_source mark_id"),
	},
}

// markColumns are those of the view marks.
var markColumns = []Column{
	markColumn("mark_id", "ID", Number, func(m *session.Mark) int64 { return int64(m.ID) }),
	markText("mark_name", "Mark", func(m *session.Mark) string { return cmp.Or(m.Name, fmt.Sprintf("#%d", m.Number)) }),
	markColumn("mark_number", "Number", Number, func(m *session.Mark) int64 { return m.Number }),
	markColumn("mark_ns", "Time", Time, func(m *session.Mark) int64 { return int64(m.Time) }),
	markText("mark_text", "Text", func(m *session.Mark) string { return m.Text }),
	markText("mark_source", "By", func(m *session.Mark) string { return m.Source }),
}

func markColumn(key, title string, kind Kind, value func(*session.Mark) int64) Column {
	return Column{Key: key, Title: title, Kind: kind, cell: func(_ *context, r *Row) Cell {
		if r.mark == nil {
			return Cell{Empty: true}
		}
		return Cell{Number: value(r.mark)}
	}}
}

func markText(key, title string, value func(*session.Mark) string) Column {
	return Column{Key: key, Title: title, Kind: Name, cell: func(_ *context, r *Row) Cell {
		if r.mark == nil {
			return Cell{Empty: true}
		}
		return Cell{Text: value(r.mark)}
	}}
}

// buildMarks lists marks in the order of time.
func buildMarks(b *builder) error {
	if b.options.Sort == "" && b.options.Top > 0 {
		return b.firstMarks()
	}
	list, err := analysis.Marks(b.source.Session())
	if err != nil {
		return err
	}
	sel := b.source.Selection()
	var rows []Row
	for i := range list {
		m := &list[i]
		if m.Process != 0 && !sel.HasProcess(m.Process) || m.Time < sel.From || sel.To != 0 && m.Time > sel.To {
			continue
		}
		rows = append(rows, rowOfMark(m))
	}
	if b.options.Sort != "" {
		b.sorted(rows)
	}
	b.table.Rows = b.first(rows, "more mark")
	return nil
}

// firstMarks lists the marks that are shown, without reading the others.
func (b *builder) firstMarks() error {
	sel := b.source.Selection()
	to := sel.To
	if to == 0 {
		to = math.MaxInt64
	}
	list, all, err := b.source.Session().FirstMarks(sel.From, to, sel.Processes, b.options.Top)
	for i := range list {
		b.table.Rows = append(b.table.Rows, rowOfMark(&list[i]))
	}
	if more := int(all) - len(list); more > 0 {
		b.next(NoteMore, Things{more, "more mark"})
	}
	return err
}

func rowOfMark(m *session.Mark) Row {
	return Row{kind: rowMark, process: m.Process, thread: m.Thread, mark: m, text: m.Name}
}

// paused says for how long nothing was recorded of the processes that are shown.
func (c *context) paused() ([]Note, error) {
	pauses, err := c.source.Session().Pauses()
	if err != nil || len(pauses) == 0 {
		return nil, err
	}
	var out []Note
	var all, lived q.Nanoseconds
	processes := 0
	for _, p := range c.processes.list {
		if c.source.Selection().HasProcess(p.ID) {
			all += analysis.Paused(pauses, &p)
			lived += p.End - p.Begin
			processes++
		}
	}
	switch {
	case all > 0 && all >= lived:
		out = append(out, note(NotePausedAll, lived))
	case all > 0 && processes > 1: // else it would seem to be of the run, which was shorter
		out = append(out, note(NotePausedProcesses, all, lived, Things{processes, "process"}))
	case all > 0:
		out = append(out, note(NotePaused, all, lived))
	}
	threads := map[session.ThreadID]bool{}
	for _, p := range pauses {
		if p.Level == session.LevelThread && c.source.Selection().HasProcess(p.Process) {
			threads[p.Thread] = true
		}
	}
	if len(threads) > 0 {
		out = append(out, note(NotePausedThreads, Things{len(threads), "thread"}))
	}
	return slices.Clip(out), nil
}
