package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestEmpty: an earlier release goes, and a folder with anything else is left as it is.
func TestEmpty(t *testing.T) {
	for _, tt := range []struct {
		name  string
		files []string
		want  bool // it is emptied
	}{
		{"new", nil, true},
		{"earlier release", []string{"clrprof-0.1.0-linux-x64.deb", "clrprof.0.1.0.nupkg", checksumsName}, true},
		{"something else", []string{"clrprof-0.1.0-linux-x64.deb", "thesis.tex"}, false},
		{"a folder", []string{"clrprof/main.go"}, false},
	} {
		out := filepath.Join(t.TempDir(), "dist")
		for _, name := range tt.files {
			path := filepath.Join(out, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		err := empty(out)
		left := names(t, out)
		if (err == nil) != tt.want || tt.want && len(left) > 0 || !tt.want && len(left) != len(tt.files) {
			t.Errorf("%s: %v is left, error %v", tt.name, left, err)
		}
	}
}

// TestReadOrigin: what an archive of sources says of itself is what is read in it.
func TestReadOrigin(t *testing.T) {
	t.Chdir(t.TempDir())
	want := origin{version: "1.2.3", commit: "0123456789abcdef0123456789abcdef01234567", time: time.Unix(1_800_000_000, 0).UTC()}
	for _, tt := range []struct {
		name, text string
		want       bool
	}{
		{"ours", string(want.makeVersionFile()), true},
		{"no version", "COMMIT := " + want.commit + "\nSOURCE_DATE_EPOCH := 1800000000\n", false},
		{"a flag", strings.Replace(string(want.makeVersionFile()), "1.2.3", "1.2.3 -X evil=1", 1), false},
		{"no time", "VERSION := 1.2.3\nCOMMIT := " + want.commit + "\n", false},
		{"empty", "", false},
	} {
		if err := os.WriteFile(versionFile, []byte(tt.text), 0o644); err != nil {
			t.Fatal(err)
		}
		have, err := findOrigin()
		if (err == nil) != tt.want || tt.want && have != want {
			t.Errorf("%s: %+v, %v", tt.name, have, err)
		}
	}
}
