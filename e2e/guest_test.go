package e2e

import (
	"testing"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// TestGuest: on .NET Core 3.1, which nobody supports any more, clrprof still counts objects, follows their lives, and
// counts calls by the runtime's hooks.
func TestGuest(t *testing.T) {
	t.Parallel()
	old := dotnettest.Guest(t)
	t.Run("memory and lifetime", func(t *testing.T) {
		t.Parallel()
		for _, target := range [][]string{{"Shapes"}, {"Threads", "16", "1000"}} {
			r := mustRecord(t, old.Command(dotnettest.Target(t, target[0], dotnettest.Options{}), target[1:]...))
			compareTruth(t, r, old)
		}
	})
	t.Run("times", func(t *testing.T) {
		t.Parallel()
		cmd := old.Command(dotnettest.Target(t, "TimeCalls", dotnettest.Options{}), "300", "1", "400")
		compareCalls(t, mustRecordTime(t, cmd, timeOnly...), "TimeCalls.dll")
	})
}
