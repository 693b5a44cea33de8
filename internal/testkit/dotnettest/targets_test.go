package dotnettest

import (
	"bufio"
	"bytes"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// targetRun is one way to run a target: how it is compiled, on what, and with
// which settings of the runtime.
type targetRun struct {
	name    string
	options Options
	runtime Runtime
	env     []string
}

func targetRuns(in *Install) []targetRun {
	var runs []targetRun
	for _, r := range in.Runtimes() {
		runs = append(runs,
			targetRun{r.Name + " tiered", Options{}, r, nil},
			targetRun{r.Name + " optimized", Options{}, r, []string{"COMPlus_TieredCompilation=0"}},
			targetRun{r.Name + " debug", Options{NoOptimize: true}, r,
				[]string{"COMPlus_TC_QuickJitForLoops=1", "COMPlus_gcServer=1"}})
	}
	return runs
}

// runTarget runs a target whose checks must hold and which must end with 0.
func runTarget(t *testing.T, run targetRun, name string, args ...string) []Truth {
	t.Helper()
	cmd := run.runtime.Command(Target(t, name, run.options), args...)
	cmd.Env = append(cmd.Env, run.env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Errorf("%s %v: %v\n%s", name, args, err, stderr.Bytes())
	}
	rows, err := ParseTruth(&stdout)
	if err != nil {
		t.Fatalf("%s %v: %v", name, args, err)
	}
	// What a whole process makes, the runtime's own objects included, varies a little.
	return slices.DeleteFunc(rows, func(row Truth) bool { return row.Kind == "whole" })
}

// inTurn returns every third run, one on each runtime, in three ways that each have their turn. The profiler's tests run
// the targets in more ways, and their checks must hold there, too.
func inTurn(runs []targetRun, i int) []targetRun {
	if EveryRuntime() {
		return runs
	}
	var out []targetRun
	for k := range runs {
		if k%3 == (i+k/3)%3 {
			out = append(out, runs[k])
		}
	}
	return out
}

// TestTruth runs each target on each runtime. Its own checks compare sizes with
// the runtime's counters; here, two runs must say the same.
func TestTruth(t *testing.T) {
	for i, target := range [][]string{
		{"Shapes"}, {"Threads", "1", "1000"}, {"Threads", "16", "1000"}, {"Threads", "500", "20"}, {"StaticInit"},
		{"Tiering"},
		{"Dynamic"}, {"Totals"}, {"Kept"},
	} {
		for _, run := range inTurn(targetRuns(Need(t)), i) {
			t.Run(target[0]+" "+run.name, func(t *testing.T) {
				first := runTarget(t, run, target[0], target[1:]...)
				if len(first) == 0 {
					t.Error("it says nothing")
				}
				if d := cmp.Diff(first, runTarget(t, run, target[0], target[1:]...)); d != "" {
					t.Errorf("two runs differ: %s", d)
				}
			})
		}
	}
}

// TestExits runs each way to end, on 9.0.7 and 3.1.2.
func TestExits(t *testing.T) {
	const aborted = 128 + int(syscall.SIGABRT)
	in := Need(t)
	dll := Target(t, "Exits", Options{})
	for _, tt := range []struct {
		how  string
		code int // as a shell would say it
	}{
		{"return", 7}, {"exit", 8}, {"exit-thread", 6}, {"finalizer", 9}, {"_exit", 5},
		{"kill", 128 + int(syscall.SIGKILL)},
		{"failfast", aborted}, {"unhandled", aborted}, {"unhandled-thread", aborted},
		{"overflow", aborted}, {"memory", aborted}, {"abort", aborted}, {"segv", aborted},
	} {
		for _, r := range in.NewestAndOldest() {
			cmd := r.Command(dll, tt.how)
			cmd.Env = append(cmd.Env, "COMPlus_GCHeapHardLimit=0x4000000")
			out, _ := cmd.Output()
			if got := shellCode(cmd.ProcessState); got != tt.code {
				t.Errorf("%s on %s: exit code %d, want %d", tt.how, r.Name, got, tt.code)
			}
			rows, err := ParseTruth(bytes.NewReader(out))
			if err != nil || len(rows) != 3 {
				t.Errorf("%s on %s: %d rows of truth, want 3: %v", tt.how, r.Name, len(rows), err)
			}
		}
	}
}

// shellCode is the exit code, or 128 and the signal.
func shellCode(s *os.ProcessState) int {
	if status, ok := s.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return s.ExitCode()
}

func TestChildren(t *testing.T) {
	in := Need(t)
	for _, tt := range []struct {
		args []string
		want []string // names of the processes, sorted
	}{
		{[]string{"wait", "3"}, []string{"child 1", "child 2", "child 3", "parent 1"}},
		{[]string{"nested", "2"}, []string{"nested 1", "nested 2", "nested 3"}},
		{[]string{"shell", "2"}, []string{"child 1", "child 2", "parent 1"}},
		{[]string{"outlive"}, []string{"orphan 2", "parent 1"}},
	} {
		for _, run := range targetRuns(in)[:2] {
			rows := runTarget(t, run, "Children", tt.args...)
			name := map[int]string{}
			objects := map[string]int64{}
			for _, row := range rows {
				switch row.Kind {
				case "process":
					name[row.PID] = row.Name
				case "type":
					objects[name[row.PID]] = row.Objects
				}
			}
			if d := cmp.Diff(tt.want, slices.Sorted(maps.Keys(objects))); d != "" {
				t.Errorf("%v: %s", tt.args, d)
			}
			for who, n := range objects {
				if _, thousands, _ := strings.Cut(who, " "); thousands+"000" != strconv.FormatInt(n, 10) {
					t.Errorf("%v: %s made %d objects", tt.args, who, n)
				}
			}
		}
	}
}

func TestEcho(t *testing.T) {
	in := Need(t)
	dll := Target(t, "Echo", Options{})
	for _, r := range in.NewestAndOldest() {
		cmd := r.Command(dll, "cat")
		cmd.Stdin = strings.NewReader("a\x00b\nc")
		if out, err := cmd.Output(); err != nil || string(out) != "a\x00b\nc" {
			t.Errorf("cat: %q, %v", out, err)
		}
		var stdout, stderr bytes.Buffer
		cmd = r.Command(dll, "exit", "42", "x y")
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		_ = cmd.Run() // its code is checked
		if cmd.ProcessState.ExitCode() != 42 || stdout.String() != "x y\n" || stderr.String() != "error: x y\n" {
			t.Errorf("exit: %v, %q, %q", cmd.ProcessState, stdout.String(), stderr.String())
		}
		for _, tt := range []struct {
			how     string
			signals []os.Signal
			want    []string
			code    int
		}{
			{"signal", []os.Signal{os.Interrupt}, []string{"SIGINT"}, 10},
			{"signal", []os.Signal{syscall.SIGTERM}, []string{"SIGTERM"}, 11},
			{"ignore", []os.Signal{os.Interrupt, os.Interrupt}, []string{"ignored", "SIGINT"}, 10},
		} {
			testSignals(t, r.Command(dll, tt.how), tt.signals, tt.want, tt.code)
		}
	}
}

// testSignals sends each signal when the target has answered the one before.
func testSignals(t *testing.T, cmd *exec.Cmd, signals []os.Signal, want []string, code int) {
	t.Helper()
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(pipe)
	for i, line := range append([]string{"ready"}, want...) {
		if lines.Scan(); lines.Text() != line {
			t.Errorf("%v: it says %q, want %q", cmd.Args, lines.Text(), line)
		}
		if i < len(signals) {
			if err := cmd.Process.Signal(signals[i]); err != nil {
				t.Error(err)
			}
		}
	}
	_ = cmd.Wait() // its code is checked
	if got := shellCode(cmd.ProcessState); got != code {
		t.Errorf("%v: exit code %d, want %d", cmd.Args, got, code)
	}
}
