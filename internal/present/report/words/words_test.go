package words

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"

	"github.com/clrprof/clrprof/internal/present/report"
)

// made are the kinds whose sentences are made by functions.
var made = []report.NoteKind{report.NoteLoss, report.NoteFolded, report.NoteRecorded, report.NoteWaits,
	report.NoteInProcesses, report.NoteUnrecorded,
	report.NoteChosen, report.FindingNothingChosen, report.FindingNothingMade, report.FindingParts, report.FindingSpot,
	report.FindingAllocations, report.FindingFragmented, report.FindingHeldOtherwise}

// TestAllKinds: there is a sentence for each kind of note that package report has.
func TestAllKinds(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "../note.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	known := map[report.NoteKind]bool{}
	for _, kind := range made {
		known[kind] = true
	}
	for kind := range sentences {
		known[kind] = true
	}
	found := 0
	ast.Inspect(f, func(n ast.Node) bool {
		spec, is := n.(*ast.ValueSpec)
		if !is || len(spec.Values) != 1 {
			return true
		}
		value, is := spec.Values[0].(*ast.BasicLit)
		if !is {
			return true
		}
		kind, err := strconv.Unquote(value.Value)
		if err != nil {
			t.Fatal(err)
		}
		if found++; !known[report.NoteKind(kind)] {
			t.Errorf("no sentence for %s", kind)
		}
		return true
	})
	if found != len(known) {
		t.Errorf("%d kinds, %d sentences", found, len(known))
	}
}
