package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// otherFolder is a folder of another user, if this is root: others choose what is in it.
func otherFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if os.Geteuid() == 0 {
		if err := os.Chown(dir, 4242, 4242); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestPlantedLinks: the owner of the folder has put links where a temporary name with a process id would lead, and one
// under the name of the file. No format writes through any of them.
func TestPlantedLinks(t *testing.T) {
	own := t.TempDir()
	path, victim := filepath.Join(own, "shop.clrprof"), filepath.Join(own, "victim")
	victims := filepath.Join(own, "victims")
	err := errors.Join(writeComplete(sessiontest.Shop(), path), os.WriteFile(victim, []byte("root's"), 0o600),
		os.Mkdir(victims, 0o700))
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range exportFormats {
		t.Run(format.name, func(t *testing.T) {
			dir, target := otherFolder(t), victim
			if format.files != nil {
				target = victims
			}
			names := []string{"out", "out_FunctionSummary.csv", "out_FunctionSummary.xml"}
			for _, name := range names {
				for pid := os.Getpid(); pid < os.Getpid()+10; pid++ {
					planted := filepath.Join(dir, fmt.Sprintf(".%s.%d.tmp", name, pid))
					if err := os.Symlink(target, planted); err != nil {
						t.Fatal(err)
					}
				}
				if format.files != nil {
					continue // a link in place of the directory is refused: package atomicfile tests it
				}
				if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
					t.Fatal(err)
				}
			}
			x := exportFlags{format: format.name, output: filepath.Join(dir, "out"), sampleTypes: "clrprof",
				reports: []string{"Function"}, force: true}
			if format.reports == "" {
				x.reports = []string{allReports}
			}
			err := x.run(context.Background(), &environment{stdout: io.Discard, stderr: io.Discard}, path)
			if err != nil {
				t.Fatal(err)
			}
			if kept, err := os.ReadFile(victim); err != nil || string(kept) != "root's" {
				t.Errorf("a link was followed: %d bytes, %v", len(kept), err)
			}
			if entries, err := os.ReadDir(victims); err != nil || len(entries) > 0 {
				t.Errorf("a link was followed: %v, %v", entries, err)
			}
			if info, err := os.Lstat(filepath.Join(dir, names[0])); format.reports == "" &&
				(err != nil || info.Mode()&os.ModeSymlink != 0) {
				t.Errorf("the link was not replaced: %v, %v", info, err)
			}
		})
	}
}

// TestOutputKinds: what is at the path of an output decides what becomes of it.
func TestOutputKinds(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	err := errors.Join(unix.Mkfifo(at("fifo"), 0o600), os.Symlink(at("fifo"), at("to fifo")), os.Mkdir(at("folder"), 0o700),
		os.Symlink(at("folder"), at("to folder")), os.WriteFile(at("file"), nil, 0o600), os.Symlink(at("file"), at("to file")),
		os.Symlink(at("none"), at("to none")), os.Symlink("/dev/null", at("to null")))
	if err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		err := errors.Join(unix.Mkfifo(at("other's fifo"), 0o600), os.Chown(at("other's fifo"), 4242, 4242),
			os.Symlink("/dev/null", at("other's link")), os.Lchown(at("other's link"), 4242, 4242))
		if err != nil {
			t.Fatal(err)
		}
	}
	open, err := os.Open(at("file"))
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	for _, tt := range []struct {
		path    string
		special bool
		want    string // error
	}{
		{at("fifo"), true, ""},
		{at("to fifo"), true, ""},
		{at("to null"), true, ""},
		{"/dev/null", true, ""},
		{at("folder"), false, "is a directory"},
		{at("to folder"), false, "is a directory"},
		{at("to file"), false, ""},
		{at("to none"), false, ""},
		{at("absent"), false, ""},
		{at("other's fifo"), false, "is a pipe or a device of another user: use -o for another name"},
		{at("other's link"), false, ""},
		{fmt.Sprintf("/proc/self/fd/%d", open.Fd()), false, "is a file that is open already: use -o with its name"},
		{at("file/in a file"), false, "not a directory"},
	} {
		if strings.Contains(tt.path, "other") && os.Geteuid() != 0 {
			continue
		}
		o, err := newOutput(tt.path, true)
		switch {
		case tt.want == "" && err != nil, tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: %v, want %q", tt.path, err, tt.want)
		case err == nil && o.special != tt.special:
			t.Errorf("%s: special %t", tt.path, o.special)
		}
	}
	for _, there := range []string{"fifo", "to none", "to file", "file", "folder"} {
		if _, err := newOutput(at(there), false); err == nil || !strings.Contains(err.Error(), "exists: use -f") {
			t.Errorf("%s: %v", there, err)
		}
	}
}

// TestPipe: a pipe gets the bytes; without a reader, and with one that does not read, the wait ends with the context.
func TestPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	write := func(w io.Writer) error {
		_, err := w.Write(bytes.Repeat([]byte("x"), 1<<20))
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := writeFile(ctx, path, true, write); !errors.Is(err, context.Canceled) || codeOf(err) != exitInterrupted {
		t.Errorf("without a reader: %v", err)
	}
	reader, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	ctx, cancel = context.WithCancel(context.Background())
	full := func(w io.Writer) error {
		cancel() // the pipe takes 64 KiB and then waits
		return write(w)
	}
	if err := writeFile(ctx, path, true, full); !errors.Is(err, context.Canceled) || codeOf(err) != exitInterrupted {
		t.Errorf("nobody reads: %v", err)
	}
	got := make(chan int)
	go func() {
		b, _ := io.ReadAll(io.LimitReader(reader, 1<<20))
		got <- len(b)
	}()
	if err := writeFile(context.Background(), path, true, write); err != nil {
		t.Error(err)
	}
	if n := <-got; n != 1<<20 {
		t.Errorf("%d bytes came", n)
	}
	if info, err := os.Lstat(path); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		t.Errorf("the pipe was replaced: %v, %v", info, err)
	}
}
