package report

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/session/sessiontest"
)

// TestAsyncNotes: a call tree of a program with async methods says which of the two trees it is.
func TestAsyncNotes(t *testing.T) {
	b := sessiontest.Aging()
	machine := &b.Functions[1]
	machine.RawName, machine.Name = "MoveNext", "Store.Load() [async]"
	src, err := analysis.Open(complete(t, b, filepath.Join(t.TempDir(), "s")), analysis.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	view, err := FindView("calltree")
	if err != nil {
		t.Fatal(err)
	}
	lifetimes := []string{"name", "inclusive_gen0_bytes"}
	for _, tt := range []struct {
		options Options
		want    NoteKind
	}{
		{Options{}, NoteAsync}, {Options{Physical: true}, ""},
		{Options{Columns: lifetimes}, NotePhysical}, {Options{Columns: lifetimes, Physical: true}, ""},
	} {
		table, err := view.Build(src, tt.options)
		if err != nil {
			t.Fatal(err)
		}
		for _, note := range []NoteKind{NoteAsync, NotePhysical} {
			if said := slices.ContainsFunc(table.Notes, func(n Note) bool {
				return n.Kind == note
			}); said != (note == tt.want) {
				t.Errorf("%+v: %q: said: %v", tt.options, note, said)
			}
		}
	}
}
