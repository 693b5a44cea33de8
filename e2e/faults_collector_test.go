package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/capture/control"
	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// inShell wraps a command in a shell that says its exit code, for targets that outlive clrprof.
func inShell(command []string) []string {
	return append([]string{"sh", "-c", `"$@"; echo "code $?"`, "sh"}, command...)
}

// dotnet is the process id of the sandbox's .NET program, which is not the shell around it.
func (s *sandbox) dotnet() int {
	s.t.Helper()
	for _, pid := range s.processes() {
		if exe, err := os.Readlink(filepath.Join("/proc", itoa(pid), "exe")); err == nil &&
			filepath.Base(exe) == "dotnet" {
			return pid
		}
	}
	s.t.Fatal("there is no .NET program")
	return 0
}

// orphan records Echo, kills clrprof when something is in the session, and returns the running target.
func (s *sandbox) orphan(runtime dotnettest.Runtime) (p *process, target int) {
	s.t.Helper()
	p = s.start(append([]string{"run", "-o", "s.clrprof", "--"}, inShell(s.target(runtime, "Echo", "signal"))...)...)
	p.expect("ready")
	await(s.t, "a slice is recorded", func() bool { return s.slices() > 0 })
	p.signal(unix.SIGKILL)
	<-p.ended
	return p, s.dotnet()
}

// end lets an orphaned Echo end as it would without clrprof.
func (p *process) endOrphan(target int) {
	p.t.Helper()
	if err := unix.Kill(target, unix.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
	p.expect("SIGTERM")
	p.expect("code 11")
	if r := p.wait(); r.exit != 128+int(unix.SIGKILL) || r.stderr != "" {
		p.t.Errorf("exit code %d, standard error %q", r.exit, r.stderr)
	}
}

// TestCollectorKilled: the target goes on and ends as it would have; the session has what was recorded until then and
// says so; the next run removes what clrprof could not.
func TestCollectorKilled(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	for _, runtime := range in.NewestAndOldest() {
		s := newSandbox(t).asUser()
		p, target := s.orphan(runtime)
		cutOff(t, filepath.Join(s.out, "s.clrprof"))
		if left := list(t, s.shm); len(left) != 1 {
			t.Errorf("clrprof was killed and left %v, want one directory", left)
		}
		expectSocket(t, filepath.Join(s.out, "s.clrprof"), true)
		r := s.run(append([]string{"run", "--no-report", "-o", "next.clrprof", "--"},
			s.target(runtime, "Exits", "return")...)...)
		if r.exit != 7 {
			t.Errorf("the next run: exit code %d: %s", r.exit, r.stderr)
		}
		s.expectEmpty(s.shm) // while the first target still runs
		expectSocket(t, filepath.Join(s.out, "s.clrprof"), false)
		p.endOrphan(target)
		checkSession(t, filepath.Join(s.out, "next.clrprof"))
	}
}

// expectSocket checks whether a session's socket is there.
func expectSocket(t *testing.T, session string, want bool) {
	t.Helper()
	if _, err := os.Lstat(session + control.Suffix); (err == nil) != want {
		t.Errorf("the socket of %s: %v", session, err)
	}
}

// cutOff checks that all commands read a session whose recording was cut off, and say so.
func cutOff(t *testing.T, path string) {
	t.Helper()
	if r := run(t, "ctl", path, "wait", "end"); r.exit != 121 || !strings.Contains(r.stderr, "cut off") {
		t.Errorf("wait end: exit code %d: %s", r.exit, r.stderr)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	checkSession(t, path)
	for _, args := range [][]string{{"report", path}, {"report", path, "functions"}, {"report", path, "types"}} {
		r := run(t, args...)
		if r.exit != 0 || !strings.Contains(r.stdout, "The recording was cut off") {
			t.Errorf("%v: exit code %d, %q%q", args[2:], r.exit, r.stdout, r.stderr)
		}
	}
	for _, args := range [][]string{{"check-session", path}, {"export", path, "--format", "pprof", "-o", "-"}} {
		if r := run(t, args...); r.exit != 0 || r.stdout == "" {
			t.Errorf("%v: exit code %d, %q", args, r.exit, r.stderr)
		}
	}
	rows := query[struct{ Functions, Allocations int }](t, path,
		"select count(*) functions, sum(exclusive_allocations) allocations from functions")
	if rows[0].Functions < 10 || rows[0].Allocations < 100 {
		t.Errorf("the session has next to nothing: %v", rows)
	}
	after, err := os.ReadFile(path)
	if err != nil || string(before) != string(after) {
		t.Errorf("reading changed the session: %v", err)
	}
}

// TestRecoverKilled: before the next run removes it, what a killed clrprof left can be made a whole session.
func TestRecoverKilled(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	s := newSandbox(t)
	p, target := s.orphan(in.Newest())
	left := filepath.Join(s.shm, list(t, s.shm)[0])
	r := s.run("recover", left, "-o", "running.clrprof")
	if r.exit != 0 || !strings.Contains(r.stderr, "is still running") {
		t.Errorf("recovering beside the living target: exit code %d: %s", r.exit, r.stderr)
	}
	if d := cmp.Diff(map[string]string{"Echo": "running"},
		endStates(t, filepath.Join(s.out, "running.clrprof"))); d != "" {
		t.Error(d)
	}
	p.endOrphan(target)
	r = s.run("recover", left, "-o", "ended.clrprof")
	if r.exit != 0 {
		t.Errorf("recovering: exit code %d: %s", r.exit, r.stderr)
	}
	s.expectEmpty(s.shm)
	expectSocket(t, filepath.Join(s.out, "s.clrprof"), false)
	path := filepath.Join(s.out, "ended.clrprof")
	if d := cmp.Diff(map[string]string{"Echo": "exited"}, endStates(t, path)); d != "" {
		t.Error(d)
	}
	checkSession(t, path)
	checkSession(t, filepath.Join(s.out, "running.clrprof"))
	if cut, whole := s.total("s.clrprof"), s.total("ended.clrprof"); whole < cut {
		t.Errorf("recovered %d allocations, and %d were in the session that was cut off", whole, cut)
	}
}

// total is the number of allocations in a session.
func (s *sandbox) total(name string) int {
	s.t.Helper()
	return query[struct{ N int }](s.t, filepath.Join(s.out, name),
		"select coalesce(sum(allocations), 0) n from site_value")[0].N
}

// TestRecoverInUse: the arenas of a clrprof at work are not for recovery.
func TestRecoverInUse(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	s := newSandbox(t)
	p := s.start(append([]string{"run", "--no-report", "-o", "s.clrprof", "--"},
		s.target(in.Newest(), "Echo", "signal")...)...)
	p.expect("ready")
	used := filepath.Join(s.shm, list(t, s.shm)[0])
	r := s.run("recover", used, "-o", "r.clrprof")
	oneLine(t, r, used, "a running clrprof uses it")
	if r.exit != codeUnwritable {
		t.Errorf("exit code %d", r.exit)
	}
	p.signal(unix.SIGTERM)
	if r := p.wait(); r.exit != 11 {
		t.Errorf("exit code %d: %s", r.exit, r.stderr)
	}
	for _, tt := range []struct {
		args  []string
		code  int
		words []string
	}{
		{[]string{"recover", used, "-o", "r.clrprof"}, codeUnwritable, []string{used, "no such file"}},
		{[]string{"recover", s.out, "-o", "r.clrprof"}, codeUnwritable, []string{"holds no arenas"}},
		{[]string{"recover", "s.clrprof", "-o", "r.clrprof"}, codeUnwritable, []string{"not a directory"}},
		{[]string{"recover", s.out}, codeUsage, []string{"-o FILE"}},
		{[]string{"recover"}, codeUsage, []string{"DIRECTORY"}},
	} {
		r := s.run(tt.args...)
		oneLine(t, r, tt.words...)
		if r.exit != tt.code {
			t.Errorf("%v: exit code %d, want %d", tt.args, r.exit, tt.code)
		}
	}
	if d := cmp.Diff([]string{"s.clrprof"}, list(t, s.out)); d != "" {
		t.Errorf("a failed recovery left files, or removed some: %s", d)
	}
}

// TestModes: what a run shares, and its session, are for its user alone.
func TestModes(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	s := newSandbox(t)
	p := s.start(append([]string{"run", "--no-report", "-o", "s.clrprof", "--"},
		s.target(in.Newest(), "Echo", "signal")...)...)
	p.expect("ready")
	dir := filepath.Join(s.shm, list(t, s.shm)[0])
	modes := map[string]os.FileMode{dir: os.ModeDir | 0o700,
		filepath.Join(s.out, "s.clrprof"): 0o600}
	for _, name := range list(t, dir) {
		if name != "session" { // a link to the session
			modes[filepath.Join(dir, name)] = 0o600
		}
	}
	for path, want := range modes {
		if st, err := os.Stat(path); err != nil || st.Mode() != want {
			t.Errorf("%s: mode %v, want %v: %v", path, st.Mode(), want, err)
		}
	}
	if len(modes) != 4 {
		t.Errorf("%v is there, want one arena, and what controls it", modes)
	}
	for path := range modes {
		if os.Getuid() == 0 && path != filepath.Join(s.out, "s.clrprof") {
			cat := s.command()
			cat.Path, cat.Args = "/bin/sh", []string{"sh", "-c", `cat "$1" || ls "$1"`, "sh", path}
			cat.SysProcAttr = newSandbox(t).asUser().command().SysProcAttr
			if r := s.finish(cat); r.exit == 0 || r.stdout != "" {
				t.Errorf("another user reads %s: %q", path, r.stdout)
			}
		}
	}
	p.signal(unix.SIGTERM)
	if r := p.wait(); r.exit != 11 {
		t.Errorf("exit code %d: %s", r.exit, r.stderr)
	}
}

// TestDefaultPlace: without CLRPROF_SHM the arenas lie in /dev/shm, and are gone afterwards.
func TestDefaultPlace(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	s := newSandbox(t)
	s.unset("CLRPROF_SHM")
	p := s.start(append([]string{"run", "--no-report", "-o", "s.clrprof", "--"},
		s.target(in.Newest(), "Echo", "signal")...)...)
	p.expect("ready")
	var dir string
	for _, kv := range strings.Split(procText(s.dotnet(), "environ"), "\x00") {
		if d, ok := strings.CutPrefix(kv, "CLRPROF_ARENAS="); ok {
			dir = d
		}
	}
	// an arena, what controls it, and a link to the session
	if filepath.Dir(dir) != "/dev/shm" || len(list(t, dir)) != 3 {
		t.Errorf("the arenas are in %q: %v", dir, list(t, dir))
	}
	p.signal(unix.SIGTERM)
	if r := p.wait(); r.exit != 11 {
		t.Errorf("exit code %d: %s", r.exit, r.stderr)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", dir, err)
	}
}

// recoverKilled kills the clrprof that records, lets the target end, and makes a whole session of what is left.
func (x *steps) recoverKilled(s *sandbox) string {
	x.t.Helper()
	x.signal(unix.SIGKILL)
	<-x.ended
	x.tell("end")
	await(x.t, "the end of the target", func() bool { return unix.Kill(x.pid, 0) != nil })
	path := filepath.Join(s.root, "recovered.clrprof")
	if r := s.run("recover", filepath.Join(s.shm, list(x.t, s.shm)[0]), "-o", path); r.exit != 0 {
		x.t.Fatalf("exit code %d: %s", r.exit, r.stderr)
	}
	checkTables(x.t, path)
	return path
}

// recoveredPause is one in the session that was cut off, or in the recovered one.
type recoveredPause struct {
	Level string
	Took  int64
}

func pausesOf(t *testing.T, path string) []recoveredPause {
	t.Helper()
	return query[recoveredPause](t, path, "SELECT level, end_ns - begin_ns AS took FROM pause ORDER BY id")
}

// TestRecoverPauses: what was paused from outside is in the recovered session as in the one that was cut off.
func TestRecoverPauses(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	x := s.startSteps(dotnettest.Need(t).Newest(), "--memory", "--paused")
	await(t, "a recording that answers", func() bool { return control.IsServed(x.session) })
	for _, command := range [][]string{{"resume"}, {"pause"}, {"pause"}, {"resume"}, {"resume"}, {"stop"}, {"start"},
		{"pause", "--process", fmt.Sprint(x.pid)}, {"resume", "--process", fmt.Sprint(x.pid)}, {"stop"}, {"flush"}} {
		x.ask(command...)
	}
	path := x.recoverKilled(s)
	cut, whole := pausesOf(t, x.session), pausesOf(t, path)
	if len(cut) != 5 || len(whole) != 5 {
		t.Fatalf("%v, recovered %v", cut, whole)
	}
	for i := range cut {
		// The first one began with the session, of which only the first process's begin is known; the last went on.
		if between := 0 < i && i < 4; cut[i].Level != whole[i].Level || between && cut[i].Took != whole[i].Took ||
			whole[i].Took <= 0 {
			t.Errorf("pause %d: %v, recovered %v", i, cut[i], whole[i])
		}
	}
}

// TestRecoverLevels: a recovered session has the pauses of a thread, and what was not recorded before somebody started
// it, as the one that was cut off; and the objects that were made while it was on, no others.
func TestRecoverLevels(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		flags []string
		steps [][]string // "do": of the target; else of clrprof ctl, with the thread's id for ID
		level string
		known []int // pauses of which both ends are known
	}{
		{"thread", nil, [][]string{{"do", "make 1"}, {"flush"}, {"pause", "--thread", "ID"}, {"do", "make 20"},
			{"resume", "--thread", "ID"}, {"do", "make 300"}, {"stop", "--thread", "ID"}, {"do", "make 4000"}}, "thread",
			[]int{0}},
		{"stopped", []string{"--stopped"}, [][]string{{"do", "make 20"}, {"start"}, {"do", "make 300"}, {"stop"},
			{"do", "make 4000"}, {"start"}, {"do", "make 1"}, {"stop"}, {"do", "make 50000"}}, "global", []int{1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSandbox(t)
			x := s.startSteps(dotnettest.Need(t).Newest(), append([]string{"--memory"}, tt.flags...)...)
			await(t, "a recording that answers", func() bool { return control.IsServed(x.session) })
			for _, step := range tt.steps {
				if step[0] == "do" {
					x.do(step[1])
					continue
				}
				if last := len(step) - 1; step[last] == "ID" {
					step = append(step[:last:last], fmt.Sprint(x.pid))
				}
				x.ask(step...)
			}
			x.ask("flush")
			path := x.recoverKilled(s)
			cut, whole := pausesOf(t, x.session), pausesOf(t, path)
			if len(cut) != len(whole) || len(cut) != len(tt.known)+1+len(tt.flags) {
				t.Fatalf("%v, recovered %v", cut, whole)
			}
			for i := range cut {
				if whole[i].Level != tt.level || cut[i].Level != tt.level || whole[i].Took <= 0 {
					t.Errorf("pause %d: %v, recovered %v", i, cut[i], whole[i])
				}
			}
			for _, i := range tt.known {
				if cut[i] != whole[i] {
					t.Errorf("pause %d: %v, recovered %v", i, cut[i], whole[i])
				}
			}
			for _, path := range []string{x.session, path} {
				if rows := query[struct{ N int64 }](t, path, "SELECT instances AS n FROM types WHERE name = 'Steps.Item'"); len(
					rows) != 1 || rows[0].N != 301 {
					t.Errorf("%s: objects %v", filepath.Base(path), rows)
				}
			}
		})
	}
}
