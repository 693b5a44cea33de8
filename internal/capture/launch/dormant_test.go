package launch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/capture/agentbin"
	"github.com/clrprof/clrprof/internal/wire"
)

// sleeper starts a process that does nothing, with these variables.
func sleeper(t *testing.T, env ...string) int {
	t.Helper()
	cmd := exec.Command("sleep", "600")
	cmd.Env = env
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill() // an error means that it has ended
		cmd.Wait()         // it was killed
	})
	return cmd.Process.Pid
}

// makePlace writes the file of a dormant agent, as the agent would for a process here, and holds its lock.
func makePlace(t *testing.T, directory string, pid int, change func(*wire.Dormant)) *os.File {
	t.Helper()
	namespace, err := os.Stat("/proc/self/ns/pid")
	if err != nil {
		t.Fatal(err)
	}
	ids, err := agentbin.BuildIDs()
	if errors.Is(err, agentbin.ErrMissing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	d := wire.Dormant{Magic: wire.DormantMagic, Version: wire.Version, PID: uint32(pid), Build: ids[1],
		State: wire.DormantWaiting}
	if change != nil {
		change(&d)
	}
	path := filepath.Join(directory, fmt.Sprintf("%s%d-%d", wire.DormantPrefix, inode(namespace), pid))
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() }) // the test may have
	if err := binary.Write(f, binary.NativeEndian, d); err != nil {
		t.Fatal(err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	return f
}

// dormantEnv is the environment of a process whose agent is dormant.
func dormantEnv(directory string) []string {
	var env []string
	for _, x := range DormantVariables("/opt/agent.so", directory, false) {
		env = append(env, x[0]+"="+x[1])
	}
	return env
}

// TestFindDormant: one collector has an agent at a time, makes a directory beside the file, and knows when the process
// ends.
func TestFindDormant(t *testing.T) {
	base := t.TempDir()
	pid := sleeper(t, dormantEnv(base)...)
	makePlace(t, base, pid, nil)
	left := makePlace(t, base, 1<<22+1, nil)
	if err := left.Close(); err != nil { // of a process that is gone
		t.Fatal(err)
	}
	d, err := FindDormant(pid, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if d.Inner != pid || d.UID != os.Getuid() || d.Name != "sleep" || !d.Alive() || !d.IsWaiting() {
		t.Errorf("%+v", d)
	}
	if _, err := FindDormant(pid, Options{}); !errors.Is(err, ErrAttached) || !strings.Contains(err.Error(), fmt.Sprint(os.Getpid())) {
		t.Errorf("a second collector: %v", err)
	}
	directory, err := d.NewDirectory()
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Dir(directory.Path) != base {
		t.Errorf("the directory is %s", directory.Path)
	}
	if names, err := filepath.Glob(filepath.Join(base, wire.DormantPrefix+"*")); err != nil || len(names) != 1 {
		t.Errorf("files of agents: %v, %v", names, err)
	}
	request, err := d.Ask(directory, Options{MemoryLimit: 5 << 20, StackDepth: 7})
	if err != nil {
		t.Fatal(err)
	}
	if done, _ := d.Answer(request); done {
		t.Error("nobody can have answered")
	}
	if err := directory.Remove(); err != nil {
		t.Error(err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	again, err := FindDormant(pid, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-again.Done()
	if again.Alive() {
		t.Error("it has ended")
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

// TestFindDormantRefused: what cannot be attached to is distinguished.
func TestFindDormantRefused(t *testing.T) {
	base := t.TempDir()
	started := func(change func(*wire.Dormant), env ...string) int {
		pid := sleeper(t, append(dormantEnv(base), env...)...)
		makePlace(t, base, pid, change)
		return pid
	}
	for name, tt := range map[string]struct {
		pid  int
		want error
		says string
	}{
		"no process":  {1<<22 + 1, ErrNoProcess, ""},
		"not .NET":    {sleeper(t), ErrNoDotnet, "sleep"},
		"no file":     {sleeper(t, dormantEnv(base)...), ErrNoAgent, "/opt/agent.so"},
		"other build": {started(func(d *wire.Dormant) { d.Build[3]++ }), ErrOtherAgent, "clrprof env"},
		"version":     {started(func(d *wire.Dormant) { d.Version++ }), ErrOtherAgent, "clrprof env"},
		"run":         {started(nil, EnvArenas+"=/dev/shm/x"), ErrAttached, "clrprof run"},
		"rubbish":     {started(func(d *wire.Dormant) { d.Magic++ }), wire.ErrCorrupt, "begins with"},
	} {
		if d, err := FindDormant(tt.pid, Options{}); !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v, %v", name, d, err)
		}
	}
}

// TestDormantOptions: what is wanted of calls is in a file of the process's user, as the agent reads it; what it could
// not read is refused.
func TestDormantOptions(t *testing.T) {
	t.Parallel()
	d, directory := &Dormant{UID: os.Geteuid()}, newDirectory(t, t.TempDir())
	defer directory.Close()
	o := Options{Time: true, Instrument: "mine", Mine: []string{"+A", "+B"}, MineFolder: "/app", Rules: []string{"-C.*"}}
	if err := d.writeOptions(directory, o); err != nil {
		t.Fatal(err)
	}
	const want = "CLRPROF_INSTRUMENT=mine\x00CLRPROF_MINE=+A\n+B\x00CLRPROF_MINE_FOLDER=/app\x00CLRPROF_RULES=-C.*\x00"
	text, err := os.ReadFile(filepath.Join(directory.Path, wire.OptionsFile))
	if err != nil || string(text) != want {
		t.Errorf("%v: %q, want %q", err, text, want)
	}
	o.Rules = []string{strings.Repeat("x", wire.MaxOptions)}
	if err := d.writeOptions(directory, o); err == nil || !strings.Contains(err.Error(), "262144") {
		t.Errorf("too long: %v", err)
	}
}
