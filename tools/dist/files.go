package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"fmt"
	"path"
	"slices"
	"time"
)

// file is a file of an archive or a package.
type file struct {
	path    string // with slashes, relative
	content []byte
	mode    int64 // rights; nothing else of it counts
}

func sorted(files []file) []file {
	slices.SortFunc(files, func(a, b file) int { return cmp.Compare(a.path, b.path) })
	return files
}

// tarball returns the files below a folder as a compressed archive, which names no user and one time.
func tarball(folder string, files []file, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	compressed, err := gzip.NewWriterLevel(&out, gzip.BestCompression) // its header has neither a name nor a time
	if err != nil {
		return nil, err
	}
	archive := tar.NewWriter(compressed)
	for _, f := range withFolders(folder, files) {
		h := &tar.Header{Name: f.path, Mode: f.mode, Size: int64(len(f.content)), ModTime: at, Typeflag: tar.TypeReg,
			Format: tar.FormatPAX}
		if f.content == nil {
			h.Typeflag = tar.TypeDir
		}
		if err := archive.WriteHeader(h); err != nil {
			return nil, fmt.Errorf("%s: %w", f.path, err)
		}
		if _, err := archive.Write(f.content); err != nil {
			return nil, fmt.Errorf("%s: %w", f.path, err)
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	err = compressed.Close()
	return out.Bytes(), err
}

// withFolders returns the files below a folder, each folder, which has no content, before what is in it.
func withFolders(folder string, files []file) []file {
	var out []file
	seen := map[string]bool{".": true}
	var add func(string)
	add = func(dir string) {
		if !seen[dir] {
			seen[dir] = true
			add(path.Dir(dir))
			out = append(out, file{path: dir + "/", mode: 0o755})
		}
	}
	for _, f := range files {
		f.path = path.Join(folder, f.path)
		add(path.Dir(f.path))
		if f.content == nil {
			f.content = []byte{}
		}
		out = append(out, f)
	}
	return out
}
