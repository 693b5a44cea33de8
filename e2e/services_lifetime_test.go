package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// followed is what became of the objects of a type in a session; inHeap are those of the type that the runtime's own walk
// over the heap met, if there is a snapshot, and known those of them whose site the agent knew.
type followed struct {
	Name                         string
	Gen0, Gen1, Gen2, LOH, Alive int64
	InHeap                       int64 `json:"in_heap"`
	Known                        int64
}

// followed compares what became of the objects of Steps' own types.
func (a *attachment) followed(want ...followed) {
	a.t.Helper()
	checkTables(a.t, a.session)
	have := query[followed](a.t, a.session, `SELECT name, gen0_instances AS gen0, gen1_instances AS gen1,
		gen2_instances AS gen2, loh_instances AS loh, alive_instances AS alive, coalesce(s.objects, 0) AS in_heap,
		coalesce((SELECT sum(k.objects) FROM snapshot_site k JOIN site ON site.id = k.site_id WHERE site.type_id = l.id), 0) AS known
		FROM lifetime l LEFT JOIN snapshot_type s ON s.type_id = l.id
		WHERE name IN ('Steps.Item', 'Steps.Kept', 'Steps.Kept[]') ORDER BY name`)
	if d := cmp.Diff(want, have); d != "" {
		a.t.Errorf("%s (-truth +session): %s", filepath.Base(a.session), d)
	}
}

// forget lets the service forget the last of what it keeps, and returns how many of these were in each generation.
func (x *service) forget(n int) (generations [3]int64) {
	x.t.Helper()
	x.tell(fmt.Sprint("forget ", n))
	if _, err := fmt.Sscan(x.line(), &generations[0], &generations[1], &generations[2]); err != nil {
		x.t.Fatal(err)
	}
	x.expect("done")
	return generations
}

// TestAttachLifetime: of the objects that were born after the attach it is known in which generation each died, and none
// of those from before is taken for one of them; again and again, in every kind of collector.
func TestAttachLifetime(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	for i, env := range [][]string{{largeBudget}, append([]string{largeBudget}, server...),
		{largeBudget, "COMPlus_TieredCompilation=0", "COMPlus_GCName=libclrgc.so"}} {
		for _, r := range in.InTurn(i) {
			if i == 2 && r.Major() < 8 {
				continue // it has no second collector
			}
			t.Run(fmt.Sprint(i, "/", r.Name), func(t *testing.T) {
				t.Parallel()
				s := newSandbox(t)
				s.env = append(s.env, env...)
				x := s.startServiceWith(r, []string{"--lifetime"})
				x.do("keep 50") // these are of nobody's session
				x.do("large 2")
				x.do("gc 0")
				for round := range 3 {
					x.attachedLifetime(round)
				}
				x.finish()
			})
		}
	}
}

// attachedLifetime records objects whose lifetime is known, and checks it.
func (x *service) attachedLifetime(round int) {
	x.t.Helper()
	a := x.attach(fmt.Sprint("life", round%2), "--lifetime", "--snapshot", "end")
	kept := followed{Name: "Steps.Kept"}
	arrays := followed{Name: "Steps.Kept[]"}
	die := func(n int, collected int) {
		in := x.forget(n)
		x.do(fmt.Sprint("gc ", collected))
		kept.Gen0, kept.Gen1, kept.Gen2 = kept.Gen0+in[0], kept.Gen1+in[1], kept.Gen2+in[2]
	}
	x.do("keep 100")
	die(10, 0)
	x.do("gc 0")
	die(20, 1)
	x.do("gc 1")
	die(30, 2)
	x.do("make 1000")
	x.do("gc 0")
	x.do("large 5")
	x.do("gc 2")
	x.forget(3)
	x.do("gc 2")
	x.detach(a)
	kept.Alive, kept.Known, kept.InHeap = 40, 40, 50+40
	arrays.LOH, arrays.Alive, arrays.Known, arrays.InHeap = 3, 2, 2, 2+2
	a.followed(followed{Name: "Steps.Item", Gen0: 999, Alive: 1, InHeap: 1, Known: 1}, kept, arrays)
	a.heldBy("Steps.Kept", "Steps.Program.kept")
	x.forget(42) // all but those from before
	x.do("gc 2")
}

// heldBy compares which static field retains the objects of a type: of a class from before the attach, of which a function
// was met.
func (a *attachment) heldBy(typ, want string) {
	a.t.Helper()
	have := query[struct{ Field string }](a.t, a.session, fmt.Sprintf(`SELECT c.name || '.' || f.name AS field
		FROM snapshot_type s JOIN type t ON t.id = s.type_id
		JOIN snapshot_static f ON f.process_id = s.process_id AND f.id = s.static_id JOIN type c ON c.id = f.type_id
		WHERE t.name = '%s'`, typ))
	if len(have) != 1 || have[0].Field != want {
		a.t.Errorf("%s: %s is held by %v, want %s", filepath.Base(a.session), typ, have, want)
	}
}

// TestAttachRecordFirst: each recording of a service has what it does until so many collections of that recording have
// ended, exactly, and nothing that it does later. What was recorded is followed through the later collections.
func TestAttachRecordFirst(t *testing.T) {
	t.Parallel()
	for _, r := range dotnettest.Need(t).Runtimes() {
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			s := newSandbox(t)
			s.env = append(s.env, largeBudget)
			x := s.startServiceWith(r, []string{"--lifetime"})
			for _, collections := range []int64{3, 1, 5} {
				x.do("gc 0") // of nobody's recording
				a := x.attach("first", "--record-first", fmt.Sprint(collections))
				x.do("keep 20")
				for range collections {
					x.do("make 100")
					x.do("gc 0")
				}
				x.do("make 777")
				x.do("keep 5")
				x.forget(25)
				x.do("gc 2")
				x.detach(a)
				a.counted(map[string]int64{"Steps.Item": 100 * collections, "Steps.Kept": 20})
				type row struct {
					Name, Text  string
					Dead, Alive int64 // of what was kept
				}
				have := query[row](t, a.session, `SELECT m.name, m.text,
					l.gen0_instances + l.gen1_instances + l.gen2_instances AS dead, l.alive_instances AS alive
					FROM mark m, lifetime l WHERE m.name = 'record-first' AND l.name = 'Steps.Kept'`)
				if d := cmp.Diff([]row{{"record-first", fmt.Sprint(collections, " collections"), 20, 0}}, have); d != "" {
					t.Errorf("%d collections (-truth +session): %s", collections, d)
				}
			}
			x.finish()
		})
	}
}

// TestAttachLifetimeOften: objects of a service under load are followed many times, while its threads come and go,
// allocate and collect; what it does in between is exact, and neither its memory nor its files become more.
func TestAttachLifetimeOften(t *testing.T) {
	t.Parallel()
	dotnettest.NotQuick(t, "it repeats what others do once")
	const times, settled = 25, 10
	for _, r := range dotnettest.OneInTurn(dotnettest.Need(t).Runtimes(), 2) {
		s := newSandbox(t)
		s.env = append(s.env, "DOTNET_TieredCompilation=0", "COMPlus_TieredCompilation=0")
		s.env = append(s.env, smallBudget...)
		x := s.startServiceWith(r, []string{"--lifetime"})
		x.do("load 2")
		collections := int64(0)
		for i := range times {
			a := x.attach("load", "--for", fmt.Sprint(1+i*7%50, "ms"), "--sample-counters", "0", fmt.Sprint("--final-gc=", i%2 == 0))
			a.ends(0, "detached from process")
			checkTables(t, a.session)
			for _, row := range query[struct{ N, Followed int64 }](t, a.session,
				"SELECT count(*) AS n, (SELECT count(*) FROM process_lifetime) AS followed FROM gc") {
				collections += row.N
				if row.Followed != 1 {
					t.Errorf("recording %d has no lifetimes", i)
				}
			}
		}
		if collections <= times/2+1 { // those at the ends
			t.Errorf("%d collections were recorded", collections)
		}
		x.tell("calm 0")
		x.line()
		x.expect("done")
		var private, mappings, files int
		for i := range times {
			a := x.attach("calm", "--sample-counters", "0", fmt.Sprint("--final-gc=", i%2 == 0))
			x.do(fmt.Sprint("make ", 1+i))
			x.do("gc 0")
			x.detach(a)
			a.followed(followed{Name: "Steps.Item", Gen0: int64(i), Alive: 1})
			if i == settled {
				private, mappings, files = mapped(t, x.pid)
			}
		}
		const more = (times - settled) / 2
		if p, m, f := mapped(t, x.pid); p > private+more<<15 || m > mappings+more || f > files+more {
			t.Errorf("after %d recordings %d bytes, %d mappings, %d files; after %d: %d, %d, %d", times, p, m, f, settled,
				private, mappings, files)
		}
		x.finish()
	}
}

// TestAttachLifetimeEnds: a recording in which collections are made shorter by a session of events ends with its
// collector, or with the process, and what was followed until then is exact.
func TestAttachLifetimeEnds(t *testing.T) {
	t.Parallel()
	for _, r := range dotnettest.Need(t).InTurn(2) {
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			s := newSandbox(t)
			s.env = append(s.env, largeBudget)
			x := s.startServiceWith(r, []string{"--lifetime"})
			x.do("keep 10")
			x.do("burn 1000") // now its start is over: eventpipe_gc.c
			killed := x.attach("killed")
			x.do("gc 0")
			x.do("gc 0")
			killed.signal(unix.SIGKILL)
			<-killed.ended
			await(t, "the agent lets go", func() bool { return !strings.Contains(procText(x.pid, "maps"), ".arena") })
			a := x.attach("ends")
			x.do("gc 0")
			x.do("keep 20")
			x.do("make 100")
			x.do("gc 0")
			x.tell("end")
			a.ends(0, "has ended")
			if r := x.wait(); r.exit != 0 {
				t.Errorf("the service: exit code %d: %s", r.exit, r.stderr)
			}
			a.followed(followed{Name: "Steps.Item", Gen0: 99, Alive: 1}, followed{Name: "Steps.Kept", Alive: 20})
		})
	}
}

// TestAttachBackground: where collections run in the background objects cannot be followed, which is said; nothing but
// that is lost, unless it was asked for.
func TestAttachBackground(t *testing.T) {
	t.Parallel()
	for _, r := range dotnettest.Need(t).NewestAndOldest() {
		x := newSandbox(t).startService(r)
		refused := x.s.run("attach", itoa(x.pid), "--lifetime", "-o", "refused.clrprof")
		if refused.exit != 124 {
			t.Errorf("exit code %d: %s", refused.exit, refused.stderr)
		}
		oneLine(t, refused, "background garbage collection", "clrprof env --lifetime")
		a := x.attach("memory")
		if !strings.Contains(a.said(), "only allocations are recorded") {
			t.Errorf("it says %q", a.said())
		}
		x.do("make 30")
		x.detach(a)
		a.counted(map[string]int64{"Steps.Item": 30})
		have := query[struct{ Value string }](t, a.session, "SELECT value FROM info WHERE key = 'mode'")
		if d := cmp.Diff([]struct{ Value string }{{"memory"}}, have); d != "" {
			t.Error(d)
		}
		x.finish()
	}
}
