package collect_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/capture/collect"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/wiretest"
)

// recordingTest is a Recorder at work.
type recordingTest struct {
	t        testing.TB
	dir      string // of the arenas
	path     string // of the session
	writer   *session.Writer
	recorder *collect.Recorder
	expected string // how the contradiction begins that the session must have; empty: none
}

func newRecording(t testing.TB, filter collect.Filter) *recordingTest {
	t.Helper()
	r := &recordingTest{t: t, dir: t.TempDir(), path: filepath.Join(t.TempDir(), "test.clrprof")}
	r.begin(filter)
	return r
}

func (r *recordingTest) begin(filter collect.Filter) {
	r.t.Helper()
	w, err := session.Create(r.path, false)
	if err := errors.Join(err, os.MkdirAll(r.dir, 0o700)); err != nil {
		r.t.Fatal(err)
	}
	r.writer = w
	r.recorder = collect.NewRecorderAt(w, r.dir, 0, filter)
}

func (r *recordingTest) sync(now quantity.Nanoseconds) {
	r.t.Helper()
	if err := r.recorder.Sync(now); err != nil {
		r.t.Fatal(err)
	}
}

// finish ends the recording and opens the session, which must not contradict itself.
func (r *recordingTest) finish() *session.Session {
	r.t.Helper()
	err := r.writer.SetState(session.Recorded)
	r.checkSums()
	if err := errors.Join(err, r.recorder.Close(), r.writer.Close()); err != nil {
		r.t.Fatal(err)
	}
	s, err := session.Open(r.path)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { s.Close() })
	violations, err := analysis.Check(s)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, v := range violations {
		if !strings.HasPrefix(v.String(), r.expected) || r.expected == "" {
			r.t.Errorf("the session contradicts itself: %v", v)
		}
	}
	if r.expected != "" && len(violations) == 0 {
		r.t.Errorf("the session does not contradict itself: want %s", r.expected)
	}
	return s
}

// write puts an arena into its file.
func write(t testing.TB, a *wiretest.Arena, path string) {
	t.Helper()
	if err := a.Write(path); err != nil {
		t.Fatal(err)
	}
}

// bytesOf returns the file of an arena.
func bytesOf(t testing.TB, a *wiretest.Arena) []byte {
	t.Helper()
	b, err := a.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// record records one arena at once.
func record(t testing.TB, a *wiretest.Arena, filter collect.Filter) *session.Session {
	t.Helper()
	r := newRecording(t, filter)
	write(t, a, filepath.Join(r.dir, "1-1.arena"))
	r.sync(5000)
	return r.finish()
}

// get returns what a reading method returned.
func get[T any](t testing.TB) func(rows []T, err error) []T {
	return func(rows []T, err error) []T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
}

// total is the sum of all slices.
func total(t testing.TB, s *session.Session) quantity.Amount {
	t.Helper()
	var sum quantity.Amount
	for _, v := range get[session.SiteValue](t)(s.SiteValues()) {
		sum = sum.Add(v.Amount)
	}
	return sum
}
