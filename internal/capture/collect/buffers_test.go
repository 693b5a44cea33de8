package collect

import (
	"slices"
	"testing"
)

// TestBufferNames: each region of an arena has a name of its own.
func TestBufferNames(t *testing.T) {
	names := slices.Sorted(slices.Values(append(bufferNames[:], ownTables)))
	if names[0] == "" || len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Errorf("%q", names)
	}
}
