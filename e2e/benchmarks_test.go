package e2e

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// TestBenchmarks: with [ClrprofDiagnoser] the table of BenchmarkDotNet has what an operation of each benchmark of the
// sample allocates and calls, which can be counted by hand; below it stand type, call path and line, and each has left
// a session with its actual iterations alone.
func TestBenchmarks(t *testing.T) {
	t.Parallel()
	dotnettest.NotQuick(t, "it runs real builds")
	p := newIntegration(t, "benchmarkdotnet/sample", "Release")
	run := func(env string, args ...string) (string, error) {
		cmd := p.dotnet(append([]string{"run", "--no-build", "-c", "Release", "--"}, args...)...)
		cmd.Env = append(cmd.Env, env)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	out, err := run("CLRPROF="+binary, "--filter", "*", "--invocationCount", "16", "--unrollFactor", "16",
		"--iterationCount", "2", "--warmupCount", "1")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want := [][]string{
		{"LoadTwice", "6", "184 B", "11.5", "5 OrderLine, 1 OrderLine[]"},
		{"Nothing", "-", "-", "1", "-"},
		{"Async", "4", "160 B", "15", "1 Task<OrderLine[]>, 2 OrderLine, 1 OrderLine[]"},
		{"Load", "1", "2", "56 B", "1 OrderLine[], 1 OrderLine"},
		{"Load", "10", "11", "344 B", "10 OrderLine, 1 OrderLine[]"},
	}
	if d := cmp.Diff(want, tableCells(out, "Method", "N", "Objects/op", "Bytes/op", "Calls/op", "Types/op")); d != "" {
		t.Errorf("%s\n%s", d, out)
	}
	for _, line := range []string{
		"10 OrderLine, 240 B: Orders.Load() > Parser.Lines(int) > Parser.Line(int) Program.cs:",
		"1 OrderLine[], 104 B: Orders.Load() > Parser.Lines(int) Program.cs:",
		"0.5 × OrderCalls.LoadTwice()", "5 × Parser.Line(int)", "5 × OrderLine..ctor()",
	} {
		if !strings.Contains(out, "//   "+line) {
			t.Errorf("it does not say %q:\n%s", line, out)
		}
	}
	compareBenchmarkSessions(t, filepath.Join(p.dir, "BenchmarkDotNet.Artifacts"))
	out, _ = run("CLRPROF=/nowhere/clrprof", "--filter", "*Nothing*")
	if !strings.Contains(out, "[ClrprofDiagnoser] finds no clrprof: put it on the PATH, or its path into the variable CLRPROF") {
		t.Errorf("without clrprof it says:\n%s", out)
	}
}

// compareBenchmarkSessions compares the objects of sessions with those of 2 iterations of 16 calls.
func compareBenchmarkSessions(t *testing.T, dir string) {
	t.Helper()
	got := map[string]int64{}
	paths, err := filepath.Glob(filepath.Join(dir, "*.clrprof"))
	if err != nil {
		t.Fatal(err)
	}
	job := regexp.MustCompile(`-Job-\w+\.clrprof$`)
	for _, path := range paths {
		checkTables(t, path)
		name := job.ReplaceAllString(filepath.Base(path), "")
		got[name] = 0
		for _, row := range query[struct{ Instances int64 }](t, path, "SELECT instances FROM types WHERE name = 'OrderLine'") {
			got[name] = row.Instances
		}
	}
	const calls = 2 * 16
	want := map[string]int64{"Orders.Load(N=1)": calls, "Orders.Load(N=10)": 10 * calls, "OrderCalls.LoadTwice": 10 * calls,
		"OrderCalls.Nothing": 0, "OrderCalls.Async": 2 * calls}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// tableCells are the cells of the rows of tables in Markdown that are in these columns, as far as a table has them.
func tableCells(text string, columns ...string) [][]string {
	var rows [][]string
	var head []string
	for _, line := range strings.Split(text, "\n") {
		if !strings.HasPrefix(line, "|") {
			head = nil
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if head == nil {
			head = cells
			continue
		}
		var row []string
		for i, c := range cells {
			for _, wanted := range columns {
				if head[i] == wanted && !strings.HasPrefix(c, "--") {
					row = append(row, c)
				}
			}
		}
		if len(row) > 0 {
			rows = append(rows, row)
		}
	}
	return rows
}
