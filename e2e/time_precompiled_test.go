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

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// someOfTimeCalls are functions of TimeCalls, as patterns.
var someOfTimeCalls = []string{"TimeCalls.Shape", "TimeCalls.Square", "TimeCalls.Point", "TimeCalls.Box*",
	"TimeCalls.Early", "TimeCalls.Held*", "TimeCalls.Depth"}

// TestPrecompiledCallsOfSome records a part of a precompiled program, whose functions the compiler has put into the
// code of others where it could: all their calls are there, whoever makes them, and so are the marks at them. What has
// none of them in its code remains precompiled.
func TestPrecompiledCallsOfSome(t *testing.T) {
	t.Parallel()
	dotnettest.NotQuick(t, "it publishes programs")
	with := func(flag, suffix string, flags ...string) []string {
		for _, pattern := range someOfTimeCalls {
			flags = append(flags, flag, pattern+suffix)
		}
		return flags
	}
	for _, tt := range []struct {
		name     string
		flags    []string
		marks    bool
		recorded bool // whether some are: else all others
		// A method that need not be compiled.
		precompiled string
	}{
		{"included", with("--include", "", "--time", "--instrument", "mine", "--probes", "il"), false, true,
			"TimeCalls.Workers:Step(int)"},
		{"excluded", with("--exclude", "", "--time", "--probes", "il"), false, false,
			"TimeCalls.Depth:Fibonacci(int)"},
		{"marked", with("--mark-at", "", "--memory"), true, true, "TimeCalls.Workers:Step(int)"},
		{"marked beside others", append(with("--mark-at", "", "--time", "--probes", "il"), "--include",
			"TimeCalls.Functions", "--mark-at", "*.Nobody"), true, true, "TimeCalls.Workers:Step(int)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cmd := delivered(t, "TimeCalls", deliveries[0].properties)
			cmd.Args = append(cmd.Args, "300", "1", "400")
			list := filepath.Join(t.TempDir(), "jitted")
			cmd.Env = append(cmd.Env, "DOTNET_JitStdOutFile="+list, "DOTNET_JitDisasmSummary=1")
			recordIt := mustRecordTime
			if slices.Contains(tt.flags, "--memory") {
				recordIt = mustRecord
			}
			r := recordIt(t, cmd, tt.flags...)
			if tt.marks {
				compareSomeMarks(t, r)
			} else {
				compareSomeCalls(t, r, tt.recorded)
			}
			if jitted := readJitted(t, list); len(jitted) < 10 || jitted[tt.precompiled] {
				t.Errorf("%d methods are compiled, and so is %s: %v", len(jitted), tt.precompiled, jitted[tt.precompiled])
			}
		})
	}
}

// ofSome returns what the target knows of the calls of someOfTimeCalls, or of its other functions.
func ofSome(t *testing.T, r result, some bool) (rows []callTruth) {
	t.Helper()
	uncounted := map[called]bool{}
	for _, row := range truthRowsIfAny[callTruth](t, r.stdout, "uncounted") {
		uncounted[row.callee()] = true
	}
	for _, row := range truthRows[callTruth](t, r.stdout, "calls") {
		is := slices.ContainsFunc(someOfTimeCalls, func(pattern string) bool {
			prefix, _ := strings.CutSuffix(pattern, "*")
			return strings.HasPrefix(row.Name, prefix+".") || prefix != pattern && strings.HasPrefix(row.Name, prefix)
		})
		if row.Module == "TimeCalls.dll" && is == some && !uncounted[row.callee()] {
			rows = append(rows, row)
		}
	}
	if len(rows) < 10 {
		t.Errorf("only %d functions are compared", len(rows))
	}
	return rows
}

func compareSomeCalls(t *testing.T, r result, recorded bool) {
	t.Helper()
	got := readRecordedTime(t, r.session)
	for _, row := range ofSome(t, r, recorded) {
		got.compareFunction(t, row)
	}
	for _, row := range ofSome(t, r, !recorded) {
		if f := got.functions[row.callee()]; f != nil && !recorded {
			t.Errorf("%s is excluded, and has calls: %+v", row.Name, f)
		}
	}
}

func compareSomeMarks(t *testing.T, r result) {
	t.Helper()
	names := tokenNames(t, r.session, "TimeCalls.dll")
	want := map[string]int64{}
	for _, row := range ofSome(t, r, true) {
		if name := names[int64(row.Token)]; row.Calls > 0 {
			want[name] += row.Calls
		}
	}
	got := map[string]int64{}
	for _, m := range functionMarks(t, r.session) {
		if want[m.Name] != 0 {
			got[m.Name] = m.N
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("marks (-truth +session): %s", d)
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
	return r, dll, readJitted(t, list)
}

// readJitted reads which methods the JIT has compiled at the lowest tier, of what it was asked to write.
func readJitted(t *testing.T, list string) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	jitted := map[string]bool{}
	// 7: JIT compiled Type:Method(Parameters) [Tier0, IL size=18, code size=24]
	for line := range strings.Lines(string(text)) {
		if _, rest, found := strings.Cut(line, "JIT compiled "); found && strings.Contains(rest, "Tier0") {
			name, _, _ := strings.Cut(rest, " [")
			jitted[name] = true
		}
	}
	return jitted
}

// compareMarksWithCalls: each call of the functions with this name, and nothing else, has a mark.
func compareMarksWithCalls(t *testing.T, session string, recorded *recordedTime, name string) {
	t.Helper()
	want := marksOf{Name: name}
	for _, f := range recorded.functions {
		if f.name == name {
			want.N += f.began
		}
	}
	if d := cmp.Diff([]marksOf{want}, functionMarks(t, session)); d != "" || want.N < 100 {
		t.Errorf("marks at %d calls (-calls +marks): %s", want.N, d)
	}
}

// TestPrecompiledCompiler records one class of the C# compiler, and marks calls of some function of any module. All
// calls are there that are there without any precompiled code, and what is neither recorded or marked nor has such a
// function in its code remains precompiled, the framework's code too.
func TestPrecompiledCompiler(t *testing.T) {
	t.Parallel()
	dotnettest.NotQuick(t, "it runs a real compiler")
	const lines = 300
	include := []string{"--include", "Microsoft.CodeAnalysis.CSharp.Binder*"}
	_, wantDLL, plain := compileHere(t, lines, func(cmd *exec.Cmd) result {
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		return result{}
	})
	const marked = "Microsoft.CodeAnalysis.CSharp.Binder.BindExpression"
	include = append(include, "--mark-at", "*.Binder.BindExpression")
	calls := func(by []string) (map[call]int64, map[called]*callsOf, map[string]bool) {
		r, dll, jitted := compileHere(t, lines, func(cmd *exec.Cmd) result {
			return mustRecordTime(t, cmd, append(include, by...)...)
		})
		if !bytes.Equal(dll, wantDLL) {
			t.Errorf("%v: the compiler writes another DLL when it is profiled", by)
		}
		got := readRecordedTime(t, r.session)
		compareMarksWithCalls(t, r.session, got, marked)
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

// TestPrecompiledCallsAnywhere records functions of the core library that precompiled code of every assembly may have
// in it, of which no image's list tells.
func TestPrecompiledCallsAnywhere(t *testing.T) {
	t.Parallel()
	dotnettest.NotQuick(t, "it publishes programs")
	calls := func(by []string) map[call]int64 {
		cmd := delivered(t, "TimeCalls", deliveries[0].properties)
		cmd.Args = append(cmd.Args, "30", "1", "40")
		cmd.Env = append(cmd.Env, "DOTNET_TieredCompilation=0")
		r := mustRecordTime(t, cmd, append([]string{"--include", "System.Nullable*", "--include", "System.ReadOnlySpan*.get_*",
			"--include", "System.ReadOnlySpan*.Slice", "--include", "System.String.IsNull*"}, by...)...)
		return readRecordedTime(t, r.session).calls
	}
	probes := calls(byProbes)
	sameKeys(t, "calls", calls(byHooks), probes)
	if len(probes) < 5 {
		t.Errorf("only %d pairs", len(probes))
	}
}
