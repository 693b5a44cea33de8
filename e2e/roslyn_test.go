package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// roslynLines is what the compiler has to compile. 50,000 lines, whose figures are in docs/trust.md, take a
// minute.
const roslynLines = 4000

// TestRoslyn profiles a large program of the world: the C# compiler, which is precompiled, concurrent and deep. It must
// not notice, and what is said of it must make sense.
func TestRoslyn(t *testing.T) {
	t.Parallel()
	dotnettest.NotQuick(t, "it runs a real compiler")
	checkRoslyn(t, compileLarge(t, roslynLines, func(cmd *exec.Cmd) result { return mustRecord(t, cmd) }))
}

// compileLarge compiles a program of so many lines twice, the second time as record does it, and asserts that the same
// comes out. It returns the session.
func compileLarge(t *testing.T, lines int, record func(*exec.Cmd) result) string {
	t.Helper()
	in := dotnettest.Need(t)
	source, err := in.Large(lines)
	if err != nil {
		t.Fatal(err)
	}
	var dlls [2][]byte
	var r result
	for i, profiled := range []bool{false, true} {
		out := filepath.Join(t.TempDir(), "Large.dll")
		args, err := in.CompilerCommand(in.Newest(), []string{source}, out,
			dotnettest.Options{Deterministic: true, Debug: dotnettest.DebugNone})
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Env = in.Env()
		if profiled {
			r = record(cmd)
		} else if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if dlls[i], err = os.ReadFile(out); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(dlls[0], dlls[1]) {
		t.Errorf("the compiler writes another DLL when it is profiled: %d bytes, not %d", len(dlls[1]), len(dlls[0]))
	}
	return r.session
}

func checkRoslyn(t *testing.T, path string) {
	t.Helper()
	share := map[string]float64{}
	for _, row := range view[struct {
		Name    string  `json:"name"`
		Module  string  `json:"module"`
		Percent float64 `json:"inclusive_bytes_percent"`
	}](t, path, "functions") {
		if name, _, found := strings.Cut(row.Name, "("); found || strings.HasPrefix(row.Name, "(") {
			share[name] = max(share[name], row.Percent)
		} else {
			t.Errorf("the function %q has no parameter list", row.Name)
		}
	}
	const main, worker = "Microsoft.CodeAnalysis.CSharp.CommandLine.Program.Main", "System.Threading.PortableThreadPool.WorkerThread.WorkerThreadStart"
	if sum := share[main] + share[worker]; sum < 95 || sum > 100 {
		t.Errorf("Main and the thread pool's workers have %.1f %% and %.1f %% of the bytes below them", share[main],
			share[worker])
	}
	for name, least := range map[string]float64{
		// bind, lower and emit each type
		"Microsoft.CodeAnalysis.CSharp.MethodCompiler.CompileNamedType":                           25,
		"Microsoft.CodeAnalysis.CSharp.Binder.BindStatement":                                      5,
		"Microsoft.CodeAnalysis.CSharp.Syntax.InternalSyntax.LanguageParser.ParseCompilationUnit": 0.5,
	} {
		if share[name] < least {
			t.Errorf("%s has %.1f %% of the bytes below it, want at least %.1f %%", name, share[name], least)
		}
	}
	for _, row := range query[struct {
		Functions int64 `json:"functions"`
		Types     int64 `json:"types"`
	}](t, path, "SELECT (SELECT count(*) FROM function WHERE name = '' AND kind <> 'pseudo') AS functions, "+
		"(SELECT count(*) FROM type WHERE name = '' OR kind = 'unknown') AS types") {
		if row.Functions != 0 || row.Types != 0 {
			t.Errorf("%d functions and %d types have no name", row.Functions, row.Types)
		}
	}
}
