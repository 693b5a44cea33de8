package calltrace

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestForeignStore: a link, a pipe or another user's file in place of the store that was left is not opened.
func TestForeignStore(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	s, err := Create(at("store"), math.MaxInt64, First)
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(s.Close(), os.Symlink(at("store"), at("link")), syscall.Mkfifo(at("fifo"), 0o600))
	names := []string{"link", "fifo"}
	if os.Geteuid() == 0 { // else there is no other user
		content, readErr := os.ReadFile(at("store"))
		err = errors.Join(err, readErr, os.WriteFile(at("theirs"), content, 0o600), os.Chown(at("theirs"), 65534, 65534))
		names = append(names, "theirs")
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if s, err := Open(at(name)); err == nil {
			t.Errorf("%s: %v", name, s)
		}
	}
	if s, err = Open(at("store")); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
