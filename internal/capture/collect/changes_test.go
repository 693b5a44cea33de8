package collect

import (
	"errors"
	"math"
	"os"
	"testing"

	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/wire"
)

func dead(site, generation uint32, n, bytes uint64) wire.Change {
	return wire.Change{Site: site, Counter: generation, Objects: wire.Population{Objects: n, Bytes: bytes}}
}

func allocated(site uint32, n, bytes uint64) wire.Change {
	return dead(site, wire.ChangeAllocated, n, bytes)
}

// TestChanges records three collections, of which the second says nothing: the third says what changed since the first.
func TestChanges(t *testing.T) {
	r, a := newRecording(t), newArena(2)
	a.Header.PID = uint32(os.Getpid()) // a process that runs
	a.Sites[0].Objects, a.Sites[0].Bytes = 10, 240
	a.Deaths[0].DeadObjects[0], a.Deaths[0].DeadBytes[0] = 6, 144
	first := collection(1, wire.Population{Objects: 10, Bytes: 240}, wire.Population{Objects: 6, Bytes: 144},
		wire.Population{Objects: 4, Bytes: 96})
	first.Since, first.Pinned = 0, 3
	a.Add(wire.Changes{GC: 1, Changes: []wire.Change{dead(1, 0, 6, 144)}},
		wire.Changes{GC: 1, Changes: []wire.Change{allocated(1, 10, 240)}}, first)
	r.mustSync(a)
	second := collection(2, wire.Population{}, wire.Population{}, wire.Population{})
	second.Generations[1] = wire.GCGeneration{Before: wire.Population{Objects: 4, Bytes: 96},
		After: wire.Population{Objects: 4, Bytes: 96}}
	a.Add(second)
	r.mustSync(a)

	// The third is read when site 2 has no objects yet, as far as the reader has seen: its changes wait for the next
	// time.
	a.Deaths[0].DeadObjects[0], a.Deaths[0].DeadBytes[0] = 7, 168
	a.Sites[0].Objects, a.Sites[0].Bytes = 12, 288
	third := collection(3, wire.Population{Objects: 7, Bytes: 548}, wire.Population{Objects: 1, Bytes: 24},
		wire.Population{})
	third.Generations[0].After = wire.Population{Objects: 6, Bytes: 524}
	third.Generations[1] = second.Generations[1]
	third.Since = 1
	a.Add(wire.Changes{GC: 3, Changes: []wire.Change{allocated(2, 5, 500), allocated(1, 12, 288), dead(1, 0, 7, 168),
		dead(1, 2, 0, 0)}}, third)
	r.mustSync(a)
	births := func() ([]session.GCBirth, error) { return r.w.GCBirths(0, math.MaxInt64) }
	same(t, births, session.GCBirth{GC: 1, Site: 1, Amount: amount(10, 240)})

	a.Sites[1].Objects, a.Sites[1].Bytes = 5, 500
	a.Header.State, a.Header.EndNS = uint32(wire.StateShutDown), 4e9
	r.mustSync(a)
	r.mustSync(a) // nothing new
	same(t, births, session.GCBirth{GC: 1, Site: 1, Amount: amount(10, 240)},
		session.GCBirth{GC: 3, Site: 1, Amount: amount(2, 48)},
		session.GCBirth{GC: 3, Site: 2, Amount: amount(5, 500)})
	same(t, func() ([]session.GCDeath, error) {
		return r.w.GCDeaths(0, math.MaxInt64)
	}, session.GCDeath{GC: 1, Site: 1, Amount: amount(6, 144)},
		session.GCDeath{GC: 3, Site: 1, Amount: amount(1, 24)})
	same(t, r.w.GCDetails, session.GCDetail{GC: 1, Pinned: 3}, session.GCDetail{GC: 2, Since: 2},
		session.GCDetail{GC: 3, Since: 1})
	same(t, r.w.GCHeaps, session.GCHeap{GC: 1, Before: amount(10, 240)},
		session.GCHeap{GC: 1, Generation: 1, After: amount(4, 96)},
		session.GCHeap{GC: 2, Generation: 1, Before: amount(4, 96), After: amount(4, 96)},
		session.GCHeap{GC: 3, Before: amount(7, 548), After: amount(6, 524)},
		session.GCHeap{GC: 3, Generation: 1, Before: amount(4, 96), After: amount(4, 96)})
	r.check()
}

// TestCutChanges: what a collection that did not end reported is not in the session.
func TestCutChanges(t *testing.T) {
	r, a := newRecording(t), newArena(1)
	a.Sites[0].Objects, a.Sites[0].Bytes = 10, 240
	a.Deaths[0].DeadObjects[0], a.Deaths[0].DeadBytes[0] = 6, 144
	a.Add(wire.Changes{GC: 1, Changes: []wire.Change{allocated(1, 10, 240), dead(1, 0, 6, 144)}})
	r.mustSync(a)
	r.mustSync(a)
	same(t, func() ([]session.GCBirth, error) { return r.w.GCBirths(0, math.MaxInt64) })
	same(t, r.w.Losses, session.Loss{Process: 1, Reason: session.LossGCCut, Events: 1, Amount: amount(6, 144)})
	r.check()
}

// TestDamagedChanges: changes that no agent tells are errors, or wait for ever for a site to become what they say.
func TestDamagedChanges(t *testing.T) {
	for name, c := range map[string]struct {
		changes []wire.Change
		corrupt bool
	}{
		"no site":           {[]wire.Change{allocated(0, 1, 24)}, true},
		"a counter 6":       {[]wire.Change{dead(1, 6, 1, 24)}, true},
		"too many":          {[]wire.Change{allocated(1, 1<<61, 24)}, true},
		"less than before":  {[]wire.Change{allocated(1, 8, 240), allocated(1, 9, 192)}, true},
		"an unknown site":   {[]wire.Change{allocated(77, 1, 24)}, false},
		"more than counted": {[]wire.Change{allocated(1, 11, 264)}, false},
		"more than died":    {[]wire.Change{dead(1, 0, 1, 24)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			r, a := newRecording(t), newArena(1)
			a.Sites[0].Objects, a.Sites[0].Bytes = 10, 240
			g := collection(1, wire.Population{Objects: 10, Bytes: 240}, wire.Population{},
				wire.Population{Objects: 10, Bytes: 240})
			g.Since = 0
			a.Add(wire.Changes{GC: 1, Changes: c.changes}, g)
			if err := r.sync(a); errors.Is(err, wire.ErrCorrupt) != c.corrupt {
				t.Fatalf("got %v", err)
			}
			if !c.corrupt {
				r.check()
			}
		})
	}
}
