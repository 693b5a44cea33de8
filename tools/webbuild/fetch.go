package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// locked is a package of npm in one version, with the hash of its tarball ("npm view NAME@VERSION dist.integrity").
type locked struct{ name, version, sha512 string }

// packages are what the page is made of, and the compiler that checks it.
var packages = []locked{
	{"preact", "11.2.0", "/HfHI/7N84e6GrWBJ3J280z3mLaRJiDcSvj/A+y/4AbLnND/1UlGHe1sR6oYuTGwId0nP7dqDU9OnLxMPZ7xBg=="},
	{"@preact/signals", "2.11.4",
		"Rb+5RPo9gWSaHtzJeauhHxiC8KP/IF2DEPkHPEOGOnuy2wnJzRqyeLRankUCYd6ADqtxS6GnWGv6Ie343d8aYw=="},
	{"@preact/signals-core", "1.14.5",
		"vcRv7Ityz5JVmeiVqIluLFzT/PDS/AlhHUpw3/aUWqcVUs6bDGIPXE/6RSC4evBNWYvnniozg5Syfj33al3gkg=="},
	{"uplot", "1.6.32", "KIMVnG68zvu5XXUbC4LQEPnhwOxBuLyW1AHtpm6IKTXImkbLgkMy+jabjLgSLMasNuGGzQm/ep3tOkyTxpiQIw=="},
	{"@typescript/typescript-linux-x64", "7.0.2",
		"EYdf2cNg7rgCWJnxCdJ+F3V39O8ihb37eHAu1LK8oAFizgTQbPOK7zHHXbPt8rX24COqODXeI3sIf0fCXG7H/A=="},
}

// maxFile bounds a file of a package: the compiler has 40 MB.
const maxFile = 200 << 20

// fetchAll returns the folder in the user's cache that holds the packages, after getting those that are missing.
func fetchAll() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("finding the cache: %w", err)
	}
	root := filepath.Join(cache, "clrprof", "web")
	for _, p := range packages {
		stamp := filepath.Join(root, p.name, "integrity")
		if got, err := os.ReadFile(stamp); err == nil && string(got) == p.sha512 {
			continue
		}
		if err := p.fetch(root); err != nil {
			return "", fmt.Errorf("getting %s@%s: %w", p.name, p.version, err)
		}
		if err := os.WriteFile(stamp, []byte(p.sha512), 0o644); err != nil {
			return "", fmt.Errorf("getting %s: %w", p.name, err)
		}
	}
	return root, nil
}

// fetch downloads a package, checks it, and unpacks it.
func (p locked) fetch(root string) error {
	tmp, err := os.MkdirTemp("", "webbuild-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	cmd := exec.Command("npm", "pack", "--silent", "--ignore-scripts", p.name+"@"+p.version)
	cmd.Dir, cmd.Stderr = tmp, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("npm pack: %w", err)
	}
	lines := strings.Fields(string(out))
	if len(lines) == 0 {
		return errors.New("npm pack named no file")
	}
	b, err := os.ReadFile(filepath.Join(tmp, lines[len(lines)-1]))
	if err != nil {
		return err
	}
	if sum := sha512.Sum512(b); base64.StdEncoding.EncodeToString(sum[:]) != p.sha512 {
		return errors.New("its SHA-512 is not the one that is locked")
	}
	return unpack(b, filepath.Join(root, p.name))
}

// unpack writes the files of a tarball below a folder.
func unpack(b []byte, folder string) error {
	plain, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return err
	}
	for archive := tar.NewReader(plain); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		_, rel, _ := strings.Cut(h.Name, "/") // below package/
		if h.Typeflag != tar.TypeReg || !filepath.IsLocal(rel) {
			continue
		}
		path := filepath.Join(folder, rel)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		content, err := io.ReadAll(io.LimitReader(archive, maxFile))
		if err != nil {
			return err
		}
		if err := os.WriteFile(path, content, os.FileMode(h.Mode&0o755)|0o600); err != nil {
			return err
		}
	}
}
