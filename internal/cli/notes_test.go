package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// TestWork: work is shown on a terminal, once it has taken a while, and a line that says the same is not written again.
func TestWork(t *testing.T) {
	for _, terminal := range []bool{false, true} {
		var out bytes.Buffer
		n := &notes{w: &out, terminal: terminal}
		n.startWork()
		n.work("adding up: %d %%", 1)
		if out.Len() != 0 {
			t.Errorf("work that has only begun: %q", out.String())
		}
		n.begin = n.begin.Add(-worthSaying - time.Millisecond)
		for _, percent := range []int{2, 2, 40} {
			n.work("adding up: %d %%", percent)
		}
		n.clear()
		want := map[bool]string{true: "clrprof: adding up: 2 %\r\x1b[Kclrprof: adding up: 40 %\r\x1b[K"}[terminal]
		if got := out.String(); got != want || strings.Count(got, "\n") > 0 {
			t.Errorf("terminal %v: %q, want %q", terminal, got, want)
		}
	}
}
