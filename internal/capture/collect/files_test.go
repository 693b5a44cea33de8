package collect

import (
	"testing"

	"github.com/clrprof/clrprof/internal/files/safefs"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// NewRecorderAt records the arenas of a folder by its path; its descriptor is closed with the test's process.
func NewRecorderAt(w *session.Writer, directory string, start quantity.Nanoseconds, filter Filter) *Recorder {
	files, err := safefs.OpenDir(directory, safefs.Self())
	if err != nil {
		panic(err) // a test's own folder
	}
	return newRecorder(w, files, start, filter)
}

// folder opens a folder for a test.
func folder(t *testing.T, path string) *safefs.Dir {
	t.Helper()
	files, err := safefs.OpenDir(path, safefs.Self())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := files.Close(); err != nil {
			t.Error(err)
		}
	})
	return files
}
