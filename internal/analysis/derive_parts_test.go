package analysis

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/differ"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// TestDerivedParts: a part of the derived tables is the same whichever others were made before it, and none is made of
// which nobody asks.
func TestDerivedParts(t *testing.T) {
	dir := t.TempDir()
	tables := map[derivedPart]func(*session.Derived) any{
		derivedUserTimes:     func(d *session.Derived) any { return d.UserTimes },
		derivedTimePlaces:    func(d *session.Derived) any { return [2]any{d.LineTimes, d.InstructionTimes} },
		derivedTimePaths:     func(d *session.Derived) any { return d.PathTimes },
		derivedTimeCalls:     func(d *session.Derived) any { return d.CallTimes },
		derivedTimeFunctions: func(d *session.Derived) any { return d.FunctionTimes },
		derivedTimeModules:   func(d *session.Derived) any { return d.ModuleTimes },
		derivedPaths:         func(d *session.Derived) any { return d.Paths },
		derivedCalls:         func(d *session.Derived) any { return d.Calls },
		derivedFunctions:     func(d *session.Derived) any { return d.Functions },
		derivedModules:       func(d *session.Derived) any { return d.Modules },
		derivedPlaces:        func(d *session.Derived) any { return [2]any{d.Lines, d.Instructions} },
	}
	rapid.Check(t, func(rt *rapid.T) {
		s := open(rt, sessiontest.RandomTimes(rapid.Uint64().Draw(rt, "seed")), filepath.Join(dir, "a"))
		defer s.Close()
		v, err := Computed(s)
		if err != nil {
			rt.Fatal(err)
		}
		want, err := v.data.Derive()
		if err != nil {
			rt.Fatal(err)
		}
		order := rapid.Permutation([]derivedPart{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}).Draw(rt, "order")
		if len(order) != int(derivedParts) || len(tables) != len(order) {
			rt.Fatalf("%d parts, %d tables", derivedParts, len(tables))
		}
		none := differ.Of(tables[order[0]](&session.Derived{}), tables[order[0]](v.derived.Derived), cmpopts.EquateEmpty())
		if none != "" {
			rt.Fatalf("part %d is there before anybody asked: %s", order[0], none)
		}
		for _, part := range order {
			v.derived.need(part)
			if diff := differ.Of(tables[part](want), tables[part](v.derived.Derived), cmpopts.EquateEmpty()); diff != "" {
				rt.Fatalf("part %d of %v: %s", part, order, diff)
			}
		}
	})
}
