package e2e

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/capture/cpucounter"
	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// cpuTruth is what the target CpuCounters asked the kernel: for a function what was counted within its calls, or around
// all of them.
type cpuTruth struct {
	Name     string `json:"name"`
	Calls    int64  `json:"calls"`
	Pages    int64  `json:"pages"` // fresh ones that it touched
	Faults   int64  `json:"faults"`
	Switches int64  `json:"switches"`
	CPU      int64  `json:"cpu"` // nanoseconds
}

// cpuRow is a row of a view of its session.
type cpuRow struct {
	Name       string `json:"name"`
	Function   string `json:"function"`
	Kind       string `json:"kind"`
	Calls      int64  `json:"calls"`
	Faults     int64  `json:"page_faults_exclusive"`
	Within     int64  `json:"page_faults_inclusive"`
	Switches   int64  `json:"context_switches_exclusive"`
	CPU        int64  `json:"task_clock_exclusive"`
	UserFaults int64  `json:"user_page_faults_exclusive"`
}

// counting are the flags with which the target is recorded: what is not Work's counts for Work.
func counting(counters string, mode ...string) []string {
	return append([]string{"--include", "CpuCounters.Work.*", "--cpu-counters", counters}, mode...)
}

// TestCPUCounters compares what counters say of functions with what the target asked the kernel within them, and around
// them.
func TestCPUCounters(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	for i, mode := range [][]string{byProbes, byHooks, append([]string{"--memory"}, byProbes...)} {
		for _, runtime := range in.InTurn(i) {
			t.Run(strings.Join(mode, " ")+"/"+runtime.Name, func(t *testing.T) {
				t.Parallel()
				cmd := runtime.Command(dotnettest.Target(t, "CpuCounters", dotnettest.Options{Unsafe: true}), "50")
				r := recordOnce(t, cmd, counting("page-faults,context-switches,task-clock", mode...)...)
				if r.exit != 0 {
					t.Fatalf("exit code %d\n%s%s", r.exit, r.stdout, r.stderr)
				}
				soundTime(t, r.session)
				compareCounted(t, r)
				comparePlaces(t, r)
			})
		}
	}
}

// work are the rows of a view that are functions of Work, by the name without arguments. A view has one row for each.
func work(t *testing.T, r result, name string) map[string]cpuRow {
	t.Helper()
	out := map[string]cpuRow{}
	for _, row := range view[cpuRow](t, r.session, name) {
		if function, ok := strings.CutPrefix(row.Name, "CpuCounters.Work."); ok {
			function, _, _ = strings.Cut(function, "(")
			out[function] = row
		}
	}
	return out
}

// compareCounted: each function has what was counted within it, and all together have no more than was counted around
// them.
func compareCounted(t *testing.T, r result) {
	t.Helper()
	probes := query[struct {
		Inside float64 `json:"inside"`
	}](t, r.session, `SELECT inside FROM cpu_counter WHERE name = 'task-clock'`)
	rows, all := work(t, r, "functions"), cpuTruth{}
	for _, row := range rows {
		all.Faults, all.Switches, all.CPU = all.Faults+row.Faults, all.Switches+row.Switches, all.CPU+row.CPU
	}
	for _, w := range truthRows[cpuTruth](t, r.stdout, "counted") {
		name := strings.TrimPrefix(w.Name, "CpuCounters.Work.")
		row := rows[name]
		if row.Faults < w.Pages {
			t.Errorf("%s: %d page faults, and it touched %d fresh pages", name, row.Faults, w.Pages)
		}
		if name == "Two" { // within it the agent is called
			continue
		}
		// what the probes add was taken out, at most so much
		cpu := row.CPU + int64(float64(row.Calls)*probes[0].Inside) + row.Calls
		if row.Faults < w.Faults || row.Switches < w.Switches || cpu < w.CPU {
			t.Errorf("%s: %+v, within it there were %+v; probes add %.0f ns", name, row, w, probes[0].Inside)
		}
	}
	around := truthRows[cpuTruth](t, r.stdout, "around")[0]
	if all.Faults > around.Faults || all.Switches > around.Switches || all.CPU > around.CPU {
		t.Errorf("all functions: %+v, around them there were %+v", all, around)
	}
}

// comparePlaces: a function's callee, its lines and its path have what the function has. There can be more page faults
// than fresh pages, because the kernel takes pages away from programs. If there are none, each place has exactly its own.
func comparePlaces(t *testing.T, r result) {
	t.Helper()
	functions := work(t, r, "functions")
	two, touch := functions["Two"], functions["Touch"]
	edges := query[struct {
		Faults int64 `json:"faults"`
	}](t, r.session, `SELECT v.cpu_counter1_inclusive AS faults FROM call_time v JOIN function c ON c.id = v.caller_id
		JOIN function f ON f.id = v.callee_id WHERE c.raw_name = 'Two' AND f.raw_name = 'Touch'`)
	if len(edges) != 1 {
		t.Fatalf("Touch called by Two: %+v", edges)
	}
	called := edges[0].Faults
	fresh := int64(0) // of all calls of Touch
	for _, w := range truthRows[cpuTruth](t, r.stdout, "counted") {
		if w.Name == "CpuCounters.Work.Touch" {
			fresh = w.Pages
		}
	}
	// of three pages, and of five; the others are those of calls by another function
	if ofTwo := two.Calls * 8; fresh <= ofTwo || called < ofTwo || touch.Within-called < fresh-ofTwo {
		t.Errorf("Touch called by Two: %d page faults, want at least %d; Touch %+v, want at least %d", called, ofTwo, touch,
			fresh)
	}
	if two.Within != two.Faults+called {
		t.Errorf("Two: %+v, and %d page faults in what it calls", two, called)
	}
	if path := work(t, r, "calltree")["Two"]; path.Within != two.Within {
		t.Errorf("the path of Two has %d page faults, the function %d", path.Within, two.Within)
	}
	var lines []int64
	for _, row := range view[cpuRow](t, r.session, "lines") {
		if n := row.Within - row.Faults; strings.HasPrefix(row.Function, "CpuCounters.Work.Two") && row.Kind == "line" &&
			n != 0 {
			lines = append(lines, n)
		}
	}
	slices.Sort(lines)
	if len(lines) != 2 || lines[0] < two.Calls*3 || lines[1] < two.Calls*5 || lines[0]+lines[1] != called {
		t.Errorf("lines of Two have %v page faults in what they call, want at least %d and %d, in sum %d", lines,
			two.Calls*3, two.Calls*5, called)
	}
}

// TestCPUCountersOfPerf reads a perf event, by system calls: there is one of software.
func TestCPUCountersOfPerf(t *testing.T) {
	t.Parallel()
	const name = "user-page-faults"
	c, _ := cpucounter.Find(name)
	if err := cpucounter.Check(os.DirFS("/"), []cpucounter.Counter{c}); err != nil {
		t.Skip(err)
	}
	in := dotnettest.Need(t)
	for _, runtime := range in.InTurn(1) {
		t.Run(runtime.Name, func(t *testing.T) {
			t.Parallel()
			cmd := runtime.Command(dotnettest.Target(t, "CpuCounters", dotnettest.Options{Unsafe: true}), "50")
			r := recordOnce(t, cmd, counting("page-faults,"+name, byProbes...)...)
			if r.exit != 0 {
				t.Fatalf("exit code %d\n%s%s", r.exit, r.stdout, r.stderr)
			}
			soundTime(t, r.session)
			rows := work(t, r, "functions")
			for _, w := range truthRows[cpuTruth](t, r.stdout, "counted") {
				row := rows[strings.TrimPrefix(w.Name, "CpuCounters.Work.")]
				if row.UserFaults < w.Pages || row.UserFaults > row.Faults {
					t.Errorf("%s: %+v, and it touched %d fresh pages", w.Name, row, w.Pages)
				}
			}
		})
	}
}
