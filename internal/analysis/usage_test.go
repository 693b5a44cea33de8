package analysis

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/session/sessiontest"
)

// TestUsage: what processes used is the difference between two samples, in sum over those that had both.
func TestUsage(t *testing.T) {
	b := sessiontest.Several()
	b.Counters = []session.Counter{{ID: 1, Name: counterCPUUser, Unit: "ns", IsSum: true}, {ID: 2, Name: counterCPUSystem, Unit: "ns", IsSum: true},
		{ID: 3, Name: counterResident, Unit: "bytes"}, {ID: 7, Name: counterThreads, Unit: "count"}, {ID: 19, Name: "machine.cpu_busy", Unit: "ns", IsSum: true}}
	b.CounterValues = []session.CounterValue{
		{Time: 100, Process: 0, Counter: 19, Value: 1000},
		{Time: 100, Process: 1, Counter: 1, Value: 30}, {Time: 100, Process: 1, Counter: 2, Value: 10}, {Time: 100, Process: 1, Counter: 3, Value: 4096}, {Time: 100, Process: 1, Counter: 7, Value: 9},
		{Time: 250, Process: 1, Counter: 1, Value: 80}, {Time: 250, Process: 1, Counter: 2, Value: 10}, {Time: 250, Process: 1, Counter: 7, Value: 8},
		{Time: 250, Process: 2, Counter: 1, Value: 25}, {Time: 250, Process: 2, Counter: 7, Value: 3}, {Time: 250, Process: 2, Counter: 3, Value: 100},
		{Time: 300, Process: 2, Counter: 1, Value: 20}, // as of a damaged session: a sum that shrinks
	}
	s := open(t, b, filepath.Join(t.TempDir(), "a"))
	defer s.Close()
	got, err := Usage(s)
	if err != nil {
		t.Fatal(err)
	}
	want := []Used{{Begin: 0, End: 100, CPU: 40, Threads: 9, Resident: 4096}, {Begin: 100, End: 250, CPU: 75, Threads: 11, Resident: 100}, {Begin: 250, End: 300}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
