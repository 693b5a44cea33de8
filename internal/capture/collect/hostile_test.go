package collect_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/capture/arena"
	"github.com/clrprof/clrprof/internal/capture/collect"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/wiretest"
	"github.com/clrprof/clrprof/internal/wire"
)

// TestTruncatedArena: a process that makes its arena shorter while it is read ends the recording with an error, and not
// the collector; what was written before stays.
func TestTruncatedArena(t *testing.T) {
	for _, size := range []int64{0, wire.HeaderSize} {
		r := newRecording(t, collect.Filter{})
		path := filepath.Join(r.dir, "40000000-3e8.arena")
		write(t, wiretest.New(), path)
		r.sync(2000)
		if err := os.Truncate(path, size); err != nil {
			t.Fatal(err)
		}
		if err := r.recorder.Sync(3000); size == 0 && !errors.Is(err, arena.ErrShortened) {
			t.Errorf("%v", err)
		}
		r.finish()
	}
}

// TestOddArenas: what has the name of an arena and is no regular file of the folder's user is a process of which
// everything is lost; nothing waits for it, and the others are recorded.
func TestOddArenas(t *testing.T) {
	r := newRecording(t, collect.Filter{})
	at := func(name string) string { return filepath.Join(r.dir, name) }
	write(t, wiretest.New(), at("40000000-3e8.arena"))
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	write(t, wiretest.New(), elsewhere)
	odd := []error{unix.Mkfifo(at("40000001-3e9.arena"), 0o600), os.Mkdir(at("40000002-3ea.arena"), 0o700),
		os.Symlink(elsewhere, at("40000003-3eb.arena")), unix.Mkfifo(at(fmt.Sprintf("%d-1.heap", wiretest.New().Header.PID)), 0o600)}
	if os.Geteuid() == 0 { // else there is no other user
		odd = append(odd, unix.Mknod(at("40000004-3ec.arena"), unix.S_IFCHR|0o600, int(unix.Mkdev(1, 5))),
			os.WriteFile(at("40000005-3ed.arena"), bytesOf(t, wiretest.New()), 0o600),
			os.Chown(at("40000005-3ed.arena"), 65534, 65534))
	}
	if err := errors.Join(odd...); err != nil {
		t.Fatal(err)
	}
	r.sync(2000)
	if err := r.recorder.Snapshots(); err != nil {
		t.Error(err)
	}
	s := r.finish()
	processes := get[session.Process](t)(s.Processes())
	var lost []string
	for _, l := range get[session.Loss](t)(s.Losses()) {
		lost = append(lost, l.Reason)
	}
	want := 4
	if os.Geteuid() == 0 {
		want = 6
	}
	if len(processes) != want {
		t.Errorf("%d processes, want %d: %v", len(processes), want, processes)
	}
	if n := strings.Count(fmt.Sprint(lost), session.LossNotRecorded); n != len(processes)-1 {
		t.Errorf("lost: %v", lost)
	}
	if !strings.Contains(fmt.Sprint(lost), session.LossSnapshot) {
		t.Errorf("the snapshot is not: %v", lost)
	}
}
