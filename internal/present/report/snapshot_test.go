package report

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/clrprof/clrprof/internal/analysis"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

func TestSnapshotOfUnknownType(t *testing.T) {
	s := complete(t, sessiontest.Heap(), filepath.Join(t.TempDir(), "s"))
	for _, argument := range []string{"Nothing", "Shop"} {
		view, err := FindView("snapshot")
		if err != nil {
			t.Fatal(err)
		}
		src, err := analysis.Open(s, analysis.Selection{})
		if err != nil {
			t.Fatal(err)
		}
		var unknown *UnknownError
		if _, err := view.Build(src, Options{Argument: argument}); !errors.As(err, &unknown) ||
			unknown.Ambiguous != (argument == "Shop") {
			t.Errorf("%s: %v", argument, err)
		}
	}
}

// TestSampledHolder: what a holder holds is counted once also where objects were sampled: samples stand for others that
// the snapshot has, and so only say where objects were made.
func TestSampledHolder(t *testing.T) {
	bag := session.SnapshotHolder{Process: 1, Kind: session.HolderSeveral, Through: 7, Type: 3}
	holds := []analysis.Hold{
		{Holder: bag, Amount: q.Amount{Allocations: 990, Bytes: 990_000}},
		{Holder: bag, From: analysis.Place{Function: 5}, Amount: q.Amount{Allocations: 10, Bytes: 10_000},
			Estimate: q.Amount{Allocations: 480, Bytes: 480_000}},
	}
	for sampled, parts := range map[bool]int{true: 1, false: 2} {
		most := largestHolder(holds, sampled)
		if most == nil || most.bytes != 1_000_000 || len(most.parts) != parts || most.parts[parts-1].From.Function != 5 {
			t.Errorf("sampled %v: %+v", sampled, most)
		}
	}
}
