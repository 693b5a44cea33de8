package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// listedProcess is a row of clrprof ps --json.
type listedProcess struct {
	PID         int `json:"pid"`
	InnerPID    int `json:"inner_pid"`
	UID         int
	Version     string
	Apart       string
	Uptime      int64 `json:"uptime_ns"`
	Resident    int64 `json:"resident_bytes"`
	Program     string
	Profilers   string
	State       string
	Allocations string
	Lifetimes   string
	Calls       string
	Counters    string
	Why         string `json:"calls_why"`
}

// listed is what clrprof ps says of the service.
func (x *service) listed() listedProcess {
	x.t.Helper()
	r := x.s.run("ps", "--json")
	var all []listedProcess
	if err := json.Unmarshal([]byte(r.stdout), &all); err != nil || r.exit != 0 {
		x.t.Fatalf("ps: exit code %d: %v: %s%s", r.exit, err, r.stdout, r.stderr)
	}
	for _, p := range all {
		if p.PID == x.pid {
			return p
		}
	}
	x.t.Fatalf("ps has no process %d: %s", x.pid, r.stdout)
	return listedProcess{}
}

// whatIsSaid is what ps says that can be recorded.
func (p listedProcess) whatIsSaid() string {
	return fmt.Sprintf("%s: %s, %s, %s, %s", p.State, p.Allocations, p.Lifetimes, p.Calls, p.Counters)
}

// whatAttachDoes is the same, by trying it.
func (x *service) whatAttachDoes(state string) string {
	x.t.Helper()
	try := func(name string, flags ...string) string {
		path := filepath.Join(x.s.out, "try-"+name+".clrprof")
		r := x.s.run(append([]string{"attach", itoa(x.pid), "--for", "10ms", "--no-report", "-f", "-o", path},
			flags...)...)
		if r.exit != 0 {
			return "no"
		}
		if rows := query[struct{ Value string }](x.t, path,
			"SELECT value FROM info WHERE key = 'objects' AND value = 'large'"); len(rows) != 0 {
			return "large objects"
		}
		return "yes"
	}
	counters := "no"
	path := filepath.Join(x.s.out, "try-meters.clrprof")
	if r := x.s.run("attach", itoa(x.pid), "--for", "10ms", "--no-report", "-f", "-o", path, "--meter",
		"System.Runtime"); r.exit == 0 && !strings.Contains(r.stderr, "socket") {
		counters = "yes"
	}
	return fmt.Sprintf("%s: %s, %s, %s, %s", state, try("memory", "--memory"), try("lifetime", "--lifetime"),
		try("time", "--time"), counters)
}

// TestPs: what ps says of a process is so: which it is, and what attach can record of it.
func TestPs(t *testing.T) {
	for _, runtime := range dotnettest.Need(t).Runtimes() {
		for _, of := range []struct {
			name, state string
			env         []string // beside, or
			flags       []string // those of clrprof env
		}{
			{"unprepared", "unprepared", []string{}, nil},
			{"mute", "unprepared", []string{"DOTNET_EnableDiagnostics=0"}, nil},
			{"none at the start", "unprepared", []string{"DOTNET_EnableDiagnostics_Profiler=0"}, nil},
			{"prepared", "prepared", nil, nil},
			{"followed", "prepared", nil, []string{"--lifetime"}},
		} {
			t.Run(runtime.Name+"/"+of.name, func(t *testing.T) {
				t.Parallel()
				s := newSandbox(t)
				command := s.target(runtime, "Steps")
				env := slices.Concat(s.env, of.env)
				if of.env == nil {
					env = s.dormantEnv(of.flags...)
				}
				x := s.startWith(command, env)
				x.ready()
				p := x.listed()
				if p.Program != "Steps" || p.UID != os.Getuid() || p.Apart != "no" || p.InnerPID != x.pid ||
					p.Version != runtime.Name || p.Uptime <= 0 || p.Resident < 1<<20 {
					t.Errorf("%+v", p)
				}
				if said, done := p.whatIsSaid(), x.whatAttachDoes(of.state); said != done {
					t.Errorf("ps says %q, attach does %q", said, done)
				}
				x.finish()
			})
		}
	}
}

// TestPsApart: a process in a container is found by the id that it has here, and its own is said; one that is stopped
// is listed, and doctor says what is the matter.
func TestPsApart(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 || exec.Command("unshare", "--pid", "--mount", "--fork", "--mount-proc", "true").Run() != nil {
		t.Skip("needs the right to make namespaces")
	}
	s := newSandbox(t)
	r := dotnettest.Need(t).Newest()
	x := s.startWith(append([]string{"unshare", "--pid", "--mount", "--fork", "--mount-proc", "--kill-child"},
		s.target(r, "Steps")...), s.env)
	x.ready()
	x.pid = s.dotnet()
	p := x.listed()
	if p.InnerPID != 1 || p.Apart != "yes" || p.Version != r.Name || p.Allocations != "large objects" {
		t.Errorf("%+v", p)
	}
	if err := unix.Kill(x.pid, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if p := x.listed(); p.Version != r.Name || p.Calls != "no" || !strings.Contains(p.Why, "is it stopped?") {
		t.Errorf("stopped: %+v", p)
	}
	if said := s.run("doctor", itoa(x.pid)); said.exit != 0 || !strings.Contains(said.stdout, "itself as process 1") ||
		!strings.Contains(said.stdout, "is it stopped?") {
		t.Errorf("doctor: exit code %d: %s%s", said.exit, said.stdout, said.stderr)
	}
	if err := unix.Kill(x.pid, unix.SIGCONT); err != nil {
		t.Fatal(err)
	}
	x.finish()
}

// TestAttachName: a program is found by its name, case aside; of several the one that was started last, if asked for.
func TestAttachName(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	r := dotnettest.Need(t).Newest()
	dll := filepath.Join(s.out, "Named.dll")
	target := s.target(r, "Steps")
	for i, argument := range target {
		if filepath.Base(argument) != "Steps.dll" {
			continue
		}
		for _, suffix := range []string{".dll", ".runtimeconfig.json"} {
			content, err := os.ReadFile(strings.TrimSuffix(argument, ".dll") + suffix)
			if err == nil {
				err = os.WriteFile(strings.TrimSuffix(dll, ".dll")+suffix, content, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		target[i] = dll
	}
	name := "named" // of the file, as long as the runtime cannot be asked: it would say Steps
	env := append(slices.Clone(s.env), "DOTNET_EnableDiagnostics=0")
	first := s.startWith(target, env)
	first.ready()
	if said := s.run("doctor", name); said.exit != 0 || !strings.Contains(said.stdout, itoa(first.pid)+", Named") {
		t.Errorf("doctor: exit code %d: %s%s", said.exit, said.stdout, said.stderr)
	}
	second := s.startWith(target, env)
	second.ready()
	said := s.run("attach", name)
	if said.exit != 123 || !strings.Contains(said.stderr, itoa(first.pid)) ||
		!strings.Contains(said.stderr, itoa(second.pid)) {
		t.Errorf("attach: exit code %d: %s", said.exit, said.stderr)
	}
	if said := s.run("attach", name, "--newest"); said.exit != 124 || !strings.Contains(said.stderr, itoa(second.pid)) {
		t.Errorf("attach --newest: exit code %d: %s", said.exit, said.stderr)
	}
	if said := s.run("attach", "nobody-is-called-that"); said.exit != 123 || strings.Count(said.stderr, "\n") != 1 {
		t.Errorf("attach: exit code %d: %s", said.exit, said.stderr)
	}
	first.finish()
	second.finish()
}
