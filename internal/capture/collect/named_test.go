package collect_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/capture/collect"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/session/symbols"
	"github.com/clrprof/clrprof/internal/wire"
)

// TestNamed: in the last look, and in no other, the session is shown once it has all that names and lines are made
// from, of all processes: calls that are folded for the first time in it, of which there is a function then, included.
func TestNamed(t *testing.T) {
	a := timedArena()
	tree(a)
	a.Inclusives = a.Inclusives[:1]
	for i := range a.Timings {
		a.Timings[i].Inclusive = 0
	}
	r := newRecording(t, collect.Filter{})
	for _, name := range []string{"1-1.arena", "2-2.arena"} {
		write(t, a, filepath.Join(r.dir, name))
	}
	var shown []symbols.Input
	r.recorder.OnNamed(func(s *session.Session) {
		in, err := symbols.Read(s)
		if err != nil {
			t.Error(err)
		}
		in.Allocated, in.CalledFrom = nil, nil // functions
		shown = append(shown, in)
	})
	r.sync(4000)
	a.Inclusives[0] = wire.Inclusive{Times: 1, Calls: 1, Elapsed: 10}
	a.Timings[3].Inclusive = 1
	for _, name := range []string{"1-1.arena", "2-2.arena"} {
		write(t, a, filepath.Join(r.dir, name))
	}
	if err := r.recorder.SyncLast(5000); err != nil {
		t.Fatal(err)
	}
	in, err := symbols.Read(r.writer.Session)
	if err != nil {
		t.Fatal(err)
	}
	in.Allocated, in.CalledFrom = nil, nil
	if len(shown) != 1 || cmp.Diff(in, shown[0]) != "" || len(in.Functions) == 0 || len(in.Instructions) == 0 {
		t.Errorf("shown %d times (-in the end +shown):\n%s", len(shown), cmp.Diff([]symbols.Input{in}, shown))
	}
	r.unchecked()
}
