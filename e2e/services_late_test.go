package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
	"github.com/clrprof/clrprof/internal/wire"
)

// startUnprepared starts a command that speaks as Steps does, and that knows nothing of clrprof.
func (s *sandbox) startUnprepared(command ...string) *service {
	s.t.Helper()
	x := s.startWith(command, s.env)
	x.ready()
	return x
}

// collects requests a full collection that may run in the background, and checks of which kind it was.
func (x *service) collects(want string) {
	x.t.Helper()
	x.tell("kind 0")
	x.expect(want)
	x.expect("done")
}

// left lists by which files the agent of a process could be found.
func (x *service) left() []string {
	x.t.Helper()
	found, err := filepath.Glob(fmt.Sprintf("/dev/shm/%s*-%d", wire.DormantPrefix, x.pid))
	if err != nil {
		x.t.Fatal(err)
	}
	return found
}

// TestAttachLate: in a process that was started without clrprof, large objects are counted and followed exactly, and a
// snapshot has the whole heap; afterwards the runtime has let the agent go, collects in the background again, and
// starts other programs; again and again.
func TestAttachLate(t *testing.T) {
	t.Parallel()
	for i, env := range [][]string{{largeBudget}, append([]string{largeBudget}, server...)} {
		for _, r := range dotnettest.Need(t).InTurn(i) {
			if r.Major() < 5 {
				continue // GC.GetGCMemoryInfo does not tell kinds of collections there
			}
			t.Run(fmt.Sprint(i, "/", r.Name), func(t *testing.T) {
				t.Parallel()
				s := newSandbox(t)
				s.env = append(s.env, env...)
				x := s.startUnprepared(s.target(r, "Steps")...)
				x.do("keep 300000") // a small heap is never collected in the background
				x.do("large 100")
				x.do("gc 1")
				x.do("gc 1")
				x.collects("background")
				for round := range 3 {
					x.attachedLate(round)
					if left := x.left(); len(left) != 0 {
						t.Errorf("the agent has left behind %v", left)
					}
					x.collects("background")
					x.do("child 0")
				}
				x.finish()
			})
		}
	}
}

// attachedLate records large objects whose lifetime is known, and checks it.
func (x *service) attachedLate(round int) {
	x.t.Helper()
	a := x.attach(fmt.Sprint("late", round%2), "--lifetime", "--snapshot", "end")
	arrays := followed{Name: "Steps.Kept[]"}
	x.do("keep 10")
	x.do("make 1000")
	x.do("large 5")
	x.collects("blocking")
	x.forget(3)
	x.do("gc 2")
	x.detach(a)
	arrays.LOH, arrays.Alive, arrays.Known, arrays.InHeap = 3, 2, 2, 100+2
	a.followed(arrays)
	for _, row := range query[struct{ N, Sites int64 }](x.t, a.session, `SELECT s.objects AS n,
		(SELECT count(*) FROM site WHERE type_id = t.id) AS sites
		FROM snapshot_type s JOIN type t ON t.id = s.type_id WHERE t.name = 'Steps.Kept'`) {
		if row.N != 300010 || row.Sites != 0 {
			x.t.Errorf("%d objects of 300,010 in the snapshot; %d sites of small objects", row.N, row.Sites)
		}
	}
	if small := query[struct{ N int64 }](x.t, a.session, "SELECT count(*) AS n FROM types WHERE bytes < 85000"); small[0].N != 0 {
		x.t.Errorf("%d types of small objects", small[0].N)
	}
	if lost := losses(x.t, a.session); len(lost) != 0 {
		x.t.Errorf("lost: %v", lost)
	}
	x.forget(12) // all but those from before
	x.do("gc 2")
}

// TestAttachLateOften: a process under load that was started without clrprof is attached to again and again: large objects
// are counted exactly each time, the memory that remains does not grow, and the process collects in the background as
// before.
func TestAttachLateOften(t *testing.T) {
	t.Parallel()
	dotnettest.NotQuick(t, "it repeats what others do once")
	const warm = 4 // after so many what is made once per process is there
	for _, r := range dotnettest.NeedRuntimes(t, 5) {
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			s := newSandbox(t)
			s.env = append(s.env, largeBudget, "DOTNET_TieredCompilation=0") // nothing is compiled again
			x := s.startUnprepared(s.target(r, "Steps")...)
			x.do("keep 300000")
			ours := func() int { return strings.Count(procText(x.pid, "maps"), "clrprof") }
			var private, library, files int
			for i := range warm + *attaches {
				x.do("load 2")
				a := x.attach("often", []string{"--memory", "--lifetime"}[i%2], "--sample-counters", "0")
				x.do(fmt.Sprint("large ", 1+i%5))
				x.detach(a)
				checkTables(t, a.session)
				for _, row := range query[struct{ N int64 }](t, a.session,
					"SELECT coalesce(sum(instances), 0) AS n FROM types WHERE name = 'Steps.Kept[]'") {
					if row.N != int64(1+i%5) {
						t.Errorf("recording %d has %d large objects of %d", i, row.N, 1+i%5)
					}
				}
				x.forget(1 + i%5)
				x.tell("calm 0")
				x.line()
				x.expect("done")
				x.do("gc 2")
				if i == warm {
					private, _, files = mapped(t, x.pid)
					library = ours()
				}
			}
			// Without clrprof 120 rounds of the same leave 4 MiB more, too.
			if p, _, f := mapped(t, x.pid); p > private+4<<20+*attaches<<14 || ours() != library || f > files+4 {
				t.Errorf("after %d recordings %d bytes, %d mappings of the agent's, %d files; after %d: %d, %d, %d",
					warm+*attaches, p, ours(), f, warm, private, library, files)
			}
			x.collects("background")
			if left := x.left(); len(left) != 0 {
				t.Errorf("the agent has left behind %v", left)
			}
			x.finish()
		})
	}
}

// TestAttachLateTime: recordings of a process that was started without clrprof have the calls that it knows, each time.
func TestAttachLateTime(t *testing.T) {
	t.Parallel()
	for i, r := range dotnettest.NeedRuntimes(t, 5) {
		mode := []string{"mine", "boundary"}[i%2]
		t.Run(mode+"/"+r.Name, func(t *testing.T) {
			t.Parallel()
			s := newSandbox(t)
			s.env = append(s.env, "DOTNET_ROOT="+r.Root)
			x := s.startUnprepared(r.Args(dotnettest.Target(t, "Served", dotnettest.Options{}))...)
			x.recordsCalls(mode)
		})
	}
}

// TestAttachLatePublished is the same where the runtime is in the program's one file, whatever that maps.
func TestAttachLatePublished(t *testing.T) {
	t.Parallel()
	dotnettest.NotQuick(t, "it publishes programs")
	for i, tt := range deliveries {
		for _, env := range []string{"DOTNET_EnableWriteXorExecute=1", "DOTNET_EnableWriteXorExecute=0"} {
			t.Run(tt.name+"/"+env, func(t *testing.T) {
				t.Parallel()
				s, cmd := newSandbox(t), delivered(t, "Served", tt.properties)
				s.env = append(append(s.env, cmd.Env...), env)
				x := s.startUnprepared(cmd.Args...)
				if said := s.run("doctor", itoa(x.pid)); said.exit != 0 || !strings.Contains(said.stdout, ".NET         yes") {
					t.Errorf("doctor: exit code %d: %s%s", said.exit, said.stdout, said.stderr)
				}
				x.recordsCalls([]string{"mine", "boundary"}[i%2])
			})
		}
	}
}

// TestAttachLateSays: who is attached to that way learns what cannot be had, before and in the report; what refuses it
// is named.
func TestAttachLateSays(t *testing.T) {
	t.Parallel()
	r := dotnettest.Need(t).Newest()
	s := newSandbox(t)
	x := s.startUnprepared(s.target(r, "Steps")...)
	a := x.attach("large")
	x.do("large 3")
	x.detach(a)
	if want := "only objects of 85,000 bytes and more are counted"; !strings.Contains(a.said(), want) {
		t.Errorf("attach does not say %q: %s", want, a.said())
	}
	if said := s.run("report", a.session); !strings.Contains(said.stdout, "Only objects of 85,000 bytes and more") {
		t.Errorf("the report does not say it: %s", said.stdout)
	}
	x.finish()
	mute := newSandbox(t)
	mute.env = append(mute.env, "DOTNET_EnableDiagnostics=0")
	y := mute.startUnprepared(mute.target(r, "Steps")...)
	if said := mute.run("attach", itoa(y.pid)); said.exit != 124 || !strings.Contains(said.stderr, "DOTNET_EnableDiagnostics=0") {
		t.Errorf("exit code %d: %s", said.exit, said.stderr)
	}
	y.finish()
}
