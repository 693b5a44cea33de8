package report

import (
	"testing"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// TestBusy: a machine was busy if threads that could run had no processor for a tenth of the time that they wanted one.
func TestBusy(t *testing.T) {
	for _, tt := range []struct {
		cpu, ready q.Nanoseconds
		want       bool
	}{
		{90e6, 10e6 + 100, true}, {900e6, 99e6, false}, {900e6, 101e6, true},
		{1e6, 9e6, false}, // too little to say so
		{0, 0, false},
	} {
		of := Timing{Total: session.TimeValue{Times: q.Times{Inclusive: q.Time{CPU: tt.cpu, Waits: q.Waits{Ready: tt.ready}}}}}
		if have := of.Busy(); have != tt.want {
			t.Errorf("%s of CPU time and %s ready: busy: %v, want %v", tt.cpu, tt.ready, have, tt.want)
		}
	}
}
