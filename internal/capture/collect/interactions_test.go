package collect_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/clrprof/clrprof/internal/capture/collect"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/wire"
)

// TestInteractions: rows have their texts and stacks; one of which nobody ever knew the stack comes at the end, and one
// that was never used does not.
func TestInteractions(t *testing.T) {
	a := small()
	leaf := uint32(len(a.Nodes) - 1)
	a.Add(wire.InteractionText{ID: 1, Text: "SELECT 1"})
	a.Interactions = []wire.Interaction{
		{Kind: wire.InteractionDatabase, Text: 1, Node: leaf, Started: 3, Ended: 2, Failed: 1, TotalNS: 30, MinNS: 10,
			MaxNS: 20},
		{Kind: wire.InteractionHTTP, Started: 1, MinNS: 1<<64 - 1},
		{Kind: wire.InteractionHTTP, Text: 1, Node: leaf, MinNS: 1<<64 - 1}}
	s := record(t, a, collect.Filter{})
	equal(t, "interactions", get[session.Interaction](t)(s.Interactions()), []session.Interaction{
		{ID: 1, Process: 1, Kind: session.InteractionDatabase, Text: "SELECT 1", HasText: true, Stack: 1, Calls: 3,
			Ended: 2, Failed: 1, Total: 30, Min: 10, Max: 20},
		{ID: 2, Process: 1, Kind: session.InteractionHTTP, Calls: 1}})
	frames := get[session.InteractionFrame](t)(s.InteractionFrames())
	if len(frames) == 0 || frames[0].Function == 0 || frames[0].Instruction == 0 {
		t.Errorf("frames: %v", frames)
	}
}

// TestInteractionsCorrupt: what no agent writes is refused.
func TestInteractionsCorrupt(t *testing.T) {
	for _, row := range []wire.Interaction{{Kind: 9, Node: 1, Started: 1}, {Kind: 1, Node: 1 << 30, Started: 1}} {
		r, a := newRecording(t, collect.Filter{}), small()
		a.Interactions = []wire.Interaction{row}
		write(t, a, filepath.Join(r.dir, "1-1.arena"))
		if err := r.recorder.Sync(5000); !errors.Is(err, wire.ErrCorrupt) {
			t.Errorf("%+v: %v", row, err)
		}
	}
}
