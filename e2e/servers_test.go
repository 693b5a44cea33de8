package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// served is a program to build, and an environment in which builds leave their servers running, as they do by default.
type served struct {
	t    *testing.T
	s    *sandbox
	dir  string
	home string
	tmp  string
	sdk  dotnettest.SDK
}

func newServed(t *testing.T) *served {
	t.Helper()
	_, sdk := dotnettest.NeedSDK(t)
	p := &served{t: t, s: newSandbox(t), dir: t.TempDir(), home: t.TempDir(), tmp: t.TempDir(), sdk: sdk}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("app.csproj",
		`<Project Sdk="Microsoft.NET.Sdk"><PropertyGroup><OutputType>Exe</OutputType><TargetFramework>net`+
			itoa(sdk.Major())+`.0</TargetFramework></PropertyGroup></Project>`)
	write("app.cs", `System.Console.WriteLine("built");`)
	t.Cleanup(func() {
		defer os.Remove("/tmp/" + p.pipe()) // of the server, which is killed
		for _, pid := range p.servers() {
			fd, err := unix.PidfdOpen(pid, 0)
			if err == nil {
				err = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
			}
			if err != nil {
				t.Error(err)
				continue
			}
			if _, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}},
				int(patience.Milliseconds())); err != nil {
				t.Error(err)
			}
			unix.Close(fd)
			p.s.removeDormant(pid)
		}
	})
	return p
}

// pipe is the name of the compiler's server: that of a socket in /tmp, wherever temporary files are.
func (p *served) pipe() string { return "clrprof-" + filepath.Base(filepath.Dir(p.tmp)) }

// build returns the command, which compiles everything again. Its compiler's server has a name of its own: otherwise it
// would be one that the user's own builds have left.
func (p *served) build() []string {
	return []string{p.sdk.Dotnet(), "build", "--no-incremental", "-nodeReuse:true",
		"-p:SharedCompilationId=" + p.pipe(), filepath.Join(p.dir, "app.csproj")}
}

func (p *served) env() []string {
	env := slices.DeleteFunc(p.sdk.Env(p.home), func(kv string) bool {
		return strings.HasPrefix(kv, "MSBUILDDISABLENODEREUSE=") || strings.HasPrefix(kv, "UseSharedCompilation=")
	})
	// A build takes any idle node of the user that has the same salt, and this project wants one of its own.
	return append(env, "CLRPROF_SHM="+p.s.shm, "TMPDIR="+p.tmp, "MSBUILDNODEHANDSHAKESALT="+p.pipe())
}

// servers are the processes that builds left running, of this project alone: its home is nobody else's.
func (p *served) servers() []int {
	p.t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		p.t.Fatal(err)
	}
	var pids []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil && strings.Contains(procText(pid, "environ"), p.home) &&
			procText(pid, "maps") != "" {
			pids = append(pids, pid)
		}
	}
	return pids
}

// arenaBytes is the shared memory of a process's agent, although its file has no name any more.
func arenaBytes(t *testing.T, pid int) int64 {
	t.Helper()
	fds := filepath.Join("/proc", itoa(pid), "fd")
	entries, err := os.ReadDir(fds)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name, err := os.Readlink(filepath.Join(fds, e.Name()))
		var st unix.Stat_t
		if err == nil && strings.Contains(name, ".arena") && unix.Stat(filepath.Join(fds, e.Name()), &st) == nil {
			return st.Blocks * 512
		}
	}
	return 0
}

// hasArena says whether the process has any memory of its arena.
func hasArena(pid int) bool { return strings.Contains(procText(pid, "maps"), ".arena") }

// rebuild builds without clrprof, with the same servers.
func (p *served) rebuild() {
	p.t.Helper()
	args := p.build()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = p.env()
	if out, err := cmd.CombinedOutput(); err != nil {
		p.t.Fatalf("%v: %v\n%s", args, err, out)
	}
}

// TestServersOutlive: the compiler's server, which a build leaves running, goes on to serve builds that nobody records:
// its agent stops, and its memory is given back. The report says that it was left running. No other test builds
// meanwhile: the nodes of MSBuild that are left serve any build of this user.
func TestServersOutlive(t *testing.T) {
	dotnettest.NotQuick(t, "it builds a project, and nothing else meanwhile")
	dotnettest.BuildAlone(t)
	p := newServed(t)
	p.s.env = p.env()
	r := p.s.run(append([]string{"run", "-o", "s.clrprof", "--"}, p.build()...)...)
	if r.exit != 0 {
		t.Fatalf("exit code %d\n%s%s", r.exit, r.stdout, r.stderr)
	}
	path := filepath.Join(p.s.out, "s.clrprof")
	left := p.servers()
	states := endStates(t, path)
	if len(left) == 0 || states["VBCSCompiler"] != "running" {
		t.Fatalf("%d servers are left: %v", len(left), states)
	}
	if report := p.s.run("report", path); !strings.Contains(report.stdout, "Left running: ") ||
		!strings.Contains(report.stdout, " VBCSCompiler") {
		t.Errorf("the report does not say what was left running:\n%s%s", report.stdout, report.stderr)
	}
	checkSession(t, path)
	for i := 0; slices.ContainsFunc(left, hasArena); i++ {
		if i == 5 {
			t.Fatal("after five builds a server still has its arena")
		}
		p.rebuild()
	}
	if now := p.servers(); !slices.Equal(left, now) {
		t.Errorf("servers %v, and before %v", now, left)
	}
}

// TestServersOutliveKilled: the same when clrprof is killed. What it left can be recovered and does not grow, until it
// is removed.
func TestServersOutliveKilled(t *testing.T) {
	dotnettest.NotQuick(t, "it builds a project, and nothing else meanwhile")
	dotnettest.BuildAlone(t)
	p := newServed(t)
	p.s.env = p.env()
	run := p.s.start(append([]string{"run", "-o", "s.clrprof", "--", "sh", "-c", `"$@" >&2; echo built; read line`,
		"sh"}, p.build()...)...)
	run.expect("built")
	run.signal(unix.SIGKILL)
	p.s.killed = true
	<-run.ended
	var left []int
	for _, pid := range p.servers() {
		if hasArena(pid) {
			left = append(left, pid)
		}
	}
	if len(left) == 0 {
		t.Fatal("no server is left")
	}
	p.rebuild() // it stops at the first chance
	bytes := arenaBytes(t, left[0])
	for range 3 {
		p.rebuild()
	}
	if now := arenaBytes(t, left[0]); now != bytes || bytes == 0 {
		t.Errorf("the arena has grown from %d to %d bytes", bytes, now)
	}
	p.s.run("run", "-o", "next.clrprof", "--", "true") // removes what the first one left
	// What was written is there; of what was only half written SQLite's journal says what was there before.
	if r := p.s.run("report", "s.clrprof", "processes"); r.exit != 0 {
		t.Errorf("exit code %d\n%s", r.exit, r.stderr)
	}
}
