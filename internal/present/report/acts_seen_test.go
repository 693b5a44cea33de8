package report

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// TestActsSeen: what sets the flag that the operating system acted is said of each process, in the list of processes,
// in the header, and in the summary's notes.
func TestActsSeen(t *testing.T) {
	for _, tt := range []struct {
		counter, seen string
		calls         bool
	}{
		{"", "context switches", false}, {"page-faults", "context switches", false},
		{session.CounterSystemCalls, "context switches, system calls", true},
	} {
		b := sessiontest.Timed()
		if tt.counter != "" {
			b.CPUCounters = []session.CPUCounter{{Process: 1, Position: 1, Name: tt.counter, Unit: "count"}}
		}
		s := complete(t, b, filepath.Join(t.TempDir(), "s"))
		processes := viewObjects(t, s, "processes", Options{}, keys("acts_seen"))
		if len(processes) != 1 || processes[0]["acts_seen"] != tt.seen {
			t.Errorf("%s: %v, want %s", tt.counter, processes, tt.seen)
		}
		header := fmt.Sprint(viewObjects(t, s, "header", Options{}, nil))
		if strings.Contains(header, "system calls by perf events") != tt.calls {
			t.Errorf("%s: %s", tt.counter, header)
		}
		src, err := analysis.Open(s, analysis.Selection{})
		if err != nil {
			t.Fatal(err)
		}
		c, err := newContext(src, false)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range c.timeNotes(nil) {
			if n.Kind == NoteWaits && n.Facts[2] != tt.calls {
				t.Errorf("%s: %v", tt.counter, n)
			}
		}
	}
}
