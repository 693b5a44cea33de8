package dotnettest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// depsFile is the part of a .deps.json file that the host reads. Targets maps a
// target's name to libraries, those to their assets: kind ("runtime", "native",
// "resources") to file name to properties, which are passed on unread.
type depsFile struct {
	RuntimeTarget struct {
		Name      string `json:"name"`
		Signature string `json:"signature"`
	} `json:"runtimeTarget"`
	Targets   map[string]map[string]library `json:"targets"`
	Libraries map[string]libraryInfo        `json:"libraries"`
}

type library struct {
	Runtime map[string]json.RawMessage `json:"runtime,omitempty"`
	Native  map[string]json.RawMessage `json:"native,omitempty"`
}

type libraryInfo struct {
	Type        string `json:"type"`
	Serviceable bool   `json:"serviceable"`
	SHA512      string `json:"sha512"`
}

// layOut9 makes a DOTNET_ROOT in root from the runtime files of the
// self-contained application in app. The application's deps.json says which of
// its files belong to which framework. The old dotnet executable, of sdk, drives
// the newer hostfxr.
func layOut9(app, sdk, root string) error {
	deps, err := readDeps(filepath.Join(app, "azmcp.deps.json"))
	if err != nil {
		return err
	}
	found := 0
	for name, lib := range deps.Targets[deps.RuntimeTarget.Name] {
		rest, ok := strings.CutPrefix(name, "runtimepack.")
		if !ok {
			continue
		}
		pack, version, ok := strings.Cut(rest, "/")
		framework, ok2 := strings.CutSuffix(pack, ".Runtime.linux-x64")
		if !ok || !ok2 || version != version9 {
			return fmt.Errorf("unexpected runtime pack %q", name)
		}
		found++
		if err := layOutFramework(app, root, framework, lib); err != nil {
			return fmt.Errorf("laying out %s: %w", framework, err)
		}
	}
	if found != 2 {
		return fmt.Errorf("have %d runtime packs in azmcp.deps.json, want 2", found)
	}
	return errors.Join(
		place(filepath.Join(app, "libhostfxr.so"), filepath.Join(root, "host", "fxr", version9, "libhostfxr.so")),
		place(filepath.Join(app, "libhostpolicy.so"), filepath.Join(root, "shared", "Microsoft.NETCore.App", version9,
			"libhostpolicy.so")),
		place(filepath.Join(sdk, "dotnet"), filepath.Join(root, "dotnet")))
}

func readDeps(path string) (*depsFile, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var deps depsFile
	if err := json.Unmarshal(b, &deps); err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	return &deps, nil
}

// layOutFramework places one framework's files and writes its deps.json.
func layOutFramework(app, root, framework string, lib library) error {
	dir := filepath.Join(root, "shared", framework, version9)
	for _, files := range []map[string]json.RawMessage{lib.Runtime, lib.Native} {
		for file := range files {
			if !filepath.IsLocal(file) {
				return fmt.Errorf("file %q leads out of the directory", file)
			}
			if err := place(filepath.Join(app, file), filepath.Join(dir, file)); err != nil {
				return err
			}
		}
	}
	const target = ".NETCoreApp,Version=v9.0/linux-x64"
	name := framework + ".Runtime.linux-x64/" + version9
	var out depsFile
	out.RuntimeTarget.Name = target
	out.Targets = map[string]map[string]library{".NETCoreApp,Version=v9.0": {}, target: {name: lib}}
	out.Libraries = map[string]libraryInfo{name: {Type: "package"}}
	if err := writeJSON(filepath.Join(dir, framework+".deps.json"), out); err != nil || framework == coreFramework {
		return err
	}
	// All others rest on that one, and the host must get it.
	return writeJSON(filepath.Join(dir, framework+".runtimeconfig.json"),
		map[string]any{"runtimeOptions": map[string]any{
			"tfm": "net9.0", "framework": map[string]string{"name": coreFramework, "version": version9},
		}})
}

func writeJSON(path string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(b, '\n'), 0o644)
}
