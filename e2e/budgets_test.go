package e2e

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// testRun is what "dotnet test" says of the tests that it ran: of each by its name the outcome, and the message of one
// that failed.
type testRun struct {
	Results []struct {
		Name    string `xml:"testName,attr"`
		Outcome string `xml:"outcome,attr"`
		Message string `xml:"Output>ErrorInfo>Message"`
	} `xml:"Results>UnitTestResult"`
}

func readTestRun(t *testing.T, path string) testRun {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var r testRun
	if err := xml.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

var (
	expects   = regexp.MustCompile(`expected: (\d+)\)$`)
	allocated = regexp.MustCompile(`allocated ([\d,]+) bytes on its thread, and may allocate [\d,]+\.\n`)
)

// TestAllocationBudget: a test with a budget is reported to have allocated what it did, to the byte, without clrprof
// and with it; it fails if that is more than it may; and with clrprof the commands that it names say where and of
// which type.
func TestAllocationBudget(t *testing.T) {
	t.Parallel()
	dotnettest.NotQuick(t, "it runs real builds")
	p := newIntegration(t, "xunit/sample", "Debug", "testdata/budgets/Truth.cs")
	results := filepath.Join(p.dir, "alone.trx")
	if out, err := p.dotnet("test", "--no-build", "--nologo", "--logger", "trx;LogFileName="+results).CombinedOutput(); err == nil {
		t.Errorf("no test fails:\n%s", out)
	}
	alone := compareBudgets(t, results)
	if at := "clrprof run -f -o tests.clrprof -- dotnet test --filter FullyQualifiedName=Shop.Tests.ParserTests.BreaksItsBudget\n"; !strings.Contains(alone, at) {
		t.Errorf("it does not say how to find the line: %s", alone)
	}
	results = filepath.Join(p.dir, "recorded.trx")
	r := record(t, p.dotnet("test", "--no-build", "--nologo", "--logger", "trx;LogFileName="+results))
	if r.exit != 1 {
		t.Errorf("exit code %d, want that of dotnet test\n%s%s", r.exit, r.stdout, r.stderr)
	}
	checkTables(t, r.session)
	reported := compareBudgets(t, results)
	compareBudgetSession(t, r.session, reported)
}

// compareBudgets compares what the tests say with what their names say, and returns the message of BreaksItsBudget.
func compareBudgets(t *testing.T, results string) string {
	t.Helper()
	var sample string
	n := 0
	for _, r := range readTestRun(t, results).Results {
		want := "Failed"
		switch {
		case strings.HasSuffix(r.Name, "Skipped"):
			want = "NotExecuted"
		case strings.Contains(r.Name, "Held"), strings.Contains(r.Name, "ParserTests.Counts"),
			strings.HasSuffix(r.Name, "KeepsItsBudget"):
			want = "Passed"
		case strings.HasSuffix(r.Name, "BreaksItsBudget"):
			sample = r.Message
		}
		if r.Outcome != want {
			t.Errorf("%s: %s, want %s\n%s", r.Name, r.Outcome, want, r.Message)
		}
		if e := expects.FindStringSubmatch(r.Name); e != nil {
			n++
			if a := allocated.FindStringSubmatch(r.Message); a == nil || strings.ReplaceAll(a[1], ",", "") != e[1] {
				t.Errorf("%s is reported: %s", r.Name, r.Message)
			}
		}
		for name, why := range map[string]string{"Refused.Waits": "a part of it ran on other threads",
			"Refused.ReturnsNothing": "only those that return a Task", "Refused.Throws": "its own"} {
			if r.Name == name && !strings.Contains(r.Message, why) {
				t.Errorf("%s is reported: %s", name, r.Message)
			}
		}
	}
	if n < 15 {
		t.Errorf("%d tests say what they allocate", n)
	}
	return sample
}

// compareBudgetSession compares what a session says of the tests with what they allocated, and runs the commands that
// the message of a test names.
func compareBudgetSession(t *testing.T, session, message string) {
	t.Helper()
	type sum struct {
		Name  string
		Bytes int64
	}
	// Of all runs of a method: those of all its arguments, and those before it counts.
	want := []sum{{"Boxes", 24}, {"Collected", 2400}, {"Large", 400_096}, {"Last", 4 * 240}, {"Pinned", 3072},
		{"Returns", 24}, {"Strings", 24 + 32 + 32 + 40}, {"Widgets", 2_424_024}}
	got := query[sum](t, session, `SELECT f.raw_name AS name, sum(v.inclusive_bytes) AS bytes FROM function_value v
		JOIN function f ON f.id = v.function_id WHERE f.raw_type = 'Counted' AND f.raw_name <> '.ctor' GROUP BY 1 ORDER BY 1`)
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	marks := query[struct{ Text string }](t, session, "SELECT text FROM mark WHERE name = 'over budget' AND text LIKE 'Shop.%'")
	if len(marks) != 1 || marks[0].Text != "Shop.Tests.ParserTests.BreaksItsBudget: 32,024 bytes, 0 allowed" {
		t.Errorf("marks: %v", marks)
	}
	lines := strings.Split(message, "\n")
	for i, want := range []string{linesOfSample(t), "OrderLine"} {
		args := strings.Fields(strings.ReplaceAll(lines[2+i], "'", ""))
		if args[0] != "clrprof" || args[2] != "SESSION" {
			t.Fatalf("it says %q", message)
		}
		args[2] = session
		if out := run(t, args[1:]...).stdout; !strings.Contains(out, want) {
			t.Errorf("%q does not say %q:\n%s", args, want, out)
		}
	}
}

// linesOfSample is the line of the sample that makes the objects of its test that breaks its budget.
func linesOfSample(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../integrations/xunit/sample/Tests.cs")
	if err != nil {
		t.Fatal(err)
	}
	before, _, found := strings.Cut(string(text), "lines[i] = new OrderLine")
	if !found {
		t.Fatal("the sample has no such line")
	}
	return "Tests.cs:" + strconv.Itoa(strings.Count(before, "\n")+1)
}
