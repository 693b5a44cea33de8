package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// asService is a process that is no target of the tests, to which clrprof attaches.
func (s *sandbox) asService(pid int) *service {
	return &service{&steps{process: &process{t: s.t}, pid: pid}, s}
}

// recordSecond records calls of a large program for a second, whatever it does meanwhile.
func (x *service) recordSecond(name string) {
	x.t.Helper()
	a := x.attach(name, "--time", "--for", "1s")
	a.ends(0, "detached from process")
	checkTables(x.t, a.session)
	for _, row := range query[struct{ Mark int64 }](x.t, a.session, "SELECT time_ns AS mark FROM mark WHERE name = 'for'") {
		if row.Mark < 1e9 || row.Mark >= 2e9 {
			x.t.Errorf("%s: its second is over after %d ns", name, row.Mark)
		}
	}
}

// recordBuild records the calls of a whole build. A node of MSBuild may have ended after the build before: it does if
// there are more processes called dotnet than processors, and counts those that have ended, too, until somebody has
// waited for them. Then there is nothing to record, which is no fault of the recording.
func (x *service) recordBuild(name string, build func() error) {
	x.t.Helper()
	a := x.attach(name, "--time")
	if err := build(); err != nil {
		x.t.Error(err)
	}
	if r := x.s.run("ctl", itoa(x.pid), "detach"); r.exit == 0 {
		a.ends(0, "detached from process")
	} else if isNode := strings.HasPrefix(name, "dotnet"); isNode && strings.Contains(r.stderr, "is not being recorded") {
		a.ends(0, fmt.Sprintf("process %d has ended", x.pid))
		x.t.Logf("MSBuild has ended its node %d", x.pid)
		checkTables(x.t, a.session)
		return
	} else {
		x.t.Fatalf("detach: exit code %d: %s", r.exit, r.stderr)
	}
	checkTables(x.t, a.session)
	for _, row := range query[struct{ Calls int64 }](x.t, a.session, "SELECT sum(calls) AS calls FROM function_time") {
		if row.Calls < 100_000 {
			x.t.Errorf("%s: %d calls in a whole build", name, row.Calls)
		}
	}
}

// TestAttachTimeServers: calls of the compiler's server and of a node of MSBuild, with tens of thousands of methods, are
// recorded while these build, the build is none the worse for it, and they are recorded again. No other test builds
// meanwhile, as in TestServersOutlive.
func TestAttachTimeServers(t *testing.T) {
	dotnettest.NotQuick(t, "it builds a project, and nothing else meanwhile")
	dotnettest.BuildAlone(t)
	p := newServed(t)
	p.s.env = append(p.env(), "MSBUILDNOINPROCNODE=1") // the node that builds stays
	env := p.s.dormantEnv()
	build := func() error {
		args := p.build()
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Env = env
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%w\n%s", err, out)
		}
		return nil
	}
	if err := build(); err != nil {
		t.Fatal(err)
	}
	left := p.servers()
	if len(left) == 0 {
		t.Fatal("no server is left: want the compiler's, and a node, which ends if there are many others")
	}
	for _, pid := range left {
		x, name := p.s.asService(pid), strings.TrimSpace(procText(pid, "comm"))
		built := make(chan error, 1)
		go func() { built <- build() }()
		x.recordSecond(name + "-second")
		if err := <-built; err != nil {
			t.Error(err)
		}
		x.recordBuild(name+"-build", build)
	}
}

// dormant returns the paths of files by which the agent in a process that is not recorded can be found.
func (s *sandbox) dormant(pid int) []string {
	s.t.Helper()
	found, err := filepath.Glob(filepath.Join(s.shm, "clrprof-dormant-*-"+itoa(pid)))
	if err != nil {
		s.t.Error(err)
	}
	return found
}

// removeDormant removes what a killed process left, as the next attach to any process would.
func (s *sandbox) removeDormant(pid int) {
	s.t.Helper()
	for _, path := range s.dormant(pid) {
		if err := os.Remove(path); err != nil {
			s.t.Error(err)
		}
	}
}

// TestAttachTimeFSharp: calls of the F# compiler are recorded while it compiles, and what it makes is, byte by byte, what it
// makes without.
func TestAttachTimeFSharp(t *testing.T) {
	dotnettest.NotQuick(t, "it runs a real compiler")
	in, sdk := dotnettest.NeedSDK(t)
	s := newSandbox(t)
	var source strings.Builder
	source.WriteString("module Large\n")
	for i := range 1500 {
		fmt.Fprintf(&source, "let f%d (x: int) = [ for i in 1 .. x -> i * %d ] |> List.filter (fun v -> v %% 2 = 0) |> List.sum\n", i, i)
	}
	file := filepath.Join(s.out, "large.fs")
	if err := os.WriteFile(file, []byte(source.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	references, err := filepath.Glob(filepath.Join(in.Newest().Root, "shared", "Microsoft.NETCore.App", "*", "*.dll"))
	if err != nil || len(references) == 0 {
		t.Fatalf("no references: %v", err)
	}
	compile := func(out string) []string {
		args := []string{sdk.Dotnet(), filepath.Join(sdk.Dir(), "FSharp", "fsc.dll"), "--nologo", "--noframework",
			"--deterministic+", "--target:library", "--out:" + out, file,
			"-r:" + filepath.Join(sdk.Dir(), "FSharp", "FSharp.Core.dll")}
		for _, r := range references {
			if name := filepath.Base(r); strings.HasPrefix(name, "System.") || name == "mscorlib.dll" || name == "netstandard.dll" {
				args = append(args, "-r:"+r)
			}
		}
		return args
	}
	plain, recorded := filepath.Join(s.out, "plain", "large.dll"), filepath.Join(s.out, "recorded", "large.dll")
	for _, path := range []string{plain, recorded} {
		if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	s.env = sdk.Env(filepath.Join(s.out, "home"))
	args := compile(plain)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env, cmd.Dir = s.env, s.out // it writes the working directory into what it compiles
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	x := s.startDormant(compile(recorded), nil)
	await(t, "its agent", func() bool { return len(s.dormant(x.pid)) == 1 })
	x.recordSecond("fsharp")
	if r := x.wait(); r.exit != 0 {
		t.Fatalf("the compiler: exit code %d: %s%s", r.exit, r.stdout, r.stderr)
	}
	want, err := os.ReadFile(plain)
	if err != nil {
		t.Fatal(err)
	}
	if have, err := os.ReadFile(recorded); err != nil || string(have) != string(want) {
		t.Errorf("it compiled %d bytes, want the %d that it compiles without clrprof: %v", len(have), len(want), err)
	}
}
