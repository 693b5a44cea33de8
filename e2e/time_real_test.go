package e2e

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// timed records a command with times.
func timed(t *testing.T) func(*exec.Cmd) result {
	return func(cmd *exec.Cmd) result {
		t.Helper()
		return mustRecordTime(t, cmd, timeOnly...)
	}
}

// timedLines is what the compiler has to compile when it is timed: its paths of calls are millions with more.
const timedLines = 300

// TestTimeRoslyn times a large program of the world, the C# compiler: it writes the same, and where its time goes makes
// sense.
func TestTimeRoslyn(t *testing.T) {
	t.Parallel()
	dotnettest.NotQuick(t, "it runs a real compiler")
	path := compileLarge(t, timedLines, timed(t))
	share, calls := map[string]float64{}, map[string]int64{}
	for _, row := range view[struct {
		Name    string  `json:"name"`
		Calls   int64   `json:"calls"`
		Percent float64 `json:"elapsed_inclusive_percent"`
	}](t, path, "functions") {
		name, _, _ := strings.Cut(row.Name, "(")
		share[name] = max(share[name], row.Percent)
		calls[name] = max(calls[name], row.Calls)
	}
	if n := calls["Microsoft.CodeAnalysis.CSharp.CommandLine.Program.Main"]; n != 1 {
		t.Errorf("Main was called %d times", n)
	}
	for name, least := range map[string]float64{
		"Microsoft.CodeAnalysis.CSharp.CommandLine.Program.Main":            20, // the others run in the thread pool
		"Microsoft.CodeAnalysis.CSharp.MethodCompiler.CompileNamedType":     5,
		"Microsoft.CodeAnalysis.CSharp.Binder.BindStatement":                1,
		"Microsoft.CodeAnalysis.CSharp.LocalRewriter.VisitExpressionImpl":   0.1,
		"Microsoft.CodeAnalysis.CSharp.CodeGen.CodeGenerator.EmitStatement": 0.1,
	} {
		if share[name] < least || share[name] > 100 {
			t.Errorf("%s has %.2f %% of the time, want at least %.2f %%", name, share[name], least)
		}
	}
}

// TestTimeServer times a program with hundreds of assemblies: it says the same.
func TestTimeServer(t *testing.T) {
	t.Parallel()
	checkCalled(t, listTools(t, timed(t)), "azmcp")
}

// TestTimeMSBuild times the build engine: it builds the same.
func TestTimeMSBuild(t *testing.T) {
	t.Parallel()
	dotnettest.NotQuick(t, "it runs real builds")
	checkCalled(t, buildProject(t, timed(t)), "MSBuild")
}

// checkCalled asserts that the Main of a program was called once, and that most of its time is that of others.
func checkCalled(t *testing.T, path, module string) {
	t.Helper()
	rows := query[struct{ Calls, Elapsed, Least int64 }](t, path,
		`SELECT ft.calls Calls, ft.elapsed_inclusive Elapsed, ft.elapsed_exclusive Least
		FROM function_time ft JOIN function f ON f.id = ft.function_id JOIN module m ON m.id = f.module_id
		WHERE f.raw_name IN ('Main', '<Main>') AND m.name LIKE '`+module+`%'`)
	if len(rows) == 0 {
		t.Errorf("%s has no Main", module)
	}
	for _, row := range rows {
		if row.Calls != 1 || row.Elapsed <= 2*row.Least {
			t.Errorf("Main: %+v", row)
		}
	}
}
