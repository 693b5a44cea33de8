package e2e

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/dotnettest"
)

// TestPrecompiledCallsOfSome records a part of a precompiled program, whose functions the compiler has put into the
// code of others where it could: all their calls are there, whoever makes them.
func TestPrecompiledCallsOfSome(t *testing.T) {
	t.Parallel()
	recorded := []string{"TimeCalls.Shape", "TimeCalls.Square", "TimeCalls.Point", "TimeCalls.Box*", "TimeCalls.Early",
		"TimeCalls.Held*", "TimeCalls.Depth"}
	flags := []string{"--time", "--instrument", "mine", "--probes", "il"}
	for _, pattern := range recorded {
		flags = append(flags, "--include", pattern)
	}
	cmd := delivered(t, "TimeCalls", deliveries[0].properties)
	cmd.Args = append(cmd.Args, "300", "1", "400")
	r := mustRecordTime(t, cmd, flags...)
	got := readRecordedTime(t, r.session)
	uncounted := map[called]bool{}
	for _, row := range truthRowsIfAny[callTruth](t, r.stdout, "uncounted") {
		uncounted[row.callee()] = true
	}
	compared := 0
	for _, row := range truthRows[callTruth](t, r.stdout, "calls") {
		is := slices.ContainsFunc(recorded, func(pattern string) bool {
			prefix, _ := strings.CutSuffix(pattern, "*")
			return strings.HasPrefix(row.Name, prefix+".") || prefix != pattern && strings.HasPrefix(row.Name, prefix)
		})
		if row.Module == "TimeCalls.dll" && is && !uncounted[row.callee()] {
			got.compareFunction(t, row)
			compared++
		}
	}
	if compared < 10 {
		t.Errorf("only %d functions are compared", compared)
	}
}

// compileHere compiles lines with the compiler of an SDK, which is precompiled, and returns the result, what it wrote,
// and the methods that the JIT compiled to run it.
func compileHere(t *testing.T, lines int, record func(*exec.Cmd) result) (r result, dll []byte,
	jitted map[string]bool) {
	t.Helper()
	in, sdk := dotnettest.NeedSDK(t)
	source, err := in.Large(lines)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	out, list := filepath.Join(dir, "Large.dll"), filepath.Join(dir, "jitted")
	cmd := exec.Command(sdk.Dotnet(), filepath.Join(sdk.Dir(), "Roslyn", "bincore", "csc.dll"),
		"-nologo", "-parallel-", "-deterministic", "-debug-", "-out:"+out, source)
	references, err := filepath.Glob(filepath.Join(sdk.Root, "packs", "Microsoft.NETCore.App.Ref", "*", "ref",
		"net[1-9]*", "*.dll"))
	if err != nil || len(references) == 0 {
		t.Fatalf("no reference assemblies: %v", err)
	}
	newest := filepath.Dir(references[0]) // 10 before 8
	for _, f := range references {
		if filepath.Dir(f) == newest {
			cmd.Args = append(cmd.Args, "-r:"+f)
		}
	}
	cmd.Env = append(dotnettest.NeedRuntimes(t, sdk.Major())[0].Env(), "DOTNET_JitStdOutFile="+list,
		"DOTNET_JitDisasmSummary=1")
	r = record(cmd)
	if dll, err = os.ReadFile(out); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	jitted = map[string]bool{}
	// 7: JIT compiled Type:Method(Parameters) [Tier0, IL size=18, code size=24]
	for line := range strings.Lines(string(text)) {
		if _, rest, found := strings.Cut(line, "JIT compiled "); found && strings.Contains(rest, "Tier0") {
			name, _, _ := strings.Cut(rest, " [")
			jitted[name] = true
		}
	}
	return r, dll, jitted
}

// TestPrecompiledCompiler records one class of the C# compiler. All calls are there that are there without any
// precompiled code, and what is neither recorded nor has such a function in its code remains precompiled.
func TestPrecompiledCompiler(t *testing.T) {
	t.Parallel()
	const lines = 300
	include := []string{"--include", "Microsoft.CodeAnalysis.CSharp.Binder*"}
	_, wantDLL, plain := compileHere(t, lines, func(cmd *exec.Cmd) result {
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		return result{}
	})
	calls := func(by []string) (map[call]int64, map[called]*callsOf, map[string]bool) {
		r, dll, jitted := compileHere(t, lines, func(cmd *exec.Cmd) result {
			return mustRecordTime(t, cmd, append(include, by...)...)
		})
		if !bytes.Equal(dll, wantDLL) {
			t.Errorf("%v: the compiler writes another DLL when it is profiled", by)
		}
		got := readRecordedTime(t, r.session)
		return got.calls, got.functions, jitted
	}
	hooks, _, all := calls(byHooks)
	probes, functions, some := calls(byProbes)
	sameKeys(t, "calls", hooks, probes)
	if len(functions) < 500 || len(probes) < 1000 {
		t.Errorf("only %d functions and %d pairs of them", len(functions), len(probes))
	}
	more := maps.Clone(some)
	maps.DeleteFunc(more, func(name string, _ bool) bool { return plain[name] })
	if len(more) > 2*len(functions) || len(all) < 10*len(more) {
		t.Errorf("%d methods more are compiled than without recording, for %d functions; by hooks %d are: "+
			"precompiled code is not used",
			len(more), len(functions), len(all))
	}
	t.Logf("%d functions, %d pairs; compiled: %d plain, %d more by probes, %d by hooks", len(functions), len(probes),
		len(plain), len(more), len(all))
}
