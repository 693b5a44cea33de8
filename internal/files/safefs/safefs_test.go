package safefs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/testkit/safefstest"
)

// theirs is a folder of the other user, and that user's rights.
func theirs(t *testing.T) (path string, user User) {
	t.Helper()
	path = safefstest.Theirs(t)
	return path, Lend(safefstest.Nobody, safefstest.Nobody, nil, 0)
}

// open opens a folder for a test.
func open(t *testing.T, path string, user User) *Dir {
	t.Helper()
	d, err := OpenDir(path, user)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() }) // the test may have
	return d
}

// withoutOpenat2 runs a test once more as on a kernel that has no such call.
func withoutOpenat2(t *testing.T, test func(*testing.T)) {
	t.Helper()
	t.Run("openat2", test)
	t.Run("older", func(t *testing.T) {
		openat2 = func(int, string, *unix.OpenHow) (int, error) { return -1, unix.ENOSYS }
		defer func() { openat2 = unix.Openat2 }()
		test(t)
	})
}

// TestDo: what is done for a user is done with that user's rights alone, and nothing stays of them.
func TestDo(t *testing.T) {
	path, user := theirs(t)
	hidden := safefstest.Secret(t)
	err := user.Do(func() error {
		if f, err := os.Open(hidden); !errors.Is(err, fs.ErrPermission) {
			return fmt.Errorf("opened %v: %v", f, err)
		}
		return os.WriteFile(filepath.Join(path, "made"), nil, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	var st unix.Stat_t
	if err := unix.Lstat(filepath.Join(path, "made"), &st); err != nil || st.Uid != safefstest.Nobody || st.Gid != safefstest.Nobody {
		t.Errorf("%v: of user %d, group %d", err, st.Uid, st.Gid)
	}
	for range 100 { // on whatever thread
		if _, err := os.ReadFile(hidden); err != nil {
			t.Fatal(err)
		}
	}
	if err := Self().Do(func() error { return io.EOF }); !errors.Is(err, io.EOF) {
		t.Errorf("%v", err)
	}
}

// TestLentGroups: a group of the user's counts, and none of root's.
func TestLentGroups(t *testing.T) {
	_, _ = theirs(t)
	path := filepath.Join(t.TempDir(), "shared")
	if err := errors.Join(os.WriteFile(path, nil, 0o640), os.Chown(path, 0, 4711), os.Chmod(filepath.Dir(path), 0o755),
		os.Chmod(filepath.Dir(filepath.Dir(path)), 0o755)); err != nil {
		t.Fatal(err)
	}
	read := func() error { _, err := os.ReadFile(path); return err }
	if err := Lend(safefstest.Nobody, safefstest.Nobody, []int{4711}, 0).Do(read); err != nil {
		t.Error(err)
	}
	if err := Lend(safefstest.Nobody, safefstest.Nobody, nil, 0).Do(read); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("without the group: %v", err)
	}
	if err := Lend(0, 0, nil, 0).Do(read); !errors.Is(err, fs.ErrPermission) && err != nil {
		t.Errorf("%v", err)
	}
	// root of a container without CAP_DAC_OVERRIDE is not allowed what others own
	if err := os.Chown(path, safefstest.Nobody, safefstest.Nobody); err != nil {
		t.Fatal(err)
	}
	if err := Lend(0, 0, nil, 0).Do(read); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("root without capabilities: %v", err)
	}
	if err := Lend(0, 0, nil, 1<<unix.CAP_DAC_OVERRIDE).Do(read); err != nil {
		t.Errorf("root with it: %v", err)
	}
}

// TestLinks: no name in a folder leads out of it, whatever its user puts there.
func TestLinks(t *testing.T) {
	withoutOpenat2(t, func(t *testing.T) {
		path, user := theirs(t)
		hidden := safefstest.Secret(t)
		at := func(name string) string { return filepath.Join(path, name) }
		if err := errors.Join(os.Symlink(hidden, at("file")), os.Symlink(filepath.Dir(hidden), at("folder"))); err != nil {
			t.Fatal(err)
		}
		for _, as := range []User{user, Self()} { // with root's rights too: the links are not followed at all
			d := open(t, path, as)
			if f, err := d.Create("file"); !errors.Is(err, fs.ErrExist) {
				t.Errorf("made %v: %v", f, err)
			}
			for _, open := range []func(string) (*os.File, error){d.Open, d.OpenWrite} {
				if f, err := open("file"); err == nil {
					t.Errorf("opened %v", f)
				}
			}
			if sub, err := d.Sub("folder"); err == nil {
				t.Errorf("opened %v", sub)
			}
			if sub, err := d.Mkdir("folder"); !errors.Is(err, fs.ErrExist) {
				t.Errorf("made %v: %v", sub, err)
			}
			for _, name := range []string{"", ".", "..", "folder/secret", "../" + filepath.Base(path)} {
				if f, err := d.Create(name); err == nil {
					t.Errorf("made %v", f)
				}
			}
			if to, err := d.Readlink("file"); err != nil || to != hidden {
				t.Errorf("%q %v", to, err)
			}
		}
		d := open(t, path, user)
		if err := d.RemoveAll(); err != nil {
			t.Error(err)
		}
		safefstest.Unharmed(t, hidden)
	})
}

// TestOdd: only regular files of the folder's user are opened, and none is waited for.
func TestOdd(t *testing.T) {
	withoutOpenat2(t, func(t *testing.T) {
		path, user := theirs(t)
		at := func(name string) string { return filepath.Join(path, name) }
		err := errors.Join(unix.Mkfifo(at("fifo"), 0o666), unix.Mkfifo(at("theirs"), 0o666),
			os.WriteFile(at("roots"), nil, 0o666), os.Mkdir(at("folder"), 0o777),
			unix.Mknod(at("device"), unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))), os.WriteFile(at("good"), nil, 0o600),
			os.Chown(at("good"), safefstest.Nobody, safefstest.Nobody), os.Chown(at("theirs"), safefstest.Nobody, safefstest.Nobody))
		if err != nil {
			t.Fatal(err)
		}
		for _, as := range []User{user, Self()} {
			d := open(t, path, as)
			for name, want := range map[string]error{"fifo": ErrNotRegular, "theirs": ErrNotRegular, "roots": ErrOwner,
				"folder": ErrNotRegular, "device": ErrNotRegular, "none": fs.ErrNotExist} {
				for _, open := range []func(string) (*os.File, error){d.Open, d.OpenWrite} {
					if f, err := open(name); !errors.Is(err, want) {
						t.Errorf("%s: %v, %v, want %v", name, f, err, want)
					}
				}
			}
			f, err := d.Open("good")
			if err != nil {
				t.Fatal(err)
			}
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestMounted: what is mounted over a name of a folder is not opened by it: a container's user can mount.
func TestMounted(t *testing.T) {
	withoutOpenat2(t, func(t *testing.T) {
		path, user := theirs(t)
		over := filepath.Join(path, "over")
		if err := os.Mkdir(over, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := unix.Mount("tmpfs", over, "tmpfs", 0, "size=1m"); err != nil {
			t.Skipf("no right to mount: %v", err)
		}
		defer unix.Unmount(over, unix.MNT_DETACH)
		if sub, err := open(t, path, user).Sub("over"); !errors.Is(err, unix.EXDEV) {
			t.Errorf("%v %v", sub, err)
		}
	})
}

// TestBelow: the links of a folder that is another process's root lead to its own files, as they do for the process.
func TestBelow(t *testing.T) {
	top := t.TempDir()
	hidden := filepath.Join(t.TempDir(), "shared")
	inside := filepath.Join(top, "var", "shared")
	if err := errors.Join(os.MkdirAll(inside, 0o700), os.Mkdir(hidden, 0o700), os.MkdirAll(top+hidden, 0o700),
		os.Symlink("/var/shared", filepath.Join(top, "absolute")), os.Symlink("../../../var", filepath.Join(top, "up")),
		os.Symlink(hidden, filepath.Join(top, "out")), os.WriteFile(filepath.Join(inside, "file"), nil, 0o600),
		unix.Mkfifo(filepath.Join(inside, "fifo"), 0o600)); err != nil {
		t.Fatal(err)
	}
	root, err := os.Open(top)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	same := func(path, want string) {
		t.Helper()
		d, err := OpenDirBelow(root, path, Self())
		if err != nil {
			t.Errorf("%s: %v", path, err)
			return
		}
		defer d.Close()
		a, err := d.File().Stat()
		b, otherErr := os.Stat(want)
		if err := errors.Join(err, otherErr); err != nil || !os.SameFile(a, b) {
			t.Errorf("%s is not %s: %v", path, want, err)
		}
	}
	links := map[string]string{"/absolute": inside, "/up/shared": inside, "/out": top + hidden}
	plain := map[string]string{"/var/shared": inside, "/": top, "/var/../var/shared/": inside,
		"/../../var/shared": inside}
	for path, want := range plain {
		same(path, want)
	}
	for path, want := range links {
		same(path, want)
	}
	files := FilesOf(root, Self())
	for _, name := range []string{"var/shared/file", "absolute/file", "var"} {
		f, err := files.Open(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		f.Close()
	}
	if f, err := files.Open("absolute/fifo"); !errors.Is(err, ErrNotRegular) {
		t.Errorf("%v %v", f, err)
	}
	openat2 = func(int, string, *unix.OpenHow) (int, error) { return -1, unix.EPERM }
	defer func() { openat2 = unix.Openat2 }()
	for path, want := range plain {
		same(path, want)
	}
	for path := range links {
		if d, err := OpenDirBelow(root, path, Self()); err == nil || !strings.Contains(err.Error(), "symbolic link") {
			t.Errorf("%s: %v %v", path, d, err)
		}
	}
}

// TestTrusted: a path is trusted if only this user and root decide what it leads to.
func TestTrusted(t *testing.T) {
	path, _ := theirs(t)
	own := t.TempDir()
	made := func(name string, mode os.FileMode) string {
		t.Helper()
		path := filepath.Join(own, name)
		if err := errors.Join(os.Mkdir(path, 0o700), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	link := func(name, to string) string {
		t.Helper()
		path := filepath.Join(own, name)
		if err := os.Symlink(to, path); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for path, want := range map[string]error{
		own:                                 nil,
		filepath.Join(own, "none", "none"):  nil,
		"/tmp":                              nil,
		made("sticky", 0o777|os.ModeSticky): nil,
		made("open", 0o777):                 ErrOpen,
		filepath.Join(own, "open", "below"): ErrOpen,
		path:                                ErrForeign,
		filepath.Join(path, "below"):        ErrForeign,
		link("there", path):                 ErrForeign,
		link("here", filepath.Join(own)):    nil,
		filepath.Join(own, "here", "open"):  ErrOpen,
	} {
		if err := Trusted(path); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
	}
	foreign := link("foreign", own)
	if err := os.Lchown(foreign, safefstest.Nobody, safefstest.Nobody); err != nil {
		t.Fatal(err)
	}
	if err := Trusted(foreign); !errors.Is(err, ErrForeign) {
		t.Errorf("a link of another user: %v", err)
	}
}

// TestRemoveAll: what is in folders is removed too, and the links there are not followed.
func TestRemoveAll(t *testing.T) {
	path, user := theirs(t)
	hidden := safefstest.Secret(t)
	deep := filepath.Join(path, "a", "b")
	err := user.Do(func() error {
		return errors.Join(os.MkdirAll(deep, 0o700), os.Symlink(filepath.Dir(hidden), filepath.Join(deep, "link")),
			os.WriteFile(filepath.Join(deep, "file"), nil, 0o600), os.Symlink(hidden, filepath.Join(path, "link")))
	})
	if err != nil {
		t.Fatal(err)
	}
	d := open(t, path, user)
	if err := d.RemoveAll(); err != nil {
		t.Error(err)
	}
	if names, err := d.Names(); err != nil || len(names) != 0 {
		t.Errorf("%v %v", names, err)
	}
	safefstest.Unharmed(t, hidden)
}
