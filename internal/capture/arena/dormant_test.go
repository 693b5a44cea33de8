package arena_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/capture/arena"
	"github.com/clrprof/clrprof/internal/wire"
)

// TestDormant: what a collector asks for is in the file as the agent reads it, and so is the agent's answer.
func TestDormant(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dormant")
	var b bytes.Buffer
	if err := binary.Write(&b, binary.NativeEndian, wire.Dormant{Magic: wire.DormantMagic, State: wire.DormantWaiting,
		Version: wire.Version}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := openDormant(path)
	if err != nil {
		t.Fatal(err)
	}
	other, err := openDormant(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Lock(); err != nil {
		t.Fatal(err)
	}
	if err := other.Lock(); !errors.Is(err, arena.ErrLocked) || other.Collector() != os.Getpid() {
		t.Errorf("a second lock: %v, by %d", err, other.Collector())
	}
	long := "/" + strings.Repeat("x", wire.MaxDirectory)
	if _, err := d.Ask(arena.Wanted{Directory: long}); err == nil {
		t.Error("a path that is too long has been taken")
	}
	for i, w := range []arena.Wanted{
		{Directory: "/dev/shm/a long name", MemoryLimit: 1 << 30, Nodes: 1000, StackDepth: 7, Data: 3, FinalGC: true,
			First: 12, Roots: "induced", Snapshot: "1000000"},
		{Directory: "/x", MemoryLimit: 1 << 20, Nodes: 2, StackDepth: 3, Data: 1},
	} {
		n, err := d.Ask(w)
		if err != nil || n != uint32(i+1) {
			t.Fatal(n, err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var have wire.Dormant
		if _, err := binary.Decode(text, binary.NativeEndian, &have); err != nil {
			t.Fatal(err)
		}
		if wrote := (arena.Wanted{textOf(have.Directory[:]), have.MemoryLimit, have.Nodes, have.StackDepth, have.Data,
			have.FinalGC != 0, have.First, textOf(have.Roots[:]), textOf(have.Snapshot[:])}); wrote != w || have.Requests != n {
			t.Errorf("asked %+v, the file has %+v", w, have)
		}
		if done, _ := d.Answer(n); done {
			t.Error("there is an answer")
		}
		have.Answered, have.Failure = n, uint32(wire.FailureNoArena)
		var answer bytes.Buffer
		if err := errors.Join(binary.Write(&answer, binary.NativeEndian, have), os.WriteFile(path, answer.Bytes(),
			0)); err != nil {
			t.Fatal(err)
		}
		if done, failure := d.Answer(n); !done || failure != wire.FailureNoArena {
			t.Errorf("the answer: %v, %v", done, failure)
		}
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if err := other.Lock(); err != nil {
		t.Errorf("after the first has gone: %v", err)
	}
	if err := other.Close(); err != nil {
		t.Error(err)
	}
}

// TestDormantDamaged: what is no file of an agent is refused, and not mapped.
func TestDormantDamaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dormant")
	for _, text := range []string{"", "short", strings.Repeat("x", 1<<13)} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if d, err := openDormant(path); !errors.Is(err, wire.ErrCorrupt) {
			t.Errorf("%d bytes: %v, %v", len(text), d, err)
		}
	}
	if d, err := openDormant(path + "-none"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("none: %v, %v", d, err)
	}
}

// textOf is a text of the file, and what is behind its zero byte if that is more than zeros.
func textOf(field []uint8) string { return string(bytes.TrimRight(field, "\x00")) }

// openDormant opens the file at a path as a collector does.
func openDormant(path string) (*arena.Dormant, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	return arena.OpenDormant(f)
}
