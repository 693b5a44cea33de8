package instrument_test

import (
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/capture/instrument"
)

// TestParseControls: what is given is what messages say, and each flag, point and level has a number of its own for the
// agent.
func TestParseControls(t *testing.T) {
	numbers := map[string]string{}
	for _, flag := range []string{instrument.FlagStartAt, instrument.FlagStopAt, instrument.FlagPauseAt,
		instrument.FlagResumeAt} {
		for _, point := range list("", ":after", ":top", ":bottom") {
			for _, level := range list("", ":process", ":thread") {
				controls, err := instrument.ParseControls(flag, list("Shop.*"+point+level))
				if err != nil || len(controls) != 1 || controls[0].String() != "--"+flag+" Shop.*"+point+level {
					t.Fatalf("--%s %s%s: %v, %v", flag, point, level, controls, err)
				}
				lines, err := instrument.ActionLines(nil, []instrument.Limit{controls[0]})
				if err != nil || len(lines) != 1 || !strings.HasSuffix(lines[0], "+Shop.*") || numbers[lines[0]] != "" {
					t.Errorf("%v: the agent gets %q, %v, as of %s", controls[0], lines, err, numbers[lines[0]])
				}
				numbers[lines[0]] = controls[0].String()
			}
		}
	}
	same, err := instrument.ParseControls(instrument.FlagStopAt, list("A:before:global", "A:global", "A:before", "A"))
	for _, c := range same {
		if c.String() != same[0].String() || !c.Matches("x.dll", "A", "B") || c.Matches("x.dll", "B", "A") {
			t.Errorf("%v is not %v, %v", c, same[0], err)
		}
	}
	for _, text := range list("", ":top", "A:", "A:inside", "A:global:top", "A:top:top", "A:top:thread:x", "/A/") {
		if _, err := instrument.ParseControls(instrument.FlagStopAt, list(text)); err == nil ||
			!strings.HasPrefix(err.Error(), "--stop-at: ") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestActionLines: there are not more than the agent has room for.
func TestActionLines(t *testing.T) {
	mark, err := instrument.ParseMarks(list("A"))
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range map[int]bool{instrument.MaxActions: true, instrument.MaxActions + 1: false} {
		var marks []instrument.MarkAt
		for range n {
			marks = append(marks, mark[0])
		}
		if _, err := instrument.ActionLines(marks, nil); (err == nil) != want {
			t.Errorf("%d patterns: %v", n, err)
		}
	}
}
