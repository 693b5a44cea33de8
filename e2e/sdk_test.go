package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// sdkProject is a directory of a test's own with what "dotnet" needs beside it.
type sdkProject struct {
	t   *testing.T
	sdk dotnettest.SDK
	dir string
}

func newProject(t *testing.T, files map[string]string) sdkProject {
	t.Helper()
	_, sdk := dotnettest.NeedSDK(t)
	p := sdkProject{t, sdk, t.TempDir()}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// dotnet is a command of the SDK in the project's directory.
func (p sdkProject) dotnet(args ...string) *exec.Cmd {
	cmd := exec.Command(p.sdk.Dotnet(), args...)
	cmd.Dir, cmd.Env = p.dir, p.sdk.Env(filepath.Join(p.dir, "home"))
	return cmd
}

// plain runs a command without clrprof.
func (p sdkProject) plain(args ...string) string {
	p.t.Helper()
	out, err := p.dotnet(args...).CombinedOutput()
	if err != nil {
		p.t.Fatalf("dotnet %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// record profiles a command that must end well and leave a session that is sound and has everything.
func (p sdkProject) record(cmd *exec.Cmd) result {
	p.t.Helper()
	r := record(p.t, cmd)
	if r.exit != 0 {
		p.t.Fatalf("%v: exit code %d\n%s%s", cmd.Args, r.exit, r.stdout, r.stderr)
	}
	checkTables(p.t, r.session)
	return r
}

// newIntegration copies what is under integrations/, and some files into a directory of it, which becomes the
// project's, and builds that. A test for whose packages there is no source is skipped.
func newIntegration(t *testing.T, dir, configuration string, files ...string) sdkProject {
	t.Helper()
	_, sdk := dotnettest.NeedSDK(t)
	root := t.TempDir()
	if err := os.CopyFS(root, os.DirFS("../integrations")); err != nil {
		t.Fatal(err)
	}
	p := sdkProject{t, sdk, filepath.Join(root, dir)}
	for _, f := range files {
		if err := copyFile(f, filepath.Join(p.dir, filepath.Base(f))); err != nil {
			t.Fatal(err)
		}
	}
	p.build(configuration)
	return p
}

// build builds the project; without the packages that it needs the test is skipped.
func (p sdkProject) build(configuration string) {
	p.t.Helper()
	out, err := p.dotnet("build", "--nologo", "-c", configuration).CombinedOutput()
	if err != nil {
		skipWithoutPackages(p.t, string(out))
		p.t.Fatalf("%v\n%s", err, out)
	}
}

// skipWithoutPackages skips a test on a machine that can get the packages which a build needs from nowhere.
func skipWithoutPackages(t *testing.T, output string) {
	t.Helper()
	if strings.Contains(output, "NU1101") || strings.Contains(output, "NU1301") {
		t.Skipf("needs packages, which this machine can get from nowhere:\n%s", output)
	}
}

const consoleProject = `<Project Sdk="Microsoft.NET.Sdk">
  <PropertyGroup><OutputType>Exe</OutputType><TargetFramework>net10.0</TargetFramework><Nullable>enable</Nullable></PropertyGroup>
</Project>
`

// endings asserts that each process of a session ended by itself, or was ended by another of its own, and that there
// are some of each of these names.
func endings(t *testing.T, path string, names ...string) {
	t.Helper()
	got := map[string]bool{}
	for _, row := range view[processRow](t, path, "processes") {
		got[row.Name] = true
		if row.State != "exited" {
			t.Errorf("%s: %s", row.Name, row.State)
		}
	}
	for _, name := range names {
		if !got[name] {
			t.Errorf("there is no process %s: %v", name, got)
		}
	}
}

// TestDotnetBuild builds a project with and without being profiled: the same bytes come out, the compiler, which is a
// process of its own, is in the session.
func TestDotnetBuild(t *testing.T) {
	t.Parallel()
	dotnettest.NotQuick(t, "it runs real builds")
	p := newProject(t, map[string]string{"App.csproj": consoleProject,
		"Program.cs": "System.Console.WriteLine(string.Join(',', args));\n"})
	p.plain("restore")
	var dlls [2][]byte
	for i := range dlls {
		cmd := p.dotnet("build", "--no-restore", "--nologo")
		if i == 0 {
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		} else {
			endings(t, p.record(cmd).session, "dotnet", "csc")
		}
		b, err := os.ReadFile(filepath.Join(p.dir, "bin/Debug/net10.0/App.dll"))
		if err != nil {
			t.Fatal(err)
		}
		dlls[i] = b
		for _, d := range []string{"bin", "obj/Debug"} {
			if err := os.RemoveAll(filepath.Join(p.dir, d)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if !bytes.Equal(dlls[0], dlls[1]) {
		t.Error("another DLL comes out when the build is profiled")
	}
}

// TestDotnetBuildTimed: with times, too, the SDK's programs are what is recorded where nothing that runs is the user's, and
// that is said when they start.
func TestDotnetBuildTimed(t *testing.T) {
	t.Parallel()
	dotnettest.NotQuick(t, "it runs real builds")
	p := newProject(t, map[string]string{"App.csproj": consoleProject, "Program.cs": "System.Console.WriteLine();\n"})
	p.plain("restore")
	r := record(t, p.dotnet("build", "--no-restore", "--nologo"), "--time")
	if r.exit != 0 || !strings.Contains(r.stderr, "dotnet build runs no code of yours") {
		t.Fatalf("exit code %d\n%s%s", r.exit, r.stdout, r.stderr)
	}
	for _, name := range []string{"dotnet.dll", "MSBuild.dll", "csc.dll"} {
		if n := len(query[struct{ Calls int64 }](t, r.session, `select calls from function_time join function
			on function.id = function_time.function_id join module on module.id = function.module_id
			where module.name = '`+name+`' and module.origin = 'folder' and calls > 0 limit 1`)); n == 0 {
			t.Errorf("no call of %s was recorded", name)
		}
	}
}

// TestDotnetRun runs a target from its sources: of its process, one of several, the session says what the target says.
func TestDotnetRun(t *testing.T) {
	t.Parallel()
	dotnettest.NotQuick(t, "it runs real builds")
	in := dotnettest.Need(t)
	p := newProject(t,
		map[string]string{"Threads.csproj": strings.Replace(consoleProject, "<Nullable>enable</Nullable>",
			"<Optimize>true</Optimize>", 1)})
	for _, from := range []string{"Threads/Program.cs", "Truth.cs"} {
		if err := copyFile("../testdata/targets/"+from, filepath.Join(p.dir, filepath.Base(from))); err != nil {
			t.Fatal(err)
		}
	}
	r := p.record(p.dotnet("run", "--", "4", "1000"))
	compareTruth(t, r, in.Newest())
	endings(t, r.session, "dotnet", "Threads")
	origins(t, r.session, map[string]string{"Threads.dll": "project", "dotnet.dll": "sdk",
		"System.Private.CoreLib.dll": "framework"})
	summary := run(t, "report", r.session)
	threads, dotnet := strings.Index(summary.stdout, "  Threads\n"), strings.Index(summary.stdout, "  dotnet\n")
	if threads < 0 || dotnet < threads {
		t.Errorf("the program does not come first:\n%s", summary.stdout)
	}
}

// origins asserts whose code modules of a session are.
func origins(t *testing.T, path string, want map[string]string) {
	t.Helper()
	for _, m := range query[struct{ Name, Origin string }](t, path, "SELECT DISTINCT name, origin FROM module") {
		if origin, asked := want[m.Name]; asked && m.Origin != origin {
			t.Errorf("%s is %s, want %s", m.Name, m.Origin, origin)
		}
		delete(want, m.Name)
	}
	for name := range want {
		t.Errorf("there is no module %s", name)
	}
}

// TestDotnetTest runs tests of xunit: they say the same as without clrprof, and what they allocate is in the session of
// the process that ran them.
func TestDotnetTest(t *testing.T) {
	t.Parallel()
	dotnettest.NotQuick(t, "it runs real builds")
	p := newProject(t, map[string]string{
		"Tests.csproj": `<Project Sdk="Microsoft.NET.Sdk">
  <PropertyGroup><TargetFramework>net10.0</TargetFramework><IsPackable>false</IsPackable></PropertyGroup>
  <ItemGroup>
    <PackageReference Include="Microsoft.NET.Test.Sdk" Version="18.0.1" />
    <PackageReference Include="xunit" Version="2.9.3" />
    <PackageReference Include="xunit.runner.visualstudio" Version="3.1.5" />
  </ItemGroup>
</Project>
`,
		"Tests.cs": `using System.Threading.Tasks;
using Xunit;
public class Widget { public long Value; }
public sealed class SlowFactAttribute : FactAttribute { }
public class Tests
{
    [Theory, InlineData(100), InlineData(200)]
    public void Makes(int n)
    {
        var all = new Widget[n];
        for (int i = 0; i < n; i++) all[i] = new Widget { Value = i };
        Assert.Equal(n - 1, all[n - 1].Value);
    }
    [Fact] public void Passes() => Assert.NotNull(new Widget());
    [SlowFact] public async Task Waits()
    {
        var all = new Widget[3];
        await Task.Yield();
        all[0] = new Widget();
        await Fills(all);
    }
    static async Task Fills(Widget[] all)
    {
        await Task.Yield();
        for (int i = 1; i < all.Length; i++) all[i] = new Widget();
    }
}
`})
	p.build("Debug")
	r := p.record(p.dotnet("test", "--no-build", "--nologo"))
	if !strings.Contains(r.stdout, "Passed:     4") {
		t.Errorf("it says %q", r.stdout)
	}
	type row struct {
		Name      string
		Instances int64
	}
	got := query[row](t, r.session,
		"SELECT name, instances FROM types WHERE module = 'Tests.dll' AND name LIKE '%Widget%' ORDER BY name")
	if d := cmp.Diff([]row{{"Widget", 304}, {"Widget[]", 3}}, got); d != "" {
		t.Error(d)
	}
	origins(t, r.session, map[string]string{"Tests.dll": "project", "xunit.core.dll": "package",
		"testhost.dll": "package", "vstest.console.dll": "sdk",
		"xunit.runner.visualstudio.testadapter.dll": "package"})
	hosts := query[struct{ Name, State string }](t, r.session,
		"SELECT name, end_state AS state FROM process WHERE name = 'testhost'")
	if len(hosts) != 1 || hosts[0].State != "exited" { // vstest waits for the last collection
		t.Errorf("these processes have run tests: %v", hosts)
	}
	compareTests(t, r.session)
	firstBudget(t, r.session)
	for _, l := range view[lives](t, r.session, "lifetime") {
		if strings.HasPrefix(l.Name, "Widget") && l.Alive != 0 {
			t.Errorf("what the tests made is garbage at the end, and is said to be alive: %+v", l)
		}
	}
}

// firstBudget makes a budget of the session of TestDotnetTest: it has a limit for each test, of what the view of tests has
// of it, and none of the SDK.
func firstBudget(t *testing.T, path string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "budget.toml")
	if r := run(t, "budget", "init", path, "-o", file); r.exit != 0 {
		t.Fatal(r.stderr)
	}
	r := run(t, "check", path, "--budget", file, "--format", "json")
	var verdicts []pipelineVerdict
	if err := json.Unmarshal([]byte(r.stdout), &verdicts); err != nil || r.exit != 0 {
		t.Fatalf("exit code %d, %v: %s%s", r.exit, err, r.stdout, r.stderr)
	}
	got, want := map[string]int64{}, map[string]int64{}
	for _, v := range verdicts {
		if name, isTest := strings.CutPrefix(v.Limit, "test "); isTest {
			got[name] = v.Value
		} else if v.Limit != "your code" && v.Limit != "findings of testhost" && v.Metric != "exit_code" {
			t.Errorf("%s is limited", v.Limit)
		}
	}
	for _, row := range view[struct {
		Name  string
		Bytes int64 `json:"inclusive_bytes"`
	}](t, path, "tests") {
		if !strings.HasPrefix(row.Name, "(") {
			want[row.Name] = row.Bytes
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("limits on tests: (-want +got)\n%s", d)
	}
}

// compareTests compares what the session of TestDotnetTest says of its tests with what they make themselves, and all rows
// with the process that ran them.
func compareTests(t *testing.T, path string) {
	t.Helper()
	type test struct {
		Name        string
		Attribute   string `json:"test_attribute"`
		Line        int
		Exclusive   int64 `json:"exclusive_allocations"`
		Allocations int64 `json:"inclusive_allocations"`
		Bytes       int64 `json:"inclusive_bytes"`
		PID         int64 `json:"process_id"`
	}
	var all test
	got := map[string]test{}
	for _, row := range view[test](t, path, "tests") {
		all.PID, all.Allocations, all.Bytes = row.PID, all.Allocations+row.Allocations, all.Bytes+row.Bytes
		if !strings.HasPrefix(row.Name, "(") {
			got[row.Name] = test{Attribute: row.Attribute, Line: row.Line, Exclusive: row.Exclusive}
		}
	}
	// In a Debug build a state machine is an object.
	if d := cmp.Diff(map[string]test{"Tests.Makes(int)": {Attribute: "Xunit.TheoryAttribute", Line: 9, Exclusive: 302},
		"Tests.Passes()": {Attribute: "Xunit.FactAttribute", Line: 14, Exclusive: 1},
		"Tests.Waits()":  {Attribute: "SlowFactAttribute", Line: 16, Exclusive: 3}}, got); d != "" {
		t.Errorf("tests: (-want +got)\n%s", d)
	}
	for _, p := range view[struct {
		PID                int64 `json:"process_id"`
		Allocations, Bytes int64
	}](t, path, "processes") {
		if p.PID == all.PID && (p.Allocations != all.Allocations || p.Bytes != all.Bytes) {
			t.Errorf("all rows of tests are %+v, the process is %+v", all, p)
		}
	}
	summary := run(t, "report", path).stdout
	if tests, at := strings.Index(summary, "\nTests: "), strings.Index(summary, "\nWhere your code"); tests < 0 || at < tests {
		t.Errorf("the summary does not begin with the tests:\n%s", summary)
	}
	calls := query[struct{ N int64 }](t, path, `SELECT count(*) AS n FROM function WHERE test <> ''`)
	if calls[0].N != 4 { // Waits is two functions
		t.Errorf("%d functions are tests", calls[0].N)
	}
}

// TestDotnetFsi runs a script of F#, which is compiled in memory.
func TestDotnetFsi(t *testing.T) {
	t.Parallel()
	dotnettest.NotQuick(t, "it runs a real compiler")
	p := newProject(t, map[string]string{"script.fsx": "let rec make n = if n = 0 then [] else (n, string n) :: make " +
		"(n - 1)\nprintfn \"%d\" (List.length (make 1000))\n"})
	r := p.record(p.dotnet("fsi", "--quiet", "script.fsx"))
	if r.stdout != "1000\n" {
		t.Errorf("it says %q", r.stdout)
	}
	endings(t, r.session, "fsi")
	origins(t, r.session, map[string]string{"FSharp.Core.dll": "sdk"})
}

// TestDotnetFsiTimed times a script of F#: what is compiled in memory is the user's, and what it calls of the library
// of F# is found in its file, which is not the user's.
func TestDotnetFsiTimed(t *testing.T) {
	t.Parallel()
	dotnettest.NotQuick(t, "it runs a real compiler")
	p := newProject(t,
		map[string]string{"script.fsx": `let rec make n = if n = 0 then [] else (n, string n) :: make (n - 1)
let sums = async { let! all = Async.Parallel [ for i in 1..20 -> async { return i * 2 } ]
                   return Array.sum all }
printfn "%d %d" (List.length (make 1000)) (Async.RunSynchronously sums)
`})
	r := record(t, p.dotnet("fsi", "--quiet", "script.fsx"), timeOnly...)
	if r.exit != 0 || r.stdout != "1000 420\n" {
		t.Fatalf("exit code %d, it says %q\n%s", r.exit, r.stdout, r.stderr)
	}
	soundTime(t, r.session)
	compareCallsByName(t, r, "f.raw_name IN ('make', 'Parallel', 'RunSynchronously')",
		map[string]int64{"make": 1001, "Parallel": 1, "RunSynchronously": 1})
	type function struct{ Module, Path, Origin string }
	for _, f := range query[function](t, r.session, `SELECT m.name AS module, m.path AS path, m.origin AS origin
		FROM function_time v JOIN function f ON f.id = v.function_id JOIN module m ON m.id = f.module_id WHERE v.calls > 0 GROUP BY m.id`) {
		if isMine := strings.HasPrefix(f.Module, "FSI-ASSEMBLY"); isMine != (f.Origin == "memory") ||
			isMine != (f.Path == "") {
			t.Errorf("functions were called of %+v", f)
		}
	}
}

// TestDotnetTool runs a tool that is a program of somebody else.
func TestDotnetTool(t *testing.T) {
	t.Parallel()
	dotnettest.NotQuick(t, "it runs real builds")
	p := newProject(t, nil)
	tools, err := filepath.Glob(filepath.Join(p.sdk.Root, "tools", "*", "*.runtimeconfig.json"))
	if err != nil {
		t.Fatal(err)
	}
	if len(tools) == 0 {
		t.Skip("needs a tool, such as dotnet-trace, in the directory tools of the SDK's root")
	}
	dll := strings.Replace(tools[0], ".runtimeconfig.json", ".dll", 1)
	want := p.plain(dll, "--help")
	r := p.record(p.dotnet(dll, "--help"))
	if d := cmp.Diff(want, r.stdout); d != "" || len(want) < 100 {
		t.Errorf("it says something else when it is profiled (-without +with):\n%s", d)
	}
	endings(t, r.session, strings.TrimSuffix(filepath.Base(dll), ".dll"))
}
