package session

import "testing"

func TestThreadNames(t *testing.T) {
	for _, tt := range []struct {
		thread        Thread
		label, inText string
	}{
		{Thread{OSID: 12, Name: "loader"}, "loader", "loader"},
		{Thread{OSID: 10, Name: "start"}, "start", "start"},
		{Thread{OSID: 10}, "main thread", "main thread"},
		{Thread{OSID: 12}, "thread 12", "(thread 12)"},
	} {
		if have := tt.thread.Label(10); have != tt.label {
			t.Errorf("%+v: label %q, want %q", tt.thread, have, tt.label)
		}
		if have := tt.thread.DisplayName(10); have != tt.inText {
			t.Errorf("%+v: display name %q, want %q", tt.thread, have, tt.inText)
		}
	}
}
