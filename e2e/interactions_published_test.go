package e2e

import (
	"testing"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// TestInteractionsPublished: in a program of one file assemblies have no folders.
func TestInteractionsPublished(t *testing.T) {
	t.Parallel()
	dotnettest.NotQuick(t, "it publishes programs")
	for _, tt := range deliveries[:2] {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cmd := delivered(t, "Interactions", tt.properties)
			cmd.Args = append(cmd.Args, "40", "3")
			compareInteractions(t, mustRecord(t, cmd, "--interactions"))
		})
	}
}
