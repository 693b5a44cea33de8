package report

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/clrprof/clrprof/internal/analysis"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// TestInteractionsFound: a summary says how long calls to databases and over HTTP took, if that is a large part of the
// recording, and which took longest.
func TestInteractionsFound(t *testing.T) {
	b := sessiontest.Generate(sessiontest.Size{Nodes: 10, Sites: 10, Functions: 3, Types: 2, Threads: 1}, 1)
	b.Info[session.KeyDuration] = "1000000000"
	path := filepath.Join(t.TempDir(), "s")
	if err := b.Write(path); err != nil {
		t.Fatal(err)
	}
	for _, total := range []q.Nanoseconds{20_000_000, 30_000_000, 2_000_000_000} {
		w, err := session.Edit(path)
		if err != nil {
			t.Fatal(err)
		}
		var rows []session.Interaction
		for i, text := range []string{"GET http://shop/items/17", "GET http://shop/items/18", "GET http://shop/last"} {
			rows = append(rows, session.Interaction{ID: session.InteractionID(i + 1), Process: 1, Kind: session.InteractionHTTP,
				Text: text, HasText: true, Stack: 1, Calls: 5, Ended: 5, Total: total, Min: 1, Max: total})
		}
		if err := errors.Join(w.ReplaceInteractions(rows),
			w.InsertInteractionFrames([]session.InteractionFrame{{Stack: 1, Function: 1}}), w.Close()); err != nil {
			t.Fatal(err)
		}
		facts := interactionsFound(t, path)
		if total < 100_000_000/3 {
			if facts != nil {
				t.Errorf("%s each: %v", total, facts)
			}
			continue
		}
		if want := []any{3 * total, q.Nanoseconds(1e9), q.Count(15), "GET http://shop/items/{id}", 2 * total}; len(facts) != 6 ||
			!slices.Equal(facts[:5], want) {
			t.Errorf("%s each: %v, want %v", total, facts, want)
		}
	}
}

// interactionsFound are the facts of the finding, nil: there is none.
func interactionsFound(t *testing.T, path string) []any {
	t.Helper()
	s, err := session.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	v, err := analysis.Open(s, analysis.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	summary, err := Summarize(v, Options{Top: 3})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range summary.Findings {
		if f.Kind == FindingInteractions {
			return f.Facts
		}
	}
	return nil
}
