package collect

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/capture/arena"
	"github.com/clrprof/clrprof/internal/capture/cgroup"
	"github.com/clrprof/clrprof/internal/capture/launch"
	"github.com/clrprof/clrprof/internal/quantity"
)

// TestGroup: the agent's limit follows the control group of its process down, and nothing else changes in the arena.
func TestGroup(t *testing.T) {
	slice := func(r *recordingTest) error { return r.Sync(second) }
	between := func(r *recordingTest) error { return r.followGroups() }
	for _, tt := range []struct {
		name          string
		look          func(*recordingTest) error
		allowed, want int64
		over, set     bool
	}{
		{"no limit", slice, cgroup.None, 1 << 30, false, true},
		{"a larger group", slice, 1 << 40, 1 << 30, false, true},
		{"a smaller group", slice, 64 << 20, 16 << 20, false, true},
		{"a smaller group, between slices", between, 64 << 20, 16 << 20, false, true},
		{"as the user says", slice, 64 << 20, 1 << 30, false, false},
		{"has ended", slice, 64 << 20, 1 << 30, true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, a := newRecording(t), newArena(0)
			a.Header.MemoryLimit = 1 << 30
			r.alive = func(int) bool { return !tt.over }
			r.allowed = func(pid int) int64 {
				if pid != int(a.Header.PID) {
					t.Errorf("asked for process %d, not %d", pid, a.Header.PID)
				}
				return tt.allowed
			}
			if tt.set {
				r.group = func(memory int64) int64 { return memory / 4 }
			}
			path := filepath.Join(r.directory, "1-1"+launch.ArenaSuffix)
			if err := a.Write(path); err != nil {
				t.Fatal(err)
			}
			if err := tt.look(r); err != nil {
				t.Fatal(err)
			}
			got, err := arena.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer got.Close()
			h, err := got.Header()
			if err != nil {
				t.Fatal(err)
			}
			if h.MemoryLimit != uint64(tt.want) {
				t.Errorf("the limit is %d, want %d", h.MemoryLimit, tt.want)
			}
			h.MemoryLimit = a.Header.MemoryLimit
			want := a.Header
			want.Regions = h.Regions // the file has its own
			if *h != want {
				t.Errorf("the header changed: %+v, want %+v", *h, want)
			}
		})
	}
}

// TestArenaAmong: only names of arenas count, and events that the kernel dropped.
func TestArenaAmong(t *testing.T) {
	event := func(mask uint32, name string) []byte {
		b := binary.NativeEndian.AppendUint32(make([]byte, 4), mask)
		b = binary.NativeEndian.AppendUint32(b, 0)
		b = binary.NativeEndian.AppendUint32(b, uint32(len(name)))
		return append(b, name...)
	}
	unfinished, heap := event(unix.IN_CREATE, "1-1.arena.new\x00\x00\x00"), event(unix.IN_CREATE, "1-1.heap\x00")
	for _, tt := range []struct {
		events []byte
		want   bool
	}{
		{nil, false},
		{slices.Concat(unfinished, heap), false},
		{slices.Concat(unfinished, event(unix.IN_MOVED_TO, "1-1.arena\x00\x00"), heap), true},
		{event(unix.IN_Q_OVERFLOW, ""), true},
	} {
		if got := ofArenas(tt.events) != 0; got != tt.want {
			t.Errorf("%q: %v", tt.events, got)
		}
	}
}

// TestWatch: arenas that appear are announced, in whatever way they get their names.
func TestWatch(t *testing.T) {
	directory := t.TempDir()
	w := newWatch(folder(t, directory))
	defer w.close()
	if w.file == nil {
		t.Skip("the kernel watches no more directories for this user")
	}
	for _, appears := range []func(from, to string) error{os.Link, os.Rename} {
		other := filepath.Join(directory, "1-1"+launch.ArenaSuffix+".new")
		name := filepath.Join(directory, "1-1"+launch.ArenaSuffix)
		if err := os.WriteFile(other, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := appears(other, name); err != nil {
			t.Fatal(err)
		}
		select {
		case <-w.appeared:
		case <-time.After(time.Minute):
			t.Fatal("an arena appeared, and nobody learned of it")
		}
		if err := os.RemoveAll(name); err != nil {
			t.Fatal(err)
		}
	}
	gone := filepath.Join(directory, "gone")
	if err := os.Mkdir(gone, 0o700); err != nil {
		t.Fatal(err)
	}
	files := folder(t, gone)
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}
	if none := newWatch(files); none.close() != nil {
		t.Error("a directory that is not there any more")
	}
}

// TestLooks: after a process has appeared its group is looked at again and again, always later, until the slice does.
func TestLooks(t *testing.T) {
	const slice = second
	var l looks
	if at := l.before(slice); at != slice {
		t.Errorf("without a process: %d", at)
	}
	l.appeared(100)
	want := quantity.Nanoseconds(100)
	for pause := firstLook; want+pause < slice; pause *= 2 {
		want += pause
		if at := l.before(slice); at != want {
			t.Fatalf("look at %d, want %d", at, want)
		}
		l.looked(want)
	}
	for range 2 {
		if at := l.before(slice); at != slice {
			t.Errorf("after %d: %d", want, at)
		}
	}
}
