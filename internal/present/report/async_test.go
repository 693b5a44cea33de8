package report

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
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

// TestAsyncCallers: with async methods below their callers, a method and its body are one function, by either name, with
// all that both have, below those who called it.
func TestAsyncCallers(t *testing.T) {
	r := made(t, resumed())
	for _, name := range []string{"Load", "Serve.Program.Load()", "Serve.Program.Load() [async]"} {
		table, err := r.Build(callersView, Options{Argument: name, Logical: true})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var rows []string
		for i := range table.Rows {
			x := &table.Rows[i]
			rows = append(rows, x.role+" "+rowName(table.context, x).Text+" "+x.values.Inclusive.Bytes.String())
		}
		want := []string{"caller Serve.Program.Main() 97.66 KiB", "current Serve.Program.Load() 97.66 KiB"}
		if !slices.Equal(rows, want) {
			t.Errorf("%s: %q", name, rows)
		}
	}
	for _, tt := range []struct {
		name  string
		noted bool
	}{{"Load", true}, {"Dispatch", true}, {"Main", false}} {
		table, err := r.Build(callersView, Options{Argument: tt.name})
		if err != nil {
			t.Fatal(err)
		}
		if noted := slices.ContainsFunc(table.Notes, func(n Note) bool { return n.Kind == NoteAsyncMethods }); noted !=
			tt.noted {
			t.Errorf("%s: the other view is named: %v", tt.name, noted)
		}
	}
}
