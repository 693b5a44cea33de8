package budget

import (
	"strings"
	"testing"
)

// TestHostileNames: a limit's name, and what is said of it, cannot begin a line of the output, which a build server
// would take for a command, nor steer a terminal.
func TestHostileNames(t *testing.T) {
	const name = "limit\n::set-output name=token::stolen\r\n\x1b[2J\u202e"
	verdicts := []Verdict{
		{Title: name, Metric: "bytes", State: Broken, Why: name, Next: name, Places: []Place{{Name: name, Function: name,
			File: "/src/" + name, Line: 3, Types: []string{name}, By: name}, {Name: name, Evidence: name}}},
		{Title: name, Metric: "bytes", State: Unknown, Why: name},
	}
	for _, format := range Formats() {
		var out strings.Builder
		if err := Write(&out, format, verdicts, Around{Notes: []string{name}, Root: "/src"}); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if strings.HasPrefix(strings.TrimSpace(line), "::set-output") {
				t.Errorf("%s: a command: %s", format, line)
			}
		}
		if strings.ContainsAny(out.String(), "\x1b\r") || format != "json" && format != "junit" &&
			strings.Contains(out.String(), "\u202e") {
			t.Errorf("%s: control characters: %q", format, out.String())
		}
	}
}
