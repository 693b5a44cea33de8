// Package trace writes a call trace: each event of the calls that were recorded, in the order of time.
//
//   - JSON, as Chrome's Trace Event Format, which Perfetto (https://ui.perfetto.dev) and chrome://tracing open: calls
//     as B and E of their thread, exceptions and marks as i, collections as B and E on a track of their own. Below
//     otherData is what the trace has and what is lost.
//   - CSV, as VSPerfReport wrote its files: a line for each event, texts quoted, numbers plain, a comma at the end of
//     each line. The original's columns of a call trace are documented nowhere; these have the names of its other
//     files.
//
// Times are those of the session. Names that are long are written again with each call; gzip makes a tenth of that.
//
// The output depends on nothing but the trace and its session. It is written as it is read: what is in memory is a part
// of each thread.
package trace

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/session/calltrace"
)

// Format is a way to write a trace.
type Format string

// The formats. A file's name says which one it has, and ends with gzipSuffix after that where it is compressed.
const (
	formatJSON Format = "json"
	formatCSV  Format = "csv"

	gzipSuffix = ".gz"
)

// FormatOf says how a file of that name is written.
func FormatOf(path string) (format Format, zipped, known bool) {
	_, name := filepath.Split(path)
	name, zipped = strings.CutSuffix(name, gzipSuffix)
	for _, f := range []Format{formatJSON, formatCSV} {
		if stem, ok := strings.CutSuffix(name, "."+string(f)); ok && stem != "" {
			return f, zipped, true
		}
	}
	return "", false, false
}

// firstMadeUp is the first number of a thread that has none of its own, or one that another had: Linux gives no thread
// a number above 4 Mi.
const firstMadeUp = 10_000_000

// collectionTrack is the thread on which collections are drawn; no real thread has this number.
const collectionTrack = 0

// process is a process as the file names it.
type process struct {
	pid  int64
	name string
}

// thread is a thread as the file names it.
type thread struct {
	process session.ProcessID
	tid     int64
	name    string
}

// names are what the file names things, by the session's ids.
type names struct {
	session   string
	processes map[int64]process
	order     []session.ProcessID
	threads   map[int64]thread
	inOrder   []session.ThreadID
	functions map[int64]function
	types     map[int64]string
	acted     []analysis.SystemEvent // what Record.At of the kind System is an index of
}

type function struct{ name, module string }

// writer writes a format.
type writer interface {
	begin()
	record(r *calltrace.Record) error
	end(t *calltrace.Totals) error
}

// Write writes a trace with the names, the marks, the collections and the system events of its session. Errors are
// those of reading either, which wrap calltrace.ErrCorrupt where the trace is damaged, and of out.
func Write(out io.Writer, format Format, s *session.Session, r *calltrace.Recorded) (calltrace.Totals, error) {
	n, err := read(s)
	if err != nil {
		return calltrace.Totals{}, err
	}
	others, err := records(s)
	if err != nil {
		return calltrace.Totals{}, err
	}
	acted, lost, err := n.readActed(s)
	if err != nil {
		return calltrace.Totals{}, err
	}
	buffered := bufio.NewWriterSize(out, 1<<16)
	var w writer = newJSON(buffered, n)
	if format == formatCSV {
		w = newCSV(buffered, n)
	}
	w.begin()
	totals, err := r.Records(append(others, acted...), w.record)
	totals.SystemLost = lost
	if err != nil {
		return totals, err
	}
	if err := w.end(&totals); err != nil {
		return totals, err
	}
	return totals, buffered.Flush()
}

// read reads the names.
func read(s *session.Session) (*names, error) {
	n := &names{session: filepath.Base(s.Path()), processes: map[int64]process{}, threads: map[int64]thread{},
		functions: map[int64]function{}, types: map[int64]string{}}
	processes, err := s.Processes()
	if err != nil {
		return nil, err
	}
	for _, p := range processes {
		n.processes[int64(p.ID)] = process{p.PID, p.Name}
		n.order = append(n.order, p.ID)
	}
	if err := n.readThreads(s); err != nil {
		return nil, err
	}
	modules, err := s.Modules()
	if err != nil {
		return nil, err
	}
	moduleNames := map[session.ModuleID]string{}
	for _, m := range modules {
		moduleNames[m.ID] = m.Name
	}
	functions, err := s.Functions()
	if err != nil {
		return nil, err
	}
	for i := range functions {
		f := &functions[i]
		n.functions[int64(f.ID)] = function{f.DisplayName(), moduleNames[f.Module]}
	}
	types, err := s.Types()
	if err != nil {
		return nil, err
	}
	byID := map[session.TypeID]*session.Type{}
	for i := range types {
		byID[types[i].ID] = &types[i]
	}
	get := func(id session.TypeID) *session.Type { return cmp.Or(byID[id], &session.Type{}) }
	for id := range byID {
		n.types[int64(id)] = session.TypeDisplayName(id, get)
	}
	return n, nil
}

// readThreads gives each thread of a process a number that no other has.
func (n *names) readThreads(s *session.Session) error {
	threads, err := s.Threads()
	if err != nil {
		return err
	}
	type key struct {
		process session.ProcessID
		tid     int64
	}
	taken := map[key]bool{}
	for _, t := range threads {
		tid := t.OSID
		if tid == 0 || taken[key{t.Process, tid}] {
			tid = firstMadeUp + int64(t.ID)
		}
		taken[key{t.Process, tid}] = true
		n.threads[int64(t.ID)] = thread{t.Process, tid, t.Label(n.processes[int64(t.Process)].pid)}
		n.inOrder = append(n.inOrder, t.ID)
	}
	return nil
}

func (n *names) function(id int64) function {
	if f, ok := n.functions[id]; ok {
		return f
	}
	return function{name: fmt.Sprintf("(function %d)", id)}
}

func (n *names) typeName(id int64) string { return cmp.Or(n.types[id], "(unknown exception)") }

// generation names the collections of a bit set: the oldest of 0, 1 and 2.
func generation(bits uint32) string {
	for g := 2; g > 0; g-- {
		if bits&(1<<g) != 0 {
			return fmt.Sprintf("GC of generation %d", g)
		}
	}
	return "GC of generation 0"
}

// records are the marks of a session, and its collections with lifetime, in the order of time.
func records(s *session.Session) ([]calltrace.Record, error) {
	marks, err := s.Marks()
	if err != nil {
		return nil, err
	}
	collections, err := s.GCs()
	if err != nil {
		return nil, err
	}
	var out []calltrace.Record
	for _, m := range marks {
		out = append(out, calltrace.Record{Kind: calltrace.Mark, Time: int64(m.Time), Process: int64(m.Process),
			Thread: int64(m.Thread), Name: m.Name, Text: m.Text})
	}
	for _, c := range collections {
		at := calltrace.Record{Kind: calltrace.Begin, Time: int64(c.Begin), Process: int64(c.Process),
			Generations: uint32(c.Collected), Induced: c.Induced}
		out = append(out, at)
		at.Kind, at.Time = calltrace.End, int64(c.Begin+c.Pause)
		out = append(out, at)
	}
	calltrace.Sort(out)
	return out, nil
}

// readActed reads what the operating system did, and how often the list has no room for it.
func (n *names) readActed(s *session.Session) (out []calltrace.Record, lost uint64, err error) {
	source, err := analysis.Open(s, analysis.Selection{})
	if err != nil {
		return nil, 0, err
	}
	if n.acted, err = source.SystemEvents(); err != nil {
		return nil, 0, err
	}
	for i := range n.acted {
		e := &n.acted[i]
		out = append(out, calltrace.Record{Kind: calltrace.System, Time: int64(e.Begin()), Until: int64(e.End), At: i,
			Process: int64(e.Process), Thread: int64(e.Thread), Function: int64(e.At.Function)})
	}
	losses, err := s.Losses()
	for _, l := range losses {
		if l.Reason == session.LossSystemEvents {
			lost += uint64(l.Events)
		}
	}
	return out, lost, err
}
