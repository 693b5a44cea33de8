package report_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/present/report"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// TestUnrecordedFirst: a summary begins with the processes that are in none of its numbers; other losses are not such.
func TestUnrecordedFirst(t *testing.T) {
	t.Chdir(t.TempDir())
	for unrecorded, want := range []string{
		"",
		"1 process of .NET was not recorded, and nothing that it did is shown here: Child (100).",
		"2 processes of .NET were not recorded, and nothing that they did is shown here: Child (100), Child (101).",
		"",
		"4 processes of .NET were not recorded, and nothing that they did is shown here: Child (100), Child (101), " +
			"Child (102) and 1 more.",
	} {
		b := sessiontest.Shop()
		first := b.Processes[0]
		b.Losses = []session.Loss{{Process: first.ID, Reason: session.LossUnreadable, Events: 1},
			{Process: first.ID, Reason: session.LossArenaFull, Events: 1}}
		for i := range unrecorded {
			child := first
			child.ID, child.PID, child.Name = session.ProcessID(10+i), int64(100+i), "Child"
			b.Processes = append(b.Processes, child)
			b.Losses = append(b.Losses, session.Loss{Process: child.ID, Reason: session.LossNoVariables, Events: 1})
		}
		out := summaryText(t, report.Complete(t, b, fmt.Sprint(unrecorded, ".clrprof")), analysis.Selection{})
		if says := strings.Contains(out, "not recorded, and nothing"); says != (unrecorded > 0) ||
			!strings.HasPrefix(out, want) {
			t.Errorf("%d are not recorded: %s", unrecorded, out)
		}
	}
}
