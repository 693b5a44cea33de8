package cli

import (
	"strings"
	"testing"
)

// TestNotRecorded: of another user's process it is not said that it is not being recorded.
func TestNotRecorded(t *testing.T) {
	for anothers, want := range map[bool]string{true: "belongs to another user", false: "is not being recorded: it must"} {
		if err := notRecorded(4711, anothers); codeOf(err) != exitUnreadable || !strings.Contains(err.Error(), want) {
			t.Errorf("%v", err)
		}
	}
}
