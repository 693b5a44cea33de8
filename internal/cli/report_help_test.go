package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// maxHelp is how many lines and columns the help of report has at most: a screen.
const (
	maxHelpLines   = 50
	maxHelpColumns = 100
)

// TestReportHelp: the help of report fits on a screen and names every flag.
func TestReportHelp(t *testing.T) {
	cmd := newReportCommand(&environment{})
	var out bytes.Buffer
	writeReportHelp(&out, cmd)
	lines := strings.Split(strings.TrimRight(out.String(), "\n"), "\n")
	if len(lines) > maxHelpLines {
		t.Errorf("%d lines", len(lines))
	}
	for _, line := range lines {
		if len(line) > maxHelpColumns {
			t.Errorf("%d columns: %s", len(line), line)
		}
	}
	words := strings.Fields(out.String())
	named := map[string]bool{}
	for _, w := range words {
		named[w] = true
	}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" && !named["--"+f.Name] {
			t.Errorf("--%s is not named", f.Name)
		}
	})
	for w := range named {
		if name, ok := strings.CutPrefix(w, "--"); ok && name != "help" && !strings.HasSuffix(name, ")") &&
			cmd.Flags().Lookup(name) == nil {
			t.Errorf("there is no --%s", name)
		}
	}
}
