package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// TestRefusedCalls: without the system calls that a filter refuses, calls and objects are as exact as ever. Memory of
// files is had otherwise, and where a thread cannot learn of its waits, nothing says how long they were.
func TestRefusedCalls(t *testing.T) {
	t.Parallel()
	rt := dotnettest.Need(t).Newest()
	refuse := filepath.Join(t.TempDir(), "refuse")
	if text, err := exec.Command("gcc", "-Wall", "-Werror", "-o", refuse, "testdata/refuse.c").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, tt := range []struct {
		name   string
		call   int
		flags  []string
		unseen bool // waits
	}{
		{"fallocate", unix.SYS_FALLOCATE, []string{"--memory"}, false},
		{"getrusage", unix.SYS_GETRUSAGE, []string{"--memory"}, true},
		{"getrusage alone", unix.SYS_GETRUSAGE, nil, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSandbox(t)
			command := append([]string{refuse, itoa(tt.call), "--"}, s.target(rt, "TimeEmpty", "recursive", "100000")...)
			r := s.run(runTime(command, tt.flags...)...)
			if r.exit != 0 {
				t.Fatalf("exit code %d: %s", r.exit, r.stderr)
			}
			r.session = filepath.Join(s.out, "s.clrprof")
			checkTimeSession(t, r.session)
			got := readRecordedTime(t, r.session)
			for _, row := range truthRows[callTruth](t, r.stdout, "calls") {
				got.compareFunction(t, row)
			}
			if mechanism := got.processes[0].Mechanism; (mechanism == session.MechanismNone) != tt.unseen {
				t.Errorf("threads learn of the system by %q", mechanism)
			}
		})
	}
}

// TestTraced: each system call of a traced process switches its thread out, also those by which it looks at what it
// waited. It looks where something happened, and not after each of its own looks.
func TestTraced(t *testing.T) {
	t.Parallel()
	rt := dotnettest.Need(t).Newest()
	s := newSandbox(t)
	log := filepath.Join(t.TempDir(), "calls")
	const calls = 100_000
	args := append([]string{"strace", "-f", "-o", log, "-e", "trace=getrusage", binary},
		runTime(s.target(rt, "TimeEmpty", "empty", itoa(calls)))...)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Env = s.out, s.env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	if looks := bytes.Count(text, []byte("getrusage(")); looks > calls/10 {
		t.Errorf("%d looks at what a thread waited, in %d calls", looks, calls)
	}
}
