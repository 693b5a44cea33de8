package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/capture/arena"
	"github.com/clrprof/clrprof/internal/capture/launch"
	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
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
	if r := runHere("check-session", path); r.exit != 0 {
		t.Errorf("check-session: exit code %d: %s%s", r.exit, r.stdout, r.stderr)
	}
	checkSums(t, path)
}

// totals are all allocations of a session but the strings that the runtime is started with: one is an address in
// hexadecimal, without leading zeros, of where the kernel placed something.
func totals(t *testing.T, path string) made {
	t.Helper()
	return query[made](t, path,
		`select sum(v.allocations) Objects, sum(v.bytes) Bytes from site_value v join site s on s.id = v.site_id
		join node n on n.id = s.node_id join function f on f.id = n.function_id left join node p on p.id = n.parent_id
		left join function c on c.id = p.function_id
		where c.id is null or c.raw_type || c.raw_name || f.raw_type || f.raw_name <> 'System.AppContextSetupSystem.StringCtor'`)[0]
}

// lessExact are the losses of a process whose agent has little memory. All allocations are counted under their types.
var lessExact = []string{"ages_lost", "survivors_lost", "changes_lost", "lifetime_full", "stacks_lost",
	"stack_truncated"}

// byType are the allocations of each type, but for the strings of the host's properties: one is an address (.NET's
// HOST_RUNTIME_CONTRACT), which has a digit more in some runs.
func byType(t *testing.T, path string) map[string]made {
	t.Helper()
	all := map[string]made{}
	type row struct {
		Name string
		made
	}
	for _, r := range query[row](t, path,
		`select t.name Name, sum(v.allocations) Objects, sum(v.bytes) Bytes from site_value v
		join site s on s.id = v.site_id join type t on t.id = s.type_id join node n on n.id = s.node_id
		left join node p on p.id = n.parent_id left join function f on f.id = p.function_id
		where not (t.name = 'string' and coalesce(f.name, '') like 'System.AppContext.Setup(%') group by t.name`) {
		all[r.Name] = r.made
	}
	return all
}

// TestMemoryLost: when the agent's memory ends, by --memory-limit or because the file system is full, the target is
// not disturbed, and stacks are what is given up: objects and bytes of each type are those of a run with room.
func TestMemoryLost(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	stacks := func(s *sandbox) []string { // without tiers: it has the same stacks each time
		s.env = append(s.env, "COMPlus_TieredCompilation=0")
		return s.target(in.Newest(), "Stacks", "15")
	}
	room := newSandbox(t)
	// in a shell too, which sets variables, for which .NET makes objects
	whole := room.record(room.filling(0, stacks(room)))
	if whole.exit != 0 {
		t.Fatalf("exit code %d: %s", whole.exit, whole.stderr)
	}
	checkSession(t, whole.session)
	compareTruth(t, whole, in.Newest())
	want, wantTypes := totals(t, whole.session), byType(t, whole.session)
	for _, tt := range []struct {
		name       string
		size, fill int
		flags      []string
	}{
		{"limit", 256 << 20, 0, []string{"--memory", "--memory-limit", "4M"}},
		{"full", 20 << 20, 15 << 20, nil},
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
			if lost["stack_truncated"].Allocations <= 1000 || lost["stacks_lost"].Events == 0 {
				t.Errorf("losses: %v", lost)
			}
			for reason := range lost {
				if !slices.Contains(lessExact, reason) {
					t.Errorf("lost: %v", lost[reason])
				}
			}
			if got := totals(t, r.session); got != want {
				t.Errorf("%v, want %v", got, want)
			}
			if d := cmp.Diff(wantTypes, byType(t, r.session)); d != "" {
				t.Error(d)
			}
			if shown := s.run("report", r.session); !strings.Contains(shown.stdout, "stacks_lost") {
				t.Errorf("the report does not say what is lost: %s", shown.stdout)
			}
		})
	}
}

// TestSmallLimits: with lifetime too, and far more stacks than there is room for.
func TestSmallLimits(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	const levels = 16
	for _, tt := range []struct {
		limit string
		lost  bool
	}{{"8M", true}, {"16M", true}, {"32M", true}, {"64M", false}} {
		t.Run(tt.limit, func(t *testing.T) {
			s := newSandbox(t)
			s.mount(s.shm, 256<<20, 0)
			r := s.record(s.target(in.Newest(), "Stacks", itoa(levels)), "--memory-limit", tt.limit)
			if r.exit != 0 {
				t.Fatalf("exit code %d: %s", r.exit, r.stderr)
			}
			sound(t, r.session)
			for reason, l := range losses(t, r.session) {
				if !tt.lost || !slices.Contains(lessExact, reason) {
					t.Errorf("lost: %v", l)
				}
			}
			want := made{1 << levels, 32 << levels}
			if got := byType(t, r.session)["Stacks.Item"]; got != want {
				t.Errorf("%v, the truth is %v", got, want)
			}
			type function struct {
				Name string
				made
			}
			for _, f := range query[function](t, r.session,
				`select f.name Name, sum(v.allocations) Objects, sum(v.bytes) Bytes from site_value v
				join site s on s.id = v.site_id join type t on t.id = s.type_id join node n on n.id = s.node_id join function f on f.id = n.function_id
				where t.name = 'Stacks.Item' group by f.id`) {
				if want := (made{1 << (levels - 1), 32 << (levels - 1)}); f.made != want {
					t.Errorf("%s made %v, the truth is %v", f.Name, f.made, want)
				}
			}
		})
	}
}

// TestControlGroup: in a group that is below one with a limit, as services of systemd are, clrprof and its target stay
// within it, and nobody is ended by the kernel.
func TestControlGroup(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	const levels, limit = 17, 144 << 20
	inner := limitedGroup(t, limit)
	s := newSandbox(t)
	s.mount(s.shm, 1<<30, 0)
	cmd := s.command()
	cmd.Path = "/bin/sh"
	cmd.Args = append([]string{"sh", "-c", `echo $$ >"$0/cgroup.procs" && exec "$@"`, inner, binary, "run",
		"--no-report", "-o", "s.clrprof", "--"},
		s.target(in.Newest(), "Stacks", itoa(levels))...)
	r := s.finish(cmd)
	if r.exit != 0 {
		t.Fatalf("exit code %d: %s", r.exit, r.stderr)
	}
	path := filepath.Join(s.out, "s.clrprof")
	sound(t, path)
	for reason, l := range losses(t, path) {
		if !slices.Contains(lessExact, reason) {
			t.Errorf("lost: %v", l)
		}
	}
	if got, want := byType(t, path)["Stacks.Item"], (made{1 << levels, 32 << levels}); got != want {
		t.Errorf("%v, the truth is %v", got, want)
	}
	if peak, err := os.ReadFile(filepath.Join(filepath.Dir(inner), "memory.max_usage_in_bytes")); err == nil {
		t.Logf("at most %s bytes were used", bytes.TrimSpace(peak))
	}
}

// TestControlGroupMoved: a process that moves into a smaller group while it runs has the limit of that group from then
// on, and one that is there when it begins from its start.
func TestControlGroupMoved(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	const levels, limit = 17, 144 << 20
	for _, tt := range []struct {
		name  string
		moves bool
	}{{"starts there", false}, {"moves", true}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			procs := filepath.Join(limitedGroup(t, limit), "cgroup.procs")
			s := newSandbox(t)
			s.mount(s.shm, 1<<30, 0)
			command := s.target(in.Newest(), "Stacks", itoa(levels), "wait")
			if !tt.moves {
				command = append([]string{"sh", "-c", `echo $$ >"$0" && exec "$@"`, procs}, command...)
			}
			p := s.start(append([]string{"run", "--no-report", "-o", "s.clrprof", "--"}, command...)...)
			p.expect("ready")
			a, pid := s.openArena()
			if tt.moves {
				if first := memoryLimit(t, a); first <= limit/4 {
					t.Fatalf("the limit is %d before the process moves", first)
				}
				if err := os.WriteFile(procs, []byte(pid), 0); err != nil {
					t.Fatal(err)
				}
			}
			await(t, "the limit is lowered", func() bool { return memoryLimit(t, a) == limit/4 })
			if _, err := p.in.Write([]byte("\n")); err != nil {
				t.Fatal(err)
			}
			r := p.wait()
			if r.exit != 0 {
				t.Fatalf("exit code %d: %s", r.exit, r.stderr)
			}
			path := filepath.Join(s.out, "s.clrprof")
			sound(t, path)
			lost := losses(t, path)
			for reason, l := range lost {
				if !slices.Contains(lessExact, reason) {
					t.Errorf("lost: %v", l)
				}
			}
			if lost["stacks_lost"].Events == 0 {
				t.Errorf("with %d bytes nothing is lost: %v", limit/4, lost)
			}
			if got, want := byType(t, path)["Stacks.Item"], (made{1 << levels, 32 << levels}); got != want {
				t.Errorf("%v, the truth is %v", got, want)
			}
			took := query[struct{ Bytes int64 }](t, path, "SELECT agent_bytes AS bytes FROM process")
			if len(took) != 1 || took[0].Bytes > limit/4 {
				t.Errorf("the agent took %v bytes, of %d", took, limit/4)
			}
		})
	}
}

// openArena opens the only arena of the sandbox.
func (s *sandbox) openArena() (a *arena.Arena, pid string) {
	s.t.Helper()
	names, err := filepath.Glob(filepath.Join(s.shm, "*", "*"+launch.ArenaSuffix))
	if err != nil || len(names) != 1 {
		s.t.Fatalf("arenas %v, %v", names, err)
	}
	a, err = arena.Open(names[0])
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { a.Close() })
	pid, _, _ = strings.Cut(filepath.Base(names[0]), "-")
	return a, pid
}

// memoryLimit is what the header of an arena says of it.
func memoryLimit(t *testing.T, a *arena.Arena) uint64 {
	t.Helper()
	h, err := a.Header()
	if err != nil {
		t.Fatal(err)
	}
	return h.MemoryLimit
}

// groups counts the groups that limitedGroup makes.
var groups atomic.Int32

// limitedGroup makes a control group below one whose memory is limited.
func limitedGroup(t *testing.T, limit int) string {
	t.Helper()
	for _, c := range []struct{ base, file string }{
		{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"}, {"/sys/fs/cgroup", "memory.max"},
	} {
		outer := filepath.Join(c.base, fmt.Sprintf("clrprof-e2e-%d-%d", os.Getpid(), groups.Add(1)))
		inner := filepath.Join(outer, "inner")
		if os.MkdirAll(inner, 0o755) != nil {
			continue
		}
		t.Cleanup(func() {
			if err := errors.Join(os.Remove(inner), os.Remove(outer)); err != nil {
				t.Error(err)
			}
		})
		if os.WriteFile(filepath.Join(outer, c.file), []byte(itoa(limit)), 0o644) == nil {
			return inner
		}
	}
	t.Skip("no control groups here whose memory this test may limit")
	return ""
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
	return append([]string{"sh", "-c", `head -c "$0" /dev/zero >"$1" 2>/dev/null; shift; exec "$@"`, itoa(bytes),
		filler}, command...)
}

// TestNoSharedMemory: a process whose agent gets no memory at all runs as without clrprof, which says why there is
// nothing to report.
func TestNoSharedMemory(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	for _, runtime := range in.NewestAndOldest() {
		s := newSandbox(t)
		s.mount(s.shm, 20<<20, 0)
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
	t.Parallel()
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
		for _, runtime := range in.NewestAndOldest() {
			t.Run(tt.limit+"/"+runtime.Name, func(t *testing.T) {
				s := newSandbox(t)
				// Without GCHeapHardLimit .NET reserves 256 GB and does not start; it also makes a large file for its
				// code.
				s.env = append(s.env, "COMPlus_GCHeapHardLimit=0x8000000", "DOTNET_EnableWriteXorExecute=0")
				command := append([]string{"sh", "-c", tt.limit + ` && exec "$@"`, "sh"},
					s.target(runtime, "Children", "child", "3")...)
				plain := s.command()
				plain.Path, plain.Args = "/bin/sh", command
				without := s.finish(plain)
				r := s.record(command)
				if tt.recorded {
					if r.exit != without.exit || withoutPID(r.stdout) != withoutPID(without.stdout) ||
						without.exit != 0 {
						t.Fatalf("exit code %d, without clrprof %d\n%s%s", r.exit, without.exit, r.stderr,
							without.stderr)
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
	t.Parallel()
	in := dotnettest.Need(t)
	s := newSandbox(t)
	s.env = append(s.env, "DOTNET_EnableWriteXorExecute=0") // or .NET makes a large file for its code
	command := append([]string{"sh", "-c", `(ulimit -f 100 && exec "$@") >/dev/null; exec "$@"`, "sh"},
		s.target(in.Newest(), "Exits", "return")...)
	r := s.record(command)
	if r.exit != 7 {
		t.Fatalf("exit code %d: %s", r.exit, r.stderr)
	}
	sound(t, r.session)
	compareTruth(t, r, in.Newest())
	rows := query[struct {
		State  string `json:"end_state"`
		Reason string
	}](t, r.session,
		"select p.end_state, coalesce(l.reason, '') reason from process p left join loss l on l.process_id = p.id "+
			"order by p.begin_ns")
	if len(rows) != 2 || rows[0].State != "died" || rows[0].Reason != "no_address_space" || rows[1].State != "exited" ||
		rows[1].Reason != "" {
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
	t.Parallel()
	in := dotnettest.Need(t)
	for _, tt := range []struct {
		name    string
		prepare func(s *sandbox)
		want    func(s *sandbox) string // the directory of the agent
	}{
		{"new cache", func(*sandbox) {}, func(s *sandbox) string { return filepath.Join(s.cache, "clrprof", "agent") }},
		{"corrupt", func(s *sandbox) {
			s.record(s.target(in.Newest(), "Exits", "return"), "-f")
			for _, path := range s.agents(filepath.Join(s.cache, "clrprof", "agent")) {
				if err := errors.Join(os.Remove(path), os.WriteFile(path, []byte("\x7fELF corrupt"), 0o500),
					os.Chown(path, s.user(), s.user())); err != nil {
					s.t.Fatal(err)
				}
			}
		}, func(s *sandbox) string { return filepath.Join(s.cache, "clrprof", "agent") }},
		{"noexec cache", func(s *sandbox) { s.mount(s.cache, 1<<20, unix.MS_NOEXEC) }, (*sandbox).temporaryAgent},
		{"unwritable cache", func(s *sandbox) { s.chmod(s.cache, 0o500) }, (*sandbox).temporaryAgent},
		{"no home", func(s *sandbox) { s.unset("HOME", "XDG_CACHE_HOME") }, (*sandbox).temporaryAgent},
		{"unwritable home", func(s *sandbox) {
			s.unset("XDG_CACHE_HOME")
			s.env = append(s.env, "HOME=/proc")
		}, (*sandbox).temporaryAgent},
		{"full cache", func(s *sandbox) { s.mount(s.cache, 4096, 0) }, (*sandbox).temporaryAgent},
		{"nothing but the arenas", func(s *sandbox) {
			s.unset("HOME", "XDG_CACHE_HOME")
			s.env = append(s.env, "TMPDIR=/proc")
		}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSandbox(t).asUser()
			tt.prepare(s)
			r := s.record(s.target(in.Newest(), "Exits", "return"), "-f")
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

// TestAgentThatCannotBeLoaded: .NET hides why; the loader says it.
func TestAgentThatCannotBeLoaded(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	for _, tt := range []struct {
		name, words string
		place       func(s *sandbox) string
	}{
		{"missing", "cannot open shared object file", func(s *sandbox) string {
			return filepath.Join(s.tmp, "clrprof-agent-missing.so")
		}},
		{"no library", "invalid ELF header", func(s *sandbox) string {
			path := filepath.Join(s.tmp, "clrprof-agent-text.so")
			if err := os.WriteFile(path, bytes.Repeat([]byte("text\n"), 1000), 0o755); err != nil {
				s.t.Fatal(err)
			}
			return path
		}},
		{"noexec", "failed to map segment", func(s *sandbox) string {
			s.mount(s.tmp, 4<<20, unix.MS_NOEXEC)
			path := filepath.Join(s.tmp, "clrprof-agent-copy.so")
			if err := copyFile("../internal/capture/agentbin/lib/libclrprof-linux-x64.so", path); err != nil {
				s.t.Fatal(err)
			}
			return path
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSandbox(t)
			path := tt.place(s)
			s.env = append(s.env, "CLRPROF_AGENT="+path)
			r := s.record(s.target(in.Newest(), "Exits", "return"))
			oneLine(t, r, "cannot be loaded", path, tt.words)
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
	t.Parallel()
	in := dotnettest.Need(t)
	s := newSandbox(t).asUser()
	command := s.target(in.Newest(), "Exits", "return")
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
	t.Parallel()
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
		command := s.target(in.Newest(), "Echo", "env", "CLRPROF_ARENAS")
		cmd := s.command()
		cmd.Path = "/bin/sh"
		cmd.Args = append([]string{"sh", "-c", `mount -t tmpfs -o ` + tt.options + ` none /dev/shm && exec "$0" "$@"`,
			binary,
			"run", "--no-report", "-o", "s.clrprof", "--"}, command...)
		cmd.SysProcAttr = &unix.SysProcAttr{Unshareflags: unix.CLONE_NEWNS}
		r := s.finish(cmd)
		if r.exit != 0 || filepath.Dir(strings.TrimSpace(r.stdout)) != want {
			t.Errorf("/dev/shm %s: exit code %d, the arenas are in %q, want %s: %s", tt.name, r.exit, r.stdout, want,
				r.stderr)
		}
		checkSession(t, filepath.Join(s.out, "s.clrprof"))
	}
}
