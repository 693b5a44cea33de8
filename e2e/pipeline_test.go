package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// pipelineLimits are what a team would write for the target Pipeline.
const pipelineLimits = `[[limit]]
metric = "bytes"
focus = ["Parser.ParseAll"]
max = 3500000
grow = "2%"
floor = "4K"
[[limit]]
metric = "bytes"
functions = ["Parser.ParseLine"]
max = "2M"
[[limit]]
metric = "findings"
rules = ["boxing"]
max = 0
`

// pipelineVerdict is what a pipeline reads of a limit.
type pipelineVerdict struct {
	Limit, Metric, State, Why, Next string
	Value                           int64
	Places                          []struct {
		Function, File, By string
		Line, Value        int64
		Types              []string
	}
}

// checkPipeline checks a session of the target as a pipeline does.
func checkPipeline(t *testing.T, session, base string) (int, []pipelineVerdict) {
	t.Helper()
	budget := filepath.Join(t.TempDir(), "budget.toml")
	if err := os.WriteFile(budget, []byte(pipelineLimits), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"check", session, "--budget", budget, "--format", "json"}
	if base != "" {
		args = append(args, "--baseline", base)
	}
	r := run(t, args...)
	var out []pipelineVerdict
	if err := json.Unmarshal([]byte(r.stdout), &out); err != nil || len(out) != 4 {
		t.Fatalf("%v: %s%s", err, r.stdout, r.stderr)
	}
	return r.exit, out
}

// TestPipeline: a change that makes a program dearer breaks its budget and is named with its line; one that renames a
// function, crashes or records nothing does not pass.
func TestPipeline(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	target := func(defines ...string) string {
		t.Helper()
		dll, err := in.Compile([]string{"../testdata/targets/Pipeline"}, "",
			dotnettest.Options{Name: "Pipeline", Debug: dotnettest.DebugPortable, Defines: defines})
		if err != nil {
			t.Fatal(err)
		}
		return dll
	}
	recorded := func(defines ...string) string {
		t.Helper()
		return mustRecord(t, in.Newest().Command(target(defines...)), "--memory").session
	}
	base := recorded()
	source, err := os.ReadFile("../testdata/targets/Pipeline/Program.cs")
	if err != nil {
		t.Fatal(err)
	}
	line := func(text string) int64 {
		before, _, _ := strings.Cut(string(source), text)
		return int64(strings.Count(before, "\n")) + 1
	}
	if exit, v := checkPipeline(t, base, base); exit != 0 || v[0].State != "held" || v[0].Value != 0 {
		t.Errorf("the base: exit code %d: %+v", exit, v)
	}

	exit, v := checkPipeline(t, recorded("SPLIT"), base)
	if exit != 1 || v[1].State != "broken" || len(v[1].Places) == 0 {
		t.Fatalf("split twice: exit code %d: %+v", exit, v)
	}
	if r := run(t, "diff", base, recorded("SPLIT"), "lines"); !strings.Contains(r.stdout,
		"Code without lines, as of the framework, differs by +820.") {
		t.Error(r.stdout)
	}
	if words := strings.Fields(v[1].Next); len(words) == 0 || !strings.Contains(run(t, words[1:]...).stdout,
		"+820.") {
		t.Errorf("%s: %s", v[1].Next, run(t, words[1:]...).stdout)
	}
	// Both lines split. Lines that do the same are matched in source order, so the first one is the line of the baseline.
	p := v[1].Places[0]
	if p.Function != "Parser.ParseLine(string)" || p.Line != line("var p = line.Split(';')") ||
		p.By != "String.Split" || fmt.Sprint(p.Types) != "[string string[]]" || p.Value <= 0 ||
		!strings.HasSuffix(p.File, "/Program.cs") ||
		!strings.Contains(v[1].Why, fmt.Sprintf("Most of the growth: Parser.ParseLine Program.cs:%d, ", p.Line)) {
		t.Errorf("split twice: %+v", v[1])
	}

	exit, v = checkPipeline(t, recorded("BOX"), base)
	if exit != 1 || v[3].State != "broken" || !strings.HasPrefix(v[3].Why, "1 place, and none is allowed. First: "+
		fmt.Sprintf("Report.Total Program.cs:%d (5,000 ", line("object sum ="))) {
		t.Errorf("boxed: exit code %d: %+v", exit, v)
	}

	budget := filepath.Join(t.TempDir(), "first.toml")
	if r := run(t, "budget", "init", base, recorded(), "-o", budget); r.exit != 0 {
		t.Fatal(r.stderr)
	}
	for define, want := range map[string]int{"NOTHING": 0, "SPLIT": 1, "BOX": 1} {
		if r := run(t, "check", recorded(define), "--budget", budget); r.exit != want {
			t.Errorf("%s: exit code %d by a first budget:\n%s%s", define, r.exit, r.stdout, r.stderr)
		}
	}

	exit, v = checkPipeline(t, recorded("RENAMED"), base)
	if exit != 2 || v[2].State != "unknown" ||
		!strings.Contains(v[2].Why, "Parser.ReadLine(string) is new with the same code") {
		t.Errorf("renamed: exit code %d: %+v", exit, v)
	}

	exit, v = checkPipeline(t, record(t, in.Newest().Command(target(), "crash"), "--memory").session, base)
	if exit == 0 || v[0].State != "unknown" || v[0].Value != 134 {
		t.Errorf("crashed: exit code %d: %+v", exit, v)
	}
}
