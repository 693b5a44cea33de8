package trace

import (
	"bufio"
	"fmt"
	"strconv"
	"strings"

	"github.com/clrprof/clrprof/internal/session/calltrace"
)

// titles are the columns of the CSV file.
var titles = []string{"Time", "Event", "Function Name", "Module Name", "Depth", "Thread ID", "Thread Name",
	"Process ID", "Process Name", "Text"}

// events are the words of the column Event.
var events = map[calltrace.Kind]string{calltrace.Enter: "Enter", calltrace.Exit: "Exit", calltrace.Thrown: "Exception",
	calltrace.Caught: "Catch", calltrace.Begin: "GC Begin", calltrace.End: "GC End", calltrace.Mark: "Mark",
	calltrace.Gap: "Lost", calltrace.System: "System"}

// csvWriter writes a line for each event.
type csvWriter struct {
	out       *bufio.Writer
	names     *names
	functions map[int64]string // their two columns
	threads   map[int64]string // theirs and those of their processes
}

func newCSV(out *bufio.Writer, n *names) *csvWriter {
	return &csvWriter{out: out, names: n, functions: map[int64]string{0: `"","",`}, threads: map[int64]string{}}
}

func (w *csvWriter) begin() {
	for _, t := range titles {
		w.out.WriteString(cell(t))
	}
	w.out.WriteString("\n")
}

// cell is a text, and the comma after it.
func cell(text string) string { return `"` + strings.ReplaceAll(text, `"`, `""`) + `",` }

func (w *csvWriter) function(id int64) string {
	s, ok := w.functions[id]
	if !ok {
		f := w.names.function(id)
		s = cell(f.name) + cell(f.module)
		w.functions[id] = s
	}
	return s
}

// place is the thread and the process of a record.
func (w *csvWriter) place(r *calltrace.Record) string {
	if s, ok := w.threads[r.Thread]; ok && r.Thread != 0 {
		return s
	}
	thread, process := ",\"\",", ",\"\","
	if t, ok := w.names.threads[r.Thread]; ok {
		thread = strconv.FormatInt(t.tid, 10) + "," + cell(t.name)
	}
	if p, ok := w.names.processes[r.Process]; ok {
		process = strconv.FormatInt(p.pid, 10) + "," + cell(p.name)
	}
	if r.Thread != 0 {
		w.threads[r.Thread] = thread + process
	}
	return thread + process
}

func (w *csvWriter) record(r *calltrace.Record) error {
	if r.CutEnd {
		return nil // no event says so: it is one of those that are lost
	}
	depth := ""
	if r.Kind <= calltrace.Caught {
		depth = strconv.Itoa(r.Depth)
	}
	fmt.Fprintf(w.out, "%d,%s%s%s,%s%s\n", r.Time, cell(events[r.Kind]), w.function(r.Function), depth, w.place(r),
		cell(w.text(r)))
	return nil
}

func (w *csvWriter) text(r *calltrace.Record) string {
	switch r.Kind {
	case calltrace.Thrown:
		return w.names.typeName(r.Type)
	case calltrace.Begin:
		if r.Induced {
			return generation(r.Generations) + ", asked for by the program"
		}
		return generation(r.Generations)
	case calltrace.Mark:
		if r.Text == "" {
			return r.Name
		}
		return r.Name + ": " + r.Text
	case calltrace.Gap:
		return lost(r)
	case calltrace.System:
		return w.system(r)
	}
	return ""
}

// system says why the operating system acted, until when, and how much of what it did.
func (w *csvWriter) system(r *calltrace.Record) string {
	e := &w.names.acted[r.At]
	text := fmt.Appendf(nil, "%s, until %d:", e.Reason(), r.Until)
	for _, a := range e.Amounts() {
		if a.Value != 0 {
			text = fmt.Appendf(text, " %s=%d", a.Key, a.Value)
		}
	}
	if calls := e.SystemCalls(); calls != "" {
		text = fmt.Appendf(text, " (%s)", calls)
	}
	return string(text)
}

func lost(r *calltrace.Record) string {
	if r.First {
		return fmt.Sprintf("%d events of the thread before this one", r.Lost)
	}
	if r.Until == 0 {
		return fmt.Sprintf("%d events of the thread, for want of memory, from here to its end", r.Lost)
	}
	return fmt.Sprintf("%d events of the thread, for want of memory, until %d", r.Lost, r.Until)
}

// end tells what is not there. Of what was dropped at the limit no thread is known.
func (w *csvWriter) end(t *calltrace.Totals) error {
	if t.Dropped.Events > 0 && !t.Dropped.First { // else each thread has said so at its begin
		r := &calltrace.Record{Kind: calltrace.Gap}
		fmt.Fprintf(w.out, ",%s%s,%s%s\n", cell(events[calltrace.Gap]), w.function(0), w.place(r),
			cell(fmt.Sprintf("%d events of all threads, after the limit of the trace", t.Dropped.Events)))
	}
	if t.SystemLost > 0 {
		fmt.Fprintf(w.out, ",%s%s,%s%s\n", cell(events[calltrace.Gap]), w.function(0), w.place(&calltrace.Record{}),
			cell(fmt.Sprintf("%d events of the operating system in all threads, for which its list had no room", t.SystemLost)))
	}
	return nil
}
