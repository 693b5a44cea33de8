package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// TestWaysToStart starts one program in every way in which .NET programs are started; its truth is always the same.
func TestWaysToStart(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	dir := t.TempDir()
	dll, err := in.Compile([]string{"../testdata/targets/Threads", "../testdata/targets/Truth.cs"}, dir,
		dotnettest.Options{Name: "Threads"})
	if err != nil {
		t.Fatal(err)
	}
	apphost, err := in.AppHost(dll)
	if err != nil {
		t.Fatal(err)
	}
	alone, err := in.SelfContained(in.Newest(), dll, filepath.Join(dir, "alone"))
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(dir, "start.sh")
	text := "#!/bin/sh\n# A script that does something before and after.\necho before\n\"$DOTNET_ROOT/dotnet\" " +
		"\"$@\"\ncode=$?\necho after\nexit $code\n"
	if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	const dotnet = "(dotnet)" // of the runtime
	for i, tt := range []struct {
		name string
		args []string
	}{
		{"dotnet", []string{dotnet, dll}},
		{"apphost", []string{apphost}},
		{"self-contained", []string{alone}}, // it brings the newest along
		{"dotnet exec", []string{dotnet, "exec", dll}},
		{"script", []string{script, dll}},
		{"shell", []string{"/bin/sh", "-c", `true; "$0" "$@"`, dotnet, dll}},
		{"on the path", []string{"dotnet", dll}},
	} {
		runtimes := in.InTurn(i)
		if tt.name == "self-contained" {
			runtimes = []dotnettest.Runtime{in.Newest()}
		}
		for _, runtime := range runtimes {
			t.Run(tt.name+"/"+runtime.Name, func(t *testing.T) {
				t.Parallel()
				args := slices.Clone(tt.args)
				if at := slices.Index(args, dotnet); at >= 0 {
					args[at] = runtime.Dotnet
				}
				cmd := &exec.Cmd{Path: args[0], Args: append(args, "3", "100")}
				cmd.Env = runtime.Env("PATH=" + filepath.Dir(runtime.Dotnet) + ":" + os.Getenv("PATH"))
				r := mustRecord(t, cmd)
				compareTruth(t, r, runtime)
				checkProcess(t, r.session, runtime)
			})
		}
	}
}

// processRow is a row of the view processes.
type processRow struct {
	PID     int64  `json:"process_id"`
	Parent  int64  `json:"parent_process_id"`
	Name    string `json:"name"`
	Version string `json:"runtime_version"`
	State   string `json:"end_state"`
}

func checkProcess(t *testing.T, path string, runtime dotnettest.Runtime) {
	t.Helper()
	rows := view[processRow](t, path, "processes")
	if len(rows) != 1 || rows[0].Name != "Threads" || rows[0].Version != runtime.Name || rows[0].State != "exited" {
		t.Errorf("%+v, want one process Threads on %s that exited", rows, runtime.Name)
	}
}

// TestSurroundings checks that the target's environment and directory are the caller's, and what is printed after it.
func TestSurroundings(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	dll, dir := dotnettest.Target(t, "Echo", dotnettest.Options{}), t.TempDir()
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"env", "E2E_VALUE"}, "of the caller\n"},
		{[]string{"cwd"}, dir + "\n"},
		{[]string{"tty"}, "in True, out True, error True\n"},
	} {
		cmd := in.Newest().Command(dll, tt.args...)
		path := filepath.Join(t.TempDir(), "s.clrprof")
		r := runWith(t, input{env: append(cmd.Env, "E2E_VALUE=of the caller"), dir: dir},
			append([]string{"run", "-o", path}, cmd.Args...)...)
		if r.exit != 0 || r.stdout != tt.want {
			t.Errorf("%v: exit code %d, %q, want %q", tt.args, r.exit, r.stdout, tt.want)
		}
		for _, part := range []string{"runtime " + in.Newest().Name, "losses     0", "Where your code allocates most",
			"clrprof report " + path + " callers"} {
			if !strings.Contains(r.stderr, part) {
				t.Errorf("%v: the report has no %q:\n%s", tt.args, part, r.stderr)
			}
		}
		checkSession(t, path)
	}
}

// TestServer profiles a real self-contained program of 9.0.7, an MCP server with hundreds of assemblies.
func TestServer(t *testing.T) {
	t.Parallel()
	listTools(t, func(cmd *exec.Cmd) result { return mustRecord(t, cmd) })
}

// listTools runs the server with and without being recorded, and asserts that it says the same. It returns the session.
func listTools(t *testing.T, record func(*exec.Cmd) result) string {
	t.Helper()
	in := dotnettest.Need(t)
	want, err := exec.Command(in.MCP(), "tools", "list").Output()
	if err != nil {
		t.Fatal(err)
	}
	r := record(&exec.Cmd{Path: in.MCP(), Args: []string{in.MCP(), "tools", "list"}, Env: in.Env()})
	duration := regexp.MustCompile(`"duration": [0-9]+`)
	if d := cmp.Diff(duration.ReplaceAllString(string(want), ""), duration.ReplaceAllString(r.stdout, "")); d != "" ||
		len(want) < 10_000 {
		t.Errorf("its output is another under the profiler (-without +with):\n%.2000s", d)
	}
	rows := view[processRow](t, r.session, "processes")
	if len(rows) != 1 || rows[0].Name != "azmcp" || rows[0].State != "exited" {
		t.Errorf("%+v", rows)
	}
	return r.session
}

// TestMSBuild profiles the build engine of the 3.1 SDK, on 9.0.7.
func TestMSBuild(t *testing.T) {
	t.Parallel()
	dotnettest.NotQuick(t, "it runs real builds")
	session := buildProject(t, func(cmd *exec.Cmd) result { return mustRecord(t, cmd) })
	type share struct {
		Percent float64 `json:"percent"`
	}
	rows := query[share](t, session,
		"SELECT inclusive_bytes_percent AS percent FROM modules WHERE name = 'Microsoft.Build.dll'")
	if len(rows) != 1 || rows[0].Percent < 50 {
		t.Errorf("%v %% of the bytes are below functions of the engine", rows)
	}
}

// buildProject builds a project that writes a file, asserts what is in it, and returns the session.
func buildProject(t *testing.T, record func(*exec.Cmd) result) string {
	t.Helper()
	in := dotnettest.Need(t)
	dir := t.TempDir()
	project := `<Project DefaultTargets="T"><ItemGroup><X Include="a;b;c"/></ItemGroup>` +
		`<Target Name="T"><WriteLinesToFile File="out.txt" Lines="@(X)" Overwrite="true"/></Target></Project>`
	if err := os.WriteFile(filepath.Join(dir, "a.proj"), []byte(project), 0o644); err != nil {
		t.Fatal(err)
	}
	msbuild := filepath.Join(in.SDK(), "MSBuild.dll")
	cmd := exec.Command(in.Newest().Dotnet, "exec", "--roll-forward", "Major", msbuild, "a.proj", "-nodeReuse:false",
		"-nologo")
	cmd.Env, cmd.Dir = in.Env(), dir
	r := record(cmd)
	if out, err := os.ReadFile(filepath.Join(dir, "out.txt")); err != nil || string(out) != "a\nb\nc\n" {
		t.Errorf("it wrote %q, %v\n%s", out, err, r.stdout)
	}
	return r.session
}
