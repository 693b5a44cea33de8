package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// quick is how long a pause lasts before probes are taken out, for tests that pause often.
const quick = "CLRPROF_SETTLED=1000000"

// awaitOut waits until the probes of the only process have been taken out.
func awaitOut(t *testing.T, path string, _ *os.Process, _ string) {
	t.Helper()
	await(t, "its probes are out", func() bool {
		var status struct {
			Processes []struct {
				ProbesOut int `json:"probes_out"`
			}
		}
		if err := json.Unmarshal([]byte(runHere("ctl", path, "status", "--json").stdout), &status); err != nil {
			t.Fatal(err)
		}
		return len(status.Processes) == 1 && status.Processes[0].ProbesOut > 0
	})
}

// byCtlSettled pauses or resumes by clrprof ctl, and waits in a pause until the probes are out.
func byCtlSettled(t *testing.T, path string, clrprof *os.Process, command string) {
	byCtl(t, path, clrprof, command)
	if command == "pause" {
		awaitOut(t, path, clrprof, command)
	}
}

// TestPausedWithoutProbes: what is recorded before and after a pause in which the probes were taken out of the code is
// exact, as it is with probes that stay; so is what began before the pause or in it, and goes on after it.
func TestPausedWithoutProbes(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	dll := pausedTarget(t, in)
	for i, mode := range []string{"probes", "together", "boundary"} {
		for _, runtime := range dotnettest.OneInTurn(dotnettest.NeedRuntimes(t, 5), i) {
			t.Run(mode+"/"+runtime.Name, func(t *testing.T) {
				t.Parallel()
				flags := pausedModes[mode]
				if mode == "boundary" {
					flags = []string{"--time"}
				}
				cmd := runtime.Command(dll, "outside", "2")
				cmd.Env = append(cmd.Env, quick)
				r := recordPausing(t, cmd, byCtlSettled, flags...)
				if mode == "boundary" {
					mode = "time"
				}
				comparePausedRounds(t, r, "outside", mode, 2)
			})
		}
	}
}

// TestToggled: a program under load pauses and resumes often, and probes are taken out and put in; all calls that it
// knows of are in the session, by the right callers, and no others. "bounded" has so little memory that soon no more are
// taken out, which changes nothing.
func TestToggled(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	dll := controlled(t, in, "Toggled", "../testdata/targets/Toggled", "../testdata/targets")
	const never = "1000000"
	for i, tt := range dotnettest.Some([]struct {
		name        string
		cycles, ask string
		flags       []string
	}{
		{"mine", "150", "40", byProbes},
		{"boundary", "60", "40", []string{"--time"}},
		{"together", "60", "40", []string{"--time", "--memory"}},
		{"bounded", "150", never, append([]string{"--memory-limit", "16M"}, byProbes...)},
	}) {
		for _, runtime := range dotnettest.OneInTurn(dotnettest.NeedRuntimes(t, 5), i) {
			t.Run(tt.name+"/"+runtime.Name, func(t *testing.T) {
				t.Parallel()
				compareCallsAsked(t, runtime.Command(dll, tt.cycles, "2", tt.ask), "Toggled.dll", awaitOut, tt.flags...)
			})
		}
	}
}

// compareCallsAsked records a target whose pauses settle quickly, does what it asks for, and finds all of the calls that it
// knows of a module, with no loss.
func compareCallsAsked(t *testing.T, cmd *exec.Cmd, module string, answer func(*testing.T, string, *os.Process, string),
	flags ...string) {
	t.Helper()
	cmd.Env = append(cmd.Env, quick)
	r := recordAsked(t, cmd, answer, flags...)
	soundTime(t, r.session)
	compareCalls(t, r, module)
	if lost := losses(t, r.session); len(lost) != 0 {
		t.Errorf("lost: %v", lost)
	}
}

// TestPausedUnseen: a program that is paused sees the lines and offsets of its own code, with probes and without.
func TestPausedUnseen(t *testing.T) {
	t.Parallel()
	for i, w := range []way{timeTiered, timeOptimized} {
		for _, runtime := range dotnettest.OneInTurn(dotnettest.NeedRuntimes(t, 5), i) {
			t.Run(w.name+"/"+runtime.Name, func(t *testing.T) {
				t.Parallel()
				command := func(env ...string) *exec.Cmd {
					cmd := runtime.Command(dotnettest.Target(t, "TimeTraces", w.options))
					cmd.Env = append(append(cmd.Env, w.env...), env...)
					return cmd
				}
				want, err := command("COMPlus_TailCallOpt=0", "COMPlus_TailCallLoopOpt=0").Output() // as recordings have it
				if err != nil {
					t.Fatal(err)
				}
				r := record(t, command(quick), append([]string{"--paused"}, byProbes...)...)
				if d := cmp.Diff(string(want), r.stdout); d != "" || r.exit != 0 {
					t.Errorf("exit code %d; what the program prints (-by itself +paused)\n%s", r.exit, d)
				}
			})
		}
	}
}
