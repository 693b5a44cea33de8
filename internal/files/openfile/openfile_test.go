package openfile

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestOdd: what is no regular file is an error of one line that says what it is, at once: nobody writes to the FIFO.
func TestOdd(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: at("socket"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	err = errors.Join(unix.Mkfifo(at("fifo"), 0o600), os.Symlink(at("fifo"), at("link")))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{at("fifo"): "a named pipe", at("link"): "a named pipe",
		at("socket"): "a socket", dir: "a directory", "/dev/null": "a device", "/dev/tty": "a device"} {
		f, err := OpenRegular(path)
		if !errors.Is(err, ErrNotRegular) || err.Error() != path+" is "+want+": not a regular file" {
			t.Errorf("%v", err)
		}
		if err == nil {
			f.Close()
		}
		if _, err := ReadRegular(path, 10); !errors.Is(err, ErrNotRegular) {
			t.Errorf("%v", err)
		}
	}
	if _, err := OpenRegular(at("none")); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), at("none")) {
		t.Errorf("%v", err)
	}
}

// TestChanged: what is opened is looked at again, and opening does not wait.
func TestChanged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDONLY|flags, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := checkOpen(path, f); !errors.Is(err, ErrNotRegular) {
		t.Errorf("%v", err)
	}
}

func TestRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	link := path + ".link"
	if err := errors.Join(os.WriteFile(path, []byte("12345"), 0o600), os.Symlink(path, link)); err != nil {
		t.Fatal(err)
	}
	if b, err := ReadRegular(link, 5); err != nil || string(b) != "12345" {
		t.Errorf("%q %v", b, err)
	}
	if _, err := ReadRegular(path, 4); !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), path) {
		t.Errorf("%v", err)
	}
	if b, err := ReadRegular("/proc/self/comm", 100); err != nil || len(b) == 0 {
		t.Errorf("%q %v", b, err)
	}
}
