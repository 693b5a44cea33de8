package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// foldedRow is a function, or a pair of functions, in a session.
type foldedRow struct {
	Name, Caller                               string
	Calls, Inclusive, Exclusive, CPU, Min, Max int64
	Average                                    float64
}

// TestTimeFolded: a million calls on as many paths take all room, and nothing from each other or from what comes later:
// the calls of each function and of each pair, and inclusive times.
func TestTimeFolded(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	for _, rt := range in.NewestAndOldest() {
		t.Run(rt.Name, func(t *testing.T) {
			s := newSandbox(t)
			r := s.recordTime(t, s.target(rt, "TimeFolded", "pairs", "20"))
			got := readRecordedTime(t, r.session)
			for _, row := range truthRows[callTruth](t, r.stdout, "calls") {
				got.compareFunction(t, row)
			}
			pairs := map[string]foldedRow{}
			for _, p := range foldedRows(t, r.session, "call_times", "caller, callee AS name") {
				pairs[short(p.Caller)+" "+short(p.Name)] = p
			}
			const half = 1 << 19
			for pair, calls := range map[string]int64{"All First": 1, "First First": half, "First Second": half,
				"Second First": half - 1, "Second Second": half - 1,
				"All Third": 1, "Third Third": half, "Third Fourth": half, "Fourth Third": half - 1,
				"Fourth Fourth": half - 1, "All After": 1, "After Inner": 2} {
				if pairs[pair].Calls != calls {
					t.Errorf("%s: %d calls, not %d", pair, pairs[pair].Calls, calls)
				}
			}
			functions := map[string]foldedRow{}
			for _, f := range foldedRows(t, r.session, "function_times", "'' AS caller, name") {
				functions[short(f.Name)] = f
				if f.Average < float64(f.Min) || f.Average > float64(f.Max) || f.CPU > f.Inclusive {
					t.Errorf("%+v", f)
				}
			}
			after, all := functions["After"], functions["All"]
			between(t, "After: inclusive ns", after.Inclusive, 100_000_000, all.Inclusive)
			between(t, "Inner: inclusive ns", functions["Inner"].Inclusive, 100_000_000, after.Inclusive)
			if after.CPU > after.Inclusive/2 {
				t.Errorf("After sleeps, and has %d ns of CPU time, of %d", after.CPU, after.Inclusive)
			}
			parts := all.Exclusive + functions["First"].Inclusive + functions["Third"].Inclusive + after.Inclusive
			between(t, "All: what it did itself and what it called, ns", parts, all.Inclusive-all.Inclusive/100,
				all.Inclusive+all.Inclusive/100)
			if shown := s.run("report", r.session, "calltree"); !strings.Contains(shown.stdout,
				"└ TimeFolded.Shapes.After()") && !strings.Contains(shown.stdout, "Shapes.Inner()") {
				t.Errorf("what comes later has no path:\n%s", shown.stdout)
			}
		})
	}
}

// TestTimeFoldedInstances: a function of which the code knows several instances is one, also where calls have no paths.
func TestTimeFoldedInstances(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	for _, rt := range in.NewestAndOldest() {
		for _, paths := range []string{"10", "1000000"} {
			s := newSandbox(t)
			r := s.recordTime(t, append([]string{"env", "CLRPROF_TIMINGS=" + paths},
				s.target(rt, "TimeFolded", "several", "40")...))
			got := readRecordedTime(t, r.session)
			for _, row := range truthRows[callTruth](t, r.stdout, "calls") {
				got.compareFunction(t, row)
			}
			functions := map[string]foldedRow{}
			for _, f := range foldedRows(t, r.session, "function_times", "'' AS caller, name") {
				functions[short(f.Name)] = f
			}
			if rt.Major() < 5 {
				continue // hooks see the instances, each as a function of its own, and no calls of delegates
			}
			for _, name := range []string{"Invoke", "ForEach<T>"} {
				f := functions[name]
				if f.Calls != 40 {
					t.Errorf("%s, %s paths: %s is called %d times, not 40", rt.Name, paths, name, f.Calls)
				}
				between(t, name+": inclusive ns", f.Inclusive, 100_000_000, functions["All"].Inclusive)
			}
		}
	}
}

// TestTimeFoldedLate: what begins when most paths are used, on another thread, has paths where it takes time, however deep.
func TestTimeFoldedLate(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	const calls, least = 3001, 2700
	s := newSandbox(t)
	r := s.recordTime(t, append([]string{"env", "CLRPROF_TIMINGS=20000"},
		s.target(in.Newest(), "TimeFolded", "late", "3000")...))
	got := readRecordedTime(t, r.session)
	for _, row := range truthRows[callTruth](t, r.stdout, "calls") {
		got.compareFunction(t, row)
	}
	rows := query[struct {
		Calls int64 `json:"calls"`
	}](t, r.session, "SELECT sum(v.calls) AS calls FROM path_time v JOIN function f ON f.id = v.function_id "+
		"WHERE v.level > 40 AND f.name LIKE '%Chain.Leaf%'")
	if n := rows[0].Calls; n < least || n > calls {
		t.Errorf("%d of %d calls have a path of 40 levels, want %d at least", n, calls, least)
	}
}

// TestTimeDeep: calls are counted however deep they are.
func TestTimeDeep(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	for _, rt := range in.NewestAndOldest() {
		s := newSandbox(t)
		r := s.recordTime(t, s.target(rt, "TimeFolded", "down", "50000"))
		got := readRecordedTime(t, r.session)
		for _, row := range truthRows[callTruth](t, r.stdout, "calls") {
			got.compareFunction(t, row)
		}
	}
}

// recordTime runs a command under clrprof, and checks the session.
func (s *sandbox) recordTime(t *testing.T, command []string) result {
	t.Helper()
	r := s.run(runTime(command)...)
	r.session = filepath.Join(s.out, "s.clrprof")
	if r.exit != 0 {
		t.Fatalf("exit code %d: %s", r.exit, r.stderr)
	}
	checkTimeSession(t, r.session)
	return r
}

func foldedRows(t *testing.T, path, table, names string) []foldedRow {
	t.Helper()
	return query[foldedRow](t, path, "SELECT "+names+
		", calls, elapsed_inclusive AS inclusive, elapsed_exclusive AS exclusive, cpu_inclusive AS cpu, "+
		"min_elapsed_inclusive AS min, max_elapsed_inclusive AS max, avg_elapsed_inclusive AS average FROM "+table+
		" WHERE running = 0 AND calls > 0")
}

// short is the last part of a name, without parameters.
func short(name string) string {
	name, _, _ = strings.Cut(name, "(")
	return name[strings.LastIndex(name, ".")+1:]
}
