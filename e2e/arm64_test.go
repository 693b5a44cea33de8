package e2e

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// emulated returns a command that runs a target on arm64.
func emulated(t *testing.T, r dotnettest.ARM64, target []string, w way) *exec.Cmd {
	t.Helper()
	o := w.options
	o.Trimmed = r.Name
	cmd := r.Command(dotnettest.Target(t, target[0], o), target[1:]...)
	cmd.Env = append(cmd.Env, w.env...)
	return cmd
}

// TestARM64 does as TestTruth on arm64, as an emulator has it: the runtime, what it compiles and the agent are those of
// arm64, and clrprof is this machine's. What the targets count of themselves is exact.
func TestARM64(t *testing.T) {
	t.Parallel()
	dotnettest.NotQuick(t, "an emulator runs the programs")
	runtime := dotnettest.NeedARM64(t)
	for _, tt := range []struct {
		target []string
		ways   []way
	}{
		{[]string{"Shapes"}, []way{tiered, optimized, tier0}},
		{[]string{"Boxes"}, []way{debug}},
		{[]string{"Tiering"}, []way{tiered}},
	} {
		for _, w := range tt.ways {
			t.Run(strings.Join(tt.target, " ")+"/"+w.name, func(t *testing.T) {
				r := mustRecord(t, emulated(t, runtime, tt.target, w), w.flags...)
				compareTruthBut(t, r, ofTheRuntimeARM64)
				checkBodies(t, r, w, tt.target[0], runtime.Runtime)
			})
		}
	}
}

// TestARM64Calls does as TestTimeCalls there, also where exceptions end calls.
func TestARM64Calls(t *testing.T) {
	t.Parallel()
	dotnettest.NotQuick(t, "an emulator runs the programs")
	runtime := dotnettest.NeedARM64(t)
	for _, target := range [][]string{{"TimeEmpty", "wide"}, {"Unwinds"}} {
		for _, w := range []way{{name: "probes", flags: byProbes}, {name: "hooks", flags: byHooks},
			{name: "together", flags: []string{"--time", "--memory"}}} {
			t.Run(target[0]+"/"+w.name, func(t *testing.T) {
				compareCalls(t, mustRecordTime(t, emulated(t, runtime, target, w), w.flags...), target[0]+".dll")
			})
		}
	}
}

// oracleARM64 builds the variants of the agent for arm64.
func oracleARM64(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("aarch64-linux-gnu-gcc"); err != nil {
		t.Skip("there is no aarch64-linux-gnu-gcc here (Debian: gcc-aarch64-linux-gnu)")
	}
	dir := dotnettest.Native(t, "make", "-s", "-C", "..", "oracle", "MACHINE=arm64",
		"ORACLE="+dotnettest.NativeOut+"/oracle.so")
	return filepath.Join(dir, "oracle.so")
}

// TestARM64Stacks does as TestStacks there: with on-stack replacement, exceptions, and all ways to make an object.
func TestARM64Stacks(t *testing.T) {
	t.Parallel()
	dotnettest.NotQuick(t, "an emulator runs the programs")
	runtime := dotnettest.NeedARM64(t)
	agent := oracleARM64(t)
	for _, tt := range []struct {
		target []string
		equal  float64
	}{
		{[]string{"Shapes"}, 0.999},
		{[]string{"Tiering", "5000", "300"}, 0.9}, // handlers of exceptions
	} {
		t.Run(tt.target[0], func(t *testing.T) {
			cmd := emulated(t, runtime, tt.target, tiered)
			path := filepath.Join(t.TempDir(), "comparison")
			cmd.Env = append(cmd.Env, "CLRPROF_AGENT="+agent, "CLRPROF_VARIANT=compare", "CLRPROF_COMPARISON="+path,
				"CLRPROF_EVERY=1")
			r := mustRecord(t, cmd, "--memory")
			compareStacks(t, path, newHandlers(t, r.session), tt.equal)
		})
	}
}

// TestARM64Lifetimes compares the agent's shadow of the heap with what the runtime reports of it, after each collection.
func TestARM64Lifetimes(t *testing.T) {
	t.Parallel()
	dotnettest.NotQuick(t, "an emulator runs the programs")
	runtime := dotnettest.NeedARM64(t)
	cmd, verdict := emulated(t, runtime, []string{"Shapes"}, tiered), filepath.Join(t.TempDir(), "verdict")
	cmd.Env = append(cmd.Env, "CLRPROF_AGENT="+oracleARM64(t), "CLRPROF_VARIANT=selfcheck", "CLRPROF_COMPARISON="+verdict)
	mustRecord(t, cmd)
	if gcs, live := sameShadow(t, verdict); gcs < 3 || live < 100*gcs {
		t.Errorf("%d collections with %d objects: want three or more, each with 100 objects", gcs, live)
	}
}
