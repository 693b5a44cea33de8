package e2e

import (
	"errors"
	"flag"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/capture/probes"
	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
	"github.com/clrprof/clrprof/internal/wire"
)

// startServed starts Served, a service that knows its calls.
func (s *sandbox) startServed(runtime dotnettest.Runtime, ways ...way) *service {
	s.t.Helper()
	options := dotnettest.Options{}
	for _, w := range ways {
		s.env, options = append(s.env, w.env...), w.options
	}
	return s.startSpoken(runtime, dotnettest.Target(s.t, "Served", options))
}

// startSpoken starts a program that speaks as Steps does.
func (s *sandbox) startSpoken(runtime dotnettest.Runtime, dll string) *service {
	s.t.Helper()
	s.env = append(s.env, "DOTNET_ROOT="+runtime.Root)
	return s.startServiceOf(runtime.Args(dll), nil)
}

// inlining are two ways in which the agent learns what of a target is inlined where: if few methods are recorded the
// runtime searches, otherwise the agent has followed it.
var inlining = []struct {
	name   string
	target func(t *testing.T, name string) string
}{
	{"searched", func(t *testing.T, name string) string { return dotnettest.Target(t, name, dotnettest.Options{}) }},
	{"followed", func(t *testing.T, name string) string {
		t.Helper()
		dll, err := dotnettest.Need(t).Compile([]string{"../testdata/targets/" + name, "../testdata/targets",
			"../testdata/many"}, "", dotnettest.Options{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		return dll
	}},
}

// truthOf is what a service says there must be of so many rounds.
func (x *service) truthOf(rounds int) string {
	x.t.Helper()
	x.tell(fmt.Sprint("tell ", rounds))
	var text strings.Builder
	for line := x.line(); line != "done"; line = x.line() {
		text.WriteString(line + "\n")
	}
	return text.String()
}

// hasCalls compares the calls of Served in a session with what it knows of so many rounds.
func (a *attachment) hasCalls(x *service, rounds int) {
	a.t.Helper()
	soundTime(a.t, a.session)
	compareCalls(a.t, result{stdout: x.truthOf(rounds), session: a.session}, "Served.dll")
	if lost := losses(a.t, a.session); len(lost) != 0 {
		a.t.Errorf("lost: %v", lost)
	}
}

// recordsCalls records the calls of Served three times, compares each session with what it knows, and ends it.
func (x *service) recordsCalls(mode string) {
	x.t.Helper()
	x.do("rounds 3")
	for i := range 3 {
		a := x.attach(fmt.Sprint("calls", i), "--time", "--instrument", mode)
		x.do("rounds 7")
		x.detach(a)
		a.hasCalls(x, 7)
		x.do("rounds 40")
	}
	x.finish()
}

// TestAttachTime: the calls of a service that runs are those that it knows, again and again.
func TestAttachTime(t *testing.T) {
	t.Parallel()
	for _, r := range dotnettest.NeedRuntimes(t, 5) {
		for i, mode := range []string{"mine", "boundary"} {
			t.Run(mode+"/"+r.Name, func(t *testing.T) {
				t.Parallel()
				x := newSandbox(t).startSpoken(r, inlining[i].target(t, "Served"))
				x.recordsCalls(mode)
			})
		}
	}
}

// TestAttachInlined: what the JIT would put into methods that are made at run time, and into the framework's, has its
// calls and objects in each recording, although that code was compiled before.
func TestAttachInlined(t *testing.T) {
	t.Parallel()
	for _, r := range dotnettest.NeedRuntimes(t, 5) {
		for _, way := range inlining {
			t.Run(way.name+"/"+r.Name, func(t *testing.T) {
				t.Parallel()
				s := newSandbox(t)
				s.env = append(s.env, "DOTNET_TieredCompilation=0")
				x := s.startSpoken(r, way.target(t, "Inlined"))
				x.do("made 40")
				x.do("sorted 40")
				x.results("counted 0")
				for i := range 2 {
					a := x.attach(fmt.Sprint("calls", i), "--time", "--memory")
					x.do("made 100")
					x.do("sorted 10")
					x.detach(a)
					soundTime(t, a.session)
					var compared int64
					if _, err := fmt.Sscan(x.results("counted 0"), &compared); err != nil || compared == 0 {
						t.Fatalf("%d comparisons: %v", compared, err)
					}
					compareCallsByName(t, result{session: a.session}, "f.raw_name IN ('Make', 'Twice', 'CompareTo') AND f.raw_type LIKE 'Inlined.%'",
						map[string]int64{"Make": 100, "Twice": 100, "CompareTo": compared})
					if lost := losses(t, a.session); len(lost) != 0 {
						t.Errorf("lost: %v", lost)
					}
				}
				a := x.attach("objects", "--memory")
				x.do("made 70")
				x.detach(a)
				for _, row := range query[struct{ N int64 }](t, a.session,
					"SELECT coalesce(sum(exclusive_allocations), 0) AS n FROM functions WHERE name LIKE 'Inlined.Small.Make(%'") {
					if row.N != 70 {
						t.Errorf("Make has %d objects of 70", row.N)
					}
				}
				x.finish()
			})
		}
	}
}

// TestAttachInlinedFramework: methods of the framework that are recorded, and that a method made at run time has inlined,
// are named, and have all their other calls.
func TestAttachInlinedFramework(t *testing.T) {
	t.Parallel()
	for _, r := range dotnettest.NeedRuntimes(t, 5) {
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			s := newSandbox(t)
			s.env = append(s.env, "DOTNET_TieredCompilation=0")
			x := s.startSpoken(r, inlining[0].target(t, "Inlined"))
			x.do("framed 10")
			a := x.attach("framed", "--time", "--include", "System.Version.get_M*", "--include", "Inlined.*")
			x.do("framed 30")
			x.detach(a)
			soundTime(t, a.session)
			compareCallsByName(t, result{session: a.session}, "f.raw_type = 'System.Version' AND f.raw_name LIKE 'get_M%'",
				map[string]int64{"get_Major": 30, "get_Minor": 30})
			type named struct{ Name, Reason string }
			have := query[named](t, a.session, `SELECT f.raw_name AS name, n.reason FROM function_not_probed n
				JOIN function f ON f.id = n.function_id WHERE f.raw_type = 'System.Version'`)
			if d := cmp.Diff([]named{{"get_Major", probes.MadeInline.String()}}, have); d != "" {
				t.Errorf("(-want +session) %s", d)
			}
			if lost := losses(t, a.session); len(lost) != 1 || lost["not_probed"].Events != 1 {
				t.Errorf("lost: %v", lost)
			}
			x.finish()
		})
	}
}

// TestAttachTimeGivenUp: who interrupts clrprof before a process answers leaves nothing, and the next recording is exact.
func TestAttachTimeGivenUp(t *testing.T) {
	t.Parallel()
	x := newSandbox(t).startServed(dotnettest.Need(t).Newest())
	x.do("rounds 3")
	x.signal(unix.SIGSTOP)
	a := &attachment{session: filepath.Join(x.s.out, "given-up.clrprof")}
	a.process = x.s.start("attach", itoa(x.pid), "--time", "-o", a.session)
	await(t, "asked", func() bool {
		asked, err := filepath.Glob(filepath.Join(x.s.shm, "*", wire.OptionsFile))
		return err == nil && len(asked) == 1
	})
	a.signal(unix.SIGINT)
	a.ends(123, "interrupted before process")
	x.signal(unix.SIGCONT)
	b := x.attach("next", "--time")
	x.do("rounds 5")
	x.detach(b)
	b.hasCalls(x, 5)
	x.finish()
}

// TestAttachFor: a session is as long as --for says, whatever the service does and however long preparing takes.
func TestAttachFor(t *testing.T) {
	t.Parallel()
	x := newSandbox(t).startServed(dotnettest.Need(t).Newest())
	x.do("load 2")
	for _, data := range []string{"--time", "--memory"} {
		a := x.attach("for", data, "--for", "1s", "--sample-counters", "20")
		a.ends(0, "detached from process")
		checkTables(t, a.session)
		for _, row := range query[struct{ Duration, Mark int64 }](t, a.session,
			"SELECT max(s.end_ns) AS duration, (SELECT time_ns FROM mark WHERE name = 'for') AS mark FROM slice s") {
			if d := row.Duration - row.Mark; row.Mark < 1e9 || row.Mark >= 2e9 || d < 0 || row.Duration >= 2e9 {
				t.Errorf("%s: marked at %d ns, over at %d", data, row.Mark, row.Duration)
			}
		}
	}
	x.do("calm 0")
	x.finish()
}

// attaches is how often services are recorded with calls: -attaches=300 for a longer look.
var attaches = flag.Int("attaches", 12, "recordings of calls of each service under load")

// TestAttachTimeOften: calls of a service under load are exact in each of many recordings, and what the service prints is
// what it prints without.
func TestAttachTimeOften(t *testing.T) {
	t.Parallel()
	for _, r := range dotnettest.NeedRuntimes(t, 5) {
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			x := newSandbox(t).startServed(r)
			x.do("load 2")
			for i := range *attaches {
				a := x.attach("load", "--time", "--instrument", []string{"mine", "boundary"}[i%2], "--sample-counters", "0")
				x.do(fmt.Sprint("rounds ", 1+i%5))
				x.detach(a)
				a.hasCalls(x, 1+i%5)
				x.do("rounds 2")
			}
			x.do("calm 0")
			x.finish()
		})
	}
}

// TestAttachTimeWays: the same whatever code the service has: of any tier, precompiled by its author, in one file.
func TestAttachTimeWays(t *testing.T) {
	t.Parallel()
	check := func(t *testing.T, x *service) {
		x.do("rounds 100") // hot, and inlined
		a := x.attach("ways", "--time")
		x.do("rounds 60")
		x.detach(a)
		a.hasCalls(x, 60)
		a = x.attach("again", "--time", "--instrument", "mine", "--exclude", "*.Small")
		x.do("rounds 1")
		x.detach(a)
		soundTime(t, a.session)
		compareCallsByName(t, result{session: a.session}, "f.raw_name IN ('Small', 'Smaller', 'Swap', 'Area')",
			map[string]int64{"Smaller": 20, "Swap": 40, "Area": 20})
		x.finish()
	}
	for i, w := range dotnettest.Some([]way{timeOptimized, timeDebug, timeTier0, timeHurried, timeNoR2R, timeNoPGO,
		timeServer}) {
		for _, r := range dotnettest.OneInTurn(dotnettest.NeedRuntimes(t, 5), i) {
			t.Run(w.name+"/"+r.Name, func(t *testing.T) {
				t.Parallel()
				check(t, newSandbox(t).startServed(r, w))
			})
		}
	}
	for _, tt := range deliveries[:2] {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, cmd := newSandbox(t), delivered(t, "Served", tt.properties)
			s.env = append(s.env, cmd.Env...)
			check(t, s.startServiceOf(cmd.Args, nil))
		})
	}
}

// TestAttachTimeMemory: calls and allocations of a service at once: each object is where it was made.
func TestAttachTimeMemory(t *testing.T) {
	t.Parallel()
	for _, r := range dotnettest.NeedRuntimes(t, 5) {
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			x := newSandbox(t).startServed(r)
			for i := range 2 {
				a := x.attach("both", "--time", "--memory")
				x.do("objects 50")
				x.detach(a)
				soundTime(t, a.session)
				compareCallsByName(t, result{session: a.session}, "f.raw_name = 'Make'", map[string]int64{"Make": 50})
				for _, row := range query[struct{ N int64 }](t, a.session,
					"SELECT instances AS n FROM types WHERE name = 'Served.Item'") {
					if row.N != 50 {
						t.Errorf("recording %d has %d objects", i, row.N)
					}
				}
				x.do("objects 9")
			}
			x.finish()
		})
	}
}

// TestAttachTimeUnseen: what a service sees of itself, while its calls are recorded and afterwards, is what it saw before.
func TestAttachTimeUnseen(t *testing.T) {
	t.Parallel()
	for _, r := range dotnettest.NeedRuntimes(t, 5) {
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			x := newSandbox(t).startServed(r, timeTier0)
			trace := func() string {
				x.tell("trace 0")
				line := x.line()
				x.expect("done")
				return line
			}
			before := trace()
			a := x.attach("unseen", "--time")
			during := trace()
			x.detach(a)
			after := trace()
			if d := cmp.Diff([]string{before, before}, []string{during, after}); d != "" ||
				!strings.Contains(before, "Program.cs:line") {
				t.Errorf("-before +while it is recorded, and afterwards\n%s\n%s", before, d)
			}
			x.finish()
		})
	}
}

// TestAttachTimeRefused: what cannot be recorded in a process that runs is said in one line.
func TestAttachTimeRefused(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	x := s.startServed(dotnettest.Need(t).Newest())
	for _, tt := range []struct{ flags, says []string }{
		{[]string{"--time", "--lifetime"}, []string{"attach cannot combine --time with --lifetime"}},
		{[]string{"--time", "--instrument", "all"}, []string{"--instrument all is not for attach", "clrprof run"}},
		{[]string{"--instrument", "mine"}, []string{"--instrument needs --time"}},
		{[]string{"--time", "--probes", "hooks"}, []string{"--probes is not for attach"}},
		{[]string{"--time", "--exclude-small"}, []string{"--exclude-small is not for attach"}},
		{[]string{"--time", "--trace", "calls.json"}, []string{"--trace is not for attach", "when it starts"}},
	} {
		r := s.run(append([]string{"attach", itoa(x.pid)}, tt.flags...)...)
		if r.exit != 120 {
			t.Errorf("%v: exit code %d: %s", tt.flags, r.exit, r.stderr)
		}
		oneLine(t, r, tt.says...)
	}
	x.finish()
}

// TestAttachTimeOldRuntime: calls of a process on .NET Core 3.1 cannot be recorded after its start, which is said.
func TestAttachTimeOldRuntime(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	x := s.startServed(dotnettest.Guest(t))
	refused := s.run("attach", itoa(x.pid), "--time", "-o", "old.clrprof")
	if refused.exit != 124 {
		t.Errorf("exit code %d: %s", refused.exit, refused.stderr)
	}
	oneLine(t, refused, "needs .NET 5 or later")
	a := x.attach("memory", "--memory") // it is none the worse for that
	x.do("objects 7")
	x.detach(a)
	x.finish()
}

// askAll sends as many requests of each kind to a web server.
func askAll(t *testing.T, address string, each int) {
	t.Helper()
	if err := askAtOnce(func(client *http.Client, c int) (err error) {
		for i := c; i < 3*each; i += webClients {
			err = errors.Join(err, askWeb(client, address, 0, i))
		}
		return err
	}); err != nil {
		t.Errorf("asking the server: %v", err)
	}
}

// TestAttachTimeWeb: the handlers of a web server under load were called once for each request that was made meanwhile.
func TestAttachTimeWeb(t *testing.T) {
	t.Parallel()
	dll := dotnettest.Target(t, "Web", dotnettest.Options{Framework: dotnettest.Net8, Web: true})
	for _, r := range dotnettest.NeedRuntimes(t, 8) {
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			s := newSandbox(t)
			s.env = append(s.env, "DOTNET_ROOT="+r.Root)
			x := s.startDormant(r.Args(dll), nil)
			_, address, _ := strings.Cut(x.line(), "listening ")
			for i := range 3 {
				askAll(t, address, 5)
				a := x.attach(fmt.Sprint("web", i), "--time")
				askAll(t, address, 20)
				x.detach(a)
				soundTime(t, a.session)
				compareCallsByName(t, result{session: a.session}, "f.raw_type = 'Web.Handlers' AND f.raw_name IN "+
					"('Get', 'GetLater', 'Text', 'Make')", map[string]int64{"Get": 20, "GetLater": 20, "Text": 20, "Make": 40})
				if lost := losses(t, a.session); len(lost) != 0 {
					t.Errorf("lost: %v", lost)
				}
			}
			if err := stopWeb(address); err != nil {
				t.Error(err)
			}
			x.wait()
		})
	}
}

// TestAttachTimeEnds: a recording of calls is paused, ends with its collector, which is killed, and with the process; each has
// the calls that were made in it.
func TestAttachTimeEnds(t *testing.T) {
	t.Parallel()
	for _, r := range dotnettest.NeedRuntimes(t, 5) {
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			x := newSandbox(t).startServed(r)
			a := x.attach("paused", "--time", "--paused")
			x.do("rounds 1")
			x.s.run("ctl", itoa(x.pid), "resume")
			x.do("rounds 20")
			x.s.run("ctl", itoa(x.pid), "pause")
			x.do("rounds 300")
			x.detach(a)
			a.hasCalls(x, 20)

			a = x.attach("killed", "--time")
			x.do("rounds 4")
			a.signal(unix.SIGKILL)
			<-a.ended
			x.letsGo()
			recovered := x.recover(a)
			recovered.hasCalls(x, 4)

			a = x.attach("last", "--time")
			x.do("rounds 5")
			truth := x.truthOf(5)
			x.tell("end")
			a.ends(0, "has ended")
			soundTime(t, a.session)
			compareCalls(t, result{stdout: truth, session: a.session}, "Served.dll")
			if end := x.wait(); end.exit != 0 {
				t.Errorf("the service: exit code %d: %s", end.exit, end.stderr)
			}
		})
	}
}
