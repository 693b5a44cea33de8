package dotnettest

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// maxUnpacked bounds what a tarball may unpack to; the larger of the two has
// 326 MB.
const maxUnpacked = 1 << 30

// unpack writes the regular files of a .tgz for which keep returns true to dir,
// under the name that keep returns. Other entries are skipped; an npm tarball has
// none. Names that would lead out of dir are an error.
func unpack(tarball, dir string, keep func(name string) (rel string, ok bool)) error {
	f, err := os.Open(tarball)
	if err != nil {
		return err
	}
	defer f.Close()
	gz, err := gzip.NewReader(bufio.NewReaderSize(f, 1<<20))
	if err != nil {
		return fmt.Errorf("reading gzip: %w", err)
	}
	left := int64(maxUnpacked)
	for tr := tar.NewReader(gz); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading tar: %w", err)
		}
		rel, ok := keep(h.Name)
		if !ok || h.Typeflag != tar.TypeReg {
			continue
		}
		if !filepath.IsLocal(rel) {
			return fmt.Errorf("entry %q leads out of the directory", h.Name)
		}
		if left -= h.Size; left < 0 {
			return fmt.Errorf("more than %d bytes", int64(maxUnpacked))
		}
		if err := writeFile(filepath.Join(dir, rel), h.FileInfo().Mode(), tr); err != nil {
			return fmt.Errorf("unpacking %s: %w", h.Name, err)
		}
	}
}

// writeFile writes r to a new file, executable for all if mode is for its owner.
func writeFile(path string, mode os.FileMode, r io.Reader) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	perm := os.FileMode(0o644)
	if mode&0o100 != 0 {
		perm = 0o755
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	if _, err := io.Copy(f, r); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// place makes dst the same file as src: a hard link if the file system can,
// otherwise a copy. Directories are made, an existing dst is replaced.
func place(src, dst string) error {
	if err := os.MkdirAll(filepath.Dir(dst), 0o755); err != nil {
		return err
	}
	if err := os.Remove(dst); err != nil && !os.IsNotExist(err) {
		return err
	}
	if os.Link(src, dst) == nil {
		return nil
	}
	return copyFile(src, dst)
}

// copyFile makes dst a new file with the content of src, so that changing one
// leaves the other.
func copyFile(src, dst string) error {
	if err := os.MkdirAll(filepath.Dir(dst), 0o755); err != nil {
		return err
	}
	if err := os.Remove(dst); err != nil && !os.IsNotExist(err) {
		return err
	}
	in, err := os.Open(src)
	if err != nil {
		return err
	}
	defer in.Close()
	fi, err := in.Stat()
	if err != nil {
		return err
	}
	return writeFile(dst, fi.Mode(), in)
}
