package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/dotnettest"
)

// loss is what a session says is missing.
type loss struct {
	Reason      string
	Events      int64
	Allocations int64
	Bytes       int64
}

func losses(t *testing.T, path string) map[string]loss {
	t.Helper()
	all := map[string]loss{}
	for _, l := range query[loss](t, path, "select reason, events, allocations, bytes from loss") {
		all[l.Reason] = l
	}
	return all
}

// sound checks that a session with losses does not contradict itself.
func sound(t *testing.T, path string) {
	t.Helper()
	if r := run(t, "check-session", path); r.exit != 0 {
		t.Errorf("check-session: exit code %d: %s%s", r.exit, r.stdout, r.stderr)
	}
	checkSums(t, path)
}

// totals are all allocations of a session but the strings that the runtime is started with: one is an address in
// hexadecimal, without leading zeros, of where the kernel placed something.
func totals(t *testing.T, path string) made {
	t.Helper()
	return query[made](t, path, `select sum(v.allocations) Objects, sum(v.bytes) Bytes from site_value v join site s on s.id = v.site_id
		join node n on n.id = s.node_id join function f on f.id = n.function_id left join node p on p.id = n.parent_id
		left join function c on c.id = p.function_id
		where c.id is null or c.raw_type || c.raw_name || f.raw_type || f.raw_name <> 'System.AppContextSetupSystem.StringCtor'`)[0]
}

// TestMemoryLost: when the agent's memory ends, by --memory-limit or because the file system is full, the target is
// not disturbed, and what could not be counted is counted as lost: with it, the sums are those of a run with room.
func TestMemoryLost(t *testing.T) {
	in := dotnettest.Need(t)
	stacks := func(s *sandbox) []string { // without tiers: it has the same stacks each time
		s.env = append(s.env, "COMPlus_TieredCompilation=0")
		return s.target(in.Net9(), "Stacks", "15")
	}
	room := newSandbox(t)
	whole := room.record(room.filling(0, stacks(room))) // in a shell too, which sets variables, for which .NET makes objects
	if whole.exit != 0 {
		t.Fatalf("exit code %d: %s", whole.exit, whole.stderr)
	}
	checkSession(t, whole.session)
	compareTruth(t, whole, in.Net9())
	want := totals(t, whole.session)
	for _, tt := range []struct {
		name       string
		size, fill int
		flags      []string
	}{
		{"limit", 256 << 20, 0, []string{"--memory", "--memory-limit", "4M"}},
		{"full", 17 << 20, 15 << 20, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSandbox(t)
			s.mount(s.shm, tt.size, 0)
			r := s.record(s.filling(tt.fill, stacks(s)), tt.flags...)
			if r.exit != 0 || r.stdout != whole.stdout {
				t.Errorf("exit code %d, output %q: %s", r.exit, r.stdout, r.stderr)
			}
			sound(t, r.session)
			lost := losses(t, r.session)
			full := lost["arena_full"]
			delete(lost, "changes_lost") // the log is full too: what changed from one collection to the next cannot be told
			if len(lost) != 1 || full.Allocations <= 1000 || full.Events != full.Allocations {
				t.Errorf("losses: %v", lost)
			}
			got := totals(t, r.session)
			if sum := got.plus(made{full.Allocations, full.Bytes}); sum != want {
				t.Errorf("%v and lost %v are %v, want %v", got, full, sum, want)
			}
			if shown := s.run("report", r.session); !strings.Contains(shown.stdout, "arena_full") {
				t.Errorf("the report does not say what is lost: %s", shown.stdout)
			}
		})
	}
}

// filling wraps a command in a shell that first writes a file of so many bytes, or as many as there is room for, into
// the file system of the arenas: clrprof has looked at it before.
func (s *sandbox) filling(bytes int, command []string) []string {
	filler := filepath.Join(s.shm, "filler")
	s.t.Cleanup(func() {
		if err := os.Remove(filler); err != nil {
			s.t.Error(err)
		}
	})
	return append([]string{"sh", "-c", `head -c "$0" /dev/zero >"$1" 2>/dev/null; shift; exec "$@"`, itoa(bytes), filler}, command...)
}

// TestNoSharedMemory: a process whose agent gets no memory at all runs as without clrprof, which says why there is
// nothing to report.
func TestNoSharedMemory(t *testing.T) {
	in := dotnettest.Need(t)
	for _, runtime := range []dotnettest.Runtime{in.Net9(), in.Net31()} {
		s := newSandbox(t)
		s.mount(s.shm, 16<<20+4096, 0)
		command := s.filling(20<<20, s.target(runtime, "Exits", "return"))
		r := s.record(command)
		if r.exit != 7 || !strings.Contains(r.stdout, `"truth":"end"`) {
			t.Errorf("exit code %d, want the target's; it says %q", r.exit, r.stdout)
		}
		oneLine(t, r, "no .NET process could be recorded", "is full", "CLRPROF_SHM")
		if left := list(t, s.out); len(left) != 0 {
			t.Errorf("left: %v", left)
		}
	}
}

// TestLimitedTarget: a target with a limit of address space or file size runs as without clrprof, and is recorded
// when there is any room.
func TestLimitedTarget(t *testing.T) {
	in := dotnettest.Need(t)
	for _, tt := range []struct {
		limit    string
		recorded bool
	}{
		{"ulimit -f 1000000", true}, // in blocks of 512 bytes
		{"ulimit -f 40000", true},
		{"ulimit -f 100", false},
		{"ulimit -v 30000000", true}, // in KiB
		{"ulimit -v 8000000", true},
	} {
		for _, runtime := range []dotnettest.Runtime{in.Net9(), in.Net31()} {
			t.Run(tt.limit+"/"+runtime.Name, func(t *testing.T) {
				s := newSandbox(t)
				// Without GCHeapHardLimit .NET reserves 256 GB and does not start; it also makes a large file for its code.
				s.env = append(s.env, "COMPlus_GCHeapHardLimit=0x8000000", "DOTNET_EnableWriteXorExecute=0")
				command := append([]string{"sh", "-c", tt.limit + ` && exec "$@"`, "sh"}, s.target(runtime, "Children", "child", "3")...)
				plain := s.command()
				plain.Path, plain.Args = "/bin/sh", command
				without := s.finish(plain)
				r := s.record(command)
				if tt.recorded {
					if r.exit != without.exit || withoutPID(r.stdout) != withoutPID(without.stdout) || without.exit != 0 {
						t.Fatalf("exit code %d, without clrprof %d\n%s%s", r.exit, without.exit, r.stderr, without.stderr)
					}
					checkSession(t, r.session)
					compareTruth(t, r, runtime)
					return
				}
				oneLine(t, r, "no .NET process could be recorded", "ulimit")
				if r.exit != codeNoRuntime || withoutPID(r.stdout) != withoutPID(without.stdout) {
					t.Errorf("exit code %d: %q, without clrprof %q", r.exit, r.stdout, without.stdout)
				}
			})
		}
	}
}

var pidField = regexp.MustCompile(`"pid": ?[0-9]+`)

// TestPartlyRecorded: of two processes one cannot be recorded; the session has the other and says what is missing.
func TestPartlyRecorded(t *testing.T) {
	in := dotnettest.Need(t)
	s := newSandbox(t)
	s.env = append(s.env, "DOTNET_EnableWriteXorExecute=0") // or .NET makes a large file for its code
	command := append([]string{"sh", "-c", `(ulimit -f 100 && exec "$@") >/dev/null; exec "$@"`, "sh"}, s.target(in.Net9(), "Exits", "return")...)
	r := s.record(command)
	if r.exit != 7 {
		t.Fatalf("exit code %d: %s", r.exit, r.stderr)
	}
	sound(t, r.session)
	compareTruth(t, r, in.Net9())
	rows := query[struct {
		State  string `json:"end_state"`
		Reason string
	}](t, r.session, "select p.end_state, coalesce(l.reason, '') reason from process p left join loss l on l.process_id = p.id order by p.begin_ns")
	if len(rows) != 2 || rows[0].State != "died" || rows[0].Reason != "no_address_space" || rows[1].State != "exited" || rows[1].Reason != "" {
		t.Errorf("processes: %v", rows)
	}
	if shown := s.run("report", r.session); !strings.Contains(shown.stdout, "no_address_space") {
		t.Errorf("the report does not say what is missing: %s", shown.stdout)
	}
}

// withoutPID makes the truth of two processes comparable.
func withoutPID(truth string) string {
	return pidField.ReplaceAllString(truth, `"pid":0`)
}

// TestAgentPlaces: the agent is loaded from where that is possible, whatever is in the way elsewhere.
func TestAgentPlaces(t *testing.T) {
	in := dotnettest.Need(t)
	for _, tt := range []struct {
		name    string
		prepare func(s *sandbox)
		want    func(s *sandbox) string // the directory of the agent
	}{
		{"new cache", func(*sandbox) {}, func(s *sandbox) string { return filepath.Join(s.cache, "clrprof", "agent") }},
		{"corrupt", func(s *sandbox) {
			s.record(s.target(in.Net9(), "Exits", "return"), "-f")
			for _, path := range s.agents(filepath.Join(s.cache, "clrprof", "agent")) {
				if err := errors.Join(os.Remove(path), os.WriteFile(path, []byte("\x7fELF corrupt"), 0o500), os.Chown(path, s.user(), s.user())); err != nil {
					s.t.Fatal(err)
				}
			}
		}, func(s *sandbox) string { return filepath.Join(s.cache, "clrprof", "agent") }},
		{"noexec cache", func(s *sandbox) { s.mount(s.cache, 1<<20, unix.MS_NOEXEC) }, (*sandbox).temporaryAgent},
		{"unwritable cache", func(s *sandbox) { s.chmod(s.cache, 0o500) }, (*sandbox).temporaryAgent},
		{"no home", func(s *sandbox) { s.unset("HOME", "XDG_CACHE_HOME") }, (*sandbox).temporaryAgent},
		{"unwritable home", func(s *sandbox) { s.unset("XDG_CACHE_HOME"); s.env = append(s.env, "HOME=/proc") }, (*sandbox).temporaryAgent},
		{"full cache", func(s *sandbox) { s.mount(s.cache, 4096, 0) }, (*sandbox).temporaryAgent},
		{"nothing but the arenas", func(s *sandbox) { s.unset("HOME", "XDG_CACHE_HOME"); s.env = append(s.env, "TMPDIR=/proc") }, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSandbox(t).asUser()
			tt.prepare(s)
			r := s.record(s.target(in.Net9(), "Exits", "return"), "-f")
			if r.exit != 7 {
				t.Fatalf("exit code %d: %s", r.exit, r.stderr)
			}
			checkSession(t, r.session)
			if tt.want == nil {
				return // it was beside the arenas, and is gone with them
			}
			if found := s.agents(tt.want(s)); len(found) != 1 {
				t.Errorf("agents in %s: %v, want one", tt.want(s), found)
			}
		})
	}
}

// chmod changes a directory for the time of the test.
func (s *sandbox) chmod(dir string, mode os.FileMode) {
	s.t.Helper()
	if err := os.Chmod(dir, mode); err != nil {
		s.t.Fatal(err)
	}
}

func (s *sandbox) temporaryAgent() string {
	return filepath.Join(s.tmp, "clrprof-agent-"+itoa(s.user()))
}

// agents lists the agents in a directory.
func (s *sandbox) agents(dir string) []string {
	s.t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "libclrprof-*.so"))
	if err != nil {
		s.t.Fatal(err)
	}
	return paths
}

// TestPlacesOfArenas: where shared memory cannot be, clrprof says so, or takes the next place.
func TestPlacesOfArenas(t *testing.T) {
	in := dotnettest.Need(t)
	s := newSandbox(t).asUser()
	command := s.target(in.Net9(), "Exits", "return")
	s.env = append(s.env, "CLRPROF_SHM="+filepath.Join(s.root, "missing"))
	r := s.record(command)
	oneLine(t, r, "missing", "no such file")
	if r.exit != codeUnwritable || r.stdout != "" {
		t.Errorf("exit code %d: %q", r.exit, r.stdout)
	}
	if d := cmp.Diff([]string(nil), list(t, s.out)); d != "" {
		t.Error(d)
	}
}

// TestSharedMemoryFallback: without room in /dev/shm the arenas go to XDG_RUNTIME_DIR, then to TMPDIR.
func TestSharedMemoryFallback(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can mount")
	}
	in := dotnettest.Need(t)
	for _, tt := range []struct {
		name, options string
		runtimeDir    bool
	}{{"full", "size=1m", true}, {"full", "size=1m", false}, {"unwritable", "ro", true}} {
		s := newSandbox(t)
		s.unset("CLRPROF_SHM", "XDG_RUNTIME_DIR")
		want := s.tmp
		if tt.runtimeDir {
			s.env, want = append(s.env, "XDG_RUNTIME_DIR="+s.shm), s.shm
		}
		command := s.target(in.Net9(), "Echo", "env", "CLRPROF_ARENAS")
		cmd := s.command()
		cmd.Path = "/bin/sh"
		cmd.Args = append([]string{"sh", "-c", `mount -t tmpfs -o ` + tt.options + ` none /dev/shm && exec "$0" "$@"`, binary,
			"run", "--no-report", "-o", "s.clrprof", "--"}, command...)
		cmd.SysProcAttr = &unix.SysProcAttr{Unshareflags: unix.CLONE_NEWNS}
		r := s.finish(cmd)
		if r.exit != 0 || filepath.Dir(strings.TrimSpace(r.stdout)) != want {
			t.Errorf("/dev/shm %s: exit code %d, the arenas are in %q, want %s: %s", tt.name, r.exit, r.stdout, want, r.stderr)
		}
		checkSession(t, filepath.Join(s.out, "s.clrprof"))
	}
}
