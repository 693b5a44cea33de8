package dotnettest

import (
	"strings"
	"testing"
)

// TestARM64 runs a program on arm64, as far as that is emulated here.
func TestARM64(t *testing.T) {
	r := NeedARM64(t)
	out, err := r.Command(Target(t, "Shapes", Options{Trimmed: r.Name})).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "truth") {
		t.Errorf("%v, %s: want what the program did", err, out)
	}
}
