package e2e

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// eachInstruments calls fn for each runtime that has meters, with the target Instruments.
func eachInstruments(t *testing.T, fn func(t *testing.T, r dotnettest.Runtime, dll string)) {
	dll := dotnettest.Target(t, "Instruments", dotnettest.Options{Framework: dotnettest.Net8})
	for _, r := range dotnettest.NeedRuntimes(t, 8) {
		t.Run(r.Name, func(t *testing.T) { fn(t, r, dll) })
	}
}

// toldByInstruments is what the target said that its counters would be.
func toldByInstruments(t *testing.T, stdout string) map[string]float64 {
	t.Helper()
	reported, _, ended := strings.Cut(stdout, "ready\n")
	if !ended {
		t.Fatalf("the target did not get to its end:\n%s", stdout)
	}
	out := map[string]float64{}
	for line := range strings.Lines(reported) {
		at := strings.LastIndexByte(strings.TrimSpace(line), ' ')
		value, err := strconv.ParseFloat(strings.TrimSpace(line[at:]), 64)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		out[line[:at]] = value
	}
	return out
}

// wantInstruments compares what the session has with what the target said.
func wantInstruments(t *testing.T, path, stdout string) {
	t.Helper()
	if found, err := analysis.Check(openSession(t, path)); err != nil || len(found) != 0 {
		t.Errorf("the session contradicts itself: %v, %v", found, err)
	}
	if countOf(t, path, "site_value") > 0 {
		checkSums(t, path)
	}
	have := lastValues(t, path)
	for name, value := range toldByInstruments(t, stdout) {
		if got, there := have[name]; !there || got != value {
			t.Errorf("%s: %v (%v), want %v", name, got, there, value)
		}
	}
	for name := range have {
		if strings.HasPrefix(name, "Stock/") {
			t.Errorf("%s was not asked for", name)
		}
	}
	large := query[struct{ Value int64 }](t, path, "SELECT v.value FROM counter c JOIN counter_value v "+
		"ON v.counter_id = c.id WHERE c.name = 'Shop.Orders/large' ORDER BY v.time_ns DESC LIMIT 1")
	if len(large) != 1 || large[0].Value != 1<<63-2 {
		t.Errorf("large: %v", large)
	}
}

// lossEvents are the losses of a session, by reason.
func lossEvents(t *testing.T, path string) map[string]int64 {
	t.Helper()
	out := map[string]int64{}
	for _, row := range query[struct {
		Reason string
		Events int64
	}](t, path, "SELECT reason, sum(events) AS events FROM loss GROUP BY reason") {
		out[row.Reason] = row.Events
	}
	return out
}

// TestInstruments: what a program measures by the instruments of its meters comes out exactly, of all threads, and what
// could not be kept is counted. The program does what it would do alone.
func TestInstruments(t *testing.T) {
	t.Parallel()
	eachInstruments(t, func(t *testing.T, r dotnettest.Runtime, dll string) {
		alone, err := r.Command(dll, "exit").Output()
		if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 7 {
			t.Fatal(err)
		}
		got := record(t, r.Command(dll, "exit"), "--memory", "--meter", "Shop.*", "--meter", "Nobody*")
		if got.exit != 7 || got.stdout != string(alone) {
			t.Fatalf("exit code %d, %s\n%s, want\n%s", got.exit, got.stderr, got.stdout, alone)
		}
		wantInstruments(t, got.session, got.stdout)
		losses := lossEvents(t, got.session)
		// a text that throws, a value that is no number, and what is beyond the kept tags
		want := map[string]int64{session.LossMeters: 2 + 2*500, session.LossMeterCallbacks: losses[session.LossMeterCallbacks]}
		if !maps.Equal(losses, want) || losses[session.LossMeterCallbacks] == 0 {
			t.Errorf("losses %v, want %v and callbacks", losses, want)
		}
		missing := missingCounters(t, got.session)
		if missing["Nobody*"] == "" || missing["Shop.*"] != "" {
			t.Errorf("missing: %v", missing)
		}
	})
}

// TestInstrumentsInEachMode: the same beside everything else that can be recorded.
func TestInstrumentsInEachMode(t *testing.T) {
	t.Parallel()
	dll := dotnettest.Target(t, "Instruments", dotnettest.Options{Framework: dotnettest.Net8})
	for i, flags := range [][]string{nil, {"--time"}, {"--time", "--instrument", "all"}, {"--time", "--memory",
		"--mark-requests", "--interactions"}} {
		for _, r := range dotnettest.OneInTurn(dotnettest.NeedRuntimes(t, 8), i) {
			t.Run(strings.Join(flags, " ")+"/"+r.Name, func(t *testing.T) {
				got := record(t, r.Command(dll, "exit", "200"), append(flags, "--meter", "Shop.*")...)
				if got.exit != 7 {
					t.Fatalf("exit code %d: %s", got.exit, got.stderr)
				}
				wantInstruments(t, got.session, got.stdout)
				for _, row := range query[struct{ Name, Origin string }](t, got.session, "SELECT name, origin FROM module "+
					"WHERE name LIKE 'Clrprof.Meters%' AND origin <> 'package'") {
					t.Errorf("%s is of the origin %s", row.Name, row.Origin)
				}
			})
		}
	}
}

// TestInstrumentsEnds: what was measured is there however the program ends, and it does end: also where the callback of
// an instrument waits for something that never comes.
func TestInstrumentsEnds(t *testing.T) {
	t.Parallel()
	eachInstruments(t, func(t *testing.T, r dotnettest.Runtime, dll string) {
		for how, exit := range map[string]int{"failfast": 134, "kill": 137, "held": 7} {
			got := record(t, r.Command(dll, how, "1000"), "--memory", "--meter", "Shop.*")
			if got.exit != exit {
				t.Fatalf("%s: exit code %d: %s", how, got.exit, got.stderr)
			}
			wantInstruments(t, got.session, got.stdout)
		}
	})
}

// TestInstrumentsAtEnd: a program that ends while its observable instruments are read for the first time ends.
func TestInstrumentsAtEnd(t *testing.T) {
	t.Parallel()
	eachInstruments(t, func(t *testing.T, r dotnettest.Runtime, dll string) {
		for _, ms := range []string{"0", "5", "10", "15"} {
			got := record(t, r.Command(dll, "wait", ms), "--memory", "--sample-counters", "10", "--meter", "*",
				"--meter", "System.Runtime")
			if got.exit != 7 {
				t.Fatalf("exit code %d: %s", got.exit, got.stderr)
			}
		}
	})
}

// TestInstrumentsOff: where startup hooks are off nothing is measured; that is said, and the program runs as ever.
func TestInstrumentsOff(t *testing.T) {
	t.Parallel()
	eachInstruments(t, func(t *testing.T, r dotnettest.Runtime, dll string) {
		dir := t.TempDir()
		for _, name := range []string{"Instruments.dll", "Instruments.runtimeconfig.json"} {
			b, err := os.ReadFile(filepath.Join(filepath.Dir(dll), name))
			if err != nil {
				t.Fatal(err)
			}
			b = bytes.Replace(b, []byte(`"runtimeOptions": {`), []byte(`"runtimeOptions": {"configProperties": `+
				`{"System.StartupHookProvider.IsSupported": false},`), 1)
			if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got := record(t, r.Command(filepath.Join(dir, "Instruments.dll"), "exit", "10"), "--memory", "--meter", "Shop.*")
		if got.exit != 7 {
			t.Fatalf("exit code %d: %s", got.exit, got.stderr)
		}
		wantUnmeasured(t, got.session, "startup hooks are off")
	})
}

// TestInstrumentsOfOwnAssembly: a program that has another assembly with the listener's name runs as ever. The runtime
// refuses to load the listener, as in any startup hook, but nothing of that reaches the program.
func TestInstrumentsOfOwnAssembly(t *testing.T) {
	t.Parallel()
	own := dotnettest.Target(t, "StaticInit", dotnettest.Options{Name: "Clrprof.Meters", Framework: dotnettest.Net8})
	eachInstruments(t, func(t *testing.T, r dotnettest.Runtime, dll string) {
		program := copyBeside(t, dll, own, strings.TrimSuffix(dll, ".dll")+".runtimeconfig.json")
		got := record(t, r.Command(program, "exit", "10"), "--memory", "--meter", "Shop.*")
		if got.exit != 7 {
			t.Fatalf("exit code %d: %s", got.exit, got.stderr)
		}
		wantUnmeasured(t, got.session, "assembly named Clrprof.Meters")
	})
}

// TestInstrumentsOfOldRuntime: .NET Core 3.1 has no meters of its own, and that they are not sampled is said.
func TestInstrumentsOfOldRuntime(t *testing.T) {
	t.Parallel()
	r := dotnettest.Guest(t)
	got := record(t, r.Command(dotnettest.Target(t, "StaticInit", dotnettest.Options{})), "--memory", "--meter", "Shop.*")
	if got.exit != 0 {
		t.Fatalf("exit code %d: %s", got.exit, got.stderr)
	}
	wantUnmeasured(t, got.session, "needs .NET 8")
}

// wantUnmeasured asserts that nothing was measured by meters called Shop.*, and why.
func wantUnmeasured(t *testing.T, path, why string) {
	t.Helper()
	if missing := missingCounters(t, path)["Shop.*"]; !strings.Contains(missing, why) {
		t.Errorf("missing: %q", missing)
	}
	if losses := lossEvents(t, path); !maps.Equal(losses, map[string]int64{session.LossCounters: 1}) {
		t.Errorf("losses: %v", losses)
	}
	for name := range lastValues(t, path) {
		if strings.HasPrefix(name, "Shop.") {
			t.Errorf("there is %s", name)
		}
	}
}

// TestInstrumentsOfServer: what ASP.NET Core measures, which it does only where somebody listens: each request by its
// route. From .NET 9 on the runtime measures, too.
func TestInstrumentsOfServer(t *testing.T) {
	t.Parallel()
	for _, r := range dotnettest.NeedRuntimes(t, 8) {
		t.Run(r.Name, func(t *testing.T) {
			got := recordWeb(t, r, []string{"--memory", "--meter", "Microsoft.AspNetCore.*", "--meter", "System.Runtime"})
			checkSession(t, got.session)
			have := map[string]float64{}
			for name, value := range lastValues(t, got.session) {
				if !strings.HasPrefix(name, "Microsoft.AspNetCore.Hosting/http.server.request.duration.count") {
					continue
				}
				for _, tag := range strings.Split(strings.TrimSuffix(name, "}"), ",") {
					if route, ok := strings.CutPrefix(tag, "http.route="); ok {
						have[route] += value
					}
				}
			}
			const each = webClients * webRequests / 3
			want := map[string]float64{"/order/{id}": each, "/later/{id}": each, "/text": each, "/stop": 1}
			if !maps.Equal(have, want) {
				t.Errorf("%v, want %v", have, want)
			}
			_, measured := lastValues(t, got.session)["System.Runtime/dotnet.process.cpu.count"]
			if wanted := r.Major() >= 9; measured != wanted {
				t.Errorf("the runtime's meter has values: %v", measured)
			}
		})
	}
}

// TestInstrumentsPublished: programs as they are delivered are measured, or say that they are not; in any case they
// run.
func TestInstrumentsPublished(t *testing.T) {
	t.Parallel()
	dotnettest.NotQuick(t, "it publishes programs")
	trimmed := deliveries[len(deliveries)-1]
	hooked := trimmed
	hooked.name, hooked.properties = "trimmed with startup hooks", append(trimmed.properties[:len(trimmed.properties):len(
		trimmed.properties)], "StartupHookSupport=true")
	for _, tt := range append(deliveries[:len(deliveries):len(deliveries)], hooked) {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cmd := delivered(t, "Instruments", tt.properties)
			cmd.Args = append(cmd.Args, "exit", "100")
			got := record(t, cmd, "--memory", "--meter", "Shop.*")
			if got.exit != 7 {
				t.Fatalf("exit code %d: %s", got.exit, got.stderr)
			}
			if strings.Contains(tt.name, "trimmed") {
				wantUnmeasured(t, got.session, "startup hooks are off")
				return
			}
			wantInstruments(t, got.session, got.stdout)
		})
	}
}
