package e2e

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// dotnetTrace returns the folder of Microsoft's dotnet-trace, which has TraceEvent, too.
func dotnetTrace(t *testing.T, sdk dotnettest.SDK) string {
	t.Helper()
	folder := filepath.Join(sdk.Root, "tools", "dotnet-trace")
	if _, err := os.Stat(filepath.Join(folder, "dotnet-trace.dll")); err != nil {
		t.Skip("needs dotnet-trace in the directory tools of the SDK's root")
	}
	return folder
}

// atOnce has methods compiled once: else it is a matter of time from when on one is inlined, so which function allocates.
const atOnce = "DOTNET_TieredCompilation=0"

// collect has dotnet-trace record a program into a file.
func collect(t *testing.T, sdk dotnettest.SDK, file string, events []string, program []string) {
	t.Helper()
	args := slices.Concat([]string{filepath.Join(dotnetTrace(t, sdk), "dotnet-trace.dll"), "collect", "-o", file}, events,
		[]string{"--"}, program)
	cmd := exec.Command(sdk.Dotnet(), args...)
	cmd.Env = sdk.Env(t.TempDir(), atOnce)
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("dotnet-trace: %v\n%s", err, said)
	}
}

// noPause stands for a pause that TraceEvent does not know.
const noPause = "?"

// traceEvent returns what TraceEvent says of a file: samples by type, and by the function that allocated, and
// collections. Two pauses it does not know, which are left out: of one that was to run in the background, and did not, it
// takes the time to stop the program for all of the pause. Where one in the background begins with another one in the
// same stop, it gives a part of the stop to neither.
func traceEvent(t *testing.T, sdk dotnettest.SDK, file string) (types, functions map[string]int, gcs []string) {
	t.Helper()
	folder := dotnetTrace(t, sdk)
	dll := dotnettest.Target(t, "TraceEvents", dotnettest.Options{Framework: dotnettest.Net10, References: []string{
		filepath.Join(folder, "Microsoft.Diagnostics.Tracing.TraceEvent.dll"),
		filepath.Join(folder, "Microsoft.Diagnostics.FastSerialization.dll")}})
	cmd := exec.Command(sdk.Dotnet(), "exec", dll, file)
	cmd.Env = sdk.Env(t.TempDir())
	said, err := cmd.Output()
	if err != nil {
		t.Fatalf("TraceEvent: %v\n%s", err, said)
	}
	types, functions = map[string]int{}, map[string]int{}
	for line := range strings.Lines(string(said)) {
		switch f := strings.Split(strings.TrimSuffix(line, "\n"), "\t"); f[0] {
		case "sample":
			types[f[2]]++
			name, _, _ := strings.Cut(f[3][strings.LastIndexByte(f[3], '|')+1:], "(")
			functions[name]++
		case "gc":
			isNested := f[7] == "0"
			if isNested && len(gcs) > 0 {
				gcs[len(gcs)-1] = withoutPause(gcs[len(gcs)-1])
			}
			if isNested || f[3] == "BackgroundGC" && f[5] == f[7] {
				f[5] = noPause
			}
			gcs = append(gcs, fmt.Sprintf("gen %s, %s ns, %s", f[2], f[5], f[6]))
		}
	}
	return types, functions, gcs
}

// withoutPause takes the pause out of the line of a collection, so that only its generation and sizes are compared.
func withoutPause(gc string) string {
	generation, rest, _ := strings.Cut(gc, ", ")
	_, sizes, _ := strings.Cut(rest, ", ")
	return generation + ", " + noPause + " ns, " + sizes
}

// importedSamples is how many samples a session has of something.
type importedSamples struct {
	Name    string
	Samples int
}

// TestImport: what dotnet-trace recorded of a program is in the session of its file as TraceEvent reads it, and says
// what a session that counts each object says of the same program.
func TestImport(t *testing.T) {
	t.Parallel()
	_, sdk := dotnettest.NeedSDK(t)
	dotnetTrace(t, sdk)
	for _, r := range dotnettest.NeedRuntimes(t, 8) {
		for name, events := range map[string][]string{"ticks": {"--profile", "gc-verbose"},
			"random": {"--providers", "Microsoft-Windows-DotNETRuntime:0x80000000001:4"}} {
			if name == "random" && r.Major() < 10 {
				continue
			}
			t.Run(r.Name+"/"+name, func(t *testing.T) {
				t.Parallel()
				if r.Major() < 10 {
					dotnettest.NotQuick(t, "other runtimes write the same events")
				}
				s := newSandbox(t)
				program := dotnettest.Target(t, "Sampled", dotnettest.Options{})
				counted := r.Command(program, "work", fmt.Sprint(sampledRounds))
				counted.Env = append(counted.Env, atOnce)
				exact := mustRecord(t, counted, "--lifetime").session
				file, session := filepath.Join(s.out, "a.nettrace"), filepath.Join(s.out, "a.clrprof")
				collect(t, sdk, file, events, s.target(r, "Sampled", "work", fmt.Sprint(sampledRounds)))
				if said := s.run("import", file, "-o", session); said.exit != 0 {
					t.Fatalf("exit code %d: %s", said.exit, said.stderr)
				}
				s.agrees(session)
				sameAsTraceEvent(t, sdk, file, session)
				s.estimatesHold(exact, session, name == "random")
			})
		}
	}
}

// sameAsTraceEvent compares a session with what TraceEvent says of its file.
func sameAsTraceEvent(t *testing.T, sdk dotnettest.SDK, file, session string) {
	t.Helper()
	types, functions, gcs := traceEvent(t, sdk, file)
	const from = ` sum(v.allocations / s.weight) AS samples FROM site s JOIN site_value v ON v.site_id = s.id `
	for _, c := range []struct {
		what, sql string
		want      map[string]int
	}{
		{"types", `SELECT t.raw_name AS name,` + from + `JOIN type t ON t.id = s.type_id
			WHERE t.raw_name LIKE 'Sampled.%' GROUP BY 1`, types},
		{"functions", `SELECT f.raw_type || '.' || f.raw_name AS name,` + from + `JOIN node n ON n.id = s.node_id
			JOIN function f ON f.id = n.function_id WHERE f.raw_type = 'Sampled.Program' GROUP BY 1`, functions},
	} {
		have := map[string]int{}
		for _, row := range query[importedSamples](t, session, c.sql) {
			have[row.Name] = row.Samples
		}
		maps.DeleteFunc(c.want, func(name string, _ int) bool {
			return !strings.HasPrefix(name, "Sampled.") || strings.Contains(name, "+") || strings.HasSuffix(name, "]")
		})
		if d := cmp.Diff(c.want, have); d != "" || len(have) < 4 {
			t.Errorf("%s (-TraceEvent +session):\n%s", c.what, d)
		}
	}
	type collection struct {
		Generation, Pause, Gen0, Gen1, Gen2, LOH, POH int64
	}
	var have []string
	for _, g := range query[collection](t, session, `SELECT g.generation, pause_ns AS pause,
		sum(iif(h.generation = 0, h.extent_bytes, 0)) AS gen0, sum(iif(h.generation = 1, h.extent_bytes, 0)) AS gen1,
		sum(iif(h.generation = 2, h.extent_bytes, 0)) AS gen2, sum(iif(h.generation = 3, h.extent_bytes, 0)) AS loh,
		sum(iif(h.generation = 4, h.extent_bytes, 0)) AS poh
		FROM gc g LEFT JOIN gc_heap h ON h.gc_id = g.id GROUP BY g.id ORDER BY g.number`) {
		have = append(have, fmt.Sprintf("gen %d, %d ns, %d,%d,%d,%d,%d", g.Generation, g.Pause, g.Gen0, g.Gen1, g.Gen2, g.LOH,
			g.POH))
	}
	for i, g := range gcs[:min(len(gcs), len(have))] {
		if strings.Contains(g, noPause) {
			have[i] = withoutPause(have[i])
		}
	}
	if d := cmp.Diff(gcs, have); d != "" || len(have) < 5 {
		t.Errorf("collections (-TraceEvent +session):\n%s", d)
	}
}
