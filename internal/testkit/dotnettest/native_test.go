package dotnettest

import (
	"os"
	"path/filepath"
	"testing"
)

// TestNative: what was built is there for the next one who builds it with the same command, and another command builds
// anew.
func TestNative(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	builds := filepath.Join(t.TempDir(), "builds")
	build := func(text string) string {
		t.Helper()
		dir, err := native([]string{"sh", "-c", `echo >>"$1" && echo "$2" >"$3/text"`, "sh", builds, text, NativeOut})
		if err != nil {
			t.Fatal(err)
		}
		return dir
	}
	first, again, other := build("a"), build("a"), build("b")
	if first != again || first == other {
		t.Errorf("built were %s, %s and %s", first, again, other)
	}
	for dir, want := range map[string]string{first: "a\n", other: "b\n"} {
		if have, err := os.ReadFile(filepath.Join(dir, "text")); err != nil || string(have) != want {
			t.Errorf("%s holds %q, want %q, %v", dir, have, want, err)
		}
	}
	if b, err := os.ReadFile(builds); err != nil || len(b) != 2 {
		t.Errorf("it was built %d times, %v", len(b), err)
	}
	if _, err := native([]string{"false"}); err == nil {
		t.Error("a build that fails is no error")
	}
}
