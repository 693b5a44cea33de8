package launch

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/capture/agentbin"
)

func TestCheckEnvironment(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	put(t, file)
	for _, tt := range []struct {
		name string
		env  []string
		want error
	}{
		{"nothing set", []string{"HOME=/root"}, nil},
		{"another", []string{"CORECLR_ENABLE_PROFILING=1", "CORECLR_PROFILER={846F5F1C-F9AE-4B07-969E-05C26BC060D8}"},
			ErrOtherProfiler},
		{"another, in hexadecimal", []string{"CORECLR_ENABLE_PROFILING=0x1", "CORECLR_PROFILER={1}"}, ErrOtherProfiler},
		{"another, without an id", []string{"CORECLR_ENABLE_PROFILING=1"}, ErrOtherProfiler},
		{"another, switched off", []string{"CORECLR_ENABLE_PROFILING=0", "CORECLR_PROFILER={1}"}, nil},
		{"another, not a number", []string{"CORECLR_ENABLE_PROFILING=yes", "CORECLR_PROFILER={1}"}, nil},
		{"another, empty", []string{"CORECLR_ENABLE_PROFILING=", "CORECLR_PROFILER={1}"}, nil},
		{"the agent, at work", []string{"CORECLR_ENABLE_PROFILING=1", "CORECLR_PROFILER=" + ProfilerID,
			"CLRPROF_ARENAS=" + dir}, ErrNested},
		{"the agent, at work, in small letters", []string{"CORECLR_ENABLE_PROFILING=1", "CORECLR_PROFILER=" +
			strings.ToLower(ProfilerID), "CLRPROF_ARENAS=" + dir}, ErrNested},
		{"the agent, left over", []string{"CORECLR_ENABLE_PROFILING=1", "CORECLR_PROFILER=" + ProfilerID,
			"CLRPROF_ARENAS=" + dir + "/gone"}, nil},
		{"the agent, left over, now a file", []string{"CORECLR_ENABLE_PROFILING=1", "CORECLR_PROFILER=" + ProfilerID,
			"CLRPROF_ARENAS=" + file}, nil},
		{"the agent, without a directory", []string{"CORECLR_ENABLE_PROFILING=1", "CORECLR_PROFILER=" + ProfilerID},
			nil},
	} {
		if got := checkEnvironment(tt.env); !errors.Is(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestEnvironment(t *testing.T) {
	always := []string{"CORECLR_ENABLE_PROFILING=1", "CORECLR_PROFILER=" + ProfilerID, "CORECLR_PROFILER_PATH=/a.so",
		"CORECLR_PROFILER_PATH_64=/a.so", "CLRPROF_ARENAS=/d", "CLRPROF_COLLECTOR=1",
		"VSTEST_TESTHOST_SHUTDOWN_TIMEOUT=60000"}
	if d := cmp.Diff(always, environment(Options{Directory: "/d"}, "/a.so")); d != "" {
		t.Error(d)
	}
	all := append(always, "CLRPROF_MEMORY=4194304", "CLRPROF_NODES=5000", "CLRPROF_STACK_DEPTH=100")
	if d := cmp.Diff(all, environment(Options{Directory: "/d", MemoryLimit: 4 << 20, Nodes: 5000, StackDepth: 100},
		"/a.so")); d != "" {
		t.Error(d)
	}
	lifetime := append(all[:len(always):len(always)], "CLRPROF_LIFETIME=1", "CLRPROF_ROOTS=gen2")
	if d := cmp.Diff(lifetime, environment(Options{Directory: "/d", Lifetime: true, Roots: "gen2"}, "/a.so")); d != "" {
		t.Error(d)
	}
	final := append(lifetime[:len(always)+1:len(always)+1], "CLRPROF_FINAL_GC=1")
	if d := cmp.Diff(final, environment(Options{Directory: "/d", Lifetime: true, FinalGC: true}, "/a.so")); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(always, environment(Options{Directory: "/d", FinalGC: true, Roots: "every"}, "/a.so")); d != "" {
		t.Error(d)
	}
	mine := append(always[:len(always):len(always)], "CLRPROF_MINE=+A\n+B", "CLRPROF_MINE_FOLDER=/app")
	if d := cmp.Diff(mine, environment(Options{Directory: "/d", Mine: []string{"+A", "+B"}, MineFolder: "/app"},
		"/a.so")); d != "" {
		t.Error(d)
	}
	time := append(always[:len(always):len(always)], "CLRPROF_TIME=1", "COMPlus_TailCallOpt=0", "DOTNET_TailCallOpt=0",
		"COMPlus_TailCallLoopOpt=0", "DOTNET_TailCallLoopOpt=0", "CLRPROF_NO_MEMORY=1", "CLRPROF_SMALL=16",
		"CLRPROF_INSTRUMENT=mine", "CLRPROF_RULES=+A.*\n-B")
	if d := cmp.Diff(time, environment(Options{Directory: "/d", Time: true, NoMemory: true, Instrument: "mine",
		Small: 16, Rules: []string{"+A.*", "-B"}}, "/a.so")); d != "" {
		t.Error(d)
	}
	withTime := append(final[:len(always)+2:len(always)+2], "CLRPROF_TIME=1")
	loops := []string{"DOTNET_TailCallLoopOpt=1", "COMPlus_TailCallOpt=1"} // the user's own setting stays
	if d := cmp.Diff(withTime,
		environment(Options{Directory: "/d", Lifetime: true, FinalGC: true, Time: true, Environment: loops},
			"/a.so")); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(always,
		environment(Options{Directory: "/d", NoMemory: true, Instrument: "all", Small: 1, Rules: []string{"-A"}},
			"/a.so")); d != "" {
		t.Error(d)
	}
	actions := append(always[:len(always):len(always)], "CLRPROF_ACTIONS=0+A.*\n5+B")
	if d := cmp.Diff(actions, environment(Options{Directory: "/d", Actions: []string{"0+A.*", "5+B"}}, "/a.so")); d != "" {
		t.Error(d)
	}
	meters := append(always[:len(always):len(always)], "CLRPROF_METER_HOOK=/h.dll", "CLRPROF_METERS=A.*\nB",
		"CLRPROF_METER_INTERVAL=100")
	if d := cmp.Diff(meters, environment(Options{Directory: "/d", Meters: []string{"A.*", "B"},
		MeterInterval: 100_000_000, hook: "/h.dll"}, "/a.so")); d != "" {
		t.Error(d)
	}
	waits := slices.Clone(always[:len(always)-1])
	if d := cmp.Diff(waits,
		environment(Options{Directory: "/d", Environment: []string{"VSTEST_TESTHOST_SHUTDOWN_TIMEOUT=1"}},
			"/a.so")); d != "" {
		t.Error(d)
	}
	given := []string{"A=1", "CLRPROF_TIME=1", "CLRPROF_NO_MEMORY=1", "CLRPROF_INSTRUMENT=all", "CLRPROF_SMALL=1",
		"CLRPROF_RULES=-A", "CLRPROF_ACTIONS=0+A", "CLRPROF_SNAPSHOT=end", "CLRPROF_LIFETIME=1", "CLRPROF_FINAL_GC=1",
		"CLRPROF_ROOTS=off", "CLRPROF_ARENAS=/old", "CLRPROF_METERS=A", "CLRPROF_METER_HOOK=/h",
		"CLRPROF_METER_INTERVAL=1", "CLRPROF_MEMORY=1", "CLRPROF_STACK_DEPTH=2", "CLRPROF_SHM=/s",
		"CLRPROF_MEMORYX=3"}
	kept := slices.Clone(given)
	if d := cmp.Diff([]string{"A=1", "CLRPROF_SHM=/s", "CLRPROF_MEMORYX=3"}, withoutAgent(given)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(kept, given); d != "" {
		t.Errorf("the caller's list changed: %s", d)
	}
}

func TestAgentDirectories(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("TMPDIR", "/tmp/t")
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("HOME", "/h")
	temporary := "/tmp/t/clrprof-agent-" + strings.Split(ArenasPrefix(os.Getuid()), "-")[1]
	if d := cmp.Diff([]string{"/h/.cache/clrprof/agent", temporary, "/arenas"}, agentDirectories("/arenas")); d != "" {
		t.Error(d)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", "h")
	if d := agentDirectories("/arenas")[0]; d != filepath.Join(here, "h/.cache/clrprof/agent") {
		t.Errorf("with a relative HOME: %s, which is another place in another working directory", d)
	}
	t.Setenv("HOME", "")
	list := agentDirectories("/arenas")
	if d := cmp.Diff([]string{temporary, "/arenas"}, list); d != "" {
		t.Errorf("without HOME: %s", d)
	}
	if strings.HasPrefix(filepath.Base(list[0]), ArenasPrefix(os.Getuid())) {
		t.Errorf("%s would be taken for a dead collector's directory", list[0])
	}
}

// script writes an executable file.
func script(t *testing.T, name, text string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chmod(path, mode)); err != nil {
		t.Fatal(err)
	}
	return path
}

// started starts a command, whose output goes to the test's.
func started(t *testing.T, command ...string) *Target {
	t.Helper()
	target, err := Start(Options{Command: command, Directory: t.TempDir(), Environment: os.Environ(),
		Agent: "/none.so"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(target.Release)
	return target
}

func TestExitCode(t *testing.T) {
	for _, tt := range []struct {
		command []string
		want    int
	}{
		{[]string{"true"}, 0},
		{[]string{"/bin/sh", "-c", "exit 7"}, 7},
		{[]string{"sh", "-c", "exit 255"}, 255},
		{[]string{"sh", "-c", "kill -KILL $$"}, 128 + int(syscall.SIGKILL)},
		{[]string{"sh", "-c", "kill -ABRT $$"}, 128 + int(syscall.SIGABRT)},
		{[]string{"sh", "-c", `test "$1" = "a b" -a "$#" = 2`, "-", "a b", ""}, 0},
		{[]string{script(t, "x", "#!/bin/sh\nexit 3\n", 0o700)}, 3},
		{[]string{script(t, "x", "exit $1\n", 0o700), "4"}, 4}, // without #!: by the shell
		{[]string{"sh", "-c", `test "$CORECLR_PROFILER_PATH" = /none.so`}, 0},
	} {
		target := started(t, tt.command...)
		<-target.Done()
		if got := target.ExitCode(); got != tt.want {
			t.Errorf("%q: %d, want %d", tt.command, got, tt.want)
		}
	}
}

func TestCannotStart(t *testing.T) {
	t.Setenv("PATH", "/usr/bin:/bin")
	for _, command := range []string{"", "no-such-command-anywhere", "/no/such/file", t.TempDir(),
		script(t, "x", "exit 0", 0o600),
		script(t, "x", "#!/no/such/interpreter\n", 0o700), "./none"} {
		target, err := Start(Options{Command: []string{command}, Directory: t.TempDir(), Environment: os.Environ(),
			Agent: "/none.so"})
		if !errors.Is(err, ErrStart) || target != nil {
			t.Errorf("%q: %v", command, err)
		}
	}
	if err := Check(Options{Command: []string{"no-such-command-anywhere"}}); !errors.Is(err, ErrStart) {
		t.Errorf("checking: %v", err)
	}
	if err := Check(Options{Command: []string{"true"}}); err != nil {
		t.Errorf("checking true: %v", err)
	}
}

// TestRelativePath: a command that PATH finds in the current directory is started, as a shell would.
func TestRelativePath(t *testing.T) {
	t.Chdir(filepath.Dir(script(t, "here", "#!/bin/sh\nexit 6\n", 0o700)))
	t.Setenv("PATH", ".:/usr/bin:/bin")
	target := started(t, "here")
	<-target.Done()
	if target.ExitCode() != 6 {
		t.Errorf("exit code %d", target.ExitCode())
	}
}

// TestForwarding: what clrprof gets, the target gets, until Release.
func TestForwarding(t *testing.T) {
	for _, s := range []syscall.Signal{unix.SIGTERM, unix.SIGHUP, unix.SIGUSR1, unix.SIGUSR2} {
		if signal.Ignored(s) {
			t.Logf("%v is ignored here, as under nohup: TestIgnoredSignals says what then happens", s)
			continue
		}
		target := started(t, "sleep", "1000")
		if err := unix.Kill(os.Getpid(), s); err != nil {
			t.Fatal(err)
		}
		<-target.Done()
		if got := target.ExitCode(); got != 128+int(s) {
			t.Errorf("%v: exit code %d", s, got)
		}
	}
}

// TestLateSignals: whoever ends a group of processes may signal clrprof again when the target is gone already; until
// Release that does nothing.
func TestLateSignals(t *testing.T) {
	if signal.Ignored(unix.SIGHUP) {
		t.Skip("SIGHUP is ignored here, as under nohup")
	}
	target := started(t, "true")
	<-target.Done()
	// To this thread: one that any thread may take can come after the Release that follows, and would end this test.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for range 20 {
		if err := unix.Tgkill(os.Getpid(), unix.Gettid(), unix.SIGHUP); err != nil {
			t.Fatal(err)
		}
	}
	target.Release()
}

// TestIgnoredSignals: under nohup the target ignores SIGHUP too, and clrprof does not pass it on. The dispositions
// of a Go process are fixed when it starts, so this test starts itself.
func TestIgnoredSignals(t *testing.T) {
	if os.Getenv("CLRPROF_TEST_CHILD") != "" {
		target := started(t, "sh", "-c", `echo "pid $$"; grep SigIgn /proc/$$/status; read line; exit 5`)
		<-target.Done()
		if target.ExitCode() != 5 {
			t.Errorf("exit code %d", target.ExitCode())
		}
		return
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", `trap "" HUP INT; exec "$0" -test.run='^TestIgnoredSignals$'`, exe)
	cmd.Env = append(os.Environ(), "CLRPROF_TEST_CHILD=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pid, ignored uint64
	if _, err := fmt.Fscanf(out, "pid %d\nSigIgn: %x\n", &pid, &ignored); err != nil {
		t.Fatal(err)
	}
	if want := uint64(1<<(unix.SIGHUP-1) | 1<<(unix.SIGINT-1)); ignored&want != want {
		t.Errorf("the target ignores %x, want at least %x", ignored, want)
	}
	for _, s := range []os.Signal{unix.SIGHUP, unix.SIGINT} {
		if err := cmd.Process.Signal(s); err != nil {
			t.Error(err)
		}
	}
	if _, err := in.Write([]byte("\n")); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the test in the child: %v", err)
	}
}

func TestExplain(t *testing.T) {
	for _, tt := range []struct {
		command, env []string
		want         string
	}{
		{[]string{"dotnet"}, []string{"DOTNET_EnableDiagnostics=0"}, "DOTNET_EnableDiagnostics=0 forbids profilers"},
		{[]string{"dotnet"}, []string{"COMPlus_EnableDiagnostics_Profiler=0"},
			"COMPlus_EnableDiagnostics_Profiler=0 forbids profilers"},
		{[]string{"true"}, []string{"DOTNET_EnableDiagnostics=1"}, "the command started no .NET program"},
		{[]string{"true"}, nil, "the command started no .NET program"},
		{[]string{"true"}, nil, "does not see " + Bases()[0]},
		{[]string{"no-such-command-anywhere"}, nil, "the command started no .NET program"},
		{[]string{"dotnet", "no-such.dll"}, nil, "the command started no .NET program"},
		{[]string{"dotnet", script(t, "x.dll", "text", 0o600)}, nil, "x.dll is not a .NET assembly"},
		{[]string{"dotnet", script(t, "x.dll", "MZ", 0o600)}, nil, "x.dll is an assembly without x.runtimeconfig.json"},
		{[]string{script(t, "x", "#!/bin/sh\n", 0o700)}, nil, "the script started no .NET program"},
		{[]string{script(t, "x", "", 0o700)}, nil, "the command started no .NET program"},
		{[]string{script(t, "x", elfHeader(0xF3), 0o700)}, nil, "is a program for EM_RISCV"},
		{[]string{script(t, "x", elfHeader(0x3E), 0o700)}, nil, "the command started no .NET program"},
	} {
		got := Explain(tt.command, tt.env)
		if !strings.Contains(got, tt.want) || strings.Contains(got, "\n") {
			t.Errorf("%q with %q: %q, want %q in it", tt.command, tt.env, got, tt.want)
		}
	}
}

// TestLoaderSays: what cannot be loaded is explained by the loader that would have to.
func TestLoaderSays(t *testing.T) {
	if _, err := os.Stat(loaders["x64"].glibc); err != nil {
		t.Skip("this machine's loader is another one")
	}
	folder := t.TempDir()
	for name, content := range map[string]string{"short.so": "x", "text.so": strings.Repeat("text\n", 1000),
		"arm.so": elfHeader(0xB7)} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"missing.so", "short.so", "text.so", "arm.so"} {
		path := filepath.Join(folder, name)
		for _, command := range [][]string{{"sh"}, {"no-such-command-anywhere"},
			{script(t, "x", "#!/bin/sh\n", 0o700)}} {
			if says := LoaderSays(command, path); !strings.Contains(says, path) || strings.Contains(says, "\n") {
				t.Errorf("%s for %q: %q", name, command, says)
			}
		}
	}
	if says := LoaderSays([]string{"sh"}, "/bin/sh"); says != "" {
		t.Errorf("what can be loaded: %q", says)
	}
	loadable, err := agentbin.Extract(agentbin.Glibc, []string{folder})
	if says := LoaderSays([]string{"sh"}, loadable); err == nil && says != "" {
		t.Errorf("the agent: %q", says)
	}
}

// elfHeader is a 64-bit executable with nothing in it.
func elfHeader(machine byte) string {
	h := make([]byte, 64)
	copy(h, "\x7fELF\x02\x01\x01")
	h[16], h[18], h[20], h[52] = 2, machine, 1, 64
	return string(h)
}

// TestFromKeyboard: what no key sends. The others need a terminal: see e2e.
func TestFromKeyboard(t *testing.T) {
	for _, s := range []os.Signal{unix.SIGTERM, unix.SIGHUP, unix.SIGUSR1, unix.SIGUSR2} {
		if fromKeyboard(s) {
			t.Errorf("no keyboard sends %v", s)
		}
	}
}

// TestLoad: what is loaded ahead is what Start would load; where that is impossible, Start says so.
func TestLoad(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	o := Options{Command: []string{"true"}, Directory: t.TempDir(), Environment: os.Environ()}
	ahead := Load(o)()
	target, err := Start(o)
	if errors.Is(err, agentbin.ErrMissing) && ahead.Agent == "" {
		return // in a checkout in which no agent is built
	}
	if err != nil {
		t.Fatal(err)
	}
	defer target.Release()
	<-target.Done()
	if st, err := os.Stat(ahead.Agent); err != nil || !st.Mode().IsRegular() || ahead.Agent != target.Agent() {
		t.Errorf("loaded ahead %q, %v; otherwise %q", ahead.Agent, err, target.Agent())
	}
	none := Options{Command: []string{"/none"}, Directory: t.TempDir(), Environment: os.Environ()}
	if _, err := Start(Load(none)()); !errors.Is(err, ErrStart) {
		t.Errorf("a command that does not exist: %v", err)
	}
}

// TestNoAgent: without a place for the agent nothing is started.
func TestNoAgent(t *testing.T) {
	if _, err := agentbin.Bytes(agentbin.Glibc); err != nil {
		t.Skip("this checkout's agent is not built")
	}
	marker := filepath.Join(t.TempDir(), "started")
	t.Setenv("HOME", "/proc")
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("TMPDIR", "/proc")
	_, err := Start(Options{Command: []string{"touch", marker}, Directory: "/proc", Environment: os.Environ()})
	if err == nil || !strings.Contains(err.Error(), "no directory to load the agent from") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("the command was started")
	}
}
