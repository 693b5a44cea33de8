package agentbin

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestHook: the committed assembly is what agent/hook makes.
func TestHook(t *testing.T) {
	cmd := exec.Command("go", "run", "./tools/hookbuild", "-check")
	cmd.Dir = filepath.Join("..", "..", "..")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestExtractHook: it has its own name in a folder for its contents, and the first directory that will do is taken.
func TestExtractHook(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	put(t, file, nil)
	good := filepath.Join(t.TempDir(), "good")
	for range 2 {
		path, err := ExtractHook([]string{file, good})
		if err != nil || filepath.Base(path) != hookName || !strings.HasPrefix(path, good+"/packages/") {
			t.Fatalf("%q, %v", path, err)
		}
		if have, err := os.ReadFile(path); err != nil || !bytes.Equal(have, hook) {
			t.Errorf("%d bytes, want %d: %v", len(have), len(hook), err)
		}
	}
	if path, err := ExtractHook([]string{file}); err == nil {
		t.Errorf("it went to %s", path)
	}
}
