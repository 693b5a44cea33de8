package safefs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Errors of Trusted.
var (
	// ErrForeign means that another user has a folder of the path, and can replace whatever is in it.
	ErrForeign = errors.New("belongs to another user")

	// ErrOpen means that all users can replace whatever is in a folder of the path.
	ErrOpen = errors.New("can be written by other users")
)

// Trusted reports whether only this user and root decide what a path leads to: each folder on the way belongs to one of
// them, and others can write it only if it is sticky, as /tmp is. What of the path does not exist is this user's to
// make. The error wraps ErrForeign or ErrOpen. A folder that its group can write is trusted if the group is this
// process's own or root's.
func Trusted(path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	existing, err := deepest(path)
	if err != nil {
		return err
	}
	// A link can be changed by who has its folder: so the folders of the path as it is count too.
	for _, p := range []string{filepath.Clean(path), existing} {
		if err := trustedChain(p); err != nil {
			return err
		}
	}
	return nil
}

// deepest resolves the part of a path that exists.
func deepest(path string) (string, error) {
	for {
		resolved, err := filepath.EvalSymlinks(path)
		if err == nil || !errors.Is(err, fs.ErrNotExist) || path == "/" {
			return resolved, err
		}
		path = filepath.Dir(path)
	}
}

// trustedChain looks at what a path goes through, from the root on.
func trustedChain(path string) error {
	at := "/"
	for name := range strings.SplitSeq(path, "/") {
		at = filepath.Join(at, name)
		link, err := os.Lstat(at)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		info, statErr := os.Stat(at)
		if err := errors.Join(err, statErr); err != nil {
			return err
		}
		if err := errors.Join(trusted(at, link), trusted(at, info)); err != nil {
			return err
		}
	}
	return nil
}

// trusted looks at a folder, or at a link, which only its owner replaces where folders are trusted.
func trusted(path string, info fs.FileInfo) error { return trustedBy(path, info, os.Geteuid()) }

// Trusted is like the function Trusted for the folder alone: it reports whether nobody but root and these users can
// replace what is in it.
func (d *Dir) Trusted(users ...int) error {
	info, err := d.file.Stat()
	if err != nil {
		return pathError("stat", d.path, err)
	}
	return trustedBy(d.path, info, users...)
}

func trustedBy(path string, info fs.FileInfo, users ...int) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || info.Mode().IsRegular() {
		return nil
	}
	if uid := int(st.Uid); uid != 0 && !slices.Contains(users, uid) {
		return fmt.Errorf("%s %w, %d", path, ErrForeign, uid)
	}
	writable := st.Mode&0o002 != 0 || st.Mode&0o020 != 0 && st.Gid != 0 && int(st.Gid) != os.Getegid()
	if info.IsDir() && writable && st.Mode&syscall.S_ISVTX == 0 {
		return fmt.Errorf("%s %w", path, ErrOpen)
	}
	return nil
}
