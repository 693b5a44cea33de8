package main

import (
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// npmFile names the npm packages in the page, which is committed. TestPage keeps it.
const npmFile = "web/packages.json"

// npmPackage is one of these.
type npmPackage struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Licence string `json:"licence"` // an expression of SPDX
	Text    string `json:"text"`    // of the licence
}

// isLicence knows the names of files that licences ask to be passed on.
var isLicence = regexp.MustCompile(`(?i)^([a-z0-9]+-)?(LICEN[CS]ES?|COPYING|NOTICE|PATENTS|COPYRIGHT)([.-][A-Za-z0-9.-]+)?$`)

// findLicences returns the licences of all that is in the binary: of each Go module, of Go's own library, and of the
// npm packages in the page. A module without one is an error.
func (r *target) findLicences() ([]file, error) {
	const below = docFolder + "licences/"
	folders, err := r.modules()
	if err != nil {
		return nil, err
	}
	root, err := output("go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	folders["go"] = strings.TrimSpace(root)
	var files []file
	for name, folder := range folders {
		own, err := licencesIn(folder, below+name+"/")
		if err != nil {
			return nil, fmt.Errorf("the licence of %s: %w", name, err)
		}
		files = append(files, own...)
	}
	packages, err := npmPackages()
	if err != nil {
		return nil, err
	}
	for _, p := range packages {
		files = append(files, file{path: below + "npm/" + p.Name + "/LICENSE", content: []byte(p.Text), mode: 0o644})
	}
	return files, nil
}

// modules returns the folders of the modules in the binary, by path.
func (r *target) modules() (map[string]string, error) {
	info, err := buildinfo.ReadFile(r.binaryPath())
	if err != nil {
		return nil, fmt.Errorf("reading which modules are in the binary: %w", err)
	}
	args := []string{"mod", "download", "-json"}
	for _, m := range info.Deps {
		if m.Replace != nil {
			return nil, fmt.Errorf("%s is replaced: its licence must be found", m.Path)
		}
		args = append(args, m.Path+"@"+m.Version)
	}
	listed, err := output("go", args...)
	if err != nil {
		return nil, err
	}
	folders := map[string]string{}
	for decoder := json.NewDecoder(strings.NewReader(listed)); ; {
		var m struct{ Path, Dir string }
		err := decoder.Decode(&m)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("reading the list of modules: %w", err)
		}
		folders[m.Path] = m.Dir
	}
	if len(folders) != len(info.Deps) {
		return nil, fmt.Errorf("%d folders of %d modules", len(folders), len(info.Deps))
	}
	return folders, nil
}

// licencesIn returns the licences at the top of a folder.
func licencesIn(folder, below string) ([]file, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var files []file
	for _, e := range entries {
		if !e.Type().IsRegular() || !isLicence.MatchString(e.Name()) || strings.HasSuffix(e.Name(), ".go") {
			continue
		}
		b, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			return nil, err
		}
		files = append(files, file{path: below + e.Name(), content: b, mode: 0o644})
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("there is none in %s: ask the authors, or do without", folder)
	}
	return files, nil
}

// npmPackages returns the packages in the page.
func npmPackages() ([]npmPackage, error) {
	b, err := os.ReadFile(npmFile)
	if err != nil {
		return nil, fmt.Errorf("reading the licences of the page: %w", err)
	}
	var packages []npmPackage
	if err := json.Unmarshal(b, &packages); err != nil {
		return nil, fmt.Errorf("reading %s: %w", npmFile, err)
	}
	return packages, nil
}
