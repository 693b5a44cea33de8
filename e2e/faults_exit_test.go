package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// TestExits: however a target ends, its exit code is clrprof's, and the session is complete: it has every object that
// was allocated before.
func TestExits(t *testing.T) {
	t.Parallel()
	const aborted = 128 + int(syscall.SIGABRT)
	in := dotnettest.Need(t)
	for _, tt := range []struct {
		how   string
		code  int
		state string
	}{
		{"return", 7, "exited"},
		{"exit", 8, "exited"},
		{"exit-thread", 6, "exited"},
		{"finalizer", 9, "exited"},
		{"_exit", 5, "died"},
		{"kill", 128 + int(syscall.SIGKILL), "died"},
		{"failfast", aborted, "died"},
		{"unhandled", aborted, "died"},
		{"unhandled-thread", aborted, "died"},
		{"overflow", aborted, "died"},
		{"memory", aborted, "died"},
		{"abort", aborted, "died"},
		{"segv", aborted, "died"},
	} {
		for _, runtime := range in.NewestAndOldest() {
			t.Run(tt.how+"/"+runtime.Name, func(t *testing.T) {
				t.Parallel()
				s := newSandbox(t)
				command := s.target(runtime, "Exits", tt.how)
				s.env = append(s.env, "COMPlus_GCHeapHardLimit=0x4000000")
				s.exits(command, tt.code, tt.state)
			})
		}
	}
}

// depth is how deep the stack was that overflowed, which depends on where the kernel placed it.
var depth = regexp.MustCompile(`[0-9]+ times`)

// exits runs a target that ends with a code and compares the session with what it said before.
func (s *sandbox) exits(command []string, code int, state string) {
	s.t.Helper()
	plain := s.command()
	plain.Path, plain.Args = command[0], command
	without := s.finish(plain)
	r := s.run(append([]string{"run", "--no-report", "-o", "s.clrprof", "--"}, command...)...)
	r.session = filepath.Join(s.out, "s.clrprof")
	if r.exit != code || without.exit != code {
		s.t.Fatalf("exit code %d, without clrprof %d, want %d\n%s", r.exit, without.exit, code, r.stderr)
	}
	if d := cmp.Diff(without.stdout, r.stdout); d != "" {
		s.t.Errorf("standard output without and with clrprof: %s", d)
	}
	if d := cmp.Diff(depth.ReplaceAllString(without.stderr, "N times")+"clrprof: session s.clrprof\n",
		depth.ReplaceAllString(r.stderr, "N times")); d != "" {
		s.t.Errorf("standard error without and with clrprof: %s", d)
	}
	checkSession(s.t, r.session)
	compareTruth(s.t, r, dotnettest.Need(s.t).Net31()) // the more tolerant one
	if d := cmp.Diff(map[string]string{"Exits": state}, endStates(s.t, r.session)); d != "" {
		s.t.Errorf("how it ended: %s", d)
	}
	info := query[struct{ Value string }](s.t, r.session,
		"select value from info where key in ('state', 'exit_code') order by key desc")
	if len(info) != 2 || info[0].Value != "complete" || info[1].Value != itoa(code) {
		s.t.Errorf("state and exit code in the session: %v", info)
	}
}

// TestWithoutRights runs as a user who owns nothing but the directories that the run needs, and has no HOME.
func TestWithoutRights(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	for _, tt := range []struct {
		how   string
		code  int
		state string
	}{{"return", 7, "exited"}, {"kill", 128 + int(syscall.SIGKILL), "died"},
		{"failfast", 128 + int(syscall.SIGABRT), "died"}} {
		for _, runtime := range in.NewestAndOldest() {
			t.Run(tt.how+"/"+runtime.Name, func(t *testing.T) {
				s := newSandbox(t).asUser()
				command := s.target(runtime, "Exits", tt.how)
				s.unset("HOME", "XDG_CACHE_HOME")
				s.exits(command, tt.code, tt.state)
				if st, err := os.Stat(filepath.Join(s.tmp, "clrprof-agent-"+itoa(s.user()))); err != nil ||
					st.Mode().Perm() != 0o700 {
					t.Errorf("without a home directory the agent is in a temporary one: %v, %v", st, err)
				}
			})
		}
	}
}
