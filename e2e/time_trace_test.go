package e2e

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/capture/steer"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
	"github.com/clrprof/clrprof/internal/wire"
)

// tracedEvent is a line of a call trace as CSV.
type tracedEvent struct {
	at                          int64
	event, function, text       string
	thread, threadName, process string
	depth                       int
}

// readTrace reads a call trace as CSV.
func readTrace(t *testing.T, path string) []tracedEvent {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil || len(rows) == 0 {
		t.Fatalf("%s: %d lines: %v", path, len(rows), err)
	}
	want := []string{"Time", "Event", "Function Name", "Module Name", "Depth", "Thread ID", "Thread Name", "Process ID",
		"Process Name", "Text", ""}
	if d := cmp.Diff(want, rows[0]); d != "" {
		t.Fatalf("titles (-want +have)\n%s", d)
	}
	var out []tracedEvent
	for _, r := range rows[1:] {
		e := tracedEvent{event: r[1], function: r[2], text: r[9], thread: r[5], threadName: r[6], process: r[7]}
		if e.event == "Lost" && r[0] == "" {
			continue // the last line of one that is full
		}
		if e.at, err = strconv.ParseInt(r[0], 10, 64); err != nil {
			t.Fatal(err)
		}
		e.depth, _ = strconv.Atoi(r[4])
		if n := len(out); n > 0 && e.at < out[n-1].at {
			t.Fatalf("line %d is of %d, after one of %d", n+2, e.at, out[n-1].at)
		}
		out = append(out, e)
	}
	return out
}

// sequences are the events of each thread of a TimeSequence, in the words of the program, by its name.
func sequences(events []tracedEvent) map[string]string {
	out := map[string]*strings.Builder{}
	for _, e := range events {
		if !strings.HasPrefix(e.threadName, "walker ") {
			continue
		}
		b := out[e.threadName]
		if b == nil {
			b = &strings.Builder{}
			out[e.threadName] = b
		}
		name, _, _ := strings.Cut(e.function, "(")
		name, isWalk := strings.CutPrefix(name, "TimeSequence.Walk.Do")
		switch {
		case e.event == "Enter" && isWalk:
			b.WriteString(" +Do" + name)
		case e.event == "Exit" && isWalk:
			b.WriteString(" -Do" + name)
		case e.event == "Exception" && e.text == "System.InvalidOperationException":
			b.WriteString(" throw")
		case e.event == "Catch" && isWalk:
			b.WriteString(" catch")
		}
	}
	sequences := map[string]string{}
	for name, b := range out {
		sequences[name] = b.String()
	}
	return sequences
}

// reportedSequences are those that a TimeSequence knows itself.
func reportedSequences(output string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(output) {
		if name, events, ok := strings.Cut(strings.TrimSuffix(line, "\n"), ":"); ok {
			out[name] += events // in several lines
		}
	}
	return out
}

// tracedCall is a call of a trace that has not ended.
type tracedCall struct {
	function string
	at       int64
}

// tracedFunction is what a trace has of a function.
type tracedFunction struct{ calls, elapsed int64 }

// checkNesting replays the calls of each thread and returns what the functions took: the time of a call within another
// one of the same function is part of that.
func checkNesting(t *testing.T, events []tracedEvent, complete bool) map[string]tracedFunction {
	t.Helper()
	open, sums := map[string][]tracedCall{}, map[string]tracedFunction{}
	for i, e := range events {
		key := e.process + "/" + e.thread
		stack := open[key]
		sum := sums[e.function]
		switch e.event {
		case "Enter":
			if e.depth != len(stack)+1 {
				t.Fatalf("line %d: %s begins at depth %d, where %d calls are open", i+2, e.function, e.depth, len(stack))
			}
			open[key] = append(stack, tracedCall{e.function, e.at})
			sum.calls++
		case "Exit":
			if len(stack) != e.depth || stack[len(stack)-1].function != e.function {
				t.Fatalf("line %d: %s ends at depth %d, where these are open: %v", i+2, e.function, e.depth, stack)
			}
			last := stack[len(stack)-1]
			open[key] = stack[:len(stack)-1]
			if !slices.ContainsFunc(open[key], func(c tracedCall) bool { return c.function == e.function }) {
				sum.elapsed += e.at - last.at
			}
		default:
			continue
		}
		sums[e.function] = sum
	}
	for key, stack := range open {
		if complete && len(stack) > 0 {
			t.Errorf("thread %s: %v have not ended", key, stack)
		}
	}
	return sums
}

// compareTraced compares the functions of a trace with those of its session: the calls are the same, and so is the time
// with all that they called, but for what the agent took for itself in it, which the session leaves out. Each time that
// is read off a clock is rounded to nanoseconds.
func compareTraced(t *testing.T, path string, have map[string]tracedFunction) {
	t.Helper()
	own := query[struct{ Own int64 }](t, path, "SELECT sum(agent_time_ns) AS own FROM process_time")[0].Own
	want := map[string]bool{}
	for _, f := range query[struct {
		Name           string
		Calls, Elapsed int64
	}](t, path, `SELECT f.name, sum(v.calls) AS calls, sum(v.elapsed_inclusive + v.overhead_inclusive) AS elapsed
		FROM function_time v JOIN function f ON f.id = v.function_id GROUP BY v.function_id HAVING sum(v.calls) > 0`) {
		x := have[f.Name]
		want[f.Name] = true
		if x.calls != f.Calls {
			t.Errorf("%s: %d calls in the trace, %d in the session", f.Name, x.calls, f.Calls)
		}
		if rounding := 2*f.Calls + 2; x.elapsed < f.Elapsed-rounding || x.elapsed > f.Elapsed+own+rounding {
			t.Errorf("%s: %d ns in %d calls of the trace, %d in the session, and %d of the agent in all", f.Name, x.elapsed,
				x.calls, f.Elapsed, own)
		}
	}
	for name := range have {
		if !want[name] {
			t.Errorf("the session does not know %s", name)
		}
	}
}

// TestTrace: the events of each thread are what the program knows of them, in its order, whatever the runtime makes of
// the code and however calls are seen. Calls and times are those of the session.
func TestTrace(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	for i, w := range []way{timeTiered, timeHurried} {
		for k, runtime := range in.InTurn(i) {
			flags := [][]string{timeOnly, boundaryHooks, {"--time", "--instrument", "mine"}}[(i+k)%3]
			t.Run(w.name+"/"+runtime.Name+"/"+flags[len(flags)-1], func(t *testing.T) {
				t.Parallel()
				cmd := runtime.Command(dotnettest.Target(t, "TimeSequence", w.options), "4", "2000")
				cmd.Env = append(cmd.Env, w.env...)
				file := filepath.Join(t.TempDir(), "t.csv")
				r := mustRecordTime(t, cmd, append(flags, "--trace", file)...)
				if d := cmp.Diff(reportedSequences(r.stdout), sequences(readTrace(t, file))); d != "" {
					t.Errorf("sequences (-want +have)\n%.3000s", d)
				}
				compareTraced(t, r.session, checkNesting(t, readTrace(t, file), true))
			})
		}
	}
}

// TestTraceTails: a call by tail. is on the trace like any other one.
func TestTraceTails(t *testing.T) {
	t.Parallel()
	runtime := dotnettest.NeedRuntimes(t, 8)[0]
	dll := dotnettest.Target(t, "TimeTails", dotnettest.Options{Framework: dotnettest.Net8})
	file := filepath.Join(t.TempDir(), "t.csv")
	r := recordOnce(t, runtime.Command(dll, "6000", itoa(tailStack), itoa(tailLevels)), "--trace", file, "--instrument", "mine")
	if r.exit != 0 {
		t.Fatalf("exit code %d\n%s%s", r.exit, r.stdout, r.stderr)
	}
	soundTime(t, r.session)
	compareTraced(t, r.session, checkNesting(t, readTrace(t, file), true))
}

// chromeEvent is an event of a call trace as JSON.
type chromeEvent struct {
	Phase    string   `json:"ph"`
	PID, TID *int64   `json:",omitempty"`
	Time     *float64 `json:"ts"`
	Took     float64  `json:"dur"`
	Name     string
	Scope    string `json:"s"`
	Args     map[string]any
}

// chromeTrace is a call trace as JSON.
type chromeTrace struct {
	Events []chromeEvent `json:"traceEvents"`
	Other  struct {
		Events, Limit, Memory, Collections, Open, System, SystemLost int64
	} `json:"-"`
	OtherData map[string]any `json:"otherData"`
}

// readChrome reads a trace and checks the rules of the format: each event has a phase, a process and a thread, and a
// time but for metadata; of each thread, each E ends the B before it.
func readChrome(t *testing.T, path string) chromeTrace {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out chromeTrace
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	number := func(key string) int64 { n, _ := out.OtherData[key].(float64); return int64(n) }
	out.Other.Events, out.Other.Limit = number("events"), number("lost_limit")
	out.Other.Memory, out.Other.Open = number("lost_memory"), number("calls_not_ended")
	out.Other.Collections = number("lost_collections")
	out.Other.System, out.Other.SystemLost = number("system_events"), number("lost_system_events")
	depth, last := map[string]int64{}, map[string]float64{}
	open, system := int64(0), int64(0)
	for i, e := range out.Events {
		if e.PID == nil || e.TID == nil || (e.Time == nil) != (e.Phase == "M") || (e.Name == "") != (e.Phase == "E") {
			t.Fatalf("event %d: %+v", i, e)
		}
		key := fmt.Sprint(*e.PID, "/", *e.TID)
		if e.Time != nil && *e.Time < last[key] {
			t.Fatalf("event %d goes back: %+v", i, e)
		} else if e.Time != nil {
			last[key] = *e.Time
		}
		switch e.Phase {
		case "B":
			depth[key]++
		case "E":
			if depth[key]--; depth[key] < 0 {
				t.Fatalf("event %d ends what has not begun: %+v", i, e)
			}
		case "i":
			if !slices.Contains([]string{"g", "p", "t"}, e.Scope) {
				t.Fatalf("event %d: %+v", i, e)
			}
		case "X":
			system++
		case "M":
		default:
			t.Fatalf("event %d: %+v", i, e)
		}
	}
	for _, n := range depth {
		open += n
	}
	if system != out.Other.System {
		t.Errorf("the operating system acted %d times, and the trace says %d", system, out.Other.System)
	}
	if open != out.Other.Open {
		t.Errorf("%d calls have not ended, and the trace says %d", open, out.Other.Open)
	}
	return out
}

// TestTraceLimit: a trace that is full ends, and one whose events come too fast has gaps. What is there and what is
// lost is all that was, to the last event, and what is there is well-formed.
func TestTraceLimit(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	for _, tt := range []struct {
		name  string
		flags []string
	}{
		{"limit", []string{"--trace-limit", "64K"}},
		{"ring", []string{"--trace-limit", "128K:ring"}},
		{"memory", []string{"--memory-limit", "6M"}}, // the rewriting of IL has 2 MiB of it
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "t.json")
			cmd := in.Newest().Command(dotnettest.Target(t, "TimeSequence", dotnettest.Options{}), "4", "20000")
			r := recordOnce(t, cmd, append([]string{"--trace", file, "--instrument", "mine"}, tt.flags...)...)
			if r.exit != 0 {
				t.Fatalf("exit code %d\n%s", r.exit, r.stderr)
			}
			soundTime(t, r.session)
			trace := readChrome(t, file)
			calls := query[struct{ Calls int64 }](t, r.session, "SELECT sum(calls) AS calls FROM function_time")[0].Calls
			want := 2*calls + int64(strings.Count(r.stdout, " throw")+strings.Count(r.stdout, " catch"))
			if n := trace.Other.Events + trace.Other.Limit + trace.Other.Memory; n != want {
				t.Errorf("%d events in the trace and %d + %d lost, want %d", trace.Other.Events, trace.Other.Limit,
					trace.Other.Memory, want)
			}
			lost := losses(t, r.session)[session.LossTrace].Events
			if o := trace.Other; lost != o.Limit+o.Memory+o.Collections {
				t.Errorf("the session has %d lost events, the trace %d + %d + %d", lost, o.Limit, o.Memory, o.Collections)
			}
			if tt.name == "limit" && trace.Other.Events != 64<<10/16 {
				t.Errorf("%d events, want all that there is room for", trace.Other.Events)
			}
			if tt.name == "limit" && !strings.Contains(r.stderr, "the trace ends at its limit") {
				t.Errorf("nothing says what is lost: %s", r.stderr)
			}
			if o := trace.Other; tt.name == "ring" && (o.Events > 2*wire.TraceChunkEvents || o.Limit == 0 ||
				trace.OtherData["keeps"] != "last" || !strings.Contains(r.stderr, "the trace has only the last events")) {
				t.Errorf("%+v, and it is said: %s", o, r.stderr)
			}
		})
	}
}

// TestTraceRing: what is kept of each thread are its last events, and how many there were before is said.
func TestTraceRing(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	file := filepath.Join(t.TempDir(), "t.csv")
	cmd := in.NewestAndOldest()[0].Command(dotnettest.Target(t, "TimeSequence", dotnettest.Options{}), "4", "20000")
	r := recordOnce(t, cmd, "--trace", file, "--trace-limit", "512K:ring", "--instrument", "mine")
	if r.exit != 0 {
		t.Fatalf("exit code %d\n%s", r.exit, r.stderr)
	}
	events := readTrace(t, file)
	reported, kept, lost := reportedSequences(r.stdout), sequences(events), 0
	for name, have := range kept {
		if want, ok := reported[name]; !ok || have == "" || !strings.HasSuffix(want, have) {
			t.Errorf("%s ends with %.300s, the trace with %.300s", name, want[max(0, len(want)-len(have)):], have)
		}
	}
	for _, e := range events {
		if n, _, ok := strings.Cut(e.text, " events of the thread before this one"); ok && e.event == "Lost" {
			before, err := strconv.Atoi(n)
			if err != nil {
				t.Fatal(err)
			}
			lost += before
		}
	}
	if n := losses(t, r.session)[session.LossTrace].Events; len(kept) == 0 || int64(lost) > n || lost == 0 {
		t.Errorf("%d threads are in the trace, %d events before these, %d lost in all", len(kept), lost, n)
	}
	checkEndless(t, events)
}

// checkEndless: of each thread calls nest that have begun in the trace.
func checkEndless(t *testing.T, events []tracedEvent) {
	t.Helper()
	open := map[string][]tracedCall{}
	for i, e := range events {
		key := e.process + "/" + e.thread
		stack := open[key]
		switch {
		case e.event == "Enter":
			open[key] = append(stack, tracedCall{e.function, e.at})
		case e.event == "Exit" && len(stack) > 0:
			if last := stack[len(stack)-1]; last.function != e.function {
				t.Fatalf("line %d: %s ends where %v are open", i+2, e.function, stack)
			}
			open[key] = stack[:len(stack)-1]
		}
	}
}

// checkTraceStatus: what ctl says of a trace that is being recorded.
func checkTraceStatus(t *testing.T, s *sandbox, fill string) {
	t.Helper()
	r := s.run("ctl", "s.clrprof", "status")
	for _, want := range []string{"\nTrace:     ", fill, "\n  buffers: log ", ", own_tables "} {
		if r.exit != 0 || !strings.Contains(r.stdout, want) {
			t.Errorf("ctl status, exit code %d, has no %q: %s%s", r.exit, want, r.stdout, r.stderr)
		}
	}
	var status steer.Report
	if err := json.Unmarshal([]byte(s.run("ctl", "s.clrprof", "status", "--json").stdout), &status); err != nil {
		t.Fatal(err)
	}
	if x := status.Trace; x == nil || x.Events > x.Limit || len(status.Processes) != 1 {
		t.Fatalf("%+v", status)
	}
	used := int64(0)
	for _, b := range status.Processes[0].Buffers {
		if used += b.Used; b.Name == "" || b.Used > b.Limit || b.Limit == 0 {
			t.Errorf("buffer %+v", b)
		}
	}
	if p := status.Processes[0]; used == 0 || used > p.Used {
		t.Errorf("%d bytes in buffers, and %d that the agent uses", used, p.Used)
	}
}

// TestTraceKilled: of a target that is killed all events are there that were, and of a clrprof that is killed, too,
// when recover has put them together.
func TestTraceKilled(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	for i, recover := range []bool{false, true} {
		runtime := in.NewestAndOldest()[i%len(in.NewestAndOldest())]
		t.Run(fmt.Sprintf("%s/recover %t", runtime.Name, recover), func(t *testing.T) {
			s := newSandbox(t)
			p := s.start(append([]string{"run", "-o", "s.clrprof", "--trace", "t.csv", "--no-report", "--"},
				s.target(runtime, "TimeSequence", "2", "20000", "wait")...)...)
			for p.lines.Scan() && p.lines.Text() != "end" {
				continue
			}
			output := p.stdout.String()
			target := s.dotnet()
			checkTraceStatus(t, s, " of 67,108,864")
			if recover {
				p.signal(unix.SIGKILL)
				<-p.ended
			}
			if err := unix.Kill(target, unix.SIGKILL); err != nil {
				t.Fatal(err)
			}
			if recover {
				left := filepath.Join(s.shm, list(t, s.shm)[0])
				await(t, "the target is gone", func() bool { return unix.Kill(target, 0) != nil })
				r := s.run("recover", left, "-o", "r.clrprof")
				if r.exit != 0 || !strings.Contains(r.stderr, "trace ") {
					t.Errorf("exit code %d: %s", r.exit, r.stderr)
				}
			} else if r := p.wait(); !strings.Contains(r.stderr, "trace t.csv: ") {
				t.Errorf("exit code %d: %s", r.exit, r.stderr)
			}
			events := readTrace(t, filepath.Join(s.out, "t.csv"))
			if d := cmp.Diff(reportedSequences(output), sequences(events)); d != "" {
				t.Errorf("sequences (-want +have)\n%.3000s", d)
			}
			checkNesting(t, events, false)
			if _, err := os.Stat(filepath.Join(s.out, "t.csv.events")); err == nil {
				t.Error("the file of events is still there")
			}
		})
	}
}
