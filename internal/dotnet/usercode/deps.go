package usercode

import (
	"encoding/json"
	"path"
	"strings"
)

// Types of libraries.
const (
	typeProject = "project"     // built with the program
	typeRuntime = "runtimepack" // the runtime of a self-contained program
)

// MaxDeps is the largest deps.json that is read. The largest of an SDK has 0.6 MB.
const MaxDeps = 16 << 20

// depsFile is what is needed of a deps.json.
type depsFile struct {
	Targets map[string]map[string]struct {
		Runtime map[string]struct{} `json:"runtime"`
		Targets map[string]struct{} `json:"runtimeTargets"`
	} `json:"targets"`
	Libraries map[string]struct {
		Type string `json:"type"`
	} `json:"libraries"`
}

// readLibraries returns the types of the libraries by the names of their assemblies in lower case. A file that cannot
// be read says nothing.
func readLibraries(text []byte) map[string]string {
	if len(text) == 0 || len(text) > MaxDeps {
		return nil
	}
	var file depsFile
	if json.Unmarshal(text, &file) != nil {
		return nil
	}
	out := map[string]string{}
	for _, target := range file.Targets {
		for library, assets := range target {
			kind := file.Libraries[library].Type
			if kind == "" {
				continue
			}
			for _, list := range []map[string]struct{}{assets.Runtime, assets.Targets} {
				for asset := range list {
					name := lower(path.Base(asset))
					out[name] = stronger(out[name], kind)
				}
			}
		}
	}
	return out
}

// stronger is the type that holds of a file that two libraries have.
func stronger(a, b string) string {
	rank := func(kind string) int {
		switch kind {
		case "":
			return 3
		case typeProject:
			return 0
		case typeRuntime:
			return 1
		}
		return 2
	}
	if rank(b) < rank(a) {
		return b
	}
	return a
}

// lower makes a file's name comparable: the case of ASCII letters does not matter.
func lower(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}
