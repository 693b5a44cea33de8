package trace

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/clrprof/clrprof/internal/session/calltrace"
)

// jsonWriter writes the Trace Event Format.
type jsonWriter struct {
	out         *bufio.Writer
	names       *names
	encoded     map[int64][]byte // the names of functions, as JSON
	line        []byte
	any         bool          // an event was written
	collections map[int64]int // that have begun, by process
}

func newJSON(out *bufio.Writer, n *names) *jsonWriter {
	return &jsonWriter{out: out, names: n, encoded: map[int64][]byte{}, collections: map[int64]int{}}
}

// quoted is a text as JSON, in which < and > are as they are: names are full of them.
func quoted(text string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(text); err != nil { // a text cannot fail
		return []byte(`""`)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

func (w *jsonWriter) begin() {
	w.out.WriteString("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n")
	for _, id := range w.names.order {
		p := w.names.processes[int64(id)]
		w.metadata("process_name", p.pid, 0, "name", quoted(p.name))
		w.metadata("thread_name", p.pid, collectionTrack, "name", quoted("Garbage collections"))
		w.metadata("thread_sort_index", p.pid, collectionTrack, "sort_index", []byte("-1"))
	}
	for _, id := range w.names.inOrder {
		t := w.names.threads[int64(id)]
		w.metadata("thread_name", w.names.processes[int64(t.process)].pid, t.tid, "name", quoted(t.name))
	}
}

func (w *jsonWriter) metadata(what string, pid, tid int64, argument string, value []byte) {
	w.separate()
	fmt.Fprintf(w.out, `{"ph":"M","pid":%d,"tid":%d,"name":"%s","args":{"%s":%s}}`, pid, tid, what, argument, value)
}

func (w *jsonWriter) separate() {
	if w.any {
		w.out.WriteString(",\n")
	}
	w.any = true
}

// event begins an event in w.line: its phase, time, and where it was.
func (w *jsonWriter) event(phase byte, at, process, tid int64) {
	w.separate()
	b := append(append(w.line[:0], `{"ph":"`...), phase)
	b = append(b, `","pid":`...)
	b = strconv.AppendInt(b, w.names.processes[process].pid, 10)
	b = append(b, `,"tid":`...)
	b = strconv.AppendInt(b, tid, 10)
	b = append(b, `,"ts":`...)
	w.line = appendMicros(b, at)
}

// appendMicros appends nanoseconds as the microseconds of the format, with all digits.
func appendMicros(b []byte, ns int64) []byte {
	if ns < 0 {
		b, ns = append(b, '-'), -ns
	}
	b = strconv.AppendInt(b, ns/1000, 10)
	return append(b, '.', byte('0'+ns/100%10), byte('0'+ns/10%10), byte('0'+ns%10))
}

func (w *jsonWriter) name(name []byte) { w.line = append(append(w.line, `,"name":`...), name...) }

// args ends the event, with arguments as JSON or without.
func (w *jsonWriter) args(arguments string) error {
	if arguments != "" {
		w.line = append(append(append(w.line, `,"args":{`...), arguments...), '}')
	}
	w.line = append(w.line, '}')
	_, err := w.out.Write(w.line)
	return err
}

func (w *jsonWriter) function(id int64) []byte {
	b, ok := w.encoded[id]
	if !ok {
		b = quoted(w.names.function(id).name)
		w.encoded[id] = b
	}
	return b
}

func (w *jsonWriter) record(r *calltrace.Record) error {
	tid := w.names.threads[r.Thread].tid
	switch r.Kind {
	case calltrace.Enter:
		w.event('B', r.Time, r.Process, tid)
		w.name(w.function(r.Function))
		return w.args("")
	case calltrace.Exit:
		return w.exit(r, tid)
	case calltrace.Thrown:
		return w.instant(r, tid, w.names.typeName(r.Type), `"kind":"exception"`)
	case calltrace.Caught:
		return w.instant(r, tid, "caught", fmt.Sprintf(`"kind":"catch","by":%s`, w.function(r.Function)))
	case calltrace.Mark:
		return w.instant(r, tid, r.Name, fmt.Sprintf(`"kind":"mark","text":%s`, quoted(r.Text)))
	case calltrace.Gap:
		until := ""
		if r.First {
			return w.instant(r, tid, "events before this one", fmt.Sprintf(`"kind":"loss","events":%d`, r.Lost))
		}
		if r.Until != 0 {
			until = fmt.Sprintf(`,"until":%s`, appendMicros(nil, r.Until))
		}
		return w.instant(r, tid, "events lost", fmt.Sprintf(`"kind":"loss","events":%d%s`, r.Lost, until))
	case calltrace.Begin:
		w.collections[r.Process]++
		w.event('B', r.Time, r.Process, collectionTrack)
		w.name(quoted(generation(r.Generations)))
		return w.args(fmt.Sprintf(`"induced":%t`, r.Induced))
	case calltrace.End:
		if w.collections[r.Process] == 0 { // the runtime tells two ends of some: see wire.Collection
			return nil
		}
		w.collections[r.Process]--
		w.event('E', r.Time, r.Process, collectionTrack)
		return w.args("")
	case calltrace.System:
		return w.system(r, tid)
	}
	return nil
}

// system writes what the operating system did as a slice of the thread, in the call that ran.
func (w *jsonWriter) system(r *calltrace.Record, tid int64) error {
	e := &w.names.acted[r.At]
	w.event('X', r.Time, r.Process, tid)
	w.line = appendMicros(append(w.line, `,"dur":`...), r.Until-r.Time)
	w.name(quoted(e.Reason()))
	args := fmt.Appendf(nil, `"kind":"system","function":%s`, w.function(r.Function))
	for _, a := range e.Amounts() {
		if a.Value != 0 {
			args = fmt.Appendf(args, `,"%s":%d`, a.Key, a.Value)
		}
	}
	if calls := e.SystemCalls(); calls != "" {
		args = fmt.Appendf(args, `,"system_calls":%s`, quoted(calls))
	}
	return w.args(string(args))
}

func (w *jsonWriter) exit(r *calltrace.Record, tid int64) error {
	if r.CutBegin {
		return w.instant(r, tid, "end", fmt.Sprintf(`"kind":"end of a call of which the begin is lost","of":%s`,
			w.function(r.Function)))
	}
	w.event('E', r.Time, r.Process, tid)
	if r.CutEnd {
		return w.args(`"end":"lost: it was here or later"`)
	}
	return w.args("")
}

// instant writes a moment of a thread, or of a process or of all where there is none.
func (w *jsonWriter) instant(r *calltrace.Record, tid int64, name, arguments string) error {
	scope := "t"
	switch {
	case r.Process == 0:
		scope = "g"
	case r.Thread == 0:
		scope = "p"
	}
	w.event('i', r.Time, r.Process, tid)
	w.name(quoted(name))
	w.line = append(append(append(w.line, `,"s":"`...), scope...), '"')
	return w.args(arguments)
}

func (w *jsonWriter) end(t *calltrace.Totals) error {
	keeps := "first"
	if t.Keeps == calltrace.Last {
		keeps = "last"
	}
	_, err := fmt.Fprintf(w.out, "\n],\"otherData\":{\"session\":%s,\"events\":%d,\"keeps\":\"%s\","+
		"\"lost_limit\":%d,\"lost_memory\":%d,\"lost_collections\":%d,\"calls_not_ended\":%d,"+
		"\"system_events\":%d,\"system_events_before\":%d,\"lost_system_events\":%d}}\n", quoted(w.names.session), t.Events,
		keeps, t.Dropped.Events, t.Missed, t.NotTold, t.Open, t.System, t.SystemBefore, t.SystemLost)
	return err
}
