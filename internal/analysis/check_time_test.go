package analysis

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/differ"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

func TestCheckAcceptsRandomTimes(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		s := open(rt, sessiontest.RandomTimes(rapid.Uint64().Draw(rt, "seed")), filepath.Join(dir, "a"))
		defer s.Close()
		found, err := Check(s)
		if err != nil || len(found) != 0 {
			rt.Fatal(found, err)
		}
	})
}

// TestCheckFindsTimes breaks one thing at a time of what a session says of times.
func TestCheckFindsTimes(t *testing.T) {
	b := sessiontest.Timed()
	b.Process("Other", 4344)
	breakOneThing(t, b, []breakage{
		{"references", "UPDATE timing SET thread_id = 99 WHERE id = 1"},
		{"references", "UPDATE timing SET node_id = 0 WHERE id = 1"},
		{"references", "UPDATE timing_value SET timing_id = 999 WHERE timing_id = 1"},
		{"references", "UPDATE timing_value SET timing_id = 0 WHERE timing_id = 2"},
		{"references", "UPDATE timing_value SET slice_id = 0 WHERE slice_id = 1"},
		{"references", "UPDATE timing_extreme SET timing_id = 999 WHERE timing_id = (SELECT max(timing_id) FROM " +
			"timing_extreme)"},
		{"references", "UPDATE timing_running SET timing_id = 0 WHERE timing_id = (SELECT max(timing_id) FROM " +
			"timing_running)"},
		{"references", "DELETE FROM process_time"},
		{"references", "INSERT INTO process_time SELECT 9, clock, ticks_per_second, instrument, mechanism, gap_ns, " +
			"inside_ns, outside_ns, cold_inside_ns, cold_outside_ns, agent_time_ns, ready_measured, probes, uncertain_ns, " +
			"gc_pauses, gc_paused_ns, gc_longest_ns, measured, least_ns, most_ns, first_inside_ns, first_outside_ns " +
			"FROM process_time"},
		{"owners", "UPDATE thread SET process_id = 2 WHERE id = 1"},
		{"timings", "UPDATE process_time SET inside_ns = -1"},
		{"timings", "UPDATE process_time SET ticks_per_second = 0"},
		{"timings", "UPDATE process_time SET measured = 1, least_ns = 2, most_ns = 1"},
		{"timings", "UPDATE timing SET node_id = (SELECT node_id FROM timing WHERE id = 1)"},
		{"timings", "UPDATE timing_value SET waited_ns = elapsed_ns + 1"},
		{"timings", "UPDATE timing_value SET faults = -1"},
		{"calls", "UPDATE timing_value SET calls = calls + 1 WHERE calls > 0"},
		{"calls", "UPDATE timing_value SET ended = ended - 1 WHERE ended > 0 AND slice_id = 1"},
		{"calls", "UPDATE timing_value SET made = made + 2 WHERE made > 0"},
		{"calls", "UPDATE timing_value SET calls = 1, ended = 1 WHERE made > 0"},
		{"calls", "UPDATE timing_running SET calls = calls + 1"},
		{"calls", "UPDATE timing_running SET calls = 0"},
		{"calls", "UPDATE timing_running SET elapsed_ns = 400000000 WHERE elapsed_ns > 0"},
		{"calls", "DELETE FROM timing_running"},
		{"calls", "DELETE FROM timing_extreme"},
		{"calls", "UPDATE node SET parent_id = 1 WHERE id = (SELECT max(node_id) FROM timing)"},
		{"times", "UPDATE timing_value SET elapsed_ns = -1000 WHERE timing_id = 1"},
		{"extremes", "UPDATE timing_extreme SET min_elapsed_inclusive_ns = max_elapsed_inclusive_ns + 1"},
		{"extremes", "UPDATE timing_extreme SET max_elapsed_inclusive_ns = max_elapsed_inclusive_ns / 2, " +
			"min_elapsed_inclusive_ns = 0"},
		{"extremes", "UPDATE timing_extreme SET min_elapsed_exclusive_ns = 2 * min_elapsed_exclusive_ns, " +
			"max_elapsed_exclusive_ns = 2 * max_elapsed_exclusive_ns"},
		{"extremes", "UPDATE timing_extreme SET max_application_inclusive_ns = max_elapsed_inclusive_ns + 1"},
		{"extremes", "UPDATE timing_extreme SET min_application_exclusive_ns = 0, max_application_exclusive_ns = 0"},
		{"extremes", "UPDATE timing_value SET elapsed_ns = 2 * elapsed_ns"},
		{"stored", "UPDATE timing_value SET off_cpu_ns = 7"},
		{"stored", "UPDATE process_time SET outside_ns = outside_ns + 1"},
		{"stored", "UPDATE path_time SET running = 7 WHERE id = 1"},
		{"stored", "UPDATE call_time SET max_elapsed_inclusive = 7"},
		{"stored", "UPDATE function_time SET application_exclusive = application_exclusive + 1"},
		{"stored", "UPDATE module_time SET nodes_elapsed_inclusive = 7"},
		{"stored", "DELETE FROM line_time WHERE line_id = 0"},
		{"stored", "UPDATE instruction_time SET overhead_exclusive = 7"},
		{"stored", "UPDATE thread_time SET calls = calls + 1"},
		{"stored", "UPDATE process_time_value SET wait_intervals_inclusive = 7"},
	})
}

// TestCheckFindsCountedTwice: a folded call within another one of the same function must not be added once more.
func TestCheckFindsCountedTwice(t *testing.T) {
	for _, c := range []struct {
		which string
		of    func(pair bool) bool
		want  int
	}{{"none", func(bool) bool { return false }, 0}, {"function", func(pair bool) bool { return !pair }, 1},
		{"pair", func(pair bool) bool { return pair }, 1}} {
		b := sessiontest.New()
		b.Info[session.KeyMode] = session.ModeTime
		p := b.Process("Clock", 4343)
		b.Timed(p, 10, 20)
		app := b.Module(p, "Clock.dll", true)
		main := b.Function(app, "Clock.Program.Main()", "/src/Clock.cs", 5)
		work := b.Function(app, "Clock.Program.Work()", "/src/Clock.cs", 20)
		b.Run(b.Thread(p, "main")).Call(0, main, sessiontest.Interval{}).
			Fold(work, sessiontest.Interval{Elapsed: 1_000}, sessiontest.Interval{Elapsed: 500_000}).
			End(sessiontest.Interval{Elapsed: 1_000})
		for i := range b.TimingInclusives {
			v := &b.TimingInclusives[i]
			if folded := b.Nodes[b.Timings[v.Timing-1].Node-1].Function; folded == work && c.of(v.EachCalls != 0) {
				v.Elapsed *= 2
			}
		}
		s := open(t, b, filepath.Join(t.TempDir(), "a"))
		found, err := Check(s)
		s.Close()
		if err != nil || len(found) != c.want {
			t.Errorf("%s counted twice: found %v, %v, wanted %d", c.which, found, err, c.want)
		}
	}
}

// TestCheckAllowsWhatWasCut: a thread that was executing when its process was killed may have counted half of an event.
func TestCheckAllowsWhatWasCut(t *testing.T) {
	for _, c := range []struct {
		state       string
		calls, want int
	}{{session.EndDied, 1, 0}, {session.EndDied, 2, 1}, {session.EndRunning, 5, 0}} {
		b := sessiontest.Timed()
		b.Processes[0].EndState = c.state
		for range c.calls { // begun, and not noted as running
			for i := range b.TimingValues {
				if b.TimingValues[i].Calls > 0 && b.Timings[b.TimingValues[i].Timing-1].Node == 1 {
					b.TimingValues[i].Calls++
				}
			}
		}
		s := open(t, b, filepath.Join(t.TempDir(), "a"))
		found, err := Check(s)
		if err != nil || len(found) != c.want {
			t.Errorf("%s with %d more: %v %v", c.state, c.calls, found, err)
		}
		s.Close()
	}
}

// TestTimesStoredEqualComputed reads a session once from its stored tables and once, as if its writer had been killed,
// by computing.
func TestTimesStoredEqualComputed(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64().Draw(rt, "seed")
		complete := open(rt, sessiontest.RandomTimes(seed), filepath.Join(dir, "a"))
		defer complete.Close()
		path := filepath.Join(dir, "b")
		os.Remove(path)
		if err := sessiontest.RandomTimes(seed).Write(path); err != nil {
			rt.Fatal(err)
		}
		resolved, err := session.Open(path)
		if err != nil {
			rt.Fatal(err)
		}
		defer resolved.Close()
		if diff := differ.Of(allTimes(rt, complete), allTimes(rt, resolved), cmpopts.EquateEmpty()); diff != "" {
			rt.Errorf("(-stored +computed):\n%s", diff)
		}
	})
}

// allTimes reads all times that a Source has.
func allTimes(t *rapid.T, s *session.Session) []any {
	v, err := Open(s, Selection{})
	if err != nil {
		t.Fatal(err)
	}
	out := everything(t, s)
	add := func(rows any, err error) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, rows)
	}
	add(v.ProcessesTimed())
	add(v.TotalTime())
	add(v.FunctionTimes())
	add(v.ModuleTimes())
	add(v.LineTimes())
	add(v.InstructionTimes())
	add(v.ThreadTimes())
	add(v.UserTimes())
	add(v.ProcessTimes())
	add(v.CallTimes())
	paths, err := v.PathTimes()
	add(paths, err)
	add(v.PathTimeChildren(0))
	for _, p := range paths {
		add(v.PathTimeChildren(p.ID))
	}
	add(v.Range("M0"))
	return out
}
