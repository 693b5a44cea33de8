package dotnettest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
)

// apphostPlaceholder is what the SDK's executable template holds in place of the
// program's name: the SHA-256 of "foobar", in a field of 1024 bytes.
const (
	apphostPlaceholder = "c3ab8ff13720e8ad9047dd39466b3c8974e592c2fa383d4a3960714caef0c4f2"
	apphostField       = 1024
)

// AppHost makes the executable that the SDK makes of a program: it lies beside
// the DLL, has its name without ".dll", and finds .NET by DOTNET_ROOT, or beside
// itself if the program is self-contained. It returns the executable's path.
func (in *Install) AppHost(dll string) (string, error) {
	exe, ok := strings.CutSuffix(dll, ".dll")
	if !ok {
		return "", fmt.Errorf("making an apphost: %s is not a .dll", dll)
	}
	template, err := os.ReadFile(filepath.Join(in.SDK(), "AppHostTemplate", "apphost"))
	if err != nil {
		return "", fmt.Errorf("making an apphost: %w", err)
	}
	at := bytes.Index(template, []byte(apphostPlaceholder))
	name := filepath.Base(dll)
	if at < 0 || at+apphostField > len(template) || len(name) >= apphostField {
		return "", fmt.Errorf("making an apphost: the template has no field for %q", name)
	}
	field := template[at : at+apphostField]
	clear(field)
	copy(field, name)
	if err := os.WriteFile(exe, template, 0o755); err != nil {
		return "", fmt.Errorf("making an apphost: %w", err)
	}
	return exe, nil
}

// SelfContained makes a self-contained program of a compiled one in dir: the
// program, an apphost and the runtime, all in one directory, as "dotnet publish
// --self-contained" lays it out. It returns the executable. Nothing else of .NET
// is needed to run it.
func (in *Install) SelfContained(r Runtime, dll, dir string) (string, error) {
	fail := func(err error) (string, error) {
		return "", fmt.Errorf("making a self-contained program of %s: %w", dll, err)
	}
	name := strings.TrimSuffix(filepath.Base(dll), ".dll")
	framework := filepath.Join(r.Root, "shared", coreFramework, r.Name)
	files, err := filepath.Glob(framework + "/*")
	if err != nil {
		return fail(err)
	}
	fxr, err := filepath.Glob(filepath.Join(r.Root, "host", "fxr", "*", "libhostfxr.so"))
	if err != nil {
		return fail(err)
	}
	files = append(files, fxr...) // of one version
	for _, f := range files {
		if strings.HasSuffix(f, ".json") {
			continue
		}
		if err := place(f, filepath.Join(dir, filepath.Base(f))); err != nil {
			return fail(err)
		}
	}
	for _, ext := range []string{".dll", ".pdb"} {
		err := copyFile(strings.TrimSuffix(dll, ".dll")+ext, filepath.Join(dir, name+ext))
		if err != nil && !(ext == ".pdb" && os.IsNotExist(err)) {
			return fail(err)
		}
	}
	if err := writeSelfContainedConfig(r, framework, dir, name); err != nil {
		return fail(err)
	}
	return in.AppHost(filepath.Join(dir, name+".dll"))
}

// writeSelfContainedConfig writes runtimeconfig.json, whose includedFrameworks
// says that the runtime is here, and deps.json, which lists it.
func writeSelfContainedConfig(r Runtime, framework, dir, name string) error {
	type included struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	err := writeJSON(filepath.Join(dir, name+".runtimeconfig.json"), map[string]any{"runtimeOptions": map[string]any{
		"tfm": fmt.Sprintf("net%d.0", r.Major()), "includedFrameworks": []included{{coreFramework, r.Name}},
		"configProperties": map[string]bool{"System.Globalization.Invariant": true},
	}})
	if err != nil {
		return err
	}
	deps, err := readDeps(filepath.Join(framework, coreFramework+".deps.json"))
	if err != nil {
		return err
	}
	libs := deps.Targets[deps.RuntimeTarget.Name]
	out := depsFile{RuntimeTarget: deps.RuntimeTarget, Targets: maps.Clone(deps.Targets),
		Libraries: map[string]libraryInfo{}}
	app := map[string]library{name +
		"/1.0.0": {Runtime: map[string]json.RawMessage{name + ".dll": json.RawMessage("{}")}}}
	out.Libraries[name+"/1.0.0"] = libraryInfo{Type: "project"}
	for lib, assets := range libs {
		app["runtimepack."+lib] = assets
		out.Libraries["runtimepack."+lib] = libraryInfo{Type: "runtimepack"}
	}
	out.Targets[deps.RuntimeTarget.Name] = app
	return writeJSON(filepath.Join(dir, name+".deps.json"), out)
}
