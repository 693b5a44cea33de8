package instrument_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/capture/instrument"
	"github.com/clrprof/clrprof/internal/dotnet/clrmeta"
)

// tiny is compiled from clrmeta/testdata/Tiny.cs.
const tiny = "../../dotnet/clrmeta/testdata/tiny.dll"

func TestList(t *testing.T) {
	p := instrument.Plan{Mode: instrument.Boundary, Rules: instrument.NewRules(nil, list("*/Nested")), Small: 9}
	functions, err := p.List(tiny)
	if err != nil {
		t.Fatal(err)
	}
	var have []string
	for _, f := range functions {
		have = append(have, fmt.Sprintf("%s %s %d %s: %s", f.Module, f.Name(), f.IL, f.Class, f.Why))
	}
	// That the sizes are right is tested with clrmeta.
	want := []string{
		"tiny.dll Tiny`1.Wait 69 all calls: your code",
		"tiny.dll Tiny`1.Each 16 all calls: your code",
		"tiny.dll Tiny`1..ctor 8 no: smaller than 9 bytes",
		"tiny.dll Tiny`1/Nested.Take 5 no: excluded by */Nested",
		"tiny.dll Tiny`1/Nested..ctor 8 no: excluded by */Nested",
		"tiny.dll Tiny`1/<Wait>d__1.MoveNext 208 all calls: your code",
		"tiny.dll Tiny`1/<Wait>d__1.SetStateMachine 14 all calls: your code",
		"tiny.dll Tiny`1/<Each>d__2`1..ctor 26 all calls: your code",
		"tiny.dll Tiny`1/<Each>d__2`1.System.IDisposable.Dispose 2 no: smaller than 9 bytes",
		"tiny.dll Tiny`1/<Each>d__2`1.MoveNext 65 all calls: your code",
		"tiny.dll Tiny`1/<Each>d__2`1.System.Collections.Generic.IEnumerator<U>.get_Current 8 no: smaller than 9 bytes",
		"tiny.dll Tiny`1/<Each>d__2`1.System.Collections.IEnumerator.Reset 7 no: smaller than 9 bytes",
		"tiny.dll Tiny`1/<Each>d__2`1.System.Collections.IEnumerator.get_Current 13 all calls: your code",
		"tiny.dll Tiny`1/<Each>d__2`1.System.Collections.Generic.IEnumerable<U>.GetEnumerator 67 all calls: your code",
		"tiny.dll Tiny`1/<Each>d__2`1.System.Collections.IEnumerable.GetEnumerator 8 no: smaller than 9 bytes",
	}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Error(diff)
	}
}

func TestListDirectory(t *testing.T) {
	dir := t.TempDir()
	if _, err := (instrument.Plan{}).List(dir); !errors.Is(err, instrument.ErrNoModule) {
		t.Error(err)
	}
	b, err := os.ReadFile(tiny)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"B.dll": b, "A.DLL": b, "native.dll": []byte("\x7fELF"),
		"readme.txt": b} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	functions, err := instrument.Plan{}.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	var modules []string
	for _, f := range functions {
		if len(modules) == 0 || modules[len(modules)-1] != f.Module {
			modules = append(modules, f.Module)
		}
	}
	if diff := cmp.Diff(list("A.DLL", "B.dll"), modules); diff != "" {
		t.Error(diff)
	}
	if _, err := (instrument.Plan{}).List(filepath.Join(dir, "native.dll")); !errors.Is(err, instrument.ErrNoModule) {
		t.Error(err)
	}
	if _, err := (instrument.Plan{}).List(filepath.Join(dir, "none.dll")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "C.dll"), b[:len(b)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := (instrument.Plan{}).List(dir); !errors.Is(err, clrmeta.ErrMalformed) {
		t.Error(err)
	}
}

// TestUserFolder: of a program that is nobody's own all in its folder is the user's, unless there is something of the
// user's beside it.
func TestUserFolder(t *testing.T) {
	b, err := os.ReadFile(tiny)
	if err != nil {
		t.Fatal(err)
	}
	sdk := filepath.Join(t.TempDir(), "sdk", "10.0.100", "Roslyn")
	app := filepath.Join(t.TempDir(), "app")
	const deps = `{"targets": {"x": {"Lib/1": {"runtime": {"lib/Lib.dll": {}}}, "App/1": {"runtime": {"App.dll": {}}}}},
		"libraries": {"Lib/1": {"type": "package"}, "App/1": {"type": "project"}}}`
	for _, folder := range list(sdk, app) {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, name := range list("App.dll", "Lib.dll", "Lib.deps.json") {
			content := b
			if name == "Lib.deps.json" {
				content = []byte(deps)
			}
			if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for path, want := range map[string]string{
		filepath.Join(sdk, "App.dll"): sdk,
		filepath.Join(app, "App.dll"): "",
		filepath.Join(app, "Lib.dll"): "", // App.dll is a project
	} {
		if have := instrument.UserFolder(path); have != want {
			t.Errorf("%s: %q, want %q", path, have, want)
		}
	}
	if err := os.Remove(filepath.Join(app, "App.dll")); err != nil {
		t.Fatal(err)
	}
	if have := instrument.UserFolder(filepath.Join(app, "Lib.dll")); have != app {
		t.Errorf("a package alone: %q, want %q", have, app)
	}
	functions, err := instrument.Plan{Mode: instrument.Mine}.List(filepath.Join(app, "Lib.dll"))
	if err != nil {
		t.Fatal(err)
	}
	if f := functions[0]; f.Class != instrument.Out || f.Why != "package" {
		t.Errorf("%s: %s", f.Class, f.Why)
	}
	functions, err = instrument.Plan{Mode: instrument.Mine, Mine: instrument.NewRules(list("lib"), nil)}.List(
		filepath.Join(app, "Lib.dll"))
	if err != nil {
		t.Fatal(err)
	}
	if f := functions[0]; f.Class != instrument.Recorded || f.Why != "your code" {
		t.Errorf("by a pattern: %s: %s", f.Class, f.Why)
	}
}
