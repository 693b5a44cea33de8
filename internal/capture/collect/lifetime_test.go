package collect

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/capture/launch"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/wiretest"
	"github.com/clrprof/clrprof/internal/wire"
)

// newArena is a process with a thread, a type and a function, of which each of n sites is a node.
func newArena(n int) *wiretest.Arena {
	a := wiretest.New()
	a.Header.StartNS, a.Header.Data = 1, wire.DataMemory|wire.DataLifetime
	a.Add(wire.Process{Executable: []byte("/usr/bin/dotnet"), CommandLine: []byte("dotnet\x00App.dll\x00")},
		wire.Module{ID: 1, Name: "App.dll", MVID: [16]byte{1}},
		wire.Type{ID: 1, Module: 1, Token: 0x02000001, Kind: wire.TypeClass, Names: []string{"App.Thing"}},
		wire.Function{ID: 1, Module: 1, Token: 0x06000001, TypeNames: []string{"App"}, Name: "Main",
			Signature: []byte{0, 0, 1}},
		wire.Body{ID: 1, Function: 1, Ranges: []wire.Range{{Address: 0x1000, Size: 0x1000}}},
		wire.Thread{ID: 1, OSID: 7, BeginNS: 2})
	for i := range n {
		a.Site(1, a.Node(0, a.IP(0x1000+uint64(i), 1, 1)), 1, 0, 0)
		a.Deaths = append(a.Deaths, wire.SiteDeaths{})
	}
	return a
}

// recordingTest is a Recorder of one made-up arena.
type recordingTest struct {
	*Recorder
	t         *testing.T
	directory string
	w         *session.Writer
	now       quantity.Nanoseconds
}

func newRecording(t *testing.T) *recordingTest {
	t.Helper()
	w, err := session.Create(filepath.Join(t.TempDir(), "a.clrprof"), false)
	if err != nil {
		t.Fatal(err)
	}
	directory := t.TempDir()
	r := &recordingTest{NewRecorderAt(w, directory, 0, Filter{}), t, directory, w, 0}
	t.Cleanup(func() {
		if err := errors.Join(r.Close(), w.Close()); err != nil {
			t.Error(err)
		}
	})
	return r
}

// sync writes the arena as it is now and records it as a slice of a second.
func (r *recordingTest) sync(a *wiretest.Arena) error {
	r.t.Helper()
	if err := a.Write(filepath.Join(r.directory, "1-1"+launch.ArenaSuffix)); err != nil {
		r.t.Fatal(err)
	}
	r.now += 1e9
	return r.Sync(r.now)
}

func (r *recordingTest) mustSync(a *wiretest.Arena) {
	r.t.Helper()
	if err := r.sync(a); err != nil {
		r.t.Fatal(err)
	}
}

// check completes the session and expects no contradiction in it.
func (r *recordingTest) check() {
	r.t.Helper()
	if err := errors.Join(r.w.SetState(session.Recorded), analysis.Complete(r.w)); err != nil {
		r.t.Fatal(err)
	}
	found, err := analysis.Check(r.w.Session)
	if err != nil || len(found) > 0 {
		r.t.Errorf("found %v, %v", found, err)
	}
}

// same compares the rows of a table with what is wanted.
func same[Row any](t *testing.T, read func() ([]Row, error), want ...Row) {
	t.Helper()
	got, err := read()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// collection makes the record of a collection of generation 0 that does not tell what changed.
func collection(number uint32, before, dead, promoted wire.Population) wire.GC {
	g := wire.GC{Number: number, Collected: 1, Since: number, SuspendNS: uint64(number) * 100,
		StartNS: uint64(number)*100 + 10,
		EndNS:   uint64(number)*100 + 40, DoneNS: uint64(number)*100 + 50}
	g.Generations[0] = wire.GCGeneration{Before: before, Dead: dead, Promoted: promoted}
	g.Generations[1].After = promoted
	return g
}

func amount(n quantity.Count, bytes quantity.Bytes) quantity.Amount {
	return quantity.Amount{Allocations: n, Bytes: bytes}
}

// TestLifetime records a process that runs, collects twice and ends.
func TestLifetime(t *testing.T) {
	r, a := newRecording(t), newArena(2)
	a.Header.State = uint32(wire.StateShutDown)
	a.Header.EndNS = 2e9
	a.Sites[0].Objects, a.Sites[0].Bytes = 10, 240
	a.Sites[1].Objects, a.Sites[1].Bytes = 4, 400
	a.Deaths[0].DeadObjects[0], a.Deaths[0].DeadBytes[0] = 6, 144
	a.Add(collection(1, wire.Population{Objects: 14, Bytes: 640}, wire.Population{Objects: 6, Bytes: 144},
		wire.Population{Objects: 8, Bytes: 496}))
	r.mustSync(a)

	a.Sites[0].Objects, a.Sites[0].Bytes = 12, 288
	a.Deaths[0].DeadObjects[0], a.Deaths[0].DeadBytes[0] = 7, 168
	a.Deaths[0].DeadObjects[1], a.Deaths[0].DeadBytes[1] = 3, 72
	a.Deaths[0].Ages = 1
	a.Ages = []wire.Ages{{}}
	a.Ages[0].ByCollections[1], a.Ages[0].ByTime[2] = 3, 3
	last := wire.GC{Number: 2, Since: 2, Collected: 31, Induced: 1, Finalizable: 5, StartNS: 300, EndNS: 330,
		DoneNS: 350}
	last.Generations[0] = wire.GCGeneration{Before: wire.Population{Objects: 2, Bytes: 48},
		Dead:  wire.Population{Objects: 1, Bytes: 24},
		After: wire.Population{Objects: 1, Bytes: 24}}
	last.Generations[1] = wire.GCGeneration{Before: wire.Population{Objects: 8, Bytes: 496},
		Dead: wire.Population{Objects: 3, Bytes: 72}, Promoted: wire.Population{Objects: 5, Bytes: 424}}
	last.Generations[2].After = last.Generations[1].Promoted
	a.Add(wire.Alive{Site: 1, Generation: 0, Born: 1, Objects: wire.Population{Objects: 1, Bytes: 24}},
		wire.Alive{Site: 2, Generation: 2, Born: 0, Objects: wire.Population{Objects: 3, Bytes: 300}},
		wire.Alive{Site: 1, Generation: 2, Born: 0, Objects: wire.Population{Objects: 1, Bytes: 24}},
		wire.Alive{Site: 2, Generation: 2, Born: 0, Objects: wire.Population{Objects: 1, Bytes: 100}}, // reported in parts
		wire.Why{GC: 2, Site: 1, Reachable: wire.Population{Objects: 2, Bytes: 48}},
		wire.Why{GC: 2, Site: 2, Rooted: wire.Population{Objects: 1, Bytes: 100},
			Reachable: wire.Population{Objects: 3, Bytes: 300}},
		wire.Roots{GC: 2, Site: 2, Kind: 1, Function: 1, References: 2},
		wire.Roots{GC: 2, Site: 2, Kind: 3, Flags: 1, References: 1},
		wire.Roots{GC: 2, Site: 2, Kind: 1, Function: 1, References: 1},
		last)
	a.Header.AliveKnown, a.Header.Collections = 1, 2
	r.mustSync(a)
	r.mustSync(a) // nothing new

	s := r.w
	same(t, s.ProcessLifetimes, session.ProcessLifetime{Process: 1, GCs: 2, AliveKnown: true})
	same(t, s.GCs, session.GC{ID: 1, Process: 1, Number: 1, Collected: 1, Begin: 100, Pause: 50, Agent: 10},
		session.GC{ID: 2, Process: 1, Number: 2, Generation: 2, Collected: 31, Induced: true, Begin: 300, Pause: 50,
			Agent: 20, Finalizable: 5})
	same(t, s.SiteDeaths, session.SiteDeath{Slice: 1, Site: 1, Amount: amount(6, 144)},
		session.SiteDeath{Slice: 2, Site: 1, Amount: amount(1, 24)},
		session.SiteDeath{Slice: 2, Site: 1, Generation: 1, Amount: amount(3, 72)})
	same(t, s.SiteAges, session.SiteAge{Site: 1, Measure: session.AgeGCs, Bucket: 1, Objects: 3},
		session.SiteAge{Site: 1, Measure: session.AgeTime, Bucket: 2, Objects: 3})
	same(t, s.SiteAlive, session.SiteAlive{Site: 1, Generation: 0, Born: 1, Amount: amount(1, 24)},
		session.SiteAlive{Site: 1, Generation: 2, Amount: amount(1, 24)},
		session.SiteAlive{Site: 2, Generation: 2, Amount: amount(4, 400)})
	same(t, s.Survivals, session.Survival{GC: 2, Site: 1, Reachable: amount(2, 48)},
		session.Survival{GC: 2, Site: 2, Rooted: amount(1, 100), Reachable: amount(3, 300)})
	same(t, s.Roots, session.Root{GC: 2, Site: 2, Kind: session.RootHandle, Flags: session.RootPinning, References: 1},
		session.Root{GC: 2, Site: 2, Kind: session.RootStack, Function: 1, References: 3})
	same(t, s.Losses)
	r.check()
}

// TestKilledInCollection: a collection found objects dead, and its record is missing, as is the last of their bytes.
func TestKilledInCollection(t *testing.T) {
	r, a := newRecording(t), newArena(2)
	a.Header.PID = uint32(os.Getpid()) // still alive
	a.Sites[0].Objects, a.Sites[0].Bytes = 3, 72
	a.Sites[1].Objects, a.Sites[1].Bytes = 5, 160
	a.Deaths[0].DeadObjects[0], a.Deaths[0].DeadBytes[0] = 1, 24
	a.Add(collection(1, wire.Population{Objects: 8, Bytes: 232}, wire.Population{Objects: 1, Bytes: 24},
		wire.Population{}))
	a.Header.Collections = 1
	r.mustSync(a)

	a.Header.PID = wiretest.NoPID
	a.Deaths[1].DeadObjects[0], a.Deaths[1].DeadBytes[0] = 2, 64
	a.Deaths[0].DeadObjects[0], a.Deaths[0].DeadBytes[0] = 3, 48
	a.Add(wire.Alive{Site: 1, Objects: wire.Population{Objects: 1, Bytes: 24}},
		wire.Why{GC: 2, Site: 1, Rooted: wire.Population{Objects: 1, Bytes: 24}},
		wire.Roots{GC: 2, Site: 1, Kind: 3, References: 1})
	r.mustSync(a)
	r.mustSync(a) // it stays as it is

	s := r.w
	same(t, s.ProcessLifetimes, session.ProcessLifetime{Process: 1, GCs: 1})
	same(t, s.SiteDeaths, session.SiteDeath{Slice: 1, Site: 1, Amount: amount(1, 24)},
		session.SiteDeath{Slice: 2, Site: 1, Amount: amount(2, 48)},
		session.SiteDeath{Slice: 2, Site: 2, Amount: amount(2, 64)})
	same(t, s.Losses, session.Loss{Process: 1, Reason: session.LossGCCut, Events: 1, Amount: amount(4, 112)})
	same(t, s.SiteAlive)
	same(t, s.Survivals)
	same(t, s.Roots)
	r.check()
}

// TestRecordingEndsInCollection: of a process that goes on, what a collection has found dead so far is in the session,
// and that its end is not.
func TestRecordingEndsInCollection(t *testing.T) {
	r, a := newRecording(t), newArena(2)
	a.Header.PID = uint32(os.Getpid())
	a.Sites[0].Objects, a.Sites[0].Bytes = 3, 72
	a.Deaths[0].DeadObjects[0], a.Deaths[0].DeadBytes[0] = 1, 24
	a.Header.Collections = 1
	r.mustSync(a)
	same(t, r.w.Losses) // it has not ended: the next look may find the rest
	r.now += 1e9
	if err := r.SyncLast(r.now); err != nil {
		t.Fatal(err)
	}
	same(t, r.w.Losses, session.Loss{Process: 1, Reason: session.LossGCCut, Events: 1, Amount: amount(1, 24)})
	r.check()
}

// TestKilledAfterCollection: what ended in time is whole.
func TestKilledAfterCollection(t *testing.T) {
	r, a := newRecording(t), newArena(1)
	a.Sites[0].Objects, a.Sites[0].Bytes = 3, 72
	a.Deaths[0].DeadObjects[0], a.Deaths[0].DeadBytes[0] = 2, 48
	a.Add(collection(1, wire.Population{Objects: 3, Bytes: 72}, wire.Population{Objects: 2, Bytes: 48},
		wire.Population{}))
	a.Header.Collections = 1
	r.mustSync(a)
	same(t, r.w.Losses)
	r.check()
}

// TestEndsWhileItIsRead: a process that shuts down while it is looked at ran, as far as that look is concerned. The
// next one finds all of it.
func TestEndsWhileItIsRead(t *testing.T) {
	r, a := newRecording(t), newArena(1)
	ends := false
	asked := 0
	r.alive = func(int) bool {
		if asked++; !ends || asked == 1 {
			return true
		}
		if asked == 2 { // now it has done what it still had to do: a new site, a second collection, the end
			a.Sites[0].Objects, a.Sites[0].Bytes = 5, 120
			a.Site(1, a.Node(0, a.IP(0x1500, 1, 1)), 1, 0, 0)
			a.Sites[1].Objects, a.Sites[1].Bytes = 7, 280
			a.Deaths = append(a.Deaths, wire.SiteDeaths{})
			a.Deaths[0].DeadObjects[0], a.Deaths[0].DeadBytes[0] = 5, 120
			a.Deaths[1].DeadObjects[0], a.Deaths[1].DeadBytes[0] = 6, 240
			second := collection(2, wire.Population{Objects: 10, Bytes: 352}, wire.Population{Objects: 9, Bytes: 312},
				wire.Population{Objects: 1, Bytes: 40})
			second.Since = 0
			change := func(site, counter uint32, objects, bytes uint64) wire.Change {
				return wire.Change{Site: site, Counter: counter,
					Objects: wire.Population{Objects: objects, Bytes: bytes}}
			}
			a.Add(wire.Changes{Changes: []wire.Change{change(1, 0, 5, 120), change(1, wire.ChangeAllocated, 5, 120),
				change(2, 0, 6, 240), change(2, wire.ChangeAllocated, 7, 280)}}, second)
			a.Header.State, a.Header.EndNS, a.Header.Collections = uint32(wire.StateShutDown), 2e9, 2
			if err := a.Write(filepath.Join(r.directory, "1-1"+launch.ArenaSuffix)); err != nil {
				t.Error(err)
			}
		}
		return false
	}
	a.Sites[0].Objects, a.Sites[0].Bytes = 3, 72
	a.Deaths[0].DeadObjects[0], a.Deaths[0].DeadBytes[0] = 2, 48
	a.Add(collection(1, wire.Population{Objects: 3, Bytes: 72}, wire.Population{Objects: 2, Bytes: 48},
		wire.Population{}))
	a.Header.Collections = 1
	r.mustSync(a)

	ends, asked = true, 0
	r.mustSync(a)
	r.mustSync(a)
	s := r.w
	processes, err := s.Processes()
	if err != nil || processes[0].EndState != session.EndExited {
		t.Errorf("%+v, %v", processes, err)
	}
	same(t, s.Losses)
	same(t, s.SiteDeaths, session.SiteDeath{Slice: 1, Site: 1, Amount: amount(2, 48)},
		session.SiteDeath{Slice: 3, Site: 1, Amount: amount(3, 72)},
		session.SiteDeath{Slice: 3, Site: 2, Amount: amount(6, 240)})
	births, err := s.GCBirths(0, 10)
	if err != nil || len(births) != 2 {
		t.Errorf("births %+v, %v", births, err)
	}
	r.check()
}

// TestMemoryAlone: without lifetimes nothing is said of them.
func TestMemoryAlone(t *testing.T) {
	r, a := newRecording(t), newArena(1)
	a.Header.Data, a.Deaths = wire.DataMemory, nil
	a.Sites[0].Objects, a.Sites[0].Bytes = 3, 72
	r.mustSync(a)
	same(t, r.w.ProcessLifetimes)
	same(t, r.w.SiteDeaths)
	r.check()
}

// TestDamagedLifetime: records that no agent writes are errors, not panics and not rows.
func TestDamagedLifetime(t *testing.T) {
	for name, records := range map[string][]any{
		"a collection twice":         {wire.GC{Number: 1, Collected: 1}, wire.GC{Number: 1, Collected: 1}},
		"a generation 9":             {wire.GC{Number: 1, Collected: 1 << 9}},
		"alive at no site":           {wire.Alive{}},
		"alive at an unknown site":   {wire.Alive{Site: 77}},
		"alive in an odd generation": {wire.Alive{Site: 1, Generation: 5}},
		"survivors of no site":       {wire.Why{GC: 1}},
		"a root to no site":          {wire.Roots{GC: 1}},
		"a root of an unknown kind":  {wire.Roots{GC: 1, Site: 1, Kind: 4}},
	} {
		t.Run(name, func(t *testing.T) {
			r, a := newRecording(t), newArena(1)
			a.Header.AliveKnown = 1
			a.Add(records...)
			if err := r.sync(a); !errors.Is(err, wire.ErrCorrupt) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestRecordedInSlices: what a slice holds is what was found dead in it, so that time filters work.
func TestRecordedInSlices(t *testing.T) {
	r, a := newRecording(t), newArena(1)
	a.Header.PID = uint32(os.Getpid()) // a process that runs
	a.Sites[0].Objects, a.Sites[0].Bytes = 100, 2400
	var want []session.SiteDeath
	for i := range uint64(5) {
		a.Deaths[0].DeadObjects[i], a.Deaths[0].DeadBytes[i] = i+1, 24*(i+1)
		g := wire.GC{Number: uint32(i + 1), Since: uint32(i + 1), Collected: 31, StartNS: 1, EndNS: 2, DoneNS: 3}
		g.Generations[i].Dead = wire.Population{Objects: i + 1, Bytes: 24 * (i + 1)}
		g.Generations[i].Before = g.Generations[i].Dead
		for later := i + 1; later < session.Generations; later++ {
			g.Generations[later].Before = wire.Population{Objects: later + 1, Bytes: 24 * (later + 1)}
			g.Generations[later].After = g.Generations[later].Before
		}
		a.Add(g)
		r.mustSync(a)
		want = append(want, session.SiteDeath{Slice: session.SliceID(i + 1), Site: 1, Generation: int64(i),
			Amount: amount(quantity.Count(i+1), quantity.Bytes(24*(i+1)))})
	}
	a.Header.State, a.Header.EndNS = uint32(wire.StateShutDown), 5e9
	r.mustSync(a)
	same(t, r.w.SiteDeaths, want...)
	r.check()
}

// TestRuntimeVersion: runtimes that tell the version of the .NET Framework are known by where they lie.
func TestRuntimeVersion(t *testing.T) {
	for _, tt := range []struct {
		major, minor, build uint16
		path, want          string
	}{
		{10, 0, 12, "/usr/share/dotnet/shared/Microsoft.NETCore.App/10.0.12/System.Private.CoreLib.dll", "10.0.12"},
		{4, 0, 30319, "/usr/share/dotnet/shared/Microsoft.NETCore.App/3.1.2/System.Private.CoreLib.dll", "3.1.2"},
		{4, 0, 30319, "/app/System.Private.CoreLib.dll", "4.0.30319"},
		{4, 0, 30319, "/app/3.1.2/Other.dll", "4.0.30319"},
		{9, 0, 7, "/dotnet/3.1.2/System.Private.CoreLib.dll", "9.0.7"},
	} {
		r, a := newRecording(t), newArena(1)
		a.Header.RuntimeMajor, a.Header.RuntimeMinor, a.Header.RuntimeBuild = uint32(tt.major), uint32(
			tt.minor), uint32(tt.build)
		a.Add(wire.Module{ID: 2, Name: filepath.Base(tt.path), Path: tt.path, MVID: [16]byte{2}})
		r.mustSync(a)
		processes, err := r.w.Processes()
		if err != nil || processes[0].RuntimeVersion != tt.want {
			t.Errorf("%+v: %q, %v", tt, processes[0].RuntimeVersion, err)
		}
	}
}
