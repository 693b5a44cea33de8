package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	goruntime "runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/cli"
	"github.com/clrprof/clrprof/internal/present/report"
	"github.com/clrprof/clrprof/internal/present/report/encode"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// maxMemory is where the garbage of this process is collected more often: several tests read sessions of up to a
// million places at a time, and garbage would double what they need. Most sessions are small: until then garbage may be
// three times what is in use, because looking for it is a tenth of what this process does.
const maxMemory, garbagePercent = 2 << 30, 300

// binary is the clrprof under test: built once, from this checkout, with this checkout's agent inside.
var binary string

// testsAtOnce is how many tests run at the same time for each processor. More than half of what a test takes is waiting:
// for slices of a second, for programs that sleep or talk to a server of their own, for pages and pipes.
const testsAtOnce = 2

// runMore lets that many tests run at once, unless the command line says how many.
func runMore() error {
	flag.Parse()
	said := false
	flag.Visit(func(f *flag.Flag) { said = said || f.Name == "test.parallel" })
	if said {
		return nil
	}
	return flag.Set("test.parallel", strconv.Itoa(testsAtOnce*runtime.GOMAXPROCS(0)))
}

func TestMain(m *testing.M) {
	goruntime.SetMemoryLimit(maxMemory)
	goruntime.SetGCPercent(garbagePercent)
	dir, err := os.MkdirTemp("", "clrprof-e2e-")
	if err == nil {
		err = runMore()
	}
	if err == nil {
		binary, err = build(dir)
	}
	code := 1
	if err == nil {
		code = m.Run()
	} else {
		fmt.Fprintln(os.Stderr, err)
	}
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// build makes the agent and a clrprof that holds it.
func build(dir string) (string, error) {
	path := filepath.Join(dir, "clrprof")
	for _, args := range [][]string{{"make", "-s", "agent"}, {"go", "build",
		"-ldflags=-E=clrprof_start", "-o", path, "./cmd/clrprof"}} {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir = ".."
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("building what is tested: %v: %w\n%s", args, err, out)
		}
	}
	return path, nil
}

// result is what a command left.
type result struct {
	exit           int // as a shell says it: 128 and the signal that ended it
	stdout, stderr string
	session        string // path of the session file, of those that record one
}

// input is what a command is given beside its arguments. The zero value is nothing.
type input struct {
	stdin io.Reader
	env   []string // the whole environment; nil: this process's
	dir   string
}

// run runs clrprof with these arguments.
func run(t *testing.T, args ...string) result {
	t.Helper()
	return runWith(t, input{}, args...)
}

// runWith runs clrprof with these arguments and waits for it, whatever its exit code is.
func runWith(t *testing.T, in input, args ...string) result {
	t.Helper()
	cmd := exec.Command(binary, args...)
	cmd.Stdin, cmd.Env, cmd.Dir = in.stdin, in.env, in.dir
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		t.Fatalf("clrprof %q: %v", args, err)
	}
	return result{exit: exitCode(cmd.ProcessState), stdout: stdout.String(), stderr: stderr.String()}
}

// exitCode is the exit code, or 128 and the signal.
func exitCode(s *os.ProcessState) int {
	if status, ok := s.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return s.ExitCode()
}

// record runs the target, as dotnettest.Runtime.Command returns it, under clrprof, with more flags if need be. The
// session lies in a directory of the test's own.
func record(t *testing.T, target *exec.Cmd, flags ...string) result {
	t.Helper()
	path, in, args := recordArgs(t, target, flags)
	r := runWith(t, in, args...)
	r.session = path
	return r
}

// recordArgs is the command line of record, for those who start it themselves.
func recordArgs(t *testing.T, target *exec.Cmd, flags []string) (path string, in input, args []string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "e2e.clrprof")
	return path, input{target.Stdin, target.Env, target.Dir}, recordingArgs(path, target, flags)
}

func recordingArgs(session string, target *exec.Cmd, flags []string) []string {
	args := append([]string{"run", "--no-report", "-o", session}, flags...)
	return append(append(args, "--"), target.Args...)
}

// recorder keeps what was recorded for tests that are about sessions.
var recorder = sync.OnceValues(dotnettest.NewRecorder)

// recordOnce is record for tests that assert on the session, and on what the target says, but not on how it was recorded:
// another test, or an earlier run of the tests with the same agent and collector, may have recorded the session. It must
// not be changed. A test that asks for the same twice gets two recordings.
func recordOnce(t *testing.T, target *exec.Cmd, flags ...string) result {
	t.Helper()
	keeper, err := recorder()
	if err != nil {
		t.Fatal(err)
	}
	kept, ok := keeper.Record(t, target, flags, func(session string) dotnettest.Recording {
		r := runWith(t, input{env: target.Env}, recordingArgs(session, target, flags)...)
		return dotnettest.Recording{Exit: r.exit, Stdout: r.stdout, Stderr: r.stderr}
	})
	if !ok {
		return record(t, target, flags...)
	}
	return result{exit: kept.Exit, stdout: kept.Stdout, stderr: kept.Stderr, session: kept.Session}
}

// mustRecord is recordOnce for a target that ends with code 0, and whose session is complete and sound.
func mustRecord(t *testing.T, target *exec.Cmd, flags ...string) result {
	t.Helper()
	r := recordOnce(t, target, flags...)
	if r.exit != 0 {
		t.Fatalf("%v: exit code %d\n%s%s", target.Args, r.exit, r.stdout, r.stderr)
	}
	checkSession(t, r.session)
	return r
}

// query returns the rows of a query as `clrprof sql --json` prints them; Row has the names of the columns as tags.
// TestPrintedByBinary compares them with what is printed.
func query[Row any](t *testing.T, path, sql string) []Row {
	t.Helper()
	s := openSession(t, path)
	if state, err := s.State(); err != nil || state != session.Complete { // it is completed first
		return printed[Row](t, "sql", path, sql, "--so-far", "--json")
	}
	found := &report.Records{}
	err := s.Query(sql, func(columns []string) error {
		found.Columns = columns
		return nil
	}, func(row []any) error {
		found.Rows = append(found.Rows, row)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := encode.WriteRecords(&text, found, encode.JSON); err != nil {
		t.Fatal(err)
	}
	return decoded[Row](t, sql, text.Bytes())
}

// recordInTurn records a program, optimized and not, on the runtimes from .NET 8 on, in modes that take turns; first is
// the one that the program without optimization begins with.
func recordInTurn(t *testing.T, target string, o dotnettest.Options, modes [][]string, first int,
	check func(t *testing.T, r result, mode []string)) {
	t.Helper()
	for i, noOptimize := range []bool{false, true} {
		o.NoOptimize = noOptimize
		for k, runtime := range dotnettest.OneInTurn(dotnettest.NeedRuntimes(t, 8), i) {
			mode := modes[(i*first+k)%len(modes)]
			t.Run(strings.Join(mode, " ")+"/"+runtime.Name, func(t *testing.T) {
				t.Parallel()
				r := record(t, runtime.Command(dotnettest.Target(t, target, o)), mode...)
				if r.exit != 0 {
					t.Fatalf("exit code %d\n%s%s", r.exit, r.stdout, r.stderr)
				}
				check(t, r, mode)
			})
		}
	}
}

// view returns the rows of `clrprof report SESSION VIEW --json`.
func view[Row any](t *testing.T, path string, args ...string) []Row {
	t.Helper()
	return printed[Row](t, append(append([]string{"report", path}, args...), "--json")...)
}

// runHere is run in this process, by what main calls, for commands that take less than to start a process and get it
// ready, and are run often. TestPrintedByBinary compares the two.
func runHere(args ...string) result {
	var stdout, stderr bytes.Buffer
	exit := cli.Main(args, strings.NewReader(""), &stdout, &stderr)
	return result{exit: exit, stdout: stdout.String(), stderr: stderr.String()}
}

// printed returns the rows that a command prints.
func printed[Row any](t *testing.T, args ...string) []Row {
	t.Helper()
	r := runHere(args...)
	if r.exit != 0 {
		t.Fatalf("clrprof %q: exit code %d\n%s", args, r.exit, r.stderr)
	}
	return decoded[Row](t, fmt.Sprintf("clrprof %q", args), []byte(r.stdout))
}

// decoded returns rows that are JSON. whence is said if they are none.
func decoded[Row any](t *testing.T, whence string, text []byte) []Row {
	t.Helper()
	var rows []Row
	if err := json.Unmarshal(text, &rows); err != nil {
		t.Fatalf("%s: %v", whence, err)
	}
	return rows
}

// TestPrintedByBinary: the program prints to the byte what its main function prints here, of the views that most tests
// read.
func TestPrintedByBinary(t *testing.T) {
	t.Parallel()
	runtime := dotnettest.Need(t).Newest()
	for _, flags := range [][]string{nil, {"--time", "--memory"}} {
		r := record(t, runtime.Command(dotnettest.Target(t, "Boxes", dotnettest.Options{}), "500"), flags...)
		if r.exit != 0 {
			t.Fatalf("exit code %d\n%s%s", r.exit, r.stdout, r.stderr)
		}
		const sites = "SELECT * FROM site s JOIN site_value v ON v.site_id = s.id"
		commands := [][]string{{"sql", r.session, sites, "--json"}}
		views := []string{"functions", "modules", "types", "threads", "processes", "calltree", "lines", "gcs",
			"lifetime"}
		for _, view := range views {
			commands = append(commands, []string{"report", r.session, view, "--json"})
		}
		if got, want := query[map[string]any](t, r.session, sites), printed[map[string]any](t, commands[0]...); len(want) <
			100 || !reflect.DeepEqual(got, want) {
			t.Errorf("a query has %d rows that differ from the %d printed ones", len(got), len(want))
		}
		for _, args := range commands {
			want, got := run(t, args...), runHere(args...)
			if got != want || got.exit == 0 && len(want.stdout) < 10 {
				t.Errorf("clrprof %q: exit code %d, the program's is %d; what they print is equal: %v, %v",
					args, got.exit, want.exit, got.stdout == want.stdout, got.stderr == want.stderr)
			}
		}
	}
}

// checkSession asserts what must hold of every session of a target that ended by itself: nothing is lost, nothing
// contradicts itself, and the sums of all views, as a user gets them, are the totals.
func checkSession(t *testing.T, path string) {
	t.Helper()
	checkTables(t, path)
	checkSums(t, path)
	if countOf(t, path, "process_lifetime") > 0 {
		checkLives(t, path, true)
	}
}

// checkTables is checkSession without the sums of printed views: of large sessions of several processes those take
// longer than all else, and of many others they are checked.
func checkTables(t *testing.T, path string) {
	t.Helper()
	found, err := analysis.Check(openSession(t, path))
	if err != nil {
		t.Fatalf("checking the session: %v", err)
	}
	for _, v := range found {
		t.Errorf("the session contradicts itself: %v", v)
	}
	for _, l := range query[map[string]any](t, path, "SELECT * FROM loss WHERE reason <> 'threads_folded'") {
		t.Errorf("lost: %v", l)
	}
	for _, f := range query[map[string]any](t, path, `SELECT f.name, f.raw_type, f.raw_name, n.reason
		FROM function_not_probed n JOIN function f ON f.id = n.function_id
		WHERE n.reason NOT LIKE 'it ran when%'`) {
		t.Logf("not probed: %v", f)
	}
}

// amount is the columns of values that views have, each those of its kind.
type amount struct {
	Allocations int64 `json:"allocations"`
	Instances   int64 `json:"instances"`
	Exclusive   int64 `json:"exclusive_allocations"`
	Inclusive   int64 `json:"inclusive_allocations"`
	Bytes       int64 `json:"bytes"`
	ExclusiveB  int64 `json:"exclusive_bytes"`
	InclusiveB  int64 `json:"inclusive_bytes"`
}

// addedUp are the views of which all rows together are all allocations, and what of a row counts.
var addedUp = []struct {
	view    string
	options report.Options
	of      func(amount) (objects, bytes int64)
}{
	{"functions", report.Options{}, func(a amount) (int64, int64) { return a.Exclusive, a.ExclusiveB }},
	{"modules", report.Options{Depth: 1}, func(a amount) (int64, int64) { return a.Exclusive, a.ExclusiveB }},
	{"types", report.Options{Depth: 1}, func(a amount) (int64, int64) { return a.Instances, a.Bytes }},
	{"threads", report.Options{}, func(a amount) (int64, int64) { return a.Allocations, a.Bytes }},
	{"processes", report.Options{}, func(a amount) (int64, int64) { return a.Allocations, a.Bytes }},
	{"calltree", report.Options{Depth: 1}, func(a amount) (int64, int64) { return a.Inclusive, a.InclusiveB }},
	{"calltree", report.Options{}, func(a amount) (int64, int64) { return a.Exclusive, a.ExclusiveB }},
}

// mostNodes and mostPaths are how many places a call tree may have whose rows tests add up: all of them are in memory at
// once, a kilobyte or more each. The sums of larger trees are those of their roots, and by function, thread and type.
const mostNodes, mostPaths = 150_000, 50_000

// countOf is how many rows a table of a session has.
func countOf(t *testing.T, path, table string) int {
	t.Helper()
	return query[struct{ N int }](t, path, "SELECT count(*) AS n FROM "+table)[0].N
}

// checkSums adds up what the views show and compares with the totals: Σ exclusive over functions = Σ over types =
// Σ over threads = Σ over processes = what is below the roots.
func checkSums(t *testing.T, path string) {
	t.Helper()
	total := query[amount](t, path, "SELECT sum(allocations) AS allocations, sum(bytes) AS bytes FROM site_value")[0]
	o := openViews(t, path)
	large := countOf(t, path, "node") >= mostNodes
	for _, tt := range addedUp {
		if large && tt.view == "calltree" && tt.options.Depth == 0 {
			continue
		}
		var objects, bytes int64
		for _, row := range rows[amount](t, o, tt.view, tt.options) {
			o, b := tt.of(row)
			objects, bytes = objects+o, bytes+b
		}
		if objects != total.Allocations || bytes != total.Bytes {
			t.Errorf("%s (%d levels) adds up to %d allocations and %d bytes, the sites to %d and %d", tt.view,
				tt.options.Depth, objects, bytes, total.Allocations, total.Bytes)
		}
	}
}
