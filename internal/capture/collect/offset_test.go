package collect

import (
	"testing"

	"github.com/clrprof/clrprof/internal/quantity"
)

// TestOffset reads the kernel's list of offsets.
func TestOffset(t *testing.T) {
	for text, want := range map[string]quantity.Nanoseconds{
		"": 0,
		"monotonic           0         0\nboottime            0         0\n": 0,
		"boottime  7 0\nmonotonic      86400         5\n":                    86_400_000_000_005,
		"monotonic         -10 500000000\nboottime            0         0\n": -9_500_000_000,
	} {
		if got := offsetIn(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}
