//go:build !race

package cli

// raceDetector says that the race detector watches, which takes several times the memory.
const raceDetector = false
