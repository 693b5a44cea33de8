package analysis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// SystemEvent is an interval of a thread in which the operating system acted, and the function that it is in.
type SystemEvent struct {
	session.SystemEvent
	Process session.ProcessID
	Thread  session.ThreadID
	At      Place // with a line: before the call that is made there
	Called  []Called
}

// Called is how often a system call was made.
type Called struct {
	Name  string // or its number in brackets
	Calls q.Count
}

// Unnamed is how many of the system calls the kernel did not tell, or of which there are no rows.
func (e *SystemEvent) Unnamed() q.Count {
	n := e.Calls
	for _, c := range e.Called {
		n -= c.Calls
	}
	return n
}

// SystemCalls says which system calls there were, if it is known of some: "read 3, futex 1, other 2".
func (e *SystemEvent) SystemCalls() string {
	var out []string
	for _, c := range e.Called {
		out = append(out, fmt.Sprintf("%s %d", c.Name, c.Calls))
	}
	if n := e.Unnamed(); n > 0 && len(out) > 0 {
		out = append(out, fmt.Sprintf("other %d", n))
	}
	return strings.Join(out, ", ")
}

// readCalled reads which system calls there were, by event: those that were made most first.
func readCalled(s *session.Session) (map[session.SystemEventID][]Called, error) {
	rows, err := s.SystemEventCalls()
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	names, err := s.SystemCalls()
	if err != nil {
		return nil, err
	}
	nameOf := map[int64]string{}
	for _, n := range names {
		nameOf[n.Number] = n.Name
	}
	out := map[session.SystemEventID][]Called{}
	for _, r := range rows {
		out[r.Event] = append(out[r.Event], Called{cmp.Or(nameOf[r.Number], fmt.Sprintf("(%d)", r.Number)), r.Calls})
	}
	for _, list := range out {
		slices.SortStableFunc(list, func(a, b Called) int {
			return cmp.Or(cmp.Compare(b.Calls, a.Calls), strings.Compare(a.Name, b.Name))
		})
	}
	return out, nil
}

// Begin is when the interval began, if nothing was paused in it.
func (e *SystemEvent) Begin() q.Nanoseconds { return max(0, e.End-e.Length) }

// Lost is for how long the thread had no processor.
func (e *SystemEvent) Lost() q.Nanoseconds { return e.Blocked + e.Ready }

// Add adds what the operating system did.
func (e *SystemEvent) Add(o *SystemEvent) {
	e.Voluntary, e.Preempted = e.Voluntary+o.Voluntary, e.Preempted+o.Preempted
	e.MinorFaults, e.MajorFaults = e.MinorFaults+o.MinorFaults, e.MajorFaults+o.MajorFaults
	e.Reads, e.Writes = e.Reads+o.Reads, e.Writes+o.Writes
	e.Calls, e.Migrations = e.Calls+o.Calls, e.Migrations+o.Migrations
	e.Blocked, e.Ready, e.Length = e.Blocked+o.Blocked, e.Ready+o.Ready, e.Length+o.Length
}

// Reason says why the thread lost its processor, as far as the kernel tells, and else what there was.
func (e *SystemEvent) Reason() string {
	var out []string
	switch {
	case e.Voluntary > 0 && e.MajorFaults > 0:
		out = append(out, "page from disk")
	case e.Voluntary > 0 && e.Reads > 0:
		out = append(out, "disk read")
	case e.Voluntary > 0:
		out = append(out, "wait")
	}
	if e.Preempted > 0 {
		out = append(out, "preempted")
	}
	if len(out) > 0 {
		return strings.Join(out, ", ")
	}
	switch {
	case e.MinorFaults+e.MajorFaults > 0:
		return "page fault"
	case e.Reads > 0:
		return "disk read"
	case e.Writes > 0:
		return "disk write"
	case e.Calls > 0:
		return "system call"
	case e.Migrations > 0:
		return "migrated"
	}
	return "off processor"
}

// eventAmounts is how many amounts an event has.
const eventAmounts = 11

// EventAmount is how much of something the operating system did in an event.
type EventAmount struct {
	Key   string // as the column of it: "voluntary", "blocked"
	Title string
	Time  bool // nanoseconds; else a count
	Value int64
}

// Amounts returns how much there was, in the order of columns; with what there was nothing of.
func (e *SystemEvent) Amounts() [eventAmounts]EventAmount {
	return [...]EventAmount{
		{"voluntary", "Waits", false, int64(e.Voluntary)}, {"preempted", "Preempted", false, int64(e.Preempted)},
		{"minor_faults", "Faults", false, int64(e.MinorFaults)},
		{"major_faults", "Disk faults", false, int64(e.MajorFaults)},
		{"reads", "Blocks read", false, int64(e.Reads)}, {"writes", "Written", false, int64(e.Writes)},
		{"calls", "System calls", false, int64(e.Calls)}, {"migrations", "Migrations", false, int64(e.Migrations)},
		{"blocked", "Blocked", true, int64(e.Blocked)}, {"ready", "Ready", true, int64(e.Ready)},
		{"length", "Interval", true, int64(e.Length)},
	}
}

// SystemEvents returns the system events that are selected, in the order of their beginnings. A span of time holds
// those that end in it.
func (v *Source) SystemEvents() ([]SystemEvent, error) {
	rows, err := v.session.SystemEvents()
	if err != nil || len(rows) == 0 || !v.selection.HasTimes() {
		return nil, err
	}
	d, err := v.load()
	if err != nil {
		return nil, err
	}
	return d.systemEvents(rows, v.selection)
}

// systemEvents returns those of the rows that are selected, in the order of their beginnings.
func (d *Data) systemEvents(rows []session.SystemEvent, sel Selection) ([]SystemEvent, error) {
	called, err := readCalled(d.session)
	if err != nil {
		return nil, err
	}
	out := make([]SystemEvent, 0, len(rows))
	for i := range rows {
		e := &rows[i]
		timing, ok := d.timings.find(e.Timing)
		if !ok || timing == none {
			return nil, fmt.Errorf("session %s: %w: system event %d refers to timing %d, which does not exist",
				d.session.Path(), session.ErrCorrupt, e.ID, e.Timing)
		}
		if d.in.timings != nil && !d.in.timings[timing] || e.End < sel.From || sel.To != 0 && e.End >= sel.To {
			continue
		}
		x := d.systemEvent(e, timing)
		x.Called = called[e.ID]
		out = append(out, x)
	}
	slices.SortStableFunc(out, func(a, b SystemEvent) int {
		return cmp.Or(cmp.Compare(a.Begin(), b.Begin()), cmp.Compare(a.ID, b.ID))
	})
	return out, nil
}

func (d *Data) systemEvent(e *session.SystemEvent, timing int32) SystemEvent {
	out := SystemEvent{SystemEvent: *e}
	if thread := d.timingThread[timing]; thread >= 0 {
		out.Thread, out.Process = d.Threads[thread].ID, d.Threads[thread].Process
	}
	node := d.timingNode[timing]
	if node < 0 {
		return out
	}
	out.At.Function = d.Nodes[node].Function
	if at := d.nodeInstruction[node]; at >= 0 {
		out.At.Line = d.Instructions[at].Line
	}
	return out
}

// PlacedEvent is a system event with what a viewer shows of it.
type PlacedEvent struct {
	SystemEvent
	Thread   *session.Thread
	Of       *session.Process
	Function *session.Function
	File     string // where the function is; "" without symbols
	Line     int64  // before the call that is made there; 0: not known
	// When it is drawn: Begin to End, but for the part of a nanosecond by which rounded intervals of a thread overlap.
	From, To q.Nanoseconds
}

// Events returns the system events that are selected, in the order of their beginnings. Those of a thread do not
// overlap.
func (x *SampleSet) Events() ([]PlacedEvent, error) {
	d := x.data
	rows, err := d.session.SystemEvents()
	if err != nil || len(rows) == 0 || !x.selection.HasTimes() {
		return nil, err
	}
	list, err := d.systemEvents(rows, x.selection)
	if err != nil {
		return nil, err
	}
	threads := newIndex(d.Threads, func(r *session.Thread) session.ThreadID { return r.ID })
	functions := newIndex(d.Functions, func(r *session.Function) session.FunctionID { return r.ID })
	lines := newIndex(d.Lines, func(r *session.Line) session.LineID { return r.ID })
	until := map[session.ThreadID]q.Nanoseconds{}
	out := make([]PlacedEvent, len(list))
	for i, e := range list {
		p := PlacedEvent{SystemEvent: e, Thread: at(d.Threads, threads, e.Thread), Of: x.processOf[e.Process],
			Function: at(d.Functions, functions, e.At.Function), Line: at(d.Lines, lines, e.At.Line).LineBegin,
			From: max(e.Begin(), until[e.Thread]), To: max(e.End, until[e.Thread])}
		p.File = x.files[p.Function.File]
		if p.Of == nil {
			p.Of = new(session.Process)
		}
		out[i], until[e.Thread] = p, p.To
	}
	return out, nil
}
