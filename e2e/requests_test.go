package e2e

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/capture/control"
	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// fullCollections is how many the target Steps has had.
func (x *steps) fullCollections() int {
	x.t.Helper()
	x.tell("full 0")
	n := 0
	if _, err := fmt.Sscan(x.line(), &n); err != nil {
		x.t.Fatal(err)
	}
	x.expect("done")
	return n
}

// startAsked starts the target Steps and waits until its recording answers, which on a busy machine is later than the
// program.
func startAsked(t *testing.T, r dotnettest.Runtime, flags ...string) *steps {
	t.Helper()
	x := newSandbox(t).startSteps(r, flags...)
	await(t, "a recording that answers", func() bool { return control.IsServed(x.session) })
	return x
}

// ask lets clrprof ctl ask for something, which must be done.
func (x *steps) ask(command ...string) {
	x.t.Helper()
	if c := run(x.t, append([]string{"ctl", x.session}, command...)...); c.exit != 0 {
		x.t.Errorf("ctl %v: exit code %d: %s", command, c.exit, c.stderr)
	}
}

// TestCollectedFromOutside: clrprof ctl makes a program that only waits collect its garbage, as often as it is asked,
// on each runtime and whatever is recorded, also in a pause.
func TestCollectedFromOutside(t *testing.T) {
	t.Parallel()
	for i, r := range dotnettest.Need(t).Runtimes() {
		modes := []string{"lifetime", "memory", "time"}
		for _, mode := range []string{modes[0], modes[1+i%2]} {
			t.Run(mode+"/"+r.Name, func(t *testing.T) {
				x := startAsked(t, r, pausedModes[mode]...)
				before := x.fullCollections()
				x.ask("gc")
				x.ask("gc")
				x.ask("pause")
				x.ask("gc", "--process", fmt.Sprint(x.pid))
				x.ask("resume")
				if n := x.fullCollections() - before; n != 3 {
					t.Errorf("%d collections", n)
				}
				x.finish()
				checkTables(t, x.session)
				got := query[struct{ N int }](t, x.session,
					"SELECT count(*) AS n FROM gc WHERE generation = 2 AND induced")
				if mode == "lifetime" && got[0].N != before+3+1 { // and the last
					t.Errorf("%d collections in the session, %d before", got[0].N, before)
				}
				if lost := query[map[string]any](t, x.session, "SELECT * FROM loss"); len(lost) != 0 {
					t.Errorf("lost: %v", lost)
				}
			})
		}
	}
}

// TestSnapshotFromOutside: the session has the heap as it was when the last snapshot was asked for.
func TestSnapshotFromOutside(t *testing.T) {
	t.Parallel()
	for _, r := range dotnettest.Need(t).Runtimes() {
		t.Run(r.Name, func(t *testing.T) {
			x := startAsked(t, r, "--lifetime")
			for _, n := range []int{1000, 500} {
				x.do(fmt.Sprint("keep ", n))
				x.ask("snapshot")
			}
			x.do("drop 7")
			x.finish()
			checkTables(t, x.session)
			got := query[struct{ Objects int }](t, x.session,
				"SELECT s.objects FROM snapshot_type s JOIN type t ON t.id = s.type_id WHERE t.name LIKE '%Kept'")
			if len(got) != 1 || got[0].Objects != 1500 {
				t.Errorf("in the snapshot: %v", got)
			}
			alive := query[struct{ N int }](t, x.session,
				"SELECT alive_instances AS n FROM lifetime WHERE name LIKE '%Kept'")
			if len(alive) != 1 || alive[0].N != 7 {
				t.Errorf("in the end: %v", alive)
			}
		})
	}
}

// TestRequestsRefused: what cannot be done is said in one line, by the exit code, and harms nobody.
func TestRequestsRefused(t *testing.T) {
	t.Parallel()
	x := startAsked(t, dotnettest.Need(t).Newest(), "--memory")
	refused := func(code int, why string, command ...string) {
		t.Helper()
		c := run(t, append([]string{"ctl", x.session}, command...)...)
		if c.exit != code || strings.Count(c.stderr, "\n") != 1 || !strings.Contains(c.stderr, why) {
			t.Errorf("ctl %v: exit code %d: %s", command, c.exit, c.stderr)
		}
	}
	refused(121, "--lifetime", "snapshot")
	refused(121, "no such process", "gc", "--process", "1")
	refused(120, "takes no argument", "gc", "now")
	if err := unix.Kill(x.pid, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	refused(121, "no answer", "gc", "--timeout", "100ms")
	refused(121, "no answer", "gc", "--timeout", "100ms")
	if err := unix.Kill(x.pid, unix.SIGCONT); err != nil {
		t.Fatal(err)
	}
	await(t, "a collection", func() bool { return run(t, "ctl", x.session, "gc").exit == 0 })
	var status struct{ Done []int }
	if err := json.Unmarshal([]byte(run(t, "ctl", x.session, "gc", "--json").stdout), &status); err != nil ||
		len(status.Done) != 1 || status.Done[0] != x.pid {
		t.Errorf("%v, %v", status, err)
	}
	x.finish()
}

// TestRequestsInLine: those who ask from ten shells wait in line, and each gets what it asked for; who does not wait any
// more is passed over.
func TestRequestsInLine(t *testing.T) {
	t.Parallel()
	const shells = 10
	x := startAsked(t, dotnettest.Need(t).Newest(), "--lifetime")
	before := x.fullCollections()
	if err := unix.Kill(x.pid, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	run(t, "ctl", x.session, "gc", "--timeout", "1ms")
	shell, waiting := newSandbox(t), []*process(nil)
	for i := range shells {
		waiting = append(waiting, shell.start("ctl", x.session, []string{"gc", "snapshot"}[i%2], "--timeout", "0"))
	}
	if err := unix.Kill(x.pid, unix.SIGCONT); err != nil {
		t.Fatal(err)
	}
	for _, w := range waiting {
		if end := w.wait(); end.exit != 0 {
			t.Errorf("exit code %d: %s", end.exit, end.stderr)
		}
	}
	if n := x.fullCollections() - before; n != shells && n != shells+1 { // the first may have been asked before it went
		t.Errorf("%d collections", n)
	}
	x.finish()
}

// TestWait: clrprof ctl wait ends when what it waits for is so, not before, and when it never will be.
func TestWait(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	path := filepath.Join(s.root, "steps.clrprof")
	wait := func(want int, args ...string) {
		t.Helper()
		if c := run(t, append([]string{"ctl", path, "wait"}, args...)...); c.exit != want ||
			(c.exit == 0) != (c.stderr == "") {
			t.Errorf("wait %v: exit code %d: %s", args, c.exit, c.stderr)
		}
	}
	wait(121, "ready", "--timeout", "50ms")
	wait(120)
	wait(120, "mark")
	wait(120, "nothing")
	early := s.start("ctl", path, "wait", "ready")
	x := s.startSteps(dotnettest.Need(t).Newest(), "--memory", "--paused")
	if end := early.wait(); end.exit != 0 {
		t.Errorf("wait ready: exit code %d: %s", end.exit, end.stderr)
	}
	wait(0, "paused")
	wait(121, "recording", "--timeout", "50ms")
	marked, ended := s.start("ctl", path, "wait", "mark", "here"), s.start("ctl", path, "wait", "end")
	x.ask("resume")
	wait(0, "recording")
	wait(121, "paused", "--timeout", "50ms")
	x.ask("mark", "here")
	if end := marked.wait(); end.exit != 0 {
		t.Errorf("wait mark: exit code %d: %s", end.exit, end.stderr)
	}
	x.tell("end")
	if end := ended.wait(); end.exit != 0 {
		t.Errorf("wait end: exit code %d: %s", end.exit, end.stderr)
	}
	if seen := run(t, "report", path, "types", "--no-wait"); seen.exit != 0 || strings.Contains(seen.stdout, "cut off") {
		t.Errorf("after wait end: exit code %d: %s%s", seen.exit, seen.stdout, seen.stderr)
	}
	if r := x.wait(); r.exit != 0 {
		t.Errorf("exit code %d: %s", r.exit, r.stderr)
	}
	wait(0, "mark", "here")
	wait(0, "end")
	wait(121, "ready")
	wait(121, "mark", "never")
}
