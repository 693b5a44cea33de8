package e2e

import (
	endian "encoding/binary"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// TestOpensOnce counts how often clrprof opens the file of a session from the start of a program to its summary: once to
// record, complete and read it. SQLite takes some milliseconds each time, for which the prompt waits.
func TestOpensOnce(t *testing.T) {
	runtime := dotnettest.Need(t).Newest()
	target := runtime.Command(dotnettest.Target(t, "Echo", dotnettest.Options{}), "cwd")
	for _, flags := range [][]string{nil, {"--time"}} {
		path, in, args := recordArgs(t, target, flags)
		args[1] = "--top=5" // in place of --no-report
		opened := watchOpens(t, path)
		if r := runWith(t, in, args...); r.exit != 0 || !strings.Contains(r.stderr, filepath.Base(path)) {
			t.Fatalf("%v: exit code %d\n%s", flags, r.exit, r.stderr)
		}
		if n := opened(); n != 1 {
			t.Errorf("%v: the session was opened %d times", flags, n)
		}
	}
}

// watchOpens returns a function that returns how often a file was opened since then.
func watchOpens(t *testing.T, path string) func() int {
	t.Helper()
	watch, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(watch) })
	if _, err := unix.InotifyAddWatch(watch, filepath.Dir(path), unix.IN_OPEN); err != nil {
		t.Fatal(err)
	}
	return func() (n int) {
		var events [1 << 16]byte
		for {
			size, err := unix.Read(watch, events[:])
			if err != nil {
				return n // unix.EAGAIN: there are no more
			}
			for at := 0; at < size; {
				length := int(endian.NativeEndian.Uint32(events[at+12:]))
				name := string(events[at+unix.SizeofInotifyEvent:][:length])
				if strings.TrimRight(name, "\x00") == filepath.Base(path) {
					n++
				}
				at += unix.SizeofInotifyEvent + length
			}
		}
	}
}
