package session

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"zombiezen.com/go/sqlite/sqlitex"

	q "github.com/clrprof/clrprof/internal/quantity"
)

// Levels of control. Something is recorded where all three are on.
const (
	LevelGlobal  = "global"  // all processes of the session
	LevelProcess = "process" // one process
	LevelThread  = "thread"  // one thread
)

// Pause is a row of the table pause: a span of time in which a level was off. Pauses of several levels can overlap.
type Pause struct {
	ID         PauseID
	Level      string
	Process    ProcessID // 0 with LevelGlobal
	Thread     ThreadID  // 0 but with LevelThread
	Begin, End q.Nanoseconds
}

// Who made a mark.
const (
	MarkProgram = "program" // the begin and the end of a process
	MarkAPI     = "api"     // the program, by Clrprof.Control
	MarkCtl     = "ctl"     // clrprof ctl
	MarkSignal  = "signal"  // a signal to clrprof run
	MarkRun     = "run"     // a flag of clrprof run, such as --for

	MarkFunction = "function" // --mark-at: a function was called, or has returned
	MarkRequest  = "request"  // --mark-requests: the endpoint of a request was chosen
)

// Names of the marks that every session has, of each process.
const (
	MarkBegin = "begin"
	MarkEnd   = "end"
)

// Mark is a row of the table mark.
type Mark struct {
	ID      MarkID
	Time    q.Nanoseconds
	Number  int64 // that the program gave it
	Name    string
	Text    string
	Process ProcessID // 0: of the whole session
	Thread  ThreadID  // 0: of no thread
	Source  string
}

var pauseTable = tableOf("pause", func(c *cells, r *Pause) {
	integer(c, &r.ID)
	c.text(&r.Level)
	integer(c, &r.Process)
	integer(c, &r.Thread)
	integer(c, &r.Begin)
	integer(c, &r.End)
})

var markTable = tableOf("mark", func(c *cells, r *Mark) {
	integer(c, &r.ID)
	integer(c, &r.Time)
	c.int64(&r.Number)
	c.longText(&r.Name)
	c.longText(&r.Text)
	integer(c, &r.Process)
	integer(c, &r.Thread)
	c.text(&r.Source)
})

// NotProbed is a row of the table function_not_probed.
type NotProbed struct {
	Function FunctionID
	Reason   string // in words
}

var notProbedTable = tableOf("function_not_probed", func(c *cells, r *NotProbed) {
	integer(c, &r.Function)
	c.longText(&r.Reason)
})

// NotProbed returns the table function_not_probed in the order of function.
func (s *Session) NotProbed() ([]NotProbed, error) { return rows(s, notProbedTable) }

// ReplaceNotProbed adds rows, or replaces those of the same function.
func (w *Writer) ReplaceNotProbed(rows []NotProbed) error {
	return put(w, replace, notProbedTable, rows)
}

// Pauses returns the table pause in the order of id.
func (s *Session) Pauses() ([]Pause, error) { return rows(s, pauseTable) }

// Marks returns the table mark in the order of id.
func (s *Session) Marks() ([]Mark, error) { return rows(s, markTable) }

// FirstMarks returns the first marks in the order of time, at most so many, and the number of all. Marks count that are
// within a span of time and belong to one of some processes (none given: to any), or to no process. A session can have
// millions of marks, of which a table shows a few.
func (s *Session) FirstMarks(from, to q.Nanoseconds, of []ProcessID, most int) ([]Mark, int64, error) {
	if s.absent[markTable.name] {
		return nil, 0, nil
	}
	var terms []string
	var parameters []int64
	if from > 0 || to < math.MaxInt64 {
		terms, parameters = append(terms, "time_ns BETWEEN ? AND ?"), append(parameters, int64(from), int64(to))
	}
	if len(of) > 0 {
		terms = append(terms, "process_id IN (0"+strings.Repeat(", ?", len(of))+")")
		for _, id := range of {
			parameters = append(parameters, int64(id))
		}
	}
	where := "" // without a condition SQLite counts rows without reading them
	if len(terms) > 0 {
		where = " WHERE " + strings.Join(terms, " AND ")
	}
	count, err := s.conn.Prepare("SELECT count(*) FROM mark" + where)
	if err != nil {
		return nil, 0, s.explain(fmt.Errorf("counting marks: %w", err))
	}
	for i, p := range parameters {
		count.BindInt64(i+1, p)
	}
	all, err := sqlitex.ResultInt64(count)
	if err != nil {
		return nil, 0, s.explain(fmt.Errorf("counting marks: %w", err))
	}
	list, err := selectWhere(s, markTable, "id IN (SELECT id FROM mark"+where+" ORDER BY time_ns, id LIMIT ?)",
		append(parameters, int64(most))...)
	slices.SortStableFunc(list, func(a, b Mark) int { return cmp.Compare(a.Time, b.Time) })
	return list, all, s.explain(err)
}

// fewMarks are looked through in some 20 ms: an index of so few is not worth its bytes.
const fewMarks = 100_000

// indexMarks makes the order of time of many marks known, so that the first ones are found without looking at all.
func (w *Writer) indexMarks() error {
	stmt, err := w.conn.Prepare("SELECT count(*) FROM (SELECT 1 FROM mark LIMIT ?)")
	if err != nil {
		return w.explain(fmt.Errorf("counting marks: %w", err))
	}
	stmt.BindInt64(1, fewMarks+1)
	n, err := sqlitex.ResultInt64(stmt)
	if err == nil && n > fewMarks {
		err = sqlitex.ExecuteTransient(w.conn, "CREATE INDEX IF NOT EXISTS mark_time ON mark (time_ns)", nil)
	}
	if err != nil {
		return w.explain(fmt.Errorf("ordering marks: %w", err))
	}
	return nil
}

// ReplacePauses adds rows, or replaces those with the same id.
func (w *Writer) ReplacePauses(rows []Pause) error { return put(w, replace, pauseTable, rows) }

// ReplaceMarks adds rows, or replaces those with the same id.
func (w *Writer) ReplaceMarks(rows []Mark) error { return put(w, replace, markTable, rows) }
