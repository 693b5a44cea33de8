package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/dotnettest"
)

// startMeters starts to record the target Meters and waits until it reads.
func (s *sandbox) startMeters(r dotnettest.Runtime, flags ...string) *steps {
	s.t.Helper()
	o := dotnettest.Options{}
	if r.Major() >= 8 {
		o = dotnettest.Options{Framework: dotnettest.Net8, Defines: []string{"METERS"}}
	}
	x := &steps{session: filepath.Join(s.root, "meters.clrprof")}
	args := append([]string{"run", "--no-report", "-f", "-o", x.session}, flags...)
	s.env = append(s.env, "DOTNET_ROOT="+r.Root)
	x.process = s.start(append(append(args, "--"), r.Args(dotnettest.Target(s.t, "Meters", o))...)...)
	x.expect("ready")
	if !x.lines.Scan() {
		s.t.Fatal("the target says no process id")
	}
	if _, err := fmt.Sscan(x.lines.Text(), &x.pid); err != nil {
		s.t.Fatal(err)
	}
	return x
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

// missingCounters are the reasons for which counters have no values, by name.
func missingCounters(t *testing.T, session string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, row := range printed[struct{ Name, Why string }](t, "counters", session, "--missing", "--json") {
		out[row.Name] = row.Why
	}
	return out
}

// TestMeters: what a program counts by a meter and an event source comes out exactly, on each runtime.
func TestMeters(t *testing.T) {
	t.Parallel()
	for _, r := range dotnettest.Need(t).Runtimes() {
		t.Run(r.Name, func(t *testing.T) {
			s := newSandbox(t)
			x := s.startMeters(r, "--memory", "--sample-counters", "100", "--meter", "Shop.Ord*", "--meter", "Shop.Orders",
				"--meter", "Shop.Events", "--meter", "Nobody")
			all := func(names ...string) func() bool {
				return func() bool {
					have := lastValues(t, x.session)
					for _, name := range names {
						if _, ok := have[name]; !ok {
							return false
						}
					}
					return true
				}
			}
			source := map[string]float64{"Shop.Events/orders": 21, "Shop.Events/refunded": 1.25, "Shop.Events/queue": -2.25,
				"Shop.Events/took": 3.5, "Shop.Events/took.count": 4, "Shop.Events/took.min": 3.5, "Shop.Events/took.max": 3.5}
			meter := map[string]float64{"Shop.Orders/shop.orders{kind=web,land=Österreich}": 7,
				"Shop.Orders/shop.orders{kind=phone}": 14,
				"Shop.Orders/shop.refunds":            1.25, "Shop.Orders/shop.open": 2, "Shop.Orders/shop.queue": -2.25,
				"Shop.Orders/shop.refunded":   1.25,
				"Shop.Orders/shop.took.count": 4, "Shop.Orders/shop.took.sum": 10, "Shop.Orders/shop.took.p50": 3.5}
			want := source
			ready := []string{"Shop.Events/queue", "Shop.Events/orders"}
			if r.Major() >= 8 {
				ready = append(ready, "Shop.Orders/shop.queue")
				for name, value := range meter {
					want[name] = value
				}
			}
			await(t, "a sample of each source", all(ready...))
			for _, step := range []string{"orders 7", "refund 1.25", "queue -2.25", "open 3", "open -1", "took 1 2 3.5"} {
				x.do(step)
			}
			await(t, "the first times", func() bool { return lastValues(t, x.session)["Shop.Events/took.count"] == 3 })
			if r.Major() >= 8 {
				await(t, "the first times of the meter", func() bool {
					return lastValues(t,
						x.session)["Shop.Orders/shop.took.count"] == 3
				})
			}
			x.do("took 3.5")
			await(t, "all values", func() bool {
				have := lastValues(t, x.session)
				for name, value := range want {
					if have[name] != value {
						return false
					}
				}
				return true
			})
			x.finish()
			checkSession(t, x.session)
			have := lastValues(t, x.session)
			for name, value := range want {
				if have[name] != value {
					t.Errorf("%s: %v, want %v", name, have[name], value)
				}
			}
			missing := missingCounters(t, x.session)
			if !strings.Contains(missing["Nobody"], "exactly this name") || missing["Shop.Events"] != "" ||
				(missing["Shop.Orders"] != "") != (r.Major() < 8) {
				t.Errorf("missing: %q", missing)
			}
		})
	}
}

// TestMetersKinds: units, kinds, meanings and tags are as the program says, and the command shows them.
func TestMetersKinds(t *testing.T) {
	t.Parallel()
	r := dotnettest.NeedRuntimes(t, 8)[0]
	s := newSandbox(t)
	x := s.startMeters(r, "--memory", "--sample-counters", "100", "--meter", "Shop.*")
	await(t, "a sample", func() bool { _, ok := lastValues(t, x.session)["Shop.Orders/shop.queue"]; return ok })
	x.do("orders 1")
	x.do("late 5") // a meter that is made later
	await(t, "the meter that was made later", func() bool { return lastValues(t, x.session)["Shop.Late/late"] == 5 })
	x.do("orders 2")
	await(t, "the orders", func() bool { return lastValues(t, x.session)["Shop.Orders/shop.orders{kind=phone}"] == 6 })
	x.finish()
	type row struct {
		Name, Unit, Kind, Tags string
		Value                  float64
		ProcessID              int `json:"process_id"`
	}
	last := map[string]row{}
	for _, c := range printed[row](t, "counters", x.session, "--json") {
		last[c.Name] = c
	}
	for name, want := range map[string]row{
		"Shop.Orders/shop.queue": {"Shop.Orders/shop.queue", "count", "level", "", 0, x.pid},
		"Shop.Late/late":         {"Shop.Late/late", "count", "sum", "", 5, x.pid},
	} {
		if last[name] != want {
			t.Errorf("%+v, want %+v", last[name], want)
		}
	}
	if c := last["Shop.Orders/shop.orders"]; c.Unit != "{order}" || c.Kind != "sum" || c.Tags == "" {
		t.Errorf("%+v", c)
	}
	meanings := query[struct{ Meaning string }](t, x.session,
		"SELECT DISTINCT meaning FROM counter WHERE name = 'Shop.Orders/shop.orders'")
	if len(meanings) != 1 || meanings[0].Meaning != "orders that were made" {
		t.Errorf("%+v", meanings)
	}
}

// TestMetersUnreachable: why nothing can be sampled is said in one line, and the program is recorded all the same.
func TestMetersUnreachable(t *testing.T) {
	t.Parallel()
	r := dotnettest.NeedRuntimes(t, 8)[0]
	s := newSandbox(t)
	s.env = append(s.env, "DOTNET_EnableDiagnostics_IPC=0")
	x := s.startMeters(r, "--memory", "--sample-counters", "100", "--meter", "Shop.*")
	x.do("orders 1")
	x.finish()
	missing := missingCounters(t, x.session)
	if why := missing["Shop.*"]; !strings.Contains(why, fmt.Sprintf("process %d: no diagnostics socket", x.pid)) ||
		!strings.Contains(why, "DOTNET_EnableDiagnostics_IPC=0") || strings.Contains(why, "\n") {
		t.Errorf("missing: %q", missing)
	}
}

// TestMetersRefused: what cannot be a name is refused before the command starts.
func TestMetersRefused(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--meter", "A;B"}, {"--meter", ""}, {"--meter", "A", "--sample-counters", "0"}} {
		if r := run(t, append(append([]string{"run"}, args...), "--", "/bin/true")...); r.exit != 120 ||
			!strings.Contains(r.stderr, "--meter") {
			t.Errorf("%q: exit code %d: %s", args, r.exit, r.stderr)
		}
	}
}
