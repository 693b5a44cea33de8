package report

import (
	"testing"

	"github.com/clrprof/clrprof/internal/session"
)

// TestReplacedArguments: the arguments of the command count once if it is one of the processes.
func TestReplacedArguments(t *testing.T) {
	const one, two = `["app","--password","[replaced]"]`, `["app","--key=[replaced]","--token=[replaced]"]`
	processes := []session.Process{{Arguments: one}, {Arguments: two}, {Arguments: "[]"}}
	for command, want := range map[string]int{one: 3, `["sh","-c","app --password [replaced]"]`: 4, "": 3} {
		if got := int(replacedArguments(command, processes)); got != want {
			t.Errorf("%s: %d, want %d", command, got, want)
		}
	}
}
