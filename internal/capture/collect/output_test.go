package collect

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestOutputRefused: what is said of a session that cannot be written names what the user named, and leaves nothing.
func TestOutputRefused(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	file := filepath.Join(root, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ output, want string }{
		{root + "/new/", root + "/new/ names a directory: name a file, such as " + root + "/new/app.clrprof"},
		{root + "/none/%p.clrprof", "no file can be made in the directory " + root +
			"/none: no such file or directory"},
		{file + "/%p.clrprof", "no file can be made in the directory " + file + ": not a directory"},
	} {
		_, err := prepare(Options{Output: tt.output}, time.Unix(0, 0))
		if !errors.Is(err, ErrWrite) || !strings.HasSuffix(err.Error(), ": "+tt.want) {
			t.Errorf("-o %s: %v, want %s", tt.output, err, tt.want)
		}
	}
	if left, err := os.ReadDir(root); err != nil || len(left) != 1 {
		t.Errorf("%v, %v: what was refused left something", left, err)
	}
}
