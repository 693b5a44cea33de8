package agentbin

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestBuildIDs: each agent has its own, and what is no agent has none.
func TestBuildIDs(t *testing.T) {
	ids, err := BuildIDs()
	if errors.Is(err, ErrMissing) {
		t.Skip(err)
	}
	if err != nil || len(ids) < 2 || ids[0] == ids[1] || ids[0] == [buildIDBytes]byte{} {
		t.Errorf("%x, %v", ids, err)
	}
	if id, err := buildID([]byte("\x7fELF")); err == nil {
		t.Errorf("of rubbish: %x", id)
	}
}

// TestCopy: all users can read what is copied, and it takes the place of what was there.
func TestCopy(t *testing.T) {
	want, err := Bytes(Glibc)
	if err != nil {
		t.Skip(err)
	}
	folder := filepath.Join(t.TempDir(), "agent")
	for range 2 {
		path, err := Copy(Glibc, folder)
		if err != nil {
			t.Fatal(err)
		}
		have, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(have, want) || filepath.Base(path) != FileName(Glibc) {
			t.Errorf("%s: %d bytes, want %d: %v", path, len(have), len(want), err)
		}
		if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o555 {
			t.Errorf("%v, %v", st.Mode(), err)
		}
		if entries, err := os.ReadDir(folder); err != nil || len(entries) != 1 {
			t.Errorf("%v, %v", entries, err)
		}
	}
}
