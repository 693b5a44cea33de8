package e2e

import (
	"testing"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// TestPausedThrows: exceptions leave calls that are recorded, and others of the same function that began in a pause. No
// call is taken for gone that goes on: each that is recorded ends, and has called what it called.
func TestPausedThrows(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	dll := controlled(t, in, "PausedThrows", "../testdata/targets/PausedThrows", "../testdata/targets")
	for i, tt := range dotnettest.Some([]struct {
		name  string
		flags []string
		asks  []string
	}{
		{"hooks", byHooks, nil},
		{"probes", byProbes, nil},
		{"boundary", []string{"--time"}, nil},
		{"boundary hooks", boundaryHooks, nil},
		{"without probes", byProbes, []string{"asks"}},
		{"boundary without probes", []string{"--time"}, []string{"asks"}},
	}) {
		runtimes := in.Runtimes()
		if tt.asks != nil {
			runtimes = dotnettest.OneInTurn(dotnettest.NeedRuntimes(t, 5), i)
		}
		for _, runtime := range runtimes {
			t.Run(tt.name+"/"+runtime.Name, func(t *testing.T) {
				t.Parallel()
				compareCallsAsked(t, runtime.Command(dll, tt.asks...), "PausedThrows.dll", byCtlSettled, tt.flags...)
			})
		}
	}
}
