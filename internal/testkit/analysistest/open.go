// Package analysistest opens made-up sessions as they are after a run: with all that is derived.
package analysistest

import (
	"errors"
	"testing"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// Open writes b to path, derives everything, and opens it until the test ends.
func Open(t testing.TB, b *sessiontest.Builder, path string) *session.Session {
	t.Helper()
	if err := b.Write(path); err != nil {
		t.Fatal(err)
	}
	w, err := session.Edit(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(analysis.Complete(w), w.Close()); err != nil {
		t.Fatal(err)
	}
	return OpenFile(t, path)
}

// OpenFile opens a session until the test ends.
func OpenFile(t testing.TB, path string) *session.Session {
	t.Helper()
	s, err := session.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}
