package e2e

import "testing"

// TestInteractionsPublished: in a program of one file assemblies have no folders.
func TestInteractionsPublished(t *testing.T) {
	t.Parallel()
	for _, tt := range deliveries[:2] {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cmd := delivered(t, "Interactions", tt.properties)
			cmd.Args = append(cmd.Args, "40", "3")
			compareInteractions(t, mustRecord(t, cmd, "--interactions"))
		})
	}
}
