package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
	"github.com/clrprof/clrprof/internal/wire"
)

// service is the target Steps with a dormant agent.
type service struct {
	*steps
	s *sandbox
}

// startService starts Steps with what clrprof env prints; in front of it the command before, if any.
func (s *sandbox) startService(runtime dotnettest.Runtime, before ...string) *service {
	s.t.Helper()
	return s.startServiceWith(runtime, nil, before...)
}

// startServiceWith does so with flags of clrprof env.
func (s *sandbox) startServiceWith(runtime dotnettest.Runtime, flags []string, before ...string) *service {
	s.t.Helper()
	return s.startServiceOf(append(before, s.target(runtime, "Steps")...), flags)
}

// startServiceOf starts a command that speaks as Steps does.
func (s *sandbox) startServiceOf(command, flags []string) *service {
	s.t.Helper()
	x := s.startDormant(command, flags)
	x.ready()
	return x
}

// ready waits until a program that speaks as Steps does says that it is ready, and which process it is.
func (x *service) ready() {
	x.t.Helper()
	x.expect("ready")
	if _, err := fmt.Sscan(x.line(), &x.pid); err != nil {
		x.t.Fatal(err)
	}
}

// dormantEnv is an environment in which programs have a dormant agent, by clrprof env with these flags.
func (s *sandbox) dormantEnv(flags ...string) []string {
	s.t.Helper()
	printed := s.run(append([]string{"env", "--json", "--shared", s.shm}, flags...)...)
	var env struct{ Variables map[string]string }
	if err := json.Unmarshal([]byte(printed.stdout), &env); err != nil {
		s.t.Fatalf("%v: %s%s", err, printed.stdout, printed.stderr)
	}
	out := slices.Clone(s.env)
	for name, value := range env.Variables {
		out = append(out, name+"="+value)
	}
	return out
}

// startDormant starts a command whose agent is dormant.
func (s *sandbox) startDormant(command, flags []string) *service {
	s.t.Helper()
	return s.startWith(command, s.dormantEnv(flags...))
}

// startWith starts a command with an environment.
func (s *sandbox) startWith(command, env []string) *service {
	s.t.Helper()
	cmd := s.command()
	path, err := exec.LookPath(command[0])
	if err != nil {
		s.t.Fatal(err)
	}
	cmd.Path, cmd.Args, cmd.Env = path, command, env
	return &service{&steps{process: s.startCommand(cmd), pid: cmd.Process.Pid}, s}
}

// attachment is a clrprof that is attached.
type attachment struct {
	*process
	session string
}

// attach records the service into a file of this name, from when it returns.
func (x *service) attach(name string, flags ...string) *attachment {
	x.t.Helper()
	a := &attachment{session: filepath.Join(x.s.out, name+".clrprof")}
	a.process = x.s.start(append([]string{"attach", itoa(x.pid), "--no-report", "-f", "-o", a.session}, flags...)...)
	await(x.t, "attached", func() bool {
		ended := a.hasEnded() // a short recording can be over before anybody looks
		attached := strings.Contains(a.said(), "recording process")
		if ended && !attached {
			x.t.Fatalf("attach has ended: %s", a.said())
		}
		return attached
	})
	return a
}

// detach lets go of the service, by clrprof ctl.
func (x *service) detach(a *attachment) {
	x.t.Helper()
	if r := x.s.run("ctl", itoa(x.pid), "detach"); r.exit != 0 || r.stdout != "detached\n" {
		x.t.Fatalf("detach: exit code %d: %s%s", r.exit, r.stdout, r.stderr)
	}
	a.ends(0, "detached from process")
}

// ends waits for the end of attach.
func (a *attachment) ends(code int, says string) {
	a.t.Helper()
	if r := a.wait(); r.exit != code || !strings.Contains(r.stderr, says) {
		a.t.Fatalf("attach: exit code %d, want %d and %q: %s", r.exit, code, says, r.stderr)
	}
}

// counted compares the objects of Steps' own types in a session.
func (a *attachment) counted(want map[string]int64) {
	a.t.Helper()
	checkTables(a.t, a.session)
	have := map[string]int64{}
	for _, row := range query[struct {
		Name string
		N    int64
	}](a.t, a.session, "SELECT name, instances AS n FROM types WHERE name IN ('Steps.Item', 'Steps.Kept', 'Steps.Load')") {
		have[row.Name] = row.N
	}
	if d := cmp.Diff(want, have); d != "" {
		a.t.Errorf("%s (-truth +session): %s", filepath.Base(a.session), d)
	}
	if lost := query[map[string]any](a.t, a.session, "SELECT * FROM loss"); len(lost) != 0 {
		a.t.Errorf("%s: lost: %v", filepath.Base(a.session), lost)
	}
}

// TestAttach: each session has what was allocated while it was recorded, exactly, and nothing else; a service is
// recorded again and again, into the same file or another, and to its end.
func TestAttach(t *testing.T) {
	t.Parallel()
	for _, r := range dotnettest.Need(t).Runtimes() {
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			x := newSandbox(t).startService(r)
			x.do("make 100")
			first := x.attach("first")
			x.do("make 2000")
			x.do("keep 30")
			x.detach(first)
			first.counted(map[string]int64{"Steps.Item": 2000, "Steps.Kept": 30})
			x.do("make 500")
			x.do("gc 2")
			again := x.attach("first")
			x.do("make 7")
			x.do("gc 2")
			x.detach(again)
			again.counted(map[string]int64{"Steps.Item": 7})
			last := x.attach("last")
			x.do("make 3")
			x.s.run("ctl", itoa(x.pid), "gc")
			x.tell("end")
			last.ends(0, "has ended")
			last.counted(map[string]int64{"Steps.Item": 3})
			if r := x.wait(); r.exit != 0 {
				t.Errorf("the service: exit code %d: %s", r.exit, r.stderr)
			}
			type end struct {
				PID   int    `json:"pid"`
				State string `json:"end_state"`
			}
			for a, want := range map[*attachment]string{again: "running", last: "exited"} {
				have := query[end](t, a.session, "SELECT pid, end_state FROM process")
				if d := cmp.Diff([]end{{x.pid, want}}, have); d != "" {
					t.Errorf("%s: %s", a.session, d)
				}
			}
		})
	}
}

// mapped returns what the process has for itself alone: bytes in memory, mappings and open files. Of a file only copied
// pages count: the kernel's Private_Dirty also has pages of a file that are not yet written back, once no other process
// maps them (a library that was just installed: 300 KiB of the agent's came and went with the test's other processes).
func mapped(t *testing.T, pid int) (private, mappings, files int) {
	t.Helper()
	for _, m := range privateMappings(t, pid) {
		private += m.bytes
	}
	return private, strings.Count(procText(pid, "maps"), "\n"), len(list(t, "/proc/"+itoa(pid)+"/fd"))
}

// privateMapping is a mapping of a process: its name in /proc/PID/smaps, and the bytes that the process alone has of it.
type privateMapping struct {
	name  string
	bytes int
}

func privateMappings(t *testing.T, pid int) []privateMapping {
	t.Helper()
	var all []privateMapping
	field := ""
	for line := range strings.Lines(procText(pid, "smaps")) {
		f := strings.Fields(line)
		if !strings.HasSuffix(f[0], ":") { // address permissions offset device inode [name]
			name := strings.Join(f[5:], " ")
			all = append(all, privateMapping{name: name})
			field = "Private_Dirty:"
			if strings.HasPrefix(name, "/") && !strings.HasPrefix(name, "/memfd:") {
				field = "Anonymous:"
			}
		} else if f[0] == field {
			kib, err := strconv.Atoi(f[1])
			if err != nil {
				t.Fatal(err)
			}
			all[len(all)-1].bytes = kib << 10
		}
	}
	return all
}

// TestAttachOften: a service under load is recorded many times, and is none the worse for it: what it does in between
// is exact, and neither its memory nor its files become more.
func TestAttachOften(t *testing.T) {
	t.Parallel()
	dotnettest.NotQuick(t, "it repeats what others do once")
	const times, settled = 30, 10
	for _, r := range dotnettest.OneInTurn(dotnettest.Need(t).Runtimes(), 1) {
		s := newSandbox(t)
		s.env = append(s.env, "DOTNET_TieredCompilation=0", "COMPlus_TieredCompilation=0") // nothing is compiled again
		x := s.startService(r)
		x.do("load 2")
		var recorded int64
		for i := range times {
			a := x.attach("load", "--for", fmt.Sprint(1+i%7, "ms"), "--sample-counters", "0")
			a.ends(0, "detached from process")
			for _, row := range query[struct{ N int64 }](t, a.session,
				"SELECT sum(instances) AS n FROM types WHERE name = 'Steps.Load'") {
				recorded += row.N
			}
		}
		x.tell("calm 0")
		var all int64
		if _, err := fmt.Sscan(x.line(), &all); err != nil {
			t.Fatal(err)
		}
		x.expect("done")
		if recorded <= 0 || recorded >= all {
			t.Errorf("%d objects in sessions, of %d", recorded, all)
		}
		var private, mappings, files int
		for i := range times {
			a := x.attach("calm", "--sample-counters", "0")
			x.do(fmt.Sprint("make ", 1+i))
			x.detach(a)
			a.counted(map[string]int64{"Steps.Item": int64(1 + i)})
			if i == settled {
				private, mappings, files = mapped(t, x.pid)
			}
		}
		// What a recording leaves would be there for each: a page, a mapping, a file. The program itself has some too.
		const more = (times - settled) / 2
		if p, m, f := mapped(t, x.pid); p > private+more*os.Getpagesize()*8 || m > mappings+more || f > files+more {
			t.Errorf("after %d recordings %d bytes, %d mappings, %d files; after %d: %d, %d, %d", times, p, m, f, settled,
				private, mappings, files)
		}
		x.finish()
	}
}

// TestAttachSteered: a recording is paused, ends by itself, by Ctrl-C, and by a condition.
func TestAttachSteered(t *testing.T) {
	t.Parallel()
	x := newSandbox(t).startService(dotnettest.Need(t).Newest())
	a := x.attach("paused", "--paused")
	x.do("make 1")
	x.s.run("ctl", itoa(x.pid), "resume")
	x.do("make 20")
	x.s.run("ctl", itoa(x.pid), "pause")
	x.do("make 300")
	a.signal(unix.SIGINT)
	a.ends(0, "detached from process")
	a.counted(map[string]int64{"Steps.Item": 20})

	a = x.attach("condition", "--stop-when", "allocations > 1000")
	x.do("make 5000")
	a.ends(0, "detached from process")
	a.counted(map[string]int64{"Steps.Item": 5000})
	x.do("make 1")

	a = x.attach("term", "--include", "Steps.*")
	x.do("make 2")
	a.signal(unix.SIGTERM)
	a.ends(0, "detached from process")
	a.counted(map[string]int64{"Steps.Item": 2})
	x.finish()
}

// letsGo waits until the agent has noticed that its collector is gone.
func (x *service) letsGo() {
	x.t.Helper()
	await(x.t, "the agent lets go", func() bool { return !strings.Contains(procText(x.pid, "maps"), ".arena") })
}

// recover writes what a killed attachment has left.
func (x *service) recover(a *attachment) *attachment {
	x.t.Helper()
	var left []string
	for _, name := range list(x.t, x.s.shm) {
		if !strings.HasPrefix(name, wire.DormantPrefix) && !strings.Contains(name, "-attached-") {
			left = append(left, filepath.Join(x.s.shm, name))
		}
	}
	if len(left) != 1 {
		x.t.Fatalf("left: %v", left)
	}
	recovered := &attachment{a.process, filepath.Join(x.s.out, "recovered.clrprof")}
	if r := x.s.run("recover", left[0], "-o", recovered.session); r.exit != 0 {
		x.t.Fatalf("recover: exit code %d: %s", r.exit, r.stderr)
	}
	return recovered
}

// TestAttachKilled: a service whose collector is killed is dormant again by itself, and what was recorded can be
// recovered.
func TestAttachKilled(t *testing.T) {
	t.Parallel()
	for _, r := range dotnettest.OneInTurn(dotnettest.Need(t).Runtimes(), 2) {
		x := newSandbox(t).startService(r)
		a := x.attach("killed")
		x.do("make 40")
		a.signal(unix.SIGKILL)
		<-a.ended
		x.letsGo()
		x.do("make 1000")
		recovered := x.recover(a)
		recovered.counted(map[string]int64{"Steps.Item": 40})
		again := x.attach("again")
		x.do("make 5")
		x.detach(again)
		again.counted(map[string]int64{"Steps.Item": 5})
		x.finish()
	}
}

// refused lets clrprof attach, which must fail with a code and one line that has these words.
func (s *sandbox) refused(code int, pid int, words ...string) {
	s.t.Helper()
	r := s.run("attach", itoa(pid), "-o", "refused.clrprof")
	if r.exit != code {
		s.t.Errorf("exit code %d, want %d: %s", r.exit, code, r.stderr)
	}
	oneLine(s.t, r, words...)
	if _, err := os.Stat(filepath.Join(s.out, "refused.clrprof")); err == nil {
		s.t.Errorf("%v: there is a session", words)
	}
}

// TestAttachRefused: what cannot be recorded is said in one line, with what to do.
func TestAttachRefused(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	r := dotnettest.Need(t).Newest()
	s.refused(123, 1<<22+1, "no such process")
	other := exec.Command("sleep", "600")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer other.Wait() // it is killed
	defer other.Process.Kill()
	s.refused(124, other.Process.Pid, "sleep", "no .NET")
	plain := s.startSteps(r, "--memory")
	s.refused(123, plain.pid, "already being recorded", fmt.Sprint("clrprof ctl ", plain.pid))
	plain.finish()

	bare := s.command()
	command := s.target(r, "Steps")
	bare.Path, bare.Args, bare.Env = command[0], command, append(slices.Clone(s.env), "DOTNET_EnableDiagnostics=0")
	p := s.startCommand(bare)
	p.expect("ready")
	s.refused(124, bare.Process.Pid, "without clrprof's agent", "DOTNET_EnableDiagnostics=0")
	if err := p.in.Close(); err != nil {
		t.Fatal(err)
	}
	p.wait()

	x := s.startService(r)
	tasks := list(t, "/proc/"+itoa(x.pid)+"/task")
	thread, err := strconv.Atoi(tasks[len(tasks)-1])
	if err != nil {
		t.Fatal(err)
	}
	s.refused(123, thread, "is a thread of process", itoa(x.pid))
	a := x.attach("one")
	s.refused(123, x.pid, "already being recorded", itoa(a.cmd.Process.Pid), "detach")
	x.detach(a)
	x.otherBuild()
	x.finish()
}

// otherBuild makes the agent of a service one that this clrprof does not know.
func (x *service) otherBuild() {
	x.t.Helper()
	paths, err := filepath.Glob(filepath.Join(x.s.shm, wire.DormantPrefix+"*-"+itoa(x.pid)))
	if err != nil || len(paths) != 1 {
		x.t.Fatal(paths, err)
	}
	f, err := os.OpenFile(paths[0], os.O_RDWR, 0)
	if err != nil {
		x.t.Fatal(err)
	}
	defer f.Close()
	head := make([]byte, 64)
	if _, err := f.ReadAt(head, 0); err != nil {
		x.t.Fatal(err)
	}
	at := int64(bytes.Index(head, []byte{byte(wire.Version), 0, 0, 0})) + 8 // after the version and the process id
	if _, err := f.WriteAt([]byte{head[at] ^ 1}, at); err != nil {
		x.t.Fatal(err)
	}
	x.s.refused(124, x.pid, "agent of another version of clrprof", "start process")
}

// TestAttachUsers: root records another user's service; a user without the right learns which one is missing.
func TestAttachUsers(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("needs two users")
	}
	r := dotnettest.Need(t).Newest()
	theirs := newSandbox(t).asUser()
	x := theirs.startService(r)
	theirs.uid = -1 // from here on root runs clrprof, and has a folder of its own
	theirs.env = append(theirs.env, "CLRPROF_SHM="+t.TempDir())
	a := x.attach("theirs")
	x.do("make 60")
	x.detach(a)
	a.counted(map[string]int64{"Steps.Item": 60})
	x.finish()

	ours := newSandbox(t)
	y := ours.startService(r)
	ours.asUser().refused(123, y.pid, "permission denied", "uid 0", fmt.Sprint("uid ", nobody), "CAP_SYS_PTRACE")
	ours.uid = -1
	y.finish()
}

// TestAttachContainer: a service in a process namespace of its own has another id there; it is found by the one here.
func TestAttachContainer(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	probe := exec.Command("unshare", "--pid", "--mount", "--fork", "--mount-proc", "true")
	if os.Getuid() != 0 || probe.Run() != nil {
		t.Skip("needs the right to make namespaces")
	}
	x := s.startService(dotnettest.Need(t).Newest(), "unshare", "--pid", "--mount", "--fork", "--mount-proc",
		"--kill-child")
	x.pid = s.dotnet()
	a := x.attach("inside")
	x.do("make 70")
	x.s.run("ctl", itoa(x.pid), "gc")
	x.detach(a)
	a.counted(map[string]int64{"Steps.Item": 70})
	if have := query[struct{ PID int }](t, a.session, "SELECT pid FROM process"); have[0].PID != x.pid {
		t.Errorf("process %d in the session, want %d", have[0].PID, x.pid)
	}
	x.finish()
}

// TestAttachNoRoom: where the shared memory is full the service is not recorded and not harmed.
func TestAttachNoRoom(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	s.mount(s.shm, 64<<20, 0)
	x := s.startService(dotnettest.Need(t).Newest())
	fill := filepath.Join(s.shm, "fill")
	var room syscall.Statfs_t
	if err := syscall.Statfs(s.shm, &room); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(fill, make([]byte, int(room.Bavail)*int(room.Bsize)-1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	s.refused(122, x.pid, "bytes free")
	if err := os.Remove(fill); err != nil {
		t.Fatal(err)
	}
	a := x.attach("room")
	x.do("make 80")
	x.detach(a)
	a.counted(map[string]int64{"Steps.Item": 80})
	x.finish()
}
