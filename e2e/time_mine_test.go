package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// A program with a package, a project and a plugin of which nothing is known; each is called so often.
const (
	packagedLibrary = `namespace %[1]s { public static class Work { public static int Do(int n) { int sum = 0; for (int i = 0; i < n; i++) sum += One(i); return sum; }
		[System.Runtime.CompilerServices.MethodImpl(System.Runtime.CompilerServices.MethodImplOptions.NoInlining)] public static int One(int i) { return new object[i %% 2].Length; } } }`
	packagedProgram = `public static class Program { public static int Main() { return Package.Work.Do(10) + Project.Work.Do(20) + (int)System.Reflection.Assembly.LoadFrom(
		System.AppContext.BaseDirectory + "Plugin.dll").GetType("Plugin.Work").GetMethod("Do").Invoke(null, new object[] { 40 }) == 35 ? 0 : 1; } }`
	packagedDeps = `{"runtimeTarget": {"name": "net"}, "targets": {"net": {
		"App/1.0.0": {"runtime": {"App.dll": {}}}, "Project/1.0.0": {"runtime": {"Project.dll": {}}}, "Package/1.0.0": {"runtime": {"lib/net6.0/Package.dll": {}}}}},
		"libraries": {"App/1.0.0": {"type": "project", "serviceable": false, "sha512": ""}, "Project/1.0.0": {"type": "project", "serviceable": false, "sha512": ""},
		"Package/1.0.0": {"type": "package", "serviceable": false, "sha512": ""}}}`
)

// TestMineIsOneDecision: what is the user's own code is the same for what is recorded, with either kind of probes, and
// for what a report is about; --mine changes both.
func TestMineIsOneDecision(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	dll := packagedApp(t, in)
	for _, tt := range []struct {
		mine  []string
		want  map[string]string // origins
		calls map[string]int64
	}{
		{nil, map[string]string{"App.dll": "project", "Project.dll": "project", "Package.dll": "package",
			"Plugin.dll": "beside"},
			map[string]int64{"App.dll": 1, "Project.dll": 21, "Plugin.dll": 41}},
		{[]string{"--mine", "pack*"}, map[string]string{"App.dll": "project", "Project.dll": "project",
			"Package.dll": "pattern", "Plugin.dll": "beside"},
			map[string]int64{"App.dll": 1, "Project.dll": 21, "Package.dll": 11, "Plugin.dll": 41}},
	} {
		for _, flags := range [][]string{{"--time", "--instrument", "mine"},
			{"--time", "--instrument", "mine", "--probes", "hooks"}, {"--time"}, {"--memory"}} {
			for _, runtime := range in.Runtimes() {
				if runtime != in.Newest() && (tt.mine != nil || len(flags) < 3) {
					continue // the rules are the same
				}
				t.Run(fmt.Sprint(tt.mine, flags, runtime.Name), func(t *testing.T) {
					look := mustRecordTime
					if flags[0] == "--memory" {
						look = mustRecord
					}
					r := look(t, runtime.Command(dll), slices.Concat(flags, tt.mine)...)
					origins := map[string]string{}
					for _, m := range query[struct{ Name, Origin string }](t, r.session,
						"SELECT name, origin FROM module WHERE path LIKE '"+filepath.Dir(dll)+"/%'") {
						origins[m.Name] = m.Origin
					}
					if diff := cmp.Diff(tt.want, origins); diff != "" {
						t.Errorf("origins (-want +have)\n%s", diff)
					}
					if flags[0] == "--memory" {
						return
					}
					calls := map[string]int64{}
					for _, f := range query[struct {
						Name  string
						Calls int64
					}](t, r.session, "SELECT m.name, sum(v.calls) AS calls FROM function_time v JOIN function f ON "+
						"f.id = v.function_id JOIN module m ON m.id = f.module_id "+
						"WHERE m.name IN ('App.dll', 'Project.dll', 'Package.dll', 'Plugin.dll') GROUP BY 1 HAVING "+
						"sum(v.calls) > 0") {
						calls[f.Name] = f.Calls
					}
					want := tt.calls
					if len(flags) == 1 && tt.mine == nil { // a boundary: what the program calls of it
						want = map[string]int64{"App.dll": 1, "Project.dll": 21, "Package.dll": 1, "Plugin.dll": 41}
					}
					if diff := cmp.Diff(want, calls); diff != "" {
						t.Errorf("calls (-want +have)\n%s", diff)
					}
					way := session.ProbesHooks
					if len(flags) < 5 && runtime.Major() >= 5 {
						way = session.ProbesIL
					}
					if have := query[struct{ Probes string }](t, r.session,
						"SELECT probes FROM process_time")[0].Probes; have != way {
						t.Errorf("calls are said to be seen by %q, want %q", have, way)
					}
				})
			}
		}
	}
}

// packagedApp compiles the program and its libraries into one folder.
func packagedApp(t *testing.T, in *dotnettest.Install) string {
	t.Helper()
	app := t.TempDir()
	compile := func(name, source string, o dotnettest.Options) string {
		file, err := in.Made(name+".cs", []byte(source))
		if err != nil {
			t.Fatal(err)
		}
		o.Name = name
		dll, err := in.Compile([]string{file}, "", o)
		if err != nil {
			t.Fatal(err)
		}
		return dll
	}
	var libraries []string
	for _, name := range []string{"Package", "Project", "Plugin"} {
		libraries = append(libraries,
			compile(name, fmt.Sprintf(packagedLibrary, name), dotnettest.Options{Library: true}))
	}
	dll := compile("App", packagedProgram, dotnettest.Options{References: libraries})
	entries, err := os.ReadDir(filepath.Dir(dll))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(filepath.Dir(dll), e.Name()))
		if err == nil {
			err = os.WriteFile(filepath.Join(app, e.Name()), b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(app, "App.deps.json"), []byte(packagedDeps), 0o600); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(app, "App.dll")
}
