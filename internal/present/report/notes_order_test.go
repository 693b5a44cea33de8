package report_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/present/report"
	"github.com/clrprof/clrprof/internal/present/report/text"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// TestSummaryBegins: a summary begins with what is selected, if anything is, and then with findings; what may have
// disturbed the recording is said at the end.
func TestSummaryBegins(t *testing.T) {
	b := sessiontest.Kitchen()
	b.Info[session.KeySuspended] = "5000000000"
	s := report.Complete(t, b, filepath.Join(t.TempDir(), "s.clrprof"))
	for begins, sel := range map[string]analysis.Selection{"Findings\n": {},
		"Only process 500 (Kitchen); percentages are of the whole run.\n\nFindings\n": {Processes: []session.ProcessID{1}}} {
		out := summaryText(t, s, sel)
		if !strings.HasPrefix(out, begins) || strings.Count(out, "The machine was suspended for 5.00 s") != 1 {
			t.Errorf("it does not begin with %q:\n%s", begins, out)
		}
	}
}

// summaryText is the summary of a session with three rows in each list.
func summaryText(t *testing.T, s *session.Session, sel analysis.Selection) string {
	t.Helper()
	src, err := analysis.Open(s, sel)
	if err != nil {
		t.Fatal(err)
	}
	summary, err := report.Summarize(src, report.Options{Top: 3})
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := text.WriteSummary(&out, summary, text.Options{}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
