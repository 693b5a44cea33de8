package launch

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	list := []string{}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func newDirectory(t *testing.T, bases ...string) *Directory {
	t.Helper()
	d, err := NewDirectory(bases)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDirectory(t *testing.T) {
	base := t.TempDir()
	d := newDirectory(t, base)
	st, err := os.Stat(d.Path)
	if err != nil || st.Mode() != fs.ModeDir|0o700 {
		t.Errorf("mode %v, %v: want a directory for the user alone", st.Mode(), err)
	}
	if filepath.Dir(d.Path) != base || !strings.HasPrefix(filepath.Base(d.Path), ArenasPrefix(os.Getuid())) ||
		strings.HasSuffix(d.Path, newSuffix) {
		t.Errorf("it is called %s", d.Path)
	}
	put(t, filepath.Join(d.Path, "1-1.arena"))
	if err := d.Remove(); err != nil {
		t.Error(err)
	}
	if left := names(t, base); len(left) != 0 {
		t.Errorf("%v is left", left)
	}
}

func put(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestBases: the first base that will do is taken.
func TestBases(t *testing.T) {
	good, file := t.TempDir(), filepath.Join(t.TempDir(), "file")
	put(t, file)
	d := newDirectory(t, "/proc", filepath.Join(good, "missing"), file, good)
	if filepath.Dir(d.Path) != good {
		t.Errorf("it is %s, want one in %s", d.Path, good)
	}
	if err := d.Remove(); err != nil {
		t.Error(err)
	}
	_, err := NewDirectory([]string{"/proc", file})
	if err == nil || !strings.Contains(err.Error(), "/proc") || !strings.Contains(err.Error(), file) {
		t.Errorf("%v, want an error that names both", err)
	}
}

// TestFullBase: a file system with less space than a small program needs is passed over.
func TestFullBase(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can mount")
	}
	small, good := t.TempDir(), t.TempDir()
	if err := unix.Mount("tmpfs", small, "tmpfs", 0, "size=8m"); err != nil {
		t.Skipf("no right to mount: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(small, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	d := newDirectory(t, small, good)
	defer d.Remove()
	if filepath.Dir(d.Path) != good {
		t.Errorf("it is %s, want one in %s", d.Path, good)
	}
	if _, err := NewDirectory([]string{small}); err == nil || !strings.Contains(err.Error(), "bytes free") {
		t.Errorf("%v, want an error that says how much is free", err)
	}
}

func TestDefaultBases(t *testing.T) {
	t.Setenv("CLRPROF_SHM", "")
	t.Setenv("XDG_RUNTIME_DIR", "/run/user/1")
	t.Setenv("TMPDIR", "/var/tmp")
	if d := cmp.Diff([]string{"/dev/shm", "/run/user/1", "/var/tmp"}, Bases()); d != "" {
		t.Error(d)
	}
	t.Setenv("XDG_RUNTIME_DIR", "")
	if d := cmp.Diff([]string{"/dev/shm", "/var/tmp"}, Bases()); d != "" {
		t.Error(d)
	}
	t.Setenv("CLRPROF_SHM", "/data")
	if d := cmp.Diff([]string{"/data"}, Bases()); d != "" {
		t.Error(d)
	}
}

// TestStale: what the next run removes is what nobody uses, and nothing else.
func TestStale(t *testing.T) {
	base := t.TempDir()
	mk := func(name string) string {
		path := filepath.Join(base, name)
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Join(path, "1-1.arena"))
		return path
	}
	mk(ArenasPrefix(os.Getuid()) + "dead")
	mk(ArenasPrefix(os.Getuid()) + "removing" + goneSuffix)
	old := mk(ArenasPrefix(os.Getuid()) + "old" + newSuffix)
	past := time.Now().Add(-2 * newAge)
	if err := os.Chtimes(old, past, past); err != nil {
		t.Fatal(err)
	}
	mk(ArenasPrefix(os.Getuid()) + "young" + newSuffix)
	mk(strings.Replace(ArenasPrefix(os.Getuid()), "-", "-1", 1) + "another-user")
	mk("other")
	put(t, filepath.Join(base, ArenasPrefix(os.Getuid())+"file"))
	if err := os.Symlink(filepath.Join(base, "other"), filepath.Join(base, ArenasPrefix(os.Getuid())+"link")); err != nil {
		t.Fatal(err)
	}
	if err := newDirectory(t, base).Keep(); err != nil {
		t.Fatal(err)
	}
	living := newDirectory(t, base)
	want := append(names(t, base), "")
	d := newDirectory(t, base)
	want = without(want, "", ArenasPrefix(os.Getuid())+"dead", ArenasPrefix(os.Getuid())+"removing"+goneSuffix, ArenasPrefix(os.Getuid())+"old"+newSuffix)
	if diff := cmp.Diff(want, without(names(t, base), filepath.Base(d.Path))); diff != "" {
		t.Errorf("(-want +got): %s", diff)
	}
	if diff := cmp.Diff([]string{"1-1.arena"}, names(t, filepath.Join(base, "other"))); diff != "" {
		t.Errorf("behind the link: %s", diff)
	}
	if err := errors.Join(d.Remove(), living.Remove()); err != nil {
		t.Error(err)
	}
}

func without(list []string, not ...string) []string {
	kept := []string{}
	for _, name := range list {
		drop := false
		for _, n := range not {
			drop = drop || n == name
		}
		if !drop {
			kept = append(kept, name)
		}
	}
	return kept
}

// TestForeignStale: another user may use our names in a folder for all; what is there is not ours to remove.
func TestForeignStale(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give a directory away")
	}
	base := t.TempDir()
	foreign := filepath.Join(base, ArenasPrefix(os.Getuid())+"foreign")
	if err := errors.Join(os.Mkdir(foreign, 0o777), os.Chown(foreign, 65534, 65534)); err != nil {
		t.Fatal(err)
	}
	d := newDirectory(t, base)
	defer d.Remove()
	if _, err := os.Stat(foreign); err != nil {
		t.Error(err)
	}
}

// TestOpenDirectory: one that is in use cannot be recovered; a kept one can, once at a time.
func TestOpenDirectory(t *testing.T) {
	base := t.TempDir()
	d := newDirectory(t, base)
	if _, err := OpenDirectory(d.Path); !errors.Is(err, errInUse) {
		t.Errorf("opening a used one: %v", err)
	}
	if err := d.Keep(); err != nil {
		t.Fatal(err)
	}
	kept, err := OpenDirectory(d.Path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := OpenDirectory(d.Path); !errors.Is(err, errInUse) {
		t.Errorf("opening it twice: %v", err)
	}
	if err := kept.Close(); err != nil {
		t.Error(err)
	}
	if _, err := OpenDirectory(filepath.Join(base, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("opening none: %v", err)
	}
	put(t, filepath.Join(base, "file"))
	if _, err := OpenDirectory(filepath.Join(base, "file")); err == nil {
		t.Error("a file was opened as a directory")
	}
}

// TestDiscard removes what is clrprof's and leaves what is not, and then the directory too.
func TestDiscard(t *testing.T) {
	ours := []string{keepFile, "7-a1.arena", "8-a2.arena.new", "9-a3.no_space.failed", "libclrprof-0123.so"}
	for _, others := range [][]string{nil, {"notes.txt"}} {
		dir := filepath.Join(t.TempDir(), "d")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, name := range append(others, ours...) {
			put(t, filepath.Join(dir, name))
		}
		d, err := OpenDirectory(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Discard(); err != nil {
			t.Error(err)
		}
		if others == nil {
			if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("it is still there: %v", err)
			}
		} else if diff := cmp.Diff(others, names(t, dir)); diff != "" {
			t.Error(diff)
		}
	}
}

// TestUnlink: nothing has a name any more when it returns, and what the files hold is given back later.
func TestUnlink(t *testing.T) {
	base := t.TempDir()
	d := newDirectory(t, base)
	file := filepath.Join(d.Path, "1-1.arena")
	if err := errors.Join(os.WriteFile(file, []byte("held"), 0o600), os.Symlink("away", filepath.Join(d.Path, "link")),
		os.Mkdir(filepath.Join(d.Path, "folder"), 0o700)); err != nil {
		t.Fatal(err)
	}
	release, err := d.Unlink()
	if err != nil {
		t.Fatal(err)
	}
	if left := names(t, base); len(left) != 0 {
		t.Errorf("%v is left", left)
	}
	count := func() (held int) {
		fds, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		for _, fd := range fds {
			to, err := os.Readlink(filepath.Join("/proc/self/fd", fd.Name()))
			if err == nil && strings.HasPrefix(to, base) && strings.HasSuffix(to, " (deleted)") {
				held++
			}
		}
		return held
	}
	if n := count(); n != 3 {
		t.Errorf("%d files are held, want 3", n)
	}
	if release(); count() != 0 {
		t.Errorf("%d files are held after the release", count())
	}
}

// TestRemoveWhileAgentsStart: a process that starts now can neither keep the directory nor appear in it.
func TestRemoveWhileAgentsStart(t *testing.T) {
	base := t.TempDir()
	for range 50 {
		d := newDirectory(t, base)
		started, stop := make(chan struct{}), make(chan struct{})
		go func() {
			for i := 0; ; i++ {
				os.WriteFile(filepath.Join(d.Path, "1-1.arena"), nil, 0o600) // fails once the directory is gone
				if i == 0 {
					close(started)
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		}()
		<-started
		if err := d.Remove(); err != nil {
			t.Error(err)
		}
		close(stop)
	}
	if left := names(t, base); len(left) != 0 {
		t.Errorf("%v is left", left)
	}
}
