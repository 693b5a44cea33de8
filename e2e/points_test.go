package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// pointFlags make the functions of the target Points do what their names say, at a level.
func pointFlags(level string) []string {
	var out []string
	for _, op := range []string{"Start", "Stop", "Pause", "Resume"} {
		for _, point := range []string{"Before", "Top", "Bottom", "After"} {
			out = append(out, "--"+strings.ToLower(op)+"-at",
				"Points.Phases."+op+point+":"+strings.ToLower(point)+":"+level)
		}
	}
	return append(out, "--stop-at", "Points.Phases.Throws:after:"+level, "--stop-at",
		"Points.Phases.Throws:bottom:"+level, "--pause-at", "Points.Phases.PauseDeep:top:"+level,
		"--resume-at", "Points.Phases.ResumeOnce:after:"+level,
		// a mark is made where it is recorded, before the change or after it
		"--mark-at", "Points.Phases.StopTop:top", "--mark-at", "Points.Phases.StopTop:bottom",
		"--mark-at", "Points.Phases.StartTop", "--mark-at", "Points.Phases.StartTop:top",
		"--mark-at", "Points.Phases.StopAfter:bottom", "--mark-at", "Points.Phases.StopAfter:after")
}

// TestPoints: functions start and stop, pause and resume what is recorded, at each point of their calls and each level,
// and what is recorded is exactly what is done while it is on.
func TestPoints(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	modes := [][]string{{"--memory"}, byProbes, {"--lifetime"}, byHooks, {"--time", "--memory"}, boundaryHooks}
	runtimes := slices.DeleteFunc(in.Runtimes(), func(r dotnettest.Runtime) bool { return r.Major() < 5 })
	for i, level := range []string{"process", "thread", "global"} {
		for j, mode := range modes {
			if !dotnettest.Paired(i, 3, j, len(modes)) {
				continue
			}
			runtime := runtimes[(i+j)%len(runtimes)]
			if mode[0] == "--time" {
				mode = append(slices.Clip(mode), "--include", "Points.*")
			}
			t.Run(level+"/"+strings.Join(mode, " ")+"/"+runtime.Name, func(t *testing.T) {
				t.Parallel()
				cmd := runtime.Command(dotnettest.Target(t, "Points", dotnettest.Options{}), level, "3")
				r := recordOnce(t, cmd, slices.Concat(pointFlags(level), mode)...)
				if r.exit != 0 {
					t.Fatalf("exit code %d\n%s%s", r.exit, r.stdout, r.stderr)
				}
				comparePoints(t, r, level, mode)
			})
		}
	}
}

func comparePoints(t *testing.T, r result, level string, mode []string) {
	t.Helper()
	if mode[0] == "--time" {
		soundTime(t, r.session)
		compareCalls(t, r, "Points.dll")
	} else {
		sound(t, r.session)
	}
	if mode[0] != "--time" || mode[1] == "--memory" {
		comparePointTypes(t, r)
	}
	if lost := losses(t, r.session); len(lost) != 0 {
		t.Errorf("lost: %v", lost)
	}
	type pause struct {
		Level string `json:"level"`
		N     int    `json:"n"`
	}
	have := query[pause](t, r.session, "SELECT level, count(*) AS n FROM pause WHERE end_ns >= begin_ns GROUP BY level")
	if d := cmp.Diff([]pause{{level, 3 * (4 + 4 + 1)}}, have); d != "" {
		t.Errorf("pauses (-want +have): %s", d)
	}
	type mark struct {
		Name string `json:"name"`
		N    int    `json:"n"`
	}
	marks := query[mark](t, r.session,
		"SELECT name, count(*) AS n FROM mark WHERE source = 'function' GROUP BY name ORDER BY name")
	if d := cmp.Diff([]mark{{"Points.Phases.StartTop top", 3}, {"Points.Phases.StopAfter bottom", 3},
		{"Points.Phases.StopAfter end", 3}, {"Points.Phases.StopTop top", 3}}, marks); d != "" {
		t.Errorf("marks (-want +have): %s", d)
	}
	checkSaid(t, r.stderr, map[string]int{"no mark was made": 2, "was called": 0})
}

// comparePointTypes: all objects of the type In are in the session, and none of the type Out.
func comparePointTypes(t *testing.T, r result) {
	t.Helper()
	type made struct {
		Name    string `json:"name"`
		Objects int64  `json:"objects"`
		Bytes   int64  `json:"bytes"`
	}
	have := query[made](t, r.session,
		"SELECT name, instances AS objects, bytes FROM types WHERE name IN ('Points.In', 'Points.Out')")
	if d := cmp.Diff(truthRows[made](t, r.stdout, "type"), have); d != "" {
		t.Errorf("objects (-truth +session): %s", d)
	}
}

// TestStopped: with --stopped nothing is recorded before a function starts it.
func TestStopped(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	dll := dotnettest.Target(t, "Points", dotnettest.Options{})
	r := recordOnce(t, in.Newest().Command(dll, "stopped"), slices.Concat([]string{"--memory", "--stopped", "--stop-at",
		"Points.Nobody"}, pointFlags("global"))...)
	if r.exit != 0 {
		t.Fatalf("exit code %d\n%s%s", r.exit, r.stdout, r.stderr)
	}
	sound(t, r.session)
	comparePointTypes(t, r)
	checkSaid(t, r.stderr, map[string]int{"--stop-at Points.Nobody: no function of this name was called": 1})
}

// TestPointsMissing: a program without probes is not limited, which is said.
func TestPointsMissing(t *testing.T) {
	t.Parallel()
	dll := dotnettest.Target(t, "Points", dotnettest.Options{})
	r := record(t, dotnettest.Guest(t).Command(dll, "process"), slices.Concat([]string{"--memory"}, pointFlags("process"))...)
	lost := losses(t, r.session)
	if lost[session.LossNotLimited].Events != 1 || len(lost) != 1 {
		t.Errorf("lost: %v", lost)
	}
	checkSaid(t, r.stderr, map[string]int{"--start-at, --stop-at, --pause-at, --resume-at: not everywhere: 1 ": 1})
}
