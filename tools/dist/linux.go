package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"time"
)

// toolsModule is the module with the programs that make packages and bills of materials.
const toolsModule = "-modfile=tools/pack/go.mod"

// What packages say of clrprof.
const (
	summary     = "An exact profiler for .NET on Linux: allocations, lifetimes, calls and times"
	homepage    = "https://github.com/clrprof/clrprof"
	maintainer  = "The clrprof authors <clrprof@users.noreply.github.com>"
	description = summary + ".\n" +
		"clrprof counts every allocation of a .NET program, with its type, size, thread, stack and lifetime, or every " +
		"call and its time. It shows which functions, lines and types these are."
)

// content is a file of a package, as nfpm wants it.
type content struct {
	Source string   `json:"src"`
	Target string   `json:"dst"`
	Info   fileInfo `json:"file_info"`
}

type fileInfo struct {
	Mode  int64     `json:"mode"`
	MTime time.Time `json:"mtime"`
	Owner string    `json:"owner"`
	Group string    `json:"group"`
}

// linuxPackages writes a .deb, an .rpm and an .apk with the files below /usr. The binary needs no library, so they
// depend on nothing.
func (r *target) linuxPackages(files []file) error {
	var contents []content
	for _, f := range files {
		from := filepath.Join(r.stage, "tree-"+r.name, filepath.FromSlash(f.path))
		if err := os.MkdirAll(filepath.Dir(from), 0o755); err != nil {
			return fmt.Errorf("making a folder: %w", err)
		}
		if err := os.WriteFile(from, f.content, 0o600); err != nil {
			return fmt.Errorf("writing %s: %w", f.path, err)
		}
		contents = append(contents, content{from, path.Join("/usr", f.path), fileInfo{f.mode, r.time, "root", "root"}})
	}
	config, err := json.Marshal(map[string]any{ // YAML can be JSON
		"name": "clrprof", "arch": r.goarch, "platform": "linux", "version": r.version, "version_schema": "semver",
		"maintainer": maintainer, "vendor": "clrprof", "homepage": homepage, "license": "MIT",
		"description": description,
		"section":     "devel", "priority": "optional", "mtime": r.time, "umask": 0o022, "contents": contents,
		"rpm": map[string]any{"summary": summary, "group": "Development/Tools", "buildhost": "localhost",
			"compression": "gzip:9"},
		"deb": map[string]any{"compression": "gzip"},
	})
	if err != nil {
		return err
	}
	listed := filepath.Join(r.stage, "nfpm-"+r.name+".json")
	if err := os.WriteFile(listed, config, 0o600); err != nil {
		return fmt.Errorf("writing the list of files: %w", err)
	}
	for _, kind := range []string{"deb", "rpm", "apk"} {
		to := filepath.Join(r.out, r.base()+"."+kind)
		err := goCommand("tool", toolsModule, "nfpm", "package", "--config", listed, "--packager", kind, "--target", to)
		if err != nil {
			return err
		}
		if err := os.Chmod(to, 0o644); err != nil {
			return fmt.Errorf("finishing %s: %w", to, err)
		}
	}
	return nil
}
