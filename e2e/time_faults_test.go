package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// runTime is the command line that records times into s.clrprof.
func runTime(command []string, flags ...string) []string {
	args := append([]string{"run", "--time", "--no-report", "-o", "s.clrprof"}, flags...)
	return append(append(args, "--"), command...)
}

// pidOf is the process of the sandbox that runs a target.
func (s *sandbox) pidOf(target string) int {
	s.t.Helper()
	for _, pid := range s.processes() {
		if args := strings.Split(procText(pid, "cmdline"), "\x00"); filepath.Base(args[0]) == "dotnet" &&
			strings.Contains(procText(pid, "cmdline"), target+".dll") {
			return pid
		}
	}
	s.t.Fatalf("no process runs %s", target)
	return 0
}

// until reads what the target prints up to that line.
func (p *process) until(want string) {
	p.t.Helper()
	for p.lines.Scan() {
		if p.lines.Text() == want {
			return
		}
	}
	p.t.Fatalf("the target never says %q: %v\n%s", want, p.lines.Err(), p.said())
}

// TestTimeRunning: a process that ends in the middle of calls, in whatever way, leaves a session that is sound, has all
// calls, and says which had not ended.
func TestTimeRunning(t *testing.T) {
	t.Parallel()
	const aborted = 128 + int(syscall.SIGABRT)
	in := dotnettest.Need(t)
	for i, tt := range []struct {
		how   string
		code  int
		state string
	}{
		{"exit", 8, "exited"}, {"exit-thread", 6, "exited"}, {"kill", 128 + int(syscall.SIGKILL), "died"},
		{"failfast", aborted, "died"}, {"unhandled", aborted, "died"}, {"overflow", aborted, "died"},
	} {
		for _, rt := range in.InTurn(i) {
			t.Run(tt.how+"/"+rt.Name, func(t *testing.T) {
				t.Parallel()
				s := newSandbox(t)
				r := s.run(runTime(s.target(rt, "TimeRunning", tt.how, "20"))...)
				r.session = filepath.Join(s.out, "s.clrprof")
				if r.exit != tt.code {
					t.Errorf("exit code %d, want %d: %s", r.exit, tt.code, r.stderr)
				}
				s.checkRunning(r, tt.how == "overflow", tt.state)
			})
		}
	}
}

// checkRunning compares a session of TimeRunning with its truth. Of a stack overflow only part may have been followed.
func (s *sandbox) checkRunning(r result, deep bool, state string) *recordedTime {
	s.t.Helper()
	soundTime(s.t, r.session)
	for reason, l := range losses(s.t, r.session) {
		if !deep || reason != "calls_folded" {
			s.t.Errorf("lost: %+v", l)
		}
	}
	if d := cmp.Diff(map[string]string{"TimeRunning": state}, endStates(s.t, r.session)); d != "" {
		s.t.Errorf("how it ended: %s", d)
	}
	return compareCalls(s.t, r, "TimeRunning.dll")
}

// TestTimeKilled: the interval that was open when the process was killed counts for the function that was running.
func TestTimeKilled(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	for _, how := range []string{"wait", "spin"} {
		for _, rt := range in.Runtimes() {
			t.Run(how+"/"+rt.Name, func(t *testing.T) {
				t.Parallel()
				s := newSandbox(t)
				began := time.Now()
				p := s.start(runTime(s.target(rt, "TimeRunning", how, "20"))...)
				p.until("ready")
				pid := s.pidOf("TimeRunning")
				await(t, "its threads wait", func() bool {
					return pausing(pid) == map[string]int{"wait": 3, "spin": 2}[how]
				})
				ready := time.Now()
				await(t, "a second slice is recorded", func() bool { return s.slices() > 1 })
				open := time.Since(ready)
				if err := unix.Kill(pid, unix.SIGKILL); err != nil {
					t.Fatal(err)
				}
				r := p.wait()
				all := time.Since(began)
				r.session = filepath.Join(s.out, "s.clrprof")
				if r.exit != 128+int(unix.SIGKILL) {
					t.Errorf("exit code %d: %s", r.exit, r.stderr)
				}
				got := s.checkRunning(r, false, "died")
				open -= open * clockError / 1e6
				for _, row := range truthRows[callTruth](t, r.stdout, "calls") {
					f := got.functions[row.callee()]
					switch row.Name {
					case "TimeRunning.Stack.Stay":
						between(t, row.Name+": open interval, ns", f.open, int64(open), int64(all))
					case "TimeRunning.Stack.Bottom":
						least := int64(open)
						if how == "wait" {
							between(t, row.Name+": open interval, ns", f.open, least, int64(all))
							// what the agent takes for itself as the function is compiled anew, with what others take
							// from it then
						} else {
							least -= int64(got.processes[0].Agent)
						}
						between(t, row.Name+": elapsed, ns", f.inclusive.Elapsed, least, int64(all))
					case "TimeRunning.Stack.Down", "TimeRunning.Stack.Background":
						between(t, row.Name+": open interval, ns", f.open, 0, 0) // of the innermost call alone
					}
				}
			})
		}
	}
}

// clockError is by how many parts in a million the agent's clock may go wrong.
const clockError = 5

// pausing is how many threads of a process wait in pause(2), which is 34 on x86-64.
func pausing(pid int) int {
	calls, _ := filepath.Glob(filepath.Join("/proc", itoa(pid), "task/*/syscall"))
	n := 0
	for _, path := range calls {
		if text, err := os.ReadFile(path); err == nil && strings.HasPrefix(string(text), "34 ") {
			n++
		}
	}
	return n
}

// TestTimeStopped stops the target while it computes, as a debugger does, and lets it go on: that is waiting.
func TestTimeStopped(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	for _, rt := range in.Runtimes() {
		s := newSandbox(t)
		p := s.start(runTime(s.target(rt, "TimeWaits", "stop", "20"))...)
		p.until("ready")
		pid := s.pidOf("TimeWaits")
		before := ticks(procText(pid, "stat"))
		if _, err := p.in.Write([]byte("\n")); err != nil {
			t.Fatal(err)
		}
		await(t, "the target computes", func() bool { return ticks(procText(pid, "stat")) > before+20 })
		if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		await(t, "the target is stopped", func() bool { return strings.Contains(procText(pid, "stat"), ") T ") })
		stopped, slices := time.Now(), s.slices()
		await(t, "a slice is recorded", func() bool { return s.slices() > slices })
		lasted := time.Since(stopped)
		if err := unix.Kill(pid, unix.SIGCONT); err != nil {
			t.Fatal(err)
		}
		r := p.wait()
		if r.exit != 0 {
			t.Fatalf("exit code %d: %s", r.exit, r.stderr)
		}
		r.session = filepath.Join(s.out, "s.clrprof")
		checkTimeSession(t, r.session)
		got := compareTimes(t, r)
		f := got.functions[truthRows[took](t, r.stdout, "took")[0].callee()]
		if f.inclusive.Waited < int64(lasted) {
			t.Errorf("%s: %d ns of waiting, it was stopped for %v", rt.Name, f.inclusive.Waited, lasted)
		}
	}
}

// ticks are those of the processor that a process has used, from /proc/PID/stat.
func ticks(stat string) int {
	_, after, _ := strings.Cut(stat, ") ")
	fields := strings.Fields(after)
	if len(fields) < 13 {
		return 0
	}
	user, err := strconv.Atoi(fields[11])
	if err != nil {
		return 0
	}
	return user
}

// TestTimeLimit: calls for whose paths there is no memory are folded, which the report says. The calls of each function
// are as exact as ever.
func TestTimeLimit(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	for _, rt := range in.NewestAndOldest() {
		s := newSandbox(t)
		r := s.run(runTime(s.target(rt, "TimeEmpty", "wide", "17"), "--memory-limit", "8M")...)
		r.session = filepath.Join(s.out, "s.clrprof")
		if r.exit != 0 {
			t.Fatalf("exit code %d: %s", r.exit, r.stderr)
		}
		checkTimeSession(t, r.session)
		got := readRecordedTime(t, r.session)
		for _, row := range truthRows[callTruth](t, r.stdout, "calls") {
			got.compareFunction(t, row)
		}
		folded := query[struct{ Calls int64 }](t, r.session,
			`SELECT coalesce(sum(v.calls), 0) Calls FROM timing_value v JOIN timing t ON t.id = v.timing_id
			JOIN node n ON n.id = t.node_id JOIN node p ON p.id = n.parent_id JOIN node r ON r.id = p.parent_id JOIN function f ON f.id = r.function_id
			WHERE f.raw_name = '(folded)'`)[0]
		if folded.Calls < 1000 {
			t.Errorf("%s: %d folded calls", rt.Name, folded.Calls)
		}
		if shown := s.run("report", r.session); !strings.Contains(shown.stdout, "have no paths of their own") {
			t.Errorf("%s: the report does not say what is not exact:\n%s", rt.Name, shown.stdout)
		}
	}
}

// TestTimeRefused takes from threads the ways in which they learn that the system acted: the next one is taken, and
// named. Where system calls are filtered, as in containers, perf_event_open is not tried.
func TestTimeRefused(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	build := func(name string, flags ...string) string {
		out := filepath.Join(t.TempDir(), name)
		if text, err := exec.Command("gcc",
			append(flags, "-O2", "-Wall", "-o", out, "testdata/"+name+".c")...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		return out
	}
	refuse, norseq := build("refuse"), build("norseq", "-shared", "-fPIC")
	perf := "gap"
	if perfAllowed() {
		perf = "perf"
	}
	for _, tt := range []struct {
		name    string
		refused []string // the beginning of a command
		want    string
	}{
		{"no rseq", []string{"env", "GLIBC_TUNABLES=glibc.pthread.rseq=0", "LD_PRELOAD=" + norseq}, perf},
		{"rseq filtered", []string{refuse, itoa(unix.SYS_RSEQ), "--"}, "gap"},
		{"both filtered", []string{refuse, itoa(unix.SYS_RSEQ), itoa(unix.SYS_PERF_EVENT_OPEN), "--"}, "gap"},
	} {
		for _, rt := range in.Runtimes() {
			t.Run(tt.name+"/"+rt.Name, func(t *testing.T) {
				t.Parallel()
				s := newSandbox(t)
				r := s.run(runTime(append(slices.Clip(tt.refused), s.target(rt, "TimeWaits", "all", "2")...))...)
				if r.exit != 0 {
					t.Fatalf("exit code %d: %s", r.exit, r.stderr)
				}
				r.session = filepath.Join(s.out, "s.clrprof")
				checkTimeSession(t, r.session)
				if got := compareTimes(t, r).processes[0].Mechanism; got != tt.want {
					t.Errorf("threads learn of the system by %q, want %q", got, tt.want)
				}
			})
		}
	}
}
