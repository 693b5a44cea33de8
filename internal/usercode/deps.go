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

// readLibraries returns the types of the libraries by the names of their assemblies in lower case. A file that cannot be
// read says nothing.
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
					name := strings.ToLower(path.Base(asset))
					if out[name] != typeProject {
						out[name] = kind
					}
				}
			}
		}
	}
	return out
}
