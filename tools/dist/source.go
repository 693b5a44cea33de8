package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// sourceArchive writes the sources, with the bundle of the page, which is committed: building needs Go, gcc and make.
func (r *release) sourceArchive() error {
	names, err := r.sourceNames()
	if err != nil {
		return err
	}
	files := []file{{path: versionFile, content: r.makeVersionFile(), mode: 0o644}}
	for _, name := range names {
		info, err := os.Lstat(name)
		if err != nil {
			return fmt.Errorf("reading %s: %w", name, err)
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s is no regular file: archives of sources have only these", name)
		}
		b, err := os.ReadFile(name)
		if err != nil {
			return fmt.Errorf("reading %s: %w", name, err)
		}
		mode := int64(0o644)
		if info.Mode()&0o100 != 0 {
			mode = 0o755
		}
		files = append(files, file{path: name, content: b, mode: mode})
	}
	name := "clrprof-" + r.version + "-src"
	b, err := tarball(name, sorted(files), r.time)
	if err != nil {
		return err
	}
	return r.write(name+".tar.gz", b)
}

// sourceNames returns what git has; in an archive of sources, what was unpacked.
func (r *release) sourceNames() ([]string, error) {
	if r.git {
		listed, err := git("ls-files", "-z")
		return strings.Split(strings.TrimSuffix(listed, "\x00"), "\x00"), err
	}
	var names []string
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path == "bin":
			return filepath.SkipDir
		case d.IsDir(), path == versionFile, filepath.Dir(path) == agents && strings.HasSuffix(path, ".so"):
			return nil
		}
		names = append(names, path)
		return nil
	})
	slices.Sort(names)
	return names, err
}
