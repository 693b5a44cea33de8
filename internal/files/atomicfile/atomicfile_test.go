package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// folder is an empty directory; of another user, if the test may give it away: then it is root who writes there.
func folder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if os.Geteuid() == 0 {
		if err := os.Chown(dir, 4242, 4242); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// names are the names in a directory.
func names(t *testing.T, dir string) (out []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// only fails unless a directory has exactly these names.
func only(t *testing.T, dir string, want ...string) {
	t.Helper()
	if got := names(t, dir); strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("there are %q, want %q", got, want)
	}
}

// holds fails unless a file has exactly this content.
func holds(t *testing.T, path, want string) {
	t.Helper()
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("%s holds %q, want %q: %v", path, got, want, err)
	}
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// TestWrite: the file has its content and its mode, nothing is left beside it, and what was there is replaced only on
// request.
func TestWrite(t *testing.T) {
	dir := folder(t)
	path := filepath.Join(dir, "file")
	old := unix.Umask(0o027)
	defer unix.Umask(old)
	must(t, writeWhole(path, []byte("one"), Options{Mode: 0o666}))
	holds(t, path, "one")
	err := writeWhole(path, []byte("two"), Options{Mode: 0o666})
	if want := path + ": file already exists"; !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
	holds(t, path, "one")
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o640 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	must(t, writeWhole(path, []byte("two"), Options{Mode: 0o600, Replace: true}))
	holds(t, path, "two")
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	long := filepath.Join(dir, strings.Repeat("n", 255))
	must(t, writeWhole(long, nil, Options{Mode: 0o600}))
	must(t, os.Remove(long))
	only(t, dir, "file")
}

// TestMeanwhile: a file that comes while another one of its name is being written is not replaced without request.
func TestMeanwhile(t *testing.T) {
	dir := folder(t)
	path := filepath.Join(dir, "file")
	f, err := Create(path, Options{Mode: 0o600})
	must(t, err, os.WriteFile(path, []byte("another"), 0o600))
	if err := f.Publish(); !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), path) {
		t.Errorf("%v", err)
	}
	holds(t, path, "another")
	only(t, dir, "file")
}

// TestDiscard: what is given up leaves nothing, and what was there before stays.
func TestDiscard(t *testing.T) {
	dir := folder(t)
	path := filepath.Join(dir, "file")
	must(t, os.WriteFile(path, []byte("before"), 0o600))
	for _, create := range []func(string, Options) (*File, error){Create, CreateAt} {
		f, err := create(path, Options{Mode: 0o600, Replace: true})
		must(t, err)
		if _, err := f.Write([]byte("half")); err != nil {
			t.Fatal(err)
		}
		f.Discard()
		f.Discard()
		holds(t, path, "before")
		only(t, dir, "file")
	}
	d, err := CreateDirectory(filepath.Join(dir, "directory"), false)
	must(t, err)
	w, err := d.Create("a")
	must(t, err, w.Close())
	d.Discard()
	only(t, dir, "file")
}

// TestLink: a link with the name of the file is replaced itself, and what it leads to stays as it is.
func TestLink(t *testing.T) {
	for name, create := range map[string]func(string, Options) (*File, error){"file": Create, "at": CreateAt} {
		t.Run(name, func(t *testing.T) {
			dir, victims := folder(t), t.TempDir()
			victim, path := filepath.Join(victims, "victim"), filepath.Join(dir, "out")
			must(t, os.WriteFile(victim, []byte("root's"), 0o600))
			for _, target := range []string{victim, filepath.Join(victims, "absent"), victims} {
				must(t, os.Symlink(target, path))
				if _, err := create(path, Options{Mode: 0o600}); !errors.Is(err, fs.ErrExist) {
					t.Errorf("%s: %v", target, err)
				}
				f, err := create(path, Options{Mode: 0o600, Replace: true})
				must(t, err)
				if _, err := f.Write([]byte("new")); err != nil {
					t.Fatal(err)
				}
				must(t, f.Publish())
				if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
					t.Errorf("%v, %v", info.Mode(), err)
				}
				holds(t, path, "new")
				must(t, os.Remove(path))
			}
			holds(t, victim, "root's")
			only(t, victims, "victim")
			only(t, dir)
		})
	}
}

// TestSwapped: whoever owns the folder replaces each temporary name by a link as soon as it is there. No file outside
// the folder changes.
func TestSwapped(t *testing.T) {
	swap := func(t *testing.T, dir, target string) {
		t.Helper()
		for _, name := range names(t, dir) {
			path := filepath.Join(dir, name)
			must(t, os.Rename(path, path+".away"), os.Symlink(target, path))
		}
	}
	dir, victims := folder(t), t.TempDir()
	victim := filepath.Join(victims, "victim")
	must(t, os.WriteFile(victim, []byte("root's"), 0o600))

	f, err := Create(filepath.Join(dir, "out"), Options{Mode: 0o600})
	must(t, err)
	swap(t, dir, victim)
	if _, err := f.Write([]byte("new")); err != nil {
		t.Fatal(err)
	}
	must(t, f.Publish()) // the link has the name: it is their folder
	holds(t, victim, "root's")

	dir = folder(t)
	f, err = CreateAt(filepath.Join(dir, "out"), Options{Mode: 0o600})
	must(t, err)
	swap(t, dir, victims)
	if w, err := os.OpenFile(f.Path(), os.O_WRONLY, 0); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v is there: %v", w, err)
	}
	if err := f.Publish(); err == nil {
		t.Error("it was published")
	}
	only(t, victims, "victim")

	dir = folder(t)
	d, err := CreateDirectory(filepath.Join(dir, "out"), false)
	must(t, err)
	swap(t, dir, victims)
	w, err := d.Create("victim")
	must(t, err)
	if _, err := w.Write([]byte("new")); err != nil {
		t.Fatal(err)
	}
	must(t, w.Close(), d.Publish())
	holds(t, victim, "root's")
	only(t, victims, "victim")
}

// TestPrivate: others cannot look into the directory in which a file is written by its path.
func TestPrivate(t *testing.T) {
	old := unix.Umask(0)
	defer unix.Umask(old)
	dir := folder(t)
	f, err := CreateAt(filepath.Join(dir, "out"), Options{Mode: 0o666})
	must(t, err)
	defer f.Discard()
	if info, err := os.Stat(filepath.Dir(f.Path())); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	must(t, os.WriteFile(f.Path(), []byte("by its path"), 0), f.Publish())
	holds(t, filepath.Join(dir, "out"), "by its path")
	only(t, dir, "out")
}

// TestDirectory: a directory comes whole, or its files come into one that is there; a link to one is refused.
func TestDirectory(t *testing.T) {
	dir, victims := folder(t), t.TempDir()
	path, link := filepath.Join(dir, "out"), filepath.Join(dir, "link")
	fill := func(path string, replace bool, content string) error {
		d, err := CreateDirectory(path, replace)
		if err != nil {
			return err
		}
		defer d.Discard()
		f, err := d.Create("a")
		if err != nil {
			return err
		}
		_, err = f.WriteString(content)
		return errors.Join(err, f.Close(), d.Publish())
	}
	must(t, fill(path, false, "one"))
	holds(t, filepath.Join(path, "a"), "one")
	if err := fill(path, false, "two"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("%v", err)
	}
	must(t, os.Symlink(victims, filepath.Join(path, "b")), fill(path, true, "two"))
	holds(t, filepath.Join(path, "a"), "two")
	only(t, path, "a", "b")

	must(t, os.Symlink(victims, link))
	if err := fill(link, true, "three"); !errors.Is(err, errLink) {
		t.Errorf("%v", err)
	}
	only(t, victims)
	must(t, os.Remove(link))

	file := filepath.Join(dir, "file")
	must(t, os.WriteFile(file, nil, 0o600))
	if err := fill(file, true, "four"); err == nil || !strings.Contains(err.Error(), "not a directory") {
		t.Errorf("%v", err)
	}
	must(t, os.Remove(file))
	only(t, dir, "out")
}

// TestNamed: errors name the path that was asked for, not the temporary one.
func TestNamed(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing", "out")
	_, created := Create(missing, Options{})
	_, at := CreateAt(missing, Options{})
	_, directory := CreateDirectory(missing, false)
	for _, err := range []error{created, at, directory} {
		if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), missing+":") {
			t.Errorf("%v", err)
		}
	}
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0))
	err := writeWhole(filepath.Join(dir, "file", "out"), nil, Options{})
	if want := filepath.Join(dir, "file", "out") + ": not a directory"; !strings.HasSuffix(err.Error(), want) {
		t.Errorf("%v", err)
	}
	must(t, os.Remove(filepath.Join(dir, "file")), os.Mkdir(filepath.Join(dir, "out"), 0o700))
	err = writeWhole(filepath.Join(dir, "out"), nil, Options{Replace: true})
	if err == nil || strings.Contains(err.Error(), ".tmp") {
		t.Errorf("%v", err)
	}
	only(t, dir, "out")
}

// writeWhole writes a file and publishes it.
func writeWhole(path string, content []byte, o Options) error {
	f, err := Create(path, o)
	if err != nil {
		return err
	}
	defer f.Discard()
	if _, err := f.Write(content); err != nil {
		return err
	}
	return f.Publish()
}
