package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// startMeters starts to record the target Meters and waits until it reads.
func (s *sandbox) startMeters(r dotnettest.Runtime, flags ...string) *steps {
	s.t.Helper()
	x := &steps{session: filepath.Join(s.root, "meters.clrprof")}
	args := append([]string{"run", "--no-report", "-f", "-o", x.session}, flags...)
	s.env = append(s.env, "DOTNET_ROOT="+r.Root)
	x.process = s.start(append(append(args, "--"),
		r.Args(dotnettest.Target(s.t, "Meters", dotnettest.Options{}))...)...)
	x.expect("ready")
	if _, err := fmt.Sscan(x.line(), &x.pid); err != nil {
		s.t.Fatal(err)
	}
	return x
}

// eachMeters records the target Meters on each runtime that is sampled, and calls fn when it reads.
func eachMeters(t *testing.T, fn func(t *testing.T, x *steps), flags ...string) {
	for _, r := range dotnettest.NeedRuntimes(t, 8) {
		t.Run(r.Name, func(t *testing.T) { fn(t, newSandbox(t).startMeters(r, flags...)) })
	}
}

// line is the next one that the target prints.
func (x *steps) line() string {
	x.t.Helper()
	if !x.lines.Scan() {
		x.t.Fatal("the target says nothing more")
	}
	return x.lines.Text()
}

// lastValues are what the counters said last, by name and tags.
func lastValues(t *testing.T, session string) map[string]float64 {
	t.Helper()
	out := map[string]float64{}
	for _, row := range query[struct {
		Name, Tags string
		Value      float64
	}](t, session, "SELECT name, tags, value FROM counters ORDER BY time_ns") {
		if row.Tags != "" {
			row.Name += "{" + row.Tags + "}"
		}
		out[row.Name] = row.Value
	}
	return out
}

// awaitCounters waits until each of these counters has a value.
func (x *steps) awaitCounters(names ...string) {
	x.t.Helper()
	await(x.t, "a sample", func() bool {
		have := lastValues(x.t, x.session)
		for _, name := range names {
			if _, there := have[name]; !there {
				return false
			}
		}
		return true
	})
}

// missingCounters are the reasons for which counters have no values, by name.
func missingCounters(t *testing.T, session string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, row := range printed[struct{ Name, Why string }](t, "counters", session, "--missing", "--json") {
		out[row.Name] = row.Why
	}
	return out
}

// TestMeters: what a program counts by an event source comes out exactly, on each runtime that is sampled.
func TestMeters(t *testing.T) {
	t.Parallel()
	eachMeters(t, func(t *testing.T, x *steps) {
		want := map[string]float64{"Shop.Events/orders": 21, "Shop.Events/refunded": 1.25, "Shop.Events/queue": -2.25,
			"Shop.Events/took": 3.5, "Shop.Events/took.count": 4, "Shop.Events/took.min": 3.5,
			"Shop.Events/took.max": 3.5}
		x.awaitCounters("Shop.Events/queue", "Shop.Events/orders")
		for _, step := range []string{"orders 7", "refund 1.25", "queue -2.25", "took 1 2 3.5"} {
			x.do(step)
		}
		await(t, "the first times", func() bool { return lastValues(t, x.session)["Shop.Events/took.count"] == 3 })
		x.do("took 3.5")
		await(t, "the last time", func() bool { return lastValues(t, x.session)["Shop.Events/took.count"] == 4 })
		x.finish()
		checkSession(t, x.session)
		have := lastValues(t, x.session)
		for name, value := range want {
			if have[name] != value {
				t.Errorf("%s: %v, want %v", name, have[name], value)
			}
		}
		missing := missingCounters(t, x.session)
		if !strings.Contains(missing["Nobody"], "exactly this name") || missing["Shop.Events"] != "" {
			t.Errorf("missing: %q", missing)
		}
		last := map[string]counted{}
		for _, c := range printed[counted](t, "counters", x.session, "--json") {
			last[c.Name] = c
		}
		for _, want := range []counted{{"Shop.Events/took", "ms", "level", 3.5, x.pid},
			{"Shop.Events/orders", "count", "sum", 21, x.pid}} {
			if last[want.Name] != want {
				t.Errorf("%+v, want %+v", last[want.Name], want)
			}
		}
	}, "--memory", "--sample-counters", "100", "--meter", "Shop.Events", "--meter", "Nobody")
}

// counted is a row of clrprof counters SESSION.
type counted struct {
	Name, Unit, Kind string
	Value            float64
	ProcessID        int `json:"process_id"`
}

// TestMetersOfRuntime: what the runtime counts of itself is
// what the program did; objects and their lifetimes are recorded at the same time, for which the agent has sessions
// of its own.
func TestMetersOfRuntime(t *testing.T) {
	t.Parallel()
	for _, r := range dotnettest.NeedRuntimes(t, 8) {
		t.Run(r.Name, func(t *testing.T) {
			s := newSandbox(t)
			x := s.startMeters(r, "--sample-counters", "100", "--meter", "System.Runtime")
			const exceptions, contended = "System.Runtime/exception-count", "System.Runtime/monitor-lock-contention-count"
			sampled := func() bool {
				have := lastValues(t, x.session)
				_, ok := have[exceptions]
				_, pool := have["System.Runtime/threadpool-thread-count"]
				return ok && pool
			}
			await(t, "a sample", sampled)
			x.do("throw 17")
			x.do("contend 5")
			await(t, "what was done", func() bool {
				have := lastValues(t, x.session)
				return have[exceptions] >= 17 && have[contended] >= 5
			})
			x.tell("end")
			var all float64 // the runtime's own, too
			if _, err := fmt.Sscan(x.line(), &all); err != nil {
				t.Fatal(err)
			}
			if end := x.wait(); end.exit != 0 {
				t.Fatalf("exit code %d: %s", end.exit, end.stderr)
			}
			checkSession(t, x.session)
			have := lastValues(t, x.session)
			if n := have[contended]; have[exceptions] != 17 || n < 5 || n > all {
				t.Errorf("%v exceptions, %v contentions of %v", have[exceptions], n, all)
			}
			for _, name := range []string{"System.Runtime/gc-heap-size", "System.Runtime/threadpool-queue-length",
				"System.Runtime/assembly-count"} {
				if _, ok := have[name]; !ok {
					t.Errorf("%s is missing of %v", name, have)
				}
			}
		})
	}
}

// sessionsOf is how many sessions a process has, by the threads that send their events.
func sessionsOf(t *testing.T, pid int) int {
	t.Helper()
	names, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/comm", pid))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, name := range names {
		if text, err := os.ReadFile(name); err == nil && strings.TrimSpace(string(text)) == ".NET EventPipe" {
			n++
		}
	}
	return n
}

// TestMetersSilent: an event source that is asked for between its making and that of its counters forgets it, and is
// asked again; what two sessions tell counts once.
func TestMetersSilent(t *testing.T) {
	t.Parallel()
	eachMeters(t, func(t *testing.T, x *steps) {
		before := sessionsOf(t, x.pid)
		x.do("late 5")
		await(t, "another session", func() bool { return sessionsOf(t, x.pid) > max(before, 1) })
		x.do("its counters") // which is "done" after the source is there
		x.awaitCounters("Shop.Late/late", "Shop.Events/orders")
		t.Log(sessionsOf(t, x.pid), "sessions")
		for range 4 {
			x.do("orders 1")
		}
		await(t, "the orders", func() bool { return lastValues(t, x.session)["Shop.Events/orders"] >= 12 })
		x.finish()
		if have := lastValues(t, x.session); have["Shop.Events/orders"] != 12 {
			t.Errorf("%v", have)
		}
	}, "--memory", "--sample-counters", "100", "--meter", "Shop.Late", "--meter", "Shop.Events")
}

// TestMetersAtEnd: programs that end while they are sampled for the first time end.
func TestMetersAtEnd(t *testing.T) {
	t.Parallel()
	for _, r := range dotnettest.NeedRuntimes(t, 8) {
		t.Run(r.Name, func(t *testing.T) {
			for i := range 4 {
				s := newSandbox(t)
				x := s.startMeters(r, "--sample-counters", "100", "--meter", "Shop.Events", "--meter", "System.Runtime")
				for range i {
					x.do("throw 1000") // some milliseconds
				}
				x.finish()
			}
		})
	}
}

// TestMetersUnreachable: why nothing can be sampled is said in one line, and the program is recorded all the same.
func TestMetersUnreachable(t *testing.T) {
	t.Parallel()
	r := dotnettest.NeedRuntimes(t, 8)[0]
	s := newSandbox(t)
	s.env = append(s.env, "DOTNET_EnableDiagnostics_IPC=0")
	x := s.startMeters(r, "--memory", "--sample-counters", "100", "--meter", "Shop.Events")
	x.do("orders 1")
	await(t, "the loss", func() bool { // of a program that ends before it is asked nothing would be known
		return len(query[struct{ Reason string }](t, x.session, "SELECT reason FROM loss")) > 0
	})
	x.finish()
	missing := missingCounters(t, x.session)
	if why := missing["Shop.Events"]; !strings.Contains(why, fmt.Sprintf("process %d: no diagnostics socket", x.pid)) ||
		!strings.Contains(why, "DOTNET_EnableDiagnostics_IPC=0") || strings.Contains(why, "\n") {
		t.Errorf("missing: %q", missing)
	}
	lost := query[struct{ Reason string }](t, x.session, "SELECT reason FROM loss")
	if len(lost) != 1 || lost[0].Reason != "counters_lost" {
		t.Errorf("lost: %v", lost)
	}
}

// TestMetersOfOldRuntime: .NET Core 3.1 is not asked, and that is said.
func TestMetersOfOldRuntime(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	x := s.startMeters(dotnettest.Guest(t), "--memory", "--sample-counters", "100", "--meter", "System.Runtime")
	x.do("orders 1")
	x.finish()
	if why := missingCounters(t, x.session)["System.Runtime"]; !strings.Contains(why,
		"programs on .NET Core 3.1 can then hang") {
		t.Errorf("missing: %q", why)
	}
}

// TestMetersRefused: what cannot be a name is refused before the command starts, or a process is looked at.
func TestMetersRefused(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--meter", "A;B"}, {"--meter", "/A/"}, {"--meter", ""}, {"--meter", "A",
		"--sample-counters", "0"}} {
		for _, command := range [][]string{append(append([]string{"run"}, args...), "--", "/bin/true"),
			append([]string{"attach", "1"}, args...)} {
			if r := run(t, command...); r.exit != 120 || !strings.Contains(r.stderr, "--meter") {
				t.Errorf("%q: exit code %d: %s", command, r.exit, r.stderr)
			}
		}
	}
}
