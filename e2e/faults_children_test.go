package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// TestChildren: every .NET process that the command starts, however, is a process of the session, with its own counts.
func TestChildren(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	for _, tt := range []struct {
		args      []string
		processes int
	}{
		{[]string{"wait", "3"}, 4},
		{[]string{"nested", "2"}, 3},
		{[]string{"shell", "2"}, 3},
	} {
		for _, runtime := range in.NewestAndOldest() {
			t.Run(strings.Join(tt.args, " ")+"/"+runtime.Name, func(t *testing.T) {
				s := newSandbox(t)
				command := s.target(runtime, "Children", tt.args...)
				r := s.record(append([]string{"sh", "-c", `true && "$@"`, "sh"}, command...))
				if r.exit != 0 {
					t.Fatalf("exit code %d: %s", r.exit, r.stderr)
				}
				checkSession(t, r.session)
				compareTruth(t, r, runtime)
				if d := cmp.Diff(map[string]string{"Children": strings.Repeat("exited", tt.processes)},
					endStates(t, r.session)); d != "" {
					t.Error(d)
				}
				parents := query[struct{ N int }](t, r.session,
					"select count(*) n from process c join process p on c.parent_pid = p.pid")
				if want := tt.processes - 1; parents[0].N != want && tt.args[0] != "shell" {
					t.Errorf("%d processes have their parent in the session, want %d", parents[0].N, want)
				}
			})
		}
	}
}

// TestKilledChild: a child that is killed is one that died, when it did, not when the command ended.
func TestKilledChild(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	s := newSandbox(t)
	first := s.target(in.Newest(), "Exits", "kill")
	second := s.target(in.Newest(), "Echo", "signal")
	script := `"$1" "$2" "$3"; "$4" "$5" "$6"`
	p := s.start(append(append([]string{"run", "--no-report", "-o", "s.clrprof", "--", "sh", "-c", script, "sh"},
		first...), second...)...)
	for p.lines.Scan() && p.lines.Text() != "ready" {
		continue
	}
	before := s.slices()
	await(t, "two more slices are recorded", func() bool { return s.slices() > before+1 })
	if err := unix.Kill(s.dotnet(), unix.SIGTERM); err != nil { // the second child says with which code it ends
		t.Fatal(err)
	}
	if r := p.wait(); r.exit != 11 {
		t.Errorf("exit code %d: %s", r.exit, r.stderr)
	}
	path := filepath.Join(s.out, "s.clrprof")
	checkSession(t, path)
	rows := query[struct {
		Name  string
		State string `json:"end_state"`
		Begin int64  `json:"begin_ns"`
		End   int64  `json:"end_ns"`
	}](t, path, "select name, end_state, begin_ns, end_ns from process order by begin_ns")
	if len(rows) != 2 || rows[0].Name != "Exits" || rows[0].State != "died" || rows[1].Name != "Echo" {
		t.Fatalf("processes: %v", rows)
	}
	slices := query[struct {
		End int64 `json:"end_ns"`
	}](t, path, "select end_ns from slice order by id")
	if rows[0].End <= rows[0].Begin || rows[0].End >= slices[len(slices)-1].End {
		t.Errorf("the first process died at %d of %v", rows[0].End, slices)
	}
}

// TestOutlived: a process that goes on after the command is in the session as running, and is not harmed by the end
// of clrprof.
func TestOutlived(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	for _, runtime := range in.NewestAndOldest() {
		s := newSandbox(t)
		command := append([]string{"sh", "-c", `"$@" & read line; exit 4`, "sh"},
			s.target(runtime, "Echo", "signal")...)
		p := s.start(append([]string{"run", "--no-report", "-o", "s.clrprof", "--"}, command...)...)
		p.expect("ready")
		target := s.dotnet()
		if err := p.in.Close(); err != nil {
			t.Fatal(err)
		}
		<-p.ended
		if code := exitCode(p.cmd.ProcessState); code != 4 {
			t.Errorf("exit code %d, want 4: %s", code, p.said())
		}
		path := filepath.Join(s.out, "s.clrprof")
		checkSession(t, path)
		if d := cmp.Diff(map[string]string{"Echo": "running"}, endStates(t, path)); d != "" {
			t.Error(d)
		}
		s.expectEmpty(s.shm)
		if err := unix.Kill(target, unix.SIGTERM); err != nil {
			t.Fatal(err)
		}
		p.expect("SIGTERM")
		if more := p.output(); more != "ready\nSIGTERM\n" {
			t.Errorf("it says %q", more)
		}
		await(t, "the process ends", func() bool { return procText(target, "cmdline") == "" })
	}
}

// TestLateChild: a .NET program that starts when clrprof has ended runs as without it.
func TestLateChild(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	for _, runtime := range in.NewestAndOldest() {
		s := newSandbox(t)
		early, late := s.target(runtime, "Echo", "args", "early"), s.target(runtime, "Exits", "return")
		// The second part waits for its input, which is the test's to close.
		script := `"$1" "$2" "$3" "$4"; shift 4; { read line; "$@"; echo "code $?"; } <&3 3<&- & exit 0`
		command := append(append([]string{"sh", "-c", "exec 3<&0; " + script, "sh"}, early...), late...)
		p := s.start(append([]string{"run", "--no-report", "-o", "s.clrprof", "--"}, command...)...)
		p.expect("early")
		<-p.ended
		checkSession(t, filepath.Join(s.out, "s.clrprof"))
		if err := p.in.Close(); err != nil {
			t.Fatal(err)
		}
		out := p.output()
		if !strings.Contains(out, `"truth":"end"`) || !strings.HasSuffix(out, "code 7\n") {
			t.Errorf("the late program says %q, %q", out, p.said())
		}
	}
}

// TestAtOnce: several runs at the same time do not know of each other.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	s := newSandbox(t)
	command := s.target(in.Newest(), "Echo", "signal")
	var running []*process
	for _, name := range []string{"a.clrprof", "b.clrprof", "c.clrprof"} {
		running = append(running, s.start(append([]string{"run", "--no-report", "-o", name, "--"}, command...)...))
	}
	for _, p := range running {
		p.expect("ready")
	}
	if n := len(list(t, s.shm)); n != 3 {
		t.Errorf("%d directories of arenas, want 3", n)
	}
	for _, p := range running {
		p.signal(unix.SIGTERM)
		if r := p.wait(); r.exit != 11 {
			t.Errorf("exit code %d: %s", r.exit, r.stderr)
		}
	}
	for _, name := range list(t, s.out) {
		path := filepath.Join(s.out, name)
		checkSession(t, path)
		if d := cmp.Diff(map[string]string{"Echo": "exited"}, endStates(t, path)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}
