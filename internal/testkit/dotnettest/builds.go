package dotnettest

import (
	"path/filepath"
	"testing"
)

// BuildsLock returns the path of the file that tests lock, by flock(2), while they build with MSBuild: see BuildAlone.
func BuildsLock() (string, error) {
	cache, err := cacheDir()
	return filepath.Join(cache, "builds.lock"), err
}

// BuildAlone waits until no other process of tests builds with MSBuild, and keeps others from it until the test ends.
// A node of MSBuild that should wait for the next build ends instead if it sees those of another one. Tests of one
// package that need this are not parallel.
func BuildAlone(t testing.TB) {
	t.Helper()
	path, err := BuildsLock()
	if err != nil {
		t.Fatal(err)
	}
	unlock, err := lock(path, func() { t.Log("waiting for another build") })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(unlock)
}
