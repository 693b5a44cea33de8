package report

import (
	"fmt"
	"sort"
	"strconv"

	"github.com/clrprof/clrprof/internal/analysis"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// rows finds rows of a table by id; they are in the order of id.
type rows[ID ~int64 | ~uint32, Row any] struct {
	list []Row
	id   func(*Row) ID
}

// get returns the row with an id, or an empty row.
func (r rows[ID, Row]) get(id ID) *Row {
	if id > 0 && int64(id) <= int64(len(r.list)) && r.id(&r.list[id-1]) == id { // no gaps: the usual case
		return &r.list[id-1]
	}
	i := sort.Search(len(r.list), func(i int) bool { return r.id(&r.list[i]) >= id })
	if i < len(r.list) && r.id(&r.list[i]) == id {
		return &r.list[i]
	}
	return new(Row)
}

// context is what cells are computed from: the names of things and the totals.
type context struct {
	shared    *shared
	source    *analysis.Source
	total     q.Amount              // of the whole run: percentages refer to it
	shown     q.Amount              // of the part that the filter lets through
	timed     []session.ProcessTime // how calls were timed, by process; empty: they were not, or times are not selected
	allTimed  []session.ProcessTime // of the whole run
	totalTime session.TimeValue     // of the whole run
	shownTime session.TimeValue
	awaits    map[session.FunctionID]*session.FunctionAwait // of async methods that waited
	counters  counterColumns
	raw       bool // elapsed times are shown with what the probes added
	imported  bool // another tool recorded it: what it does not have, nobody counted
	late      bool // the process was started without the agent: what it had before is not known
	processes rows[session.ProcessID, session.Process]
	threads   rows[session.ThreadID, session.Thread]
	logical   pathTree                     // of a call tree; nil: the physical one
	methods   *analysis.TreeSums           // which functions are one method; nil: each is by itself
	treeBy    analysis.By                  // what its rows are instead of functions, "": functions
	sets      map[session.ThreadID]q.Count // threads that share a row, if not 1
	modules   rows[session.ModuleID, session.Module]
	functions rows[session.FunctionID, session.Function]
	types     rows[session.TypeID, session.Type]
	files     rows[session.FileID, session.SourceFile]
	// The places are read only by the views that show them.
	lifetimes    shownLifetimes
	holders      *analysis.Holders // of findings
	lines        rows[session.LineID, session.Line]
	firstOnLine  map[session.LineID]session.LineID // of statements that share their line: its first one
	instructions rows[session.InstructionID, session.Instruction]
}

func newContext(src *analysis.Source, raw bool) (*context, error) {
	s := src.Session()
	c := &context{shared: &shared{}, source: src, raw: raw}
	c.processes.id = func(r *session.Process) session.ProcessID { return r.ID }
	c.threads.id = func(r *session.Thread) session.ThreadID { return r.ID }
	c.modules.id = func(r *session.Module) session.ModuleID { return r.ID }
	c.functions.id = func(r *session.Function) session.FunctionID { return r.ID }
	c.types.id = func(r *session.Type) session.TypeID { return r.ID }
	c.files.id = func(r *session.SourceFile) session.FileID { return r.ID }
	c.lines.id = func(r *session.Line) session.LineID { return r.ID }
	c.instructions.id = func(r *session.Instruction) session.InstructionID { return r.ID }
	for _, read := range []func() error{
		func() (err error) { c.processes.list, err = s.Processes(); return },
		func() (err error) { c.threads.list, err = s.Threads(); return },
		func() (err error) { c.modules.list, err = s.Modules(); return },
		func() (err error) { c.functions.list, err = s.Functions(); return },
		func() (err error) { c.types.list, err = s.Types(); return },
		func() (err error) { c.files.list, err = s.SourceFiles(); return },
		func() (err error) { c.shown, err = src.Total(); return },
	} {
		if err := read(); err != nil {
			return nil, err
		}
	}
	info, err := s.Info()
	if err != nil {
		return nil, err
	}
	c.imported = info[session.KeyObjects] == session.ObjectsSampled
	c.late = info[session.KeyObjects] == session.ObjectsLarge
	sets, err := s.ThreadSets()
	if err != nil {
		return nil, err
	}
	c.sets = make(map[session.ThreadID]q.Count, len(sets))
	for _, set := range sets {
		c.sets[set.Thread] = set.Threads
	}
	whole, err := src, error(nil)
	if !src.Selection().IsZero() {
		if whole, err = analysis.Open(s, analysis.Selection{}); err != nil {
			return nil, err
		}
	}
	if c.total, err = whole.Total(); err != nil {
		return nil, err
	}
	if err := c.readTimes(whole); err != nil {
		return nil, err
	}
	return c, c.readCounters()
}

// readPlaces reads the lines and instructions.
func (c *context) readPlaces() error {
	err := c.readLines()
	if err == nil {
		c.instructions.list, err = c.source.Session().Instructions()
	}
	return err
}

// readLines reads the lines, unless they are known.
func (c *context) readLines() (err error) {
	if c.lines.list != nil {
		return nil
	}
	if c.lines.list, err = c.source.Session().Lines(); err != nil {
		return err
	}
	type place struct {
		function session.FunctionID
		file     session.FileID
		line     int64
	}
	c.firstOnLine = map[session.LineID]session.LineID{}
	first := make(map[place]session.LineID, len(c.lines.list))
	for i := range c.lines.list {
		l := &c.lines.list[i]
		at := place{l.Function, l.File, l.LineBegin}
		if one, known := first[at]; known {
			c.firstOnLine[one], c.firstOnLine[l.ID] = one, one
		} else {
			first[at] = l.ID
		}
	}
	return nil
}

// linePosition is where a statement begins: 14, or 14:30 with its column, if the function has several on that line.
// Loops do, and rows of two statements must not look the same.
func (c *context) linePosition(l *session.Line) string {
	if c.firstOnLine[l.ID] != 0 {
		return fmt.Sprintf("%d:%d", l.LineBegin, l.ColumnBegin)
	}
	return strconv.FormatInt(l.LineBegin, 10)
}

func (c *context) functionName(id session.FunctionID) string {
	return c.functions.get(id).DisplayName()
}

func (c *context) typeName(id session.TypeID) string {
	return session.TypeDisplayName(id, c.types.get)
}

func (c *context) moduleName(id session.ModuleID) string {
	if id == 0 {
		return "(no module)"
	}
	return c.modules.get(id).Name
}

// threadCount is how many threads there were in a process, 0: in all.
func (c *context) threadCount(p session.ProcessID) q.Count {
	n := q.Count(0)
	for _, t := range c.threads.list {
		if p == 0 || t.Process == p {
			n += max(1, c.sets[t.ID])
		}
	}
	return n
}

// mostNamed is how many processes a note names.
const mostNamed = 5

// leftRunning says which processes outlived the recording; ok: some did.
func (c *context) leftRunning() (left Note, ok bool) {
	var names List
	for _, p := range c.processes.list {
		if p.EndState == session.EndRunning {
			names = append(names, fmt.Sprintf("%d %s", p.PID, p.Name))
		}
	}
	n := len(names)
	if n > mostNamed {
		names = append(names[:mostNamed], fmt.Sprintf("%d more", n-mostNamed))
	}
	return note(NoteLeftRunning, names), n > 0
}

func (c *context) threadName(id session.ThreadID) string {
	t := c.threads.get(id)
	return t.DisplayName(c.processes.get(t.Process).PID)
}

// fileOf returns the source file of a row's function or line.
func (c *context) fileOf(r *Row) string {
	if r.kind == rowLine || r.line != 0 {
		return c.files.get(c.lines.get(r.line).File).Path
	}
	return c.files.get(c.functions.get(r.function).File).Path
}
