package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// made makes the site of this repository, and returns its files.
func made(t *testing.T) map[string][]byte {
	t.Helper()
	out := filepath.Join(t.TempDir(), "site")
	if _, err := build("../..", out); err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	err := filepath.WalkDir(out, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(out, name)
		if err == nil {
			files[filepath.ToSlash(rel)], err = os.ReadFile(name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestSame: the same documents give the same bytes.
func TestSame(t *testing.T) {
	if one, two := made(t), made(t); !maps.EqualFunc(one, two, bytes.Equal) || len(one) < 60 {
		t.Errorf("%d and %d files, which differ", len(one), len(two))
	}
}

var (
	address = regexp.MustCompile(`(?:href|src|srcset)="([^"]*)"`)
	anchor  = regexp.MustCompile(`id="([^"]*)"`)
)

// TestLinks reads the pages as a browser does, not as the program that made them: what they link to is there, they load
// nothing from elsewhere, and each page is reached from the first one.
func TestLinks(t *testing.T) {
	files := made(t)
	ids := map[string][]string{}
	for name, content := range files {
		for _, m := range anchor.FindAllSubmatch(content, -1) {
			if ids[name] = append(ids[name], string(m[1])); strings.HasSuffix(name, ".html") && len(m[1]) == 0 {
				t.Errorf("%s has an empty id", name)
			}
		}
		if own := slices.Sorted(slices.Values(ids[name])); len(slices.Compact(slices.Clone(own))) != len(own) {
			t.Errorf("%s has an id twice", name)
		}
	}
	reached := map[string]bool{}
	for name, content := range files {
		if !strings.HasSuffix(name, ".html") {
			continue
		}
		for _, m := range address.FindAllSubmatch(content, -1) {
			to, id, _ := strings.Cut(string(m[1]), "#")
			if strings.HasPrefix(to, "https://") || strings.HasPrefix(to, "http://") {
				if !bytes.HasPrefix(m[0], []byte("href")) {
					t.Errorf("%s loads %s", name, to)
				}
				continue
			}
			target := name
			if to != "" {
				target = path.Join(path.Dir(name), to)
			}
			if files[target] == nil {
				t.Errorf("%s links to %s, which is not there", name, m[1])
			} else if id != "" && !slices.Contains(ids[target], id) {
				t.Errorf("%s links to %s, which has no such heading", name, m[1])
			}
			reached[target] = true
		}
	}
	for name := range files {
		if !reached[name] {
			t.Errorf("nothing leads to %s", name)
		}
	}
}

// TestIndex: the search knows each page, and leads to what is there.
func TestIndex(t *testing.T) {
	files := made(t)
	text := bytes.TrimSuffix(bytes.TrimPrefix(files[marker], []byte("const searchIndex = ")), []byte(";\n"))
	var entries []struct{ P, T, H, X string }
	if err := json.Unmarshal(text, &entries); err != nil {
		t.Fatal(err)
	}
	pages := map[string]bool{}
	for _, e := range entries {
		name, id, _ := strings.Cut(e.P, "#")
		pages[name] = true
		if id != "" && !bytes.Contains(files[name], []byte(`id="`+id+`"`)) {
			t.Errorf("the search leads to %s, which is not there", e.P)
		}
	}
	for name := range files {
		if strings.HasSuffix(name, ".html") && !pages[name] {
			t.Errorf("the search does not know %s", name)
		}
	}
}

// TestBroken: a link to what does not exist is an error that names the document and the link.
func TestBroken(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"[good](docs/a.md#second-part), [code](go.mod), [elsewhere](https://example.org/), [here](#home)", ""},
		{"[gone](docs/b.md)", "README.md links to docs/b.md, which does not exist"},
		{"[gone](docs/a.md#third)", "README.md links to docs/a.md#third, but docs/a.md has no such heading"},
		{"![gone](docs/c.png)", "README.md: picture docs/c.png"},
		{`<picture><source srcset="docs/d.png"><img src="docs/p.png"></picture>`, "README.md: picture docs/d.png"},
		{"[outside](../secret.md)", "README.md links to ../secret.md, which does not exist"},
	} {
		s, err := newSite(fstest.MapFS{
			"README.md":  {Data: []byte("# Home\n\n" + tt.text + "\n")},
			"docs/a.md":  {Data: []byte("# A\n\n## Second `part`?\n\nText.\n\n## Second part\n")},
			"docs/p.png": {Data: []byte("p")},
			"go.mod":     {Data: []byte("module m\n")},
		})
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.files()
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v, want %q", tt.text, err, tt.want)
		}
	}
}

// TestEmpty: only a site is replaced.
func TestEmpty(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "thesis.tex"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := build("../..", folder); err == nil {
		t.Error("a folder with something else is taken")
	}
	if entries, err := os.ReadDir(folder); err != nil || len(entries) != 1 {
		t.Errorf("what is left: %v, %v", entries, err)
	}
}
