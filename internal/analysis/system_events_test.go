package analysis

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/differ"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// TestSystemEvents: events are in the order of their beginnings, with the thread and the function of their timing, and a
// selection has those of its threads that end in its span of time.
func TestSystemEvents(t *testing.T) {
	b := sessiontest.Timed()
	for i, x := range b.Timings { // the later one ends, the longer it is: they begin in the other order
		n := q.Nanoseconds(i)
		b.SystemEvents = append(b.SystemEvents, session.SystemEvent{ID: session.SystemEventID(i + 1), Timing: x.ID,
			End: 500 + 10*n, Length: 20 * n, Voluntary: 1, Blocked: n, Ready: 1})
	}
	s := open(t, b, filepath.Join(t.TempDir(), "s"))
	defer s.Close()
	for _, sel := range []Selection{{}, {From: 510, To: 530}, {From: 520}, {To: 500}, {Threads: []session.ThreadID{2}},
		{Processes: []session.ProcessID{1}}, {Threads: []session.ThreadID{1}, From: 520, To: 540}} {
		var want []SystemEvent
		for i := len(b.Timings) - 1; i >= 0; i-- {
			e, x := b.SystemEvents[i], b.Timings[i]
			if e.End < sel.From || sel.To != 0 && e.End >= sel.To || len(sel.Threads) > 0 &&
				!slices.Contains(sel.Threads, x.Thread) {
				continue
			}
			node := b.Nodes[x.Node-1]
			place := Place{Function: node.Function}
			if node.Instruction != 0 {
				place.Line = b.Instructions[node.Instruction-1].Line
			}
			want = append(want, SystemEvent{e, 1, x.Thread, place, nil})
		}
		src, err := Open(s, sel)
		if err != nil {
			t.Fatal(err)
		}
		got, err := src.SystemEvents()
		if err != nil {
			t.Fatal(err)
		}
		if diff := differ.Of(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", sel, diff)
		}
	}
}

// TestSystemEventWithoutTiming: an event that refers to nothing is an error of the file.
func TestSystemEventWithoutTiming(t *testing.T) {
	b := sessiontest.Timed()
	b.SystemEvents = []session.SystemEvent{{ID: 1, Timing: 4711, End: 5}}
	s := open(t, b, filepath.Join(t.TempDir(), "s"))
	defer s.Close()
	src, err := Open(s, Selection{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := src.SystemEvents(); !errors.Is(err, session.ErrCorrupt) {
		t.Errorf("reading it: %v", err)
	}
}
