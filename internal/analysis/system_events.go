package analysis

import (
	"cmp"
	"fmt"
	"slices"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// SystemEvent is an interval of a thread in which the operating system acted, and the function that it is in.
type SystemEvent struct {
	session.SystemEvent
	Process session.ProcessID
	Thread  session.ThreadID
	At      Place // with a line: before the call that is made there
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
	e.Blocked, e.Ready, e.Length = e.Blocked+o.Blocked, e.Ready+o.Ready, e.Length+o.Length
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
	out := make([]SystemEvent, 0, len(rows))
	for i := range rows {
		e := &rows[i]
		timing, ok := d.timings.find(e.Timing)
		if !ok || timing == none {
			return nil, fmt.Errorf("session %s: %w: system event %d refers to timing %d, which does not exist",
				v.session.Path(), session.ErrCorrupt, e.ID, e.Timing)
		}
		if d.in.timings != nil && !d.in.timings[timing] || e.End < v.selection.From ||
			v.selection.To != 0 && e.End >= v.selection.To {
			continue
		}
		out = append(out, d.systemEvent(e, timing))
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
