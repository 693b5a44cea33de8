package report_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/present/report"
	"github.com/clrprof/clrprof/internal/present/report/text"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

var moreFindings = regexp.MustCompile(`… (\d+) more: clrprof report \S+ --top`)

// TestFitLines: a summary has no more lines than there is room for, wrapped ones counted; the rows and findings that it
// leaves out are named.
func TestFitLines(t *testing.T) {
	t.Chdir(t.TempDir()) // the path of a session is part of a summary
	for sample, least := range map[string]int{"shop": 24, "aging": 43, "kitchen": 59, "broken": 42, "timed": 31} {
		s := report.Complete(t, sessiontest.Samples[sample](), sample+".clrprof")
		src, err := analysis.Open(s, analysis.Selection{})
		if err != nil {
			t.Fatal(err)
		}
		summary, err := report.Summarize(src, report.Options{Top: 8})
		if err != nil {
			t.Fatal(err)
		}
		written := func(o text.Options) (string, int) {
			var b strings.Builder
			if err := text.WriteSummary(&b, summary, o); err != nil {
				t.Fatal(err)
			}
			lines := 0
			for line := range strings.Lines(b.String()) {
				lines += max(1, (text.Width(strings.TrimSuffix(line, "\n"))+o.Width-1)/o.Width)
			}
			return b.String(), lines
		}
		_, all := written(text.Options{Width: 80})
		fits := least
		for room := all; room >= least; room-- {
			shown, lines := written(text.Options{Width: 80, Lines: room})
			if lines > room {
				fits = room + 1
				break
			}
			checkFindings(t, fmt.Sprintf("%s, %d lines", sample, room), shown, len(summary.Findings))
		}
		if fits > least {
			t.Errorf("%s, of %d lines: not less than %d, want %d", sample, all, fits, least)
		}
	}
}

// checkFindings asserts that the findings which are shown, and those of which it is said that they are not, are all.
func checkFindings(t *testing.T, of, shown string, want int) {
	t.Helper()
	reported := strings.Count(shown, "\n- ")
	if more := moreFindings.FindStringSubmatch(shown); more != nil {
		n, err := strconv.Atoi(more[1])
		if err != nil {
			t.Fatal(err)
		}
		reported += n
	}
	if reported != want {
		t.Errorf("%s: %d of %d findings are shown:\n%s", of, reported, want, shown)
	}
}
