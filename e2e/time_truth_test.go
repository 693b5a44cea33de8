package e2e

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/present/report"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// timeOnly are the flags of most recordings here: calls are seen by probes in IL where that can be. boundaryHooks: by
// hooks.
var (
	timeOnly      = []string{"--time"}
	boundaryHooks = []string{"--time", "--probes", "hooks"}
)

// Ways in which the runtime compiles what it runs. In all of them all calls are recorded, each once.
var (
	timeTiered    = way{name: "tiered"}
	timeOptimized = way{name: "optimized", env: []string{"COMPlus_TieredCompilation=0"}}
	timeDebug     = way{name: "debug", options: debugBuild}
	timeTier0     = way{name: "tier0", env: tier0.env}
	// Code is compiled again as early as it can be, and loops are replaced in the middle.
	timeHurried = way{name: "hurried",
		env: []string{"COMPlus_TC_CallCountThreshold=2", "COMPlus_TC_CallCountingDelayMs=0",
			"COMPlus_TC_BackgroundWorkerTimeoutMs=0", "COMPlus_OSR_HitLimit=1",
			"COMPlus_TC_OnStackReplacement_InitialCounter=2"}}
	timeNoPGO  = way{name: "no pgo", env: []string{"COMPlus_TieredPGO=0"}}
	timeNoR2R  = way{name: "no r2r", env: []string{"COMPlus_ReadyToRun=0", "COMPlus_TieredCompilation=0"}}
	timeServer = way{name: "server", env: server}
)

// TestTimeCalls compares the calls of all functions of programs with what they know of them, whatever the runtime makes
// of their code: how often each is called and by whom, and that every call ends but those that do not.
func TestTimeCalls(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	for i, tt := range []struct {
		target []string
		ways   []way
	}{
		{[]string{"TimeCalls", "300", "1", "400"}, []way{timeTiered, timeOptimized, timeDebug, timeTier0, timeNoPGO,
			timeNoR2R, timeHurried, timeServer}},
		{[]string{"TimeExceptions", "20"}, []way{timeTiered, timeOptimized, timeDebug, timeTier0, timeHurried}},
		{[]string{"Unwinds"}, []way{timeTiered}},
		{[]string{"TimeCalls", "1000", "16", "1000"}, []way{timeTiered, timeOptimized}},
		{[]string{"TimeEmpty", "wide"}, []way{timeTiered, timeOptimized}},
		{[]string{"TimeEmpty", "recursive", "100000"}, []way{timeHurried, timeDebug}},
	} {
		for j, w := range tt.ways {
			for k, runtime := range crossed(in, i, j) {
				flags := [][]string{timeOnly, boundaryHooks}[(i+j/2+k)%2]
				t.Run(strings.Join(append(tt.target, flags[len(flags)-1]), " ")+"/"+w.name+"/"+runtime.Name,
					func(t *testing.T) {
						t.Parallel()
						cmd := runtime.Command(dotnettest.Target(t, tt.target[0], w.options), tt.target[1:]...)
						cmd.Env = append(cmd.Env, w.env...)
						r := mustRecordTime(t, cmd, flags...)
						compareCalls(t, r, tt.target[0]+".dll")
					})
			}
		}
	}
}

// mustRecordTime records a target that ends with code 0, with flags, and whose session is complete and sound.
func mustRecordTime(t *testing.T, cmd *exec.Cmd, flags ...string) result {
	t.Helper()
	r := recordOnce(t, cmd, flags...)
	if r.exit != 0 {
		t.Fatalf("%v: exit code %d\n%s%s", cmd.Args, r.exit, r.stdout, r.stderr)
	}
	checkTimeSession(t, r.session)
	return r
}

// checkTimeSession asserts what must hold of every session with times, and that nothing is lost.
func checkTimeSession(t *testing.T, path string) {
	t.Helper()
	soundTime(t, path)
	// that loses rows of threads, no calls
	for _, l := range query[map[string]any](t, path, "SELECT * FROM loss WHERE reason <> 'threads_folded'") {
		t.Errorf("lost: %v", l)
	}
}

// soundTime asserts that a session with times, and perhaps with losses, does not contradict itself: what analysis
// checks, and that the sums of all views are the totals.
func soundTime(t *testing.T, path string) {
	t.Helper()
	found, err := analysis.Check(openSession(t, path))
	if err != nil {
		t.Fatalf("checking the session: %v", err)
	}
	for _, v := range found {
		t.Errorf("the session contradicts itself: %v", v)
	}
	checkTimeSums(t, path)
}

// timeRow is the columns of times that views have, each those of its kind.
type timeRow struct {
	Calls                int64 `json:"calls"`
	ElapsedInclusive     int64 `json:"elapsed_inclusive"`
	ElapsedExclusive     int64 `json:"elapsed_exclusive"`
	ApplicationInclusive int64 `json:"application_inclusive"`
	ApplicationExclusive int64 `json:"application_exclusive"`
	OverheadInclusive    int64 `json:"probe_overhead_inclusive"`
	OverheadExclusive    int64 `json:"probe_overhead_exclusive"`
}

// checkTimeSums adds up what the views print: Σ exclusive over functions = Σ over threads = Σ over processes = what is
// below the roots, to the nanosecond; and with what the probes added it is what was measured.
func checkTimeSums(t *testing.T, path string) {
	t.Helper()
	measured := query[struct{ Elapsed int64 }](t, path,
		"SELECT coalesce(sum(elapsed_ns), 0) AS elapsed FROM timing_value")[0].Elapsed
	var total [3]int64
	o := openViews(t, path)
	for _, row := range rows[timeRow](t, o, "processes", report.Options{}) {
		total[0], total[1], total[2] = total[0]+row.ElapsedInclusive, total[1]+row.ApplicationInclusive, total[2]+
			row.OverheadInclusive
	}
	if total[0]+total[2] != measured {
		t.Errorf("processes: elapsed %d ns and overhead %d ns, measured were %d ns", total[0], total[2], measured)
	}
	inclusive := func(r timeRow) [3]int64 {
		return [3]int64{r.ElapsedInclusive, r.ApplicationInclusive, r.OverheadInclusive}
	}
	exclusive := func(r timeRow) [3]int64 {
		return [3]int64{r.ElapsedExclusive, r.ApplicationExclusive, r.OverheadExclusive}
	}
	rounded := query[struct{ N int64 }](t, path,
		`SELECT (SELECT count(*) FROM timing_inclusive) + (SELECT count(*) FROM timing t JOIN node n ON n.id = t.node_id
		LEFT JOIN node p ON p.id = n.parent_id LEFT JOIN node r ON r.id = p.parent_id JOIN function f ON f.id IN (n.function_id, p.function_id, r.function_id)
		WHERE f.raw_name = '(folded)') AS n`)[0].N
	type sum struct {
		view  string
		depth int
		of    func(timeRow) [3]int64
	}
	sums := []sum{{"functions", 0, exclusive}, {"modules", 1, exclusive}, {"threads", 0, inclusive},
		{"calltree", 1, inclusive}}
	if countOf(t, path, "path_time") < mostPaths {
		sums = append(sums, sum{"calltree", 0, exclusive})
	}
	for _, tt := range sums {
		var sum [3]int64
		for _, row := range rows[timeRow](t, o, tt.view, report.Options{Depth: tt.depth}) {
			for i, v := range tt.of(row) {
				sum[i] += v
			}
		}
		// Folded calls are measured twice, within the calls that made them and by function. Each of the two is rounded
		// to nanoseconds once by itself and twice with what the probes added; and that is taken out of each as far as
		// it goes: what does not go stays in elapsed and application.
		if tt.view == "calltree" && rounded > 0 {
			within := func(i int, least, most int64) bool { return sum[i]-total[i] >= least && sum[i]-total[i] <= most }
			measured := sum[0] + sum[2] - total[0] - total[2]
			if within(0, -3*rounded, total[2]) && within(1, -max(total[2], 3*rounded), max(total[2], 3*rounded)) &&
				max(measured, -measured) <= 6*rounded {
				continue
			}
		}
		if sum != total {
			t.Errorf("%s (%d levels) add up to elapsed, application and overhead %d ns, the processes to %d ns",
				tt.view, tt.depth, sum, total)
		}
	}
}

// callTruth is a row "calls", "call" or "uncounted" of a target; testdata/targets/README.md has the table.
type callTruth struct {
	Name         string           `json:"name"`
	Module       string           `json:"module"`
	Token        dotnettest.Token `json:"token"`
	CallerName   string           `json:"caller_name"`
	CallerModule string           `json:"caller_module"`
	CallerToken  dotnettest.Token `json:"caller_token"`
	Calls        int64            `json:"calls"`
	Thrown       int64            `json:"thrown"`
	Running      int64            `json:"running"`
	Callers      bool             `json:"callers"`
}

func (c callTruth) callee() called { return called{c.Module, uint32(c.Token)} }

func (c callTruth) caller() called { return called{c.CallerModule, uint32(c.CallerToken)} }

// compareCalls compares all that a target printed of calls with the session. The module is the target's: of its
// functions none may have been called of which the truth does not know.
func compareCalls(t *testing.T, r result, module string) *recordedTime {
	t.Helper()
	got := readRecordedTime(t, r.session)
	uncounted, known, callers := map[called]bool{}, map[called]bool{}, map[called]bool{}
	for _, row := range truthRowsIfAny[callTruth](t, r.stdout, "uncounted") {
		uncounted[row.callee()] = true
	}
	for _, row := range truthRows[callTruth](t, r.stdout, "calls") {
		known[row.callee()], callers[row.callee()] = true, row.Callers
		if !uncounted[row.callee()] {
			got.compareFunction(t, row)
		}
	}
	want := map[call]bool{}
	edges := truthRowsIfAny[callTruth](t, r.stdout, "call")
	for callee := range got.declaredCallers(edges) {
		callers[callee] = false // all calls of it are compared
	}
	for _, row := range edges {
		c := call{row.caller(), row.callee()}
		want[c] = true
		if n := got.calls[c]; n != row.Calls && callers[c.Callee] && !uncounted[c.Callee] {
			t.Errorf("%s called %s %d times, the session says %d", row.CallerName, row.Name, row.Calls, n)
		}
	}
	for c, n := range got.calls {
		if callers[c.Callee] && !uncounted[c.Callee] && !want[c] {
			t.Errorf("the session has %d calls of %s by %s, of which the truth knows nothing", n, got.name(c.Callee),
				got.name(c.Caller))
		}
	}
	got.compareExterns(t, truthRowsIfAny[callTruth](t, r.stdout, "extern"))
	for f, of := range got.functions {
		if f.Module == module && of.began > 0 && !known[f] && !uncounted[f] && !untold(of.name) {
			t.Errorf("%s was called %d times, of which the truth knows nothing", of.name, of.began)
		}
	}
	return got
}

// declaredCallers are the functions that were called by one of the framework of which the truth does not say so. Seen
// by probes around calls these are what the code names: delegates' Invoke, or a function of an interface.
func (o *recordedTime) declaredCallers(edges []callTruth) map[called]bool {
	byProbes := o.byProbes()
	known, own, out := map[call]bool{}, map[string]bool{}, map[called]bool{}
	for _, row := range edges {
		known[call{row.caller(), row.callee()}] = true
		own[row.Module] = true
	}
	for c := range o.calls {
		isDeclared := strings.HasPrefix(o.name(c.Caller), "System.") && !known[c]
		if byProbes && isDeclared && own[c.Callee.Module] && !strings.HasPrefix(c.Callee.Module, "System.") {
			out[c.Callee] = true
		}
	}
	return out
}

// byProbes says whether calls were seen by probes in IL.
func (o *recordedTime) byProbes() bool {
	return slices.ContainsFunc(o.processes, func(p session.ProcessTime) bool { return p.Probes == session.ProbesIL })
}

// compareExterns compares the calls of functions without IL, of which hooks see none.
func (o *recordedTime) compareExterns(t *testing.T, rows []callTruth) {
	t.Helper()
	want := map[call]int64{}
	for _, row := range rows {
		if c := (call{row.caller(), row.callee()}); o.byProbes() && !untold(row.CallerName) {
			want[c] = row.Calls
		}
	}
	for c, n := range o.externs {
		if want[c] != n && !untold(o.name(c.Caller)) {
			t.Errorf("%s called %v, which has no IL, %d times, the session says %d", o.name(c.Caller), c.Callee, want[c], n)
		}
		delete(want, c)
	}
	for c, n := range want {
		t.Errorf("%s called %v, which has no IL, %d times, the session says nothing of it", o.name(c.Caller), c.Callee, n)
	}
}

// compareFunction compares how often a function was called and how its calls ended.
func (o *recordedTime) compareFunction(t *testing.T, row callTruth) {
	t.Helper()
	f := o.functions[row.callee()]
	if f == nil {
		f = &callsOf{}
	}
	if f.began != row.Calls || f.ended != row.Calls-row.Running || f.running != row.Running {
		t.Errorf("%s: %d calls, of which %d end by an exception and %d do not end; the session says %d calls, %d "+
			"ended, %d running",
			row.Name, row.Calls, row.Thrown, row.Running, f.began, f.ended, f.running)
	}
}

func (o *recordedTime) name(f called) string {
	if of := o.functions[f]; of != nil {
		return of.name
	}
	return "(nobody)"
}

// untold says whether a function is one of those with which targets find out and print what they know.
func untold(name string) bool {
	return said(name) || slices.ContainsFunc(strings.Split(name, "."), func(part string) bool {
		return slices.Contains([]string{"Program", "Truth", "Calls", "Size", "Made"}, part)
	})
}

// said says whether it is one of those that print.
func said(name string) bool {
	return slices.ContainsFunc(strings.Split(name, "."), func(part string) bool {
		return strings.HasPrefix(part, "Say") || strings.HasPrefix(part, "<Say")
	})
}
