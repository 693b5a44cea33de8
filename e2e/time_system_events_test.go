package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// systemCounts is what the kernel counted for a thread.
type systemCounts struct {
	Minor     int64 `json:"minor"`
	Major     int64 `json:"major"`
	Voluntary int64 `json:"voluntary"`
	Preempted int64 `json:"preempted"`
	Reads     int64 `json:"reads"`
	Writes    int64 `json:"writes"`
}

// list are the counts with their names.
func (c systemCounts) list() map[string]int64 {
	return map[string]int64{"minor faults": c.Minor, "major faults": c.Major, "waits": c.Voluntary,
		"preemptions": c.Preempted, "reads": c.Reads, "writes": c.Writes}
}

func (c *systemCounts) add(o systemCounts) {
	c.Minor, c.Major, c.Voluntary = c.Minor+o.Minor, c.Major+o.Major, c.Voluntary+o.Voluntary
	c.Preempted, c.Reads, c.Writes = c.Preempted+o.Preempted, c.Reads+o.Reads, c.Writes+o.Writes
}

// systemTruth is what the target SystemEvents asked the kernel within a function, and around it.
type systemTruth struct {
	Name   string       `json:"name"`
	Thread string       `json:"thread"`
	Calls  int64        `json:"calls"`
	Least  systemCounts `json:"least"`
	Most   systemCounts `json:"most"`
}

// systemRow is a row of the view events.
type systemRow struct {
	Name      string `json:"name"`
	Thread    string `json:"thread_name"`
	Begin     int64  `json:"event_begin"`
	Length    int64  `json:"event_length"`
	Reason    string `json:"event_reason"`
	Count     int64  `json:"event_count"`
	Lost      int64  `json:"event_lost"`
	Voluntary int64  `json:"event_voluntary"`
	Preempted int64  `json:"event_preempted"`
	Minor     int64  `json:"event_minor_faults"`
	Major     int64  `json:"event_major_faults"`
	Reads     int64  `json:"event_reads"`
	Writes    int64  `json:"event_writes"`
}

func (r *systemRow) counts() systemCounts {
	return systemCounts{r.Minor, r.Major, r.Voluntary, r.Preempted, r.Reads, r.Writes}
}

// function is the row's function without its parameters.
func (r *systemRow) function() string {
	name, _, _ := strings.Cut(r.Name, "(")
	return name
}

const systemRounds = "30"

// recordEvents records the target SystemEvents, and returns its list.
func recordEvents(t *testing.T, runtime dotnettest.Runtime, flags ...string) (result, []systemRow) {
	t.Helper()
	dll := dotnettest.Target(t, "SystemEvents", dotnettest.Options{Unsafe: true})
	cmd := runtime.Command(dll, systemRounds, filepath.Join(t.TempDir(), "data"))
	r := recordOnce(t, cmd, append([]string{"--include", "SystemEvents.Work.*"}, flags...)...)
	if r.exit != 0 {
		t.Fatalf("exit code %d\n%s%s", r.exit, r.stdout, r.stderr)
	}
	soundTime(t, r.session)
	return r, view[systemRow](t, r.session, "events")
}

// bothWays runs a test where probes see calls and where hooks do, on the runtimes in turn.
func bothWays(t *testing.T, test func(t *testing.T, runtime dotnettest.Runtime, mode []string)) {
	in := dotnettest.Need(t)
	for i, mode := range [][]string{byProbes, byHooks} {
		for _, runtime := range in.InTurn(i) {
			t.Run(strings.Join(mode, " ")+"/"+runtime.Name, func(t *testing.T) {
				t.Parallel()
				test(t, runtime, mode)
			})
		}
	}
}

// TestSystemEvents compares the list with what the target asked the kernel within its functions, and around them; with
// the sums of times and counters; and with itself by function and thread.
func TestSystemEvents(t *testing.T) {
	t.Parallel()
	bothWays(t, func(t *testing.T, runtime dotnettest.Runtime, mode []string) {
		r, rows := recordEvents(t, runtime, append([]string{"--events", "sched,page-faults,io"}, mode...)...)
		compareSystemTruth(t, r, rows)
		compareSystemSums(t, r)
		compareSystemGroups(t, r, rows)
	})
}

// TestSystemEventsOfAllKinds: all that can be listed is listed together, and each kind is what it is alone.
func TestSystemEventsOfAllKinds(t *testing.T) {
	t.Parallel()
	bothWays(t, func(t *testing.T, runtime dotnettest.Runtime, mode []string) {
		seesCalls(t)
		r, rows := recordEvents(t, runtime, append([]string{"--events", "sched,page-faults,io,syscalls,migrations"}, mode...)...)
		compareSystemTruth(t, r, rows)
		compareSystemSums(t, r)
		compareSystemGroups(t, r, rows)
		type sums struct {
			Calls      int64 `json:"calls"`
			Migrations int64 `json:"migrations"`
		}
		listed := query[sums](t, r.session, "SELECT sum(system_calls) AS calls, sum(migrations) AS migrations FROM system_event")[0]
		counted := query[sums](t, r.session, "SELECT sum(cpu_counter5) AS calls, sum(cpu_counter6) AS migrations FROM timing_count")[0]
		if listed != counted || listed.Calls == 0 {
			t.Errorf("the list has %+v, the sums are %+v", listed, counted)
		}
	})
}

// compareSystemTruth: of each function and thread there is what the kernel counted within the calls, and no more than
// around them.
func compareSystemTruth(t *testing.T, r result, rows []systemRow) {
	t.Helper()
	type key struct{ function, thread string }
	have, last := map[key]systemCounts{}, int64(0)
	for i := range rows {
		row := &rows[i]
		k := key{row.function(), row.Thread}
		sum := have[k]
		sum.add(row.counts())
		have[k] = sum
		if row.Begin < last || row.Lost > row.Length || row.Count != 1 || row.Reason == "" {
			t.Errorf("%+v after %d ns", row, last)
		}
		last = row.Begin
	}
	for _, w := range truthRows[systemTruth](t, r.stdout, "function") {
		sum := have[key{w.Name, w.Thread}].list()
		least, most := w.Least.list(), w.Most.list()
		for name, n := range sum {
			if n < least[name] || n > most[name] {
				t.Errorf("%s in %s: %d %s, want %d to %d", w.Name, w.Thread, n, name, least[name], most[name])
			}
		}
		// A thread that is preempted when it is about to sleep can find that its time is over: then it does not wait.
		touched, waited := w.Calls*5, w.Calls
		if strings.HasSuffix(w.Name, ".Touch") && sum["minor faults"] < touched ||
			strings.HasSuffix(w.Name, ".Wait") && sum["waits"]+sum["preemptions"] < waited {
			t.Errorf("%s in %s: %v of %d calls", w.Name, w.Thread, sum, w.Calls)
		}
	}
}

// compareSystemSums: the list has all that the sums have, timing by timing.
func compareSystemSums(t *testing.T, r result) {
	t.Helper()
	type sums struct {
		Timing    int64 `json:"timing_id"`
		Voluntary int64 `json:"voluntary"`
		Preempted int64 `json:"preempted"`
		Minor     int64 `json:"minor"`
		Major     int64 `json:"major"`
		Reads     int64 `json:"reads"`
		Writes    int64 `json:"writes"`
	}
	read := func(text string) map[int64]sums {
		out := map[int64]sums{}
		for _, row := range query[sums](t, r.session, text) {
			sum := out[row.Timing]
			out[row.Timing] = sums{row.Timing, sum.Voluntary + row.Voluntary, sum.Preempted + row.Preempted,
				sum.Minor + row.Minor, sum.Major + row.Major, sum.Reads + row.Reads, sum.Writes + row.Writes}
		}
		for id, sum := range out {
			if sum == (sums{Timing: id}) {
				delete(out, id)
			}
		}
		return out
	}
	listed := read(`SELECT timing_id, sum(voluntary) AS voluntary, sum(preempted) AS preempted, sum(minor_faults) AS minor,
		sum(major_faults) AS major, sum(reads) AS reads, sum(writes) AS writes FROM system_event GROUP BY timing_id`)
	all := read(`SELECT timing_id, sum(voluntary) AS voluntary, sum(preempted) AS preempted, 0 AS minor, 0 AS major,
		0 AS reads, 0 AS writes FROM timing_value GROUP BY timing_id UNION ALL SELECT timing_id, 0, 0, sum(cpu_counter1),
		sum(cpu_counter2), sum(cpu_counter3), sum(cpu_counter4) FROM timing_count GROUP BY timing_id`)
	if len(listed) == 0 || len(listed) != len(all) {
		t.Errorf("%d timings are listed, %d have something", len(listed), len(all))
	}
	for id, want := range all {
		if listed[id] != want {
			t.Errorf("the list has %+v, the sums are %+v", listed[id], want)
		}
	}
}

// compareSystemGroups: by function and by thread there are the sums of the list, and filters leave parts of it.
func compareSystemGroups(t *testing.T, r result, rows []systemRow) {
	t.Helper()
	byFunction, byThread := map[string]systemRow{}, map[string]systemRow{}
	sum := func(to map[string]systemRow, key string, row *systemRow) {
		s := to[key]
		to[key] = systemRow{Count: s.Count + 1, Lost: s.Lost + row.Lost, Voluntary: s.Voluntary + row.Voluntary,
			Minor: s.Minor + row.Minor, Writes: s.Writes + row.Writes}
	}
	for i := range rows {
		sum(byFunction, rows[i].Name, &rows[i])
		sum(byThread, rows[i].Thread, &rows[i])
	}
	for by, want := range map[string]map[string]systemRow{"function": byFunction, "thread": byThread} {
		groups := view[systemRow](t, r.session, "events", "--by", by)
		if len(groups) != len(want) {
			t.Errorf("by %s: %d rows, want %d", by, len(groups), len(want))
		}
		for _, g := range groups {
			if w := want[g.Name]; g.Count != w.Count || g.Lost != w.Lost || g.Voluntary != w.Voluntary ||
				g.Minor != w.Minor || g.Writes != w.Writes {
				t.Errorf("by %s: %+v, want %+v", by, g, w)
			}
		}
	}
	for name, want := range byThread {
		if n := int64(len(view[systemRow](t, r.session, "events", "--thread", name))); n != want.Count {
			t.Errorf("of thread %s %d events, want %d", name, n, want.Count)
		}
	}
	waits := 0
	for i := range rows {
		if rows[i].function() == "SystemEvents.Work.Wait" {
			waits++
		}
	}
	if n := len(view[systemRow](t, r.session, "events", "--function", "SystemEvents.Work.Wait")); n != waits {
		t.Errorf("of Wait %d events, want %d", n, waits)
	}
}

// TestSystemEventsLimit: what has no room is counted, and the sums have it.
func TestSystemEventsLimit(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	r, rows := recordEvents(t, in.Newest(), "--time", "--events", "sched", "--event-limit", "10")
	lost := query[struct {
		Events int64 `json:"events"`
	}](t, r.session, `SELECT events FROM loss WHERE reason = 'system_events_lost'`)
	intervals := query[struct {
		N int64 `json:"n"`
	}](t, r.session, `SELECT sum(wait_intervals) AS n FROM timing_value`)[0].N
	if len(rows) != 10 || len(lost) != 1 || lost[0].Events < intervals-10 {
		t.Errorf("%d events, lost %+v of %d intervals", len(rows), lost, intervals)
	}
	_, rows = recordEvents(t, in.Newest(), "--time")
	if len(rows) != 0 {
		t.Errorf("%d events that nobody asked for", len(rows))
	}
}
