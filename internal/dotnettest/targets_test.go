package dotnettest

import (
	"bytes"
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
			targetRun{r.Name + " debug", Options{NoOptimize: true}, r, []string{"COMPlus_TC_QuickJitForLoops=1", "COMPlus_gcServer=1"}})
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
	return rows
}

// TestTruth runs each target in each way. Its own checks compare sizes with the
// runtime's counters; here, two runs must say the same.
func TestTruth(t *testing.T) {
	for _, target := range [][]string{
		{"Shapes"}, {"Threads", "1", "1000"}, {"Threads", "16", "1000"}, {"Threads", "500", "20"}, {"StaticInit"}, {"Tiering"},
	} {
		for _, run := range targetRuns(Need(t)) {
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
