package agentbin

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/files/safefs"
)

// agent is what these tests take for the library: any bytes will do, since nothing runs it.
var agent = bytes.Repeat([]byte("agent"), 4096)

// extracted checks that path holds the agent and nothing lies beside it.
func extracted(t *testing.T, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(b, agent) {
		t.Errorf("%s: %d bytes, want the agent: %v", path, len(b), err)
	}
	st, err := os.Stat(path)
	if err != nil || st.Mode().Perm() != 0o500 {
		t.Errorf("mode %v, %v: want 0500", st.Mode(), err)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 || !IsAgent(entries[0].Name()) {
		t.Errorf("the directory holds %v, want the agent alone: %v", entries, err)
	}
}

func TestExtract(t *testing.T) {
	for _, tt := range []struct {
		name   string
		before func(t *testing.T, path string)
	}{
		{"new directory", func(*testing.T, string) {}},
		{"there already", func(t *testing.T, path string) { put(t, path, agent) }},
		{"corrupt", func(t *testing.T, path string) { put(t, path, append(bytes.Clone(agent[1:]), 0)) }},
		{"truncated", func(t *testing.T, path string) { put(t, path, agent[:4096]) }},
		{"empty", func(t *testing.T, path string) { put(t, path, nil) }},
		{"dangling link", func(t *testing.T, path string) {
			t.Helper()
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.Symlink("nowhere", path)); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "a", "b")
			path, err := extract(agent, []string{filepath.Join(t.TempDir(), "other")})
			if err != nil {
				t.Fatal(err)
			}
			tt.before(t, filepath.Join(dir, filepath.Base(path)))
			path, err = extract(agent, []string{dir})
			if err != nil {
				t.Fatal(err)
			}
			extracted(t, path)
			st, err := os.Stat(dir)
			if err != nil || st.Mode().Perm() != 0o700 {
				t.Errorf("mode of the directory %v, %v: want 0700", st.Mode(), err)
			}
		})
	}
}

func put(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, b, 0o500)); err != nil {
		t.Fatal(err)
	}
}

// TestUnusable: a directory that will not do is passed over, and if none will, each is named in the error.
func TestUnusable(t *testing.T) {
	dir := t.TempDir()
	good := filepath.Join(dir, "good")
	file := filepath.Join(dir, "file")
	put(t, file, nil)
	open := filepath.Join(dir, "open")
	link := filepath.Join(dir, "link")
	taken := filepath.Join(dir, "taken")
	path, err := extract(agent, []string{good})
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(os.Mkdir(open, 0o700), os.Chmod(open, 0o777), os.Symlink(good, link),
		os.MkdirAll(filepath.Join(taken, filepath.Base(path), "x"), 0o700))
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{
		file,                 // no directory
		open,                 // anybody could replace the agent there
		link,                 // its owner could point it elsewhere
		taken,                // a directory has the agent's name
		"/proc/self/nothing", // cannot be made
	} {
		got, err := extract(agent, []string{bad, good})
		if err != nil || got != path {
			t.Errorf("%s, then %s: %q, %v", bad, good, got, err)
		}
		_, err = extract(agent, []string{bad})
		if err == nil || !strings.Contains(err.Error(), bad) {
			t.Errorf("%s alone: %v, want an error that names it", bad, err)
		}
	}
	extracted(t, path)
}

// TestForeignOwner: whoever owns the directory can replace the agent. Only root can make another's directory.
func TestForeignOwner(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give a directory away")
	}
	dir := t.TempDir()
	if err := os.Chown(dir, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	if path, err := extract(agent, []string{dir}); err == nil {
		t.Errorf("the agent went to another user's directory: %s", path)
	}
}

// TestNoexec: a library cannot be loaded from a file system that is mounted noexec.
func TestNoexec(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can mount")
	}
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOEXEC, "size=1m,mode=700"); err != nil {
		t.Skipf("no right to mount: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	if _, err := extract(agent, []string{dir}); err == nil || !strings.Contains(err.Error(), "noexec") {
		t.Errorf("%v, want an error that says noexec", err)
	}
	good := t.TempDir()
	if path, err := extract(agent, []string{dir, good}); err != nil || filepath.Dir(path) != good {
		t.Errorf("%q, %v: want it in %s", path, err, good)
	}
}

// TestRace extracts at the same time over a wrong file: all get the path of a whole agent, always.
func TestRace(t *testing.T) {
	dir := t.TempDir()
	path, err := extract(agent, []string{dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(path), os.WriteFile(path, []byte("wrong"), 0o500)); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			got, err := extract(agent, []string{dir})
			if err != nil || got != path {
				t.Errorf("%q, %v", got, err)
			}
			if b, err := os.ReadFile(got); err != nil || !bytes.Equal(b, agent) {
				t.Errorf("%d bytes, %v: want the agent", len(b), err)
			}
		})
	}
	all.Wait()
	extracted(t, path)
}

func TestIsAgent(t *testing.T) {
	for name, want := range map[string]bool{"libclrprof-0123.so": true, "libclrprof-1.tmp": false, "libc.so": false,
		"": false} {
		if IsAgent(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}

// TestForeignFolders: another user who has a folder on the way could replace what is loaded, so nothing is put there.
func TestForeignFolders(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs two users: root can give a folder away")
	}
	for _, name := range variables {
		t.Setenv(name, "")
	}
	theirs, own := t.TempDir(), t.TempDir()
	if err := os.Chown(theirs, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	open := filepath.Join(own, "open")
	if err := errors.Join(os.Mkdir(open, 0o777), os.Chmod(open, 0o777)); err != nil {
		t.Fatal(err)
	}
	for folder, want := range map[string]error{theirs: safefs.ErrForeign, open: safefs.ErrOpen} {
		inside := filepath.Join(folder, "cache", "agent")
		if _, err := extract([]byte("agent"), []string{inside}); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", folder, err, want)
		}
		if entries, err := os.ReadDir(folder); err != nil || len(entries) != 0 {
			t.Errorf("%v %v", entries, err)
		}
	}
	if _, err := Copy(Glibc, filepath.Join(theirs, "agent")); !errors.Is(err, safefs.ErrForeign) {
		t.Errorf("%v", err)
	}
	t.Setenv("TMPDIR", open) // it is chosen
	if err := place(filepath.Join(open, "agent", "x.so"), []byte("agent")); err != nil {
		t.Error(err)
	}
}
