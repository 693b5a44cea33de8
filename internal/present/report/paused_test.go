package report

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// TestPaused: a pause of all processes counts for each, and a note says of how many processes the sums are, which are
// longer than the run.
func TestPaused(t *testing.T) {
	for _, tt := range []struct {
		processes int
		want      Note
	}{
		{1, note(NotePaused, q.Nanoseconds(30), q.Nanoseconds(1000))},
		{2, note(NotePausedProcesses, q.Nanoseconds(60), q.Nanoseconds(2000), Things{2, "process"})},
	} {
		b := sessiontest.New()
		for i := range tt.processes {
			p := b.Process("App", int64(100+i))
			b.Thread(p, "main")
			b.Processes[p-1].Begin, b.Processes[p-1].End = 0, 1000
		}
		b.Pauses = []session.Pause{{ID: 1, Level: session.LevelGlobal, Begin: 100, End: 130}}
		have, err := made(t, b).own().paused()
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]Note{tt.want}, have); d != "" {
			t.Errorf("%d processes (-want +have): %s", tt.processes, d)
		}
	}
}

// TestPausedAll: of a program that ended before recording began the summary says that nothing was recorded, and proposes
// to look at nothing.
func TestPausedAll(t *testing.T) {
	b := sessiontest.New()
	p := b.Process("App", 100)
	b.Thread(p, "main")
	b.Processes[p-1].Begin, b.Processes[p-1].End = 0, 1000
	for _, end := range []q.Nanoseconds{1000, 900} {
		b.Pauses = []session.Pause{{ID: 1, Level: session.LevelGlobal, Begin: 0, End: end}}
		s, err := made(t, b).Summarize(Options{})
		if err != nil {
			t.Fatal(err)
		}
		said := slices.ContainsFunc(s.Notes, func(n Note) bool {
			return cmp.Equal(n, note(NotePausedAll, q.Nanoseconds(1000)))
		})
		if all := end == 1000; said != all || len(s.Next) == 0 != all {
			t.Errorf("off until %d of 1000: notes %v, next %v", end, s.Notes, s.Next)
		}
	}
}
