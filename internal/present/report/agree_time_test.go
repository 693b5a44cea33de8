package report

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// timedSessions are sessions with times, some of them with allocations too.
func timedSessions() map[string]*sessiontest.Builder {
	all := map[string]*sessiontest.Builder{"timed": sessiontest.Timed(), "kitchen": sessiontest.Kitchen()}
	for seed := range uint64(8) {
		all[fmt.Sprint("random ", seed)] = sessiontest.RandomTimes(seed)
	}
	return all
}

// timeSQL selects the columns of times from a derived table, with divisions of its own.
func timeSQL(single bool) string {
	list := []string{"calls", "running", "overhead_inclusive AS probe_overhead_inclusive",
		"overhead_exclusive AS probe_overhead_exclusive",
		"elapsed_exclusive - application_exclusive AS waited_exclusive", "voluntary_inclusive", "faults_exclusive",
		"wait_intervals_inclusive", "off_cpu_exclusive",
		"blocked_exclusive", "ready_inclusive"}
	for _, part := range []string{"elapsed", "application", "cpu"} {
		for _, rule := range []string{"inclusive", "exclusive"} {
			key, sum := part+"_"+rule, part+"_exclusive"
			if rule == "inclusive" {
				sum = "nodes_" + key
			}
			list = append(list, key,
				fmt.Sprintf("coalesce(100.0 * %s / (SELECT sum(%s_inclusive) FROM process_time_value), 0.0) AS "+
					"%s_percent", key, part, key))
			if single {
				list = append(list, fmt.Sprintf("CASE WHEN calls > 0 THEN iif(running = 0, max(min_%[2]s, "+
					"min(max_%[2]s, CAST(round(1.0 * %[1]s / calls) AS INTEGER))), CAST(round(1.0 * %[1]s / calls) "+
					"AS INTEGER)) END AS avg_%[2]s", sum, key),
					fmt.Sprintf("CASE WHEN calls > running THEN min_%s END AS min_%s", key, key),
					fmt.Sprintf("CASE WHEN calls > running THEN max_%s END AS max_%s", key, key))
			}
		}
	}
	return strings.Join(list, ", ")
}

// timeColumnsOf are the keys that timeSQL selects.
func timeColumnsOf(single bool) string {
	return strings.TrimSpace(timeKeys(single) + "waited_exclusive voluntary_inclusive faults_exclusive " +
		"wait_intervals_inclusive off_cpu_exclusive blocked_exclusive ready_inclusive")
}

// TestTimesAgreeWithSQL compares all columns of times of each view with the derived table of the same meaning.
func TestTimesAgreeWithSQL(t *testing.T) {
	name := "coalesce(nullif(f.name, ''), f.raw_name) AS "
	pairs := []struct {
		view, columns string
		single        bool
		selects, from string
	}{
		{"functions", "name process_id", true, name + "name, p.pid AS process_id",
			"function_time v JOIN function f ON f.id = v.function_id JOIN process p ON p.id = f.process_id"},
		{"calltree", "name level", true, name + "name, v.level", "path_time v JOIN function f ON f.id = v.function_id"},
		{"modules", "name", true, "coalesce(m.name, '(no module)') AS name",
			"module_time v LEFT JOIN module m ON m.id = v.module_id"},
		{"lines", "function line_begin kind", false,
			name + "function, iif(v.line_id = 0, nullif(f.line, 0), l.line_begin) AS line_begin, iif(v.line_id = 0, " +
				"'body', 'line') AS kind",
			"line_time v JOIN function f ON f.id = v.function_id LEFT JOIN line l ON l.id = v.line_id"},
		{"ips", "function instruction_address", false, name + "function, printf('0x%x', i.address) AS " +
			"instruction_address",
			"instruction_time v JOIN instruction i ON i.id = v.instruction_id JOIN function f ON f.id = i.function_id"},
		{"threads", "thread_id", false, "t.os_id AS thread_id", "thread_time v JOIN thread t ON t.id = v.thread_id"},
		{"processes", "process_id mechanism", false, "p.pid AS process_id, pt.mechanism",
			"process_time_value v JOIN process p ON p.id = v.process_id JOIN process_time pt ON pt.process_id = p.id"},
	}
	for at, b := range timedSessions() {
		s := complete(t, b, filepath.Join(t.TempDir(), "s"))
		for _, p := range pairs {
			got := viewObjects(t, s, p.view, Options{Depth: map[bool]int{true: 1}[p.view == "modules"]},
				keys(p.columns+" "+timeColumnsOf(p.single)))
			got = slices.DeleteFunc(got, func(m map[string]any) bool { // processes in the tree, and what only allocated
				calls := m["calls"] != nil && m["calls"] != 0.0
				return m["level"] == 0.0 || m["elapsed_inclusive"] == nil || !calls && m["elapsed_inclusive"] == 0.0 &&
					m["probe_overhead_inclusive"] == 0.0
			})
			want := queryObjects(t, s, "SELECT "+p.selects+", "+timeSQL(p.single)+" FROM "+p.from+
				" WHERE v.calls <> 0 OR v.elapsed_inclusive <> 0 OR v.overhead_inclusive <> 0")
			if p.view == "ips" { // what is without an instruction: SQL leaves it out
				got = slices.DeleteFunc(got, func(m map[string]any) bool { return m["instruction_address"] == nil })
			}
			if p.view == "lines" { // a view has the calls of a function once, in the lines that make them
				got = slices.DeleteFunc(got, func(m map[string]any) bool { return m["kind"] == "outside" })
				for _, m := range want {
					if m["kind"] == "body" {
						m["calls"], m["running"] = nil, nil
					}
				}
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-6), cmpopts.EquateEmpty(),
				sortObjects); diff != "" {
				t.Errorf("%s: %s (-sql +view):\n%s", at, p.view, diff)
			}
		}
	}
}

// TestTimesAgreeWithSQLViews compares the views of reports with those of SQL, which people query.
func TestTimesAgreeWithSQLViews(t *testing.T) {
	values := timeKeys(false)
	values = strings.TrimSpace(strings.ReplaceAll(strings.ReplaceAll(values, "probe_overhead_inclusive ", ""),
		"probe_overhead_exclusive ", "")) + " wait_intervals_exclusive preempted_inclusive reads_exclusive"
	for at, b := range timedSessions() {
		s := complete(t, b, filepath.Join(t.TempDir(), "s"))
		if b.Functions[b.Nodes[0].Function-1].Name == "" || strings.Contains(b.Functions[b.Nodes[0].Function-1].Name,
			"'") {
			continue
		}
		root := b.Functions[b.Nodes[0].Function-1].Name
		for _, p := range []struct{ view, columns, from string }{
			{"functions", "name process_id module_path", "function_times"},
			{"calltree", "name level process_id", "(SELECT function AS name, * FROM call_tree_times)"},
			{"modules", "name", "module_times"},
			{"threads", "thread_id process_id", "thread_times"},
			{"processes", "process_id name mechanism instrument clock ticks_per_second agent_time_ns", "process_times"},
			{"callers", "name", "(SELECT iif(caller = '', '(thread start)', caller) AS name, * FROM call_times WHERE " +
				"callee = '" + root + "' UNION ALL SELECT callee, * FROM call_times WHERE caller = '" + root + "')"},
		} {
			o := Options{Depth: map[bool]int{true: 1}[p.view == "modules"]}
			if p.view == "callers" {
				o.Argument = root
			}
			columns := keys(p.columns + " " + values)
			got := viewObjects(t, s, p.view, o, columns)
			got = slices.DeleteFunc(got, func(m map[string]any) bool {
				return m["level"] == 0.0 || m["type"] == "current" || m["calls"] == nil || m["calls"] == 0.0 &&
					m["elapsed_inclusive"] == 0.0
			})
			for _, m := range got {
				delete(m, "type")
			}
			want := queryObjects(t, s, "SELECT "+strings.Join(columns, ", ")+" FROM "+p.from+
				" WHERE calls <> 0 OR elapsed_inclusive <> 0")
			if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-6), cmpopts.EquateEmpty(),
				sortObjects); diff != "" {
				t.Errorf("%s: %s (-sql +view):\n%s", at, p.view, diff)
			}
		}
	}
}

// sums adds up columns of the rows that are wanted.
func sums(rows []map[string]any, wanted func(map[string]any) bool, columns ...string) []float64 {
	out := make([]float64, len(columns))
	for _, r := range rows {
		if !wanted(r) {
			continue
		}
		for i, key := range columns {
			if n, ok := r[key].(float64); ok {
				out[i] += n
			}
		}
	}
	return out
}

// TestTimesAddUp: the same total comes out of every view, of all of a session and of its parts.
func TestTimesAddUp(t *testing.T) {
	exclusive := keys("elapsed_exclusive application_exclusive probe_overhead_exclusive waited_exclusive")
	inclusive := keys("elapsed_inclusive application_inclusive probe_overhead_inclusive waited_inclusive")
	every := func(map[string]any) bool { return true }
	atLevel := func(n float64) func(map[string]any) bool {
		return func(m map[string]any) bool { return m["level"] == n }
	}
	for at, b := range timedSessions() {
		s := complete(t, b, filepath.Join(t.TempDir(), "s"))
		for _, filter := range []analysis.Selection{{}, {Processes: []session.ProcessID{1}},
			{Threads: []session.ThreadID{1}}, {From: 5e8}} {
			src, err := analysis.Open(s, filter)
			if err != nil {
				continue // no such span in the session
			}
			rows := func(view string, o Options) []map[string]any { return viewRows(t, src, view, o) }
			total := sums(rows("processes", Options{}), every, exclusive...)
			for _, c := range []struct {
				what string
				have []float64
			}{
				{"processes, inclusive", sums(rows("processes", Options{}), every, inclusive...)},
				{"threads", sums(rows("threads", Options{}), every, exclusive...)},
				{"functions", sums(rows("functions", Options{}), every, exclusive...)},
				{"the range of all", sums(rows("functions", Options{Range: "*"}), func(m map[string]any) bool {
					return m["kind"] == "range"
				}, exclusive...)},
				{"modules", sums(rows("modules", Options{}), atLevel(0), exclusive...)},
				{"functions of modules", sums(rows("modules", Options{}), atLevel(1), exclusive...)},
				{"lines of modules", sums(rows("modules", Options{}), func(m map[string]any) bool {
					return m["level"] == 2.0 && m["kind"] != "instruction"
				}, exclusive...)},
				{"lines", sums(rows("lines", Options{}), every, exclusive...)},
				{"roots of the tree", sums(rows("calltree", Options{}), atLevel(1), inclusive...)},
				{"tree", sums(rows("calltree", Options{}), every, exclusive...)},
				{"callers of all", callersSum(t, src, exclusive)},
			} {
				if diff := cmp.Diff(total, c.have); diff != "" {
					t.Errorf("%s, %+v: processes and %s differ: %s", at, filter, c.what, diff)
				}
			}
			calls := sums(rows("functions", Options{}), every, "calls", "running")
			for _, view := range []string{"threads", "processes", "calltree", "lines"} {
				if diff := cmp.Diff(calls, sums(rows(view, Options{}), every, "calls", "running")); diff != "" {
					t.Errorf("%s, %+v: calls of functions and %s: %s", at, filter, view, diff)
				}
			}
		}
	}
}

// callersSum adds up the callers of each function that has any: exclusive values of callers are those of the function.
func callersSum(t *testing.T, src *analysis.Source, columns []string) []float64 {
	view, err := FindView("callers")
	if err != nil {
		t.Fatal(err)
	}
	total := make([]float64, len(columns))
	seen := map[string]bool{}
	for _, f := range viewRows(t, src, "functions", Options{}) {
		name := f["name"].(string)
		if seen[name] {
			continue
		}
		seen[name] = true
		table, err := view.Build(src, Options{Argument: name, Columns: append([]string{"type"}, columns...)})
		if err != nil {
			t.Fatal(err)
		}
		for i, n := range sums(tableRows(t, table), func(m map[string]any) bool {
			return m["type"] == "caller"
		}, columns...) {
			total[i] += n
		}
	}
	return total
}

func viewRows(t *testing.T, src *analysis.Source, name string, o Options) []map[string]any {
	t.Helper()
	view, err := FindView(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"level", "kind", "name"} {
		if slices.Contains(view.columns, key) || key == "kind" && o.Range != "" {
			o.Columns = append(o.Columns, key)
		}
	}
	o.Columns = slices.Concat(o.Columns, keys(timeKeys(false)+"waited_inclusive waited_exclusive"))
	table, err := view.Build(src, o)
	if err != nil {
		t.Fatal(name, err)
	}
	return tableRows(t, table)
}

func tableRows(t *testing.T, table *Table) []map[string]any {
	t.Helper()
	var out bytes.Buffer
	if err := Writers.JSON(&out, table); err != nil {
		t.Fatal(err)
	}
	return parseObjects(t, out.Bytes())
}

// TestTimesAreOrdered: application time is part of elapsed time, exclusive time of inclusive time, raw time is elapsed
// time with what the probes added; each row of a tree is itself and the rows below it.
func TestTimesAreOrdered(t *testing.T) {
	for at, b := range timedSessions() {
		s := complete(t, b, filepath.Join(t.TempDir(), "s"))
		src, err := analysis.Open(s, analysis.Selection{})
		if err != nil {
			t.Fatal(err)
		}
		for _, view := range []string{"functions", "calltree", "modules", "lines", "ips", "threads", "processes"} {
			rows, raw := viewRows(t, src, view, Options{Sort: "calls"}), viewRows(t, src, view,
				Options{Raw: true, Sort: "calls"})
			for i, r := range rows {
				v := func(key string) float64 { n, _ := r[key].(float64); return n }
				if v("application_inclusive") > v("elapsed_inclusive") ||
					v("application_exclusive") > v("elapsed_exclusive") ||
					v("elapsed_exclusive") > v("elapsed_inclusive") ||
					v("application_exclusive") > v("application_inclusive") || v("running") > v("calls") {
					t.Errorf("%s: %s: %v", at, view, r)
				}
				for _, rule := range []string{"_inclusive", "_exclusive"} {
					if have, _ := raw[i]["elapsed"+rule].(float64); have != v("elapsed"+rule)+v("probe_overhead"+rule) {
						t.Errorf("%s: %s: raw %v of %v", at, view, raw[i], r)
					}
				}
			}
		}
		rows := viewRows(t, src, "calltree", Options{})
		for i, r := range rows {
			sum := r["elapsed_exclusive"].(float64)
			for _, below := range rows[i+1:] {
				if below["level"].(float64) <= r["level"].(float64) {
					break
				}
				if below["level"].(float64) == r["level"].(float64)+1 {
					sum += below["elapsed_inclusive"].(float64)
				}
			}
			if sum != r["elapsed_inclusive"] {
				t.Errorf("%s: row %d %v is %v, its parts %v", at, i, r["name"], r["elapsed_inclusive"], sum)
			}
		}
	}
}

// TestDataThatIsNotThere: what a session does not hold is said, not shown as 0.
func TestDataThatIsNotThere(t *testing.T) {
	timed := complete(t, sessiontest.Timed(), filepath.Join(t.TempDir(), "s"))
	shop := complete(t, sessiontest.Shop(), filepath.Join(t.TempDir(), "s"))
	for _, c := range []struct {
		s    *session.Session
		view string
		o    Options
		want error
	}{
		{timed, "types", Options{}, ErrNoMemory},
		{timed, "functions", Options{Columns: []string{"name", "inclusive_bytes"}}, ErrNoMemory},
		{timed, "functions", Options{Sort: "exclusive_bytes"}, ErrNoMemory},
		{shop, "functions", Options{Columns: []string{"name", "calls"}}, analysis.ErrNoTime},
		{shop, "functions", Options{Sort: "waited_exclusive"}, analysis.ErrNoTime},
		{shop, "processes", Options{Columns: []string{"mechanism"}}, analysis.ErrNoTime},
	} {
		src, err := analysis.Open(c.s, analysis.Selection{})
		if err != nil {
			t.Fatal(err)
		}
		view, err := FindView(c.view)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := view.Build(src, c.o); err == nil || err.Error() != c.want.Error() {
			t.Errorf("%s %+v: %v, want %v", c.view, c.o, err, c.want)
		}
	}
}

// TestRemarks: a jump of the clock and what a host took is said before the numbers, and what was chosen after them.
func TestRemarks(t *testing.T) {
	b := sessiontest.Timed()
	b.Info[session.KeySuspended] = "1500000000"
	b.Info[session.KeyOptions] = `{"include":["Clock.*"],"exclude_small":16}`
	for i, c := range []struct {
		name        string
		first, last int64
	}{{"machine.cpu_busy", 5e9, 8e9}, {"machine.cpu_stolen", 7e9, 8e9}} {
		id := int64(i + 1)
		b.Counters = append(b.Counters, session.Counter{ID: id, Name: c.name, Unit: "ns", IsSum: true})
		b.CounterValues = append(b.CounterValues, session.CounterValue{Time: 1, Counter: id, Value: c.first},
			session.CounterValue{Time: 2, Counter: id, Value: c.last})
	}
	src, err := analysis.Open(complete(t, b, filepath.Join(t.TempDir(), "s")), analysis.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	summary, err := Summarize(src, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"The machine was suspended for 1.50 s during the recording: elapsed times may contain it.",
		"The host of this virtual machine took 1.00 s of its processor time (25.00 % of what it wanted) during the " +
			"recording: elapsed, application and CPU times include what was taken while they ran.",
	} {
		if !slices.Contains(Writers.Words(summary.Notes), want) {
			t.Errorf("%s\nis not in %q", want, Writers.Words(summary.Notes))
		}
	}
	if want := "Chosen by --include 'Clock.*' --exclude-small=16: what is not recorded counts for its " +
		"callers."; !slices.Contains(Writers.Words(summary.Timing.Notes), want) {
		t.Error(summary.Timing.Notes)
	}
}

// TestFolded: calls without a path of their own are said beside the numbers.
func TestFolded(t *testing.T) {
	b := sessiontest.Timed()
	b.Run(1).In(1).Call(0, 1, sessiontest.Interval{}).Fold(2, sessiontest.Interval{Elapsed: 100},
		sessiontest.Interval{Elapsed: 100_000}).End(sessiontest.Interval{Elapsed: 100})
	src, err := analysis.Open(complete(t, b, filepath.Join(t.TempDir(), "s")), analysis.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	summary, err := Summarize(src, Options{})
	if err != nil || len(summary.Losses) != 1 || !strings.HasPrefix(Writers.Words(summary.Losses)[0],
		"Folded: 1 call (9.09 % of all) has no path of its own, ") {
		t.Error(err, summary.Losses)
	}
	want := "95.72 % of CPU time (99.99 µs) is in calls without paths, where call tree, flame graph and hot path end with " +
		"(truncated). Functions, callers and callees are exact; --include and --exclude record fewer functions."
	if !slices.Contains(Writers.Words(summary.Findings), want) {
		t.Errorf("%q\nis not in %q", want, Writers.Words(summary.Findings))
	}
}

// TestFoldedHotPath: a hot path ends where paths were not kept any more, and says so.
func TestFoldedHotPath(t *testing.T) {
	const most = 10_000_000_000
	b := sessiontest.Timed()
	b.Run(1).In(1).Call(0, 1, sessiontest.Interval{}).Fold(2, sessiontest.Interval{Elapsed: 100},
		sessiontest.Interval{Elapsed: most}).End(sessiontest.Interval{Elapsed: 100})
	src, err := analysis.Open(complete(t, b, filepath.Join(t.TempDir(), "s")), analysis.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	summary, err := Summarize(src, Options{})
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(summary.Sections, func(x Section) bool { return x.Key == hotPathTime })
	x := &summary.Sections[at]
	if !strings.HasSuffix(x.Title, ", as far as paths were kept: there were too many") || len(x.Table.Rows) != 1 {
		t.Errorf("%s, %d rows", x.Title, len(x.Table.Rows))
	}
	for _, r := range x.Table.Rows {
		if summary.context.truncated()[r.function] {
			t.Errorf("%s has what is of no path", x.Title)
		}
	}
}

// TestRootFolded: a tree that begins with a function of which all calls are folded has them.
func TestRootFolded(t *testing.T) {
	b := sessiontest.Timed()
	folded := b.Function(1, "Clock.Program.Folded()", "", 0)
	b.Run(1).In(1).Call(0, 1, sessiontest.Interval{}).Fold(folded, sessiontest.Interval{Elapsed: 100},
		sessiontest.Interval{Elapsed: 100}).End(sessiontest.Interval{Elapsed: 100})
	src, err := analysis.Open(complete(t, b, filepath.Join(t.TempDir(), "s")), analysis.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	view, err := FindView("calltree")
	if err != nil {
		t.Fatal(err)
	}
	table, err := view.Build(src, Options{Root: "Folded"})
	if err != nil || len(table.Rows) != 1 || table.Rows[0].time.Calls != 1 || table.Rows[0].time.Inclusive.Elapsed <= 0 {
		t.Fatalf("%v, %+v", err, table.Rows)
	}
	if want := "1 of 1 calls of Program.Folded have no paths, because "; !strings.HasPrefix(Writers.Words(table.Notes)[1], want) {
		t.Errorf("%q does not begin with %q", Writers.Words(table.Notes), want)
	}
}
