package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

var update = flag.Bool("update", false, "write web/packages.json anew, after make web")

// locked is a package of npm as tools/webbuild, which is a module of its own, names it.
var locked = regexp.MustCompile(`\{"([^"]+)", "([^"]+)",\s`)

// notInPage has packages that make the page and are not in it.
var notInPage = []string{"@typescript/typescript-linux-x64"}

// TestPage: web/packages.json has the packages that the page is made of, and where "make web" left them, their licences.
func TestPage(t *testing.T) {
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	var want []npmPackage
	for _, m := range locked.FindAllStringSubmatch(string(readFile(t, "../webbuild/fetch.go")), -1) {
		p := npmPackage{Name: m[1], Version: m[2]}
		if slices.Contains(notInPage, p.Name) {
			continue
		}
		folder := filepath.Join(cache, "clrprof", "web", filepath.FromSlash(p.Name))
		manifest, err := os.ReadFile(filepath.Join(folder, "package.json"))
		if err == nil {
			var is struct{ Version, License string }
			if err := json.Unmarshal(manifest, &is); err != nil {
				t.Fatal(err)
			}
			if is.Version == p.Version {
				p.Licence, p.Text = is.License, string(readFile(t, filepath.Join(folder, "LICENSE")))
			}
		}
		want = append(want, p)
	}
	if *update {
		var out bytes.Buffer
		encoder := json.NewEncoder(&out)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(want); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join("../..", npmFile), out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir("../..")
	have, err := npmPackages()
	if err != nil || len(have) != len(want) || len(have) == 0 {
		t.Fatalf("%d packages, want %d: run make web, then go test ./tools/dist -run TestPage -update: %v", len(have),
			len(want), err)
	}
	for i, w := range want {
		h := have[i]
		if w.Text == "" { // it is not on this machine
			w.Licence, w.Text = h.Licence, h.Text
		}
		if h != w || h.Licence == "" || len(h.Text) < 200 {
			t.Errorf("%s %s %s, want %s %s %s: run make web, then go test ./tools/dist -run TestPage -update", h.Name, h.Version,
				h.Licence, w.Name, w.Version, w.Licence)
		}
	}
}
