package symbols_test

import (
	"cmp"
	"math/rand"
	"path/filepath"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/session/symbols"
	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// manyInstructions returns an input of all methods of Names, with one body each
// and an instruction for each IL offset up to 40.
func manyInstructions(t *testing.T) symbols.Input {
	t.Helper()
	in, dll := names(t, dotnettest.Options{Debug: dotnettest.DebugPortable})
	functions, _ := reflected(t, in.Net9(), dll)
	input := symbols.Input{Modules: []session.Module{{ID: 1, Process: 1, Name: "Names.dll", Path: dll}},
		Functions: functions}
	for _, f := range functions {
		var points []session.ILPoint
		for il := range uint32(40) {
			points = append(points, session.ILPoint{Native: il * 2, IL: il})
		}
		body := session.BodyID(f.ID)
		input.Bodies = append(input.Bodies,
			session.Body{ID: body, Function: f.ID, Size: 80, ILMap: session.EncodeILMap(points)})
		for il := range int64(40) {
			input.Instructions = append(input.Instructions, session.Instruction{
				ID: session.InstructionID(len(input.Instructions) + 1), Function: f.ID, Body: body, NativeOffset: il*2 +
					1, ILOffset: -1,
			})
		}
	}
	return input
}

// TestOrderDoesNotMatter resolves the same rows in another order and expects the
// same results, ids included.
func TestOrderDoesNotMatter(t *testing.T) {
	in := manyInstructions(t)
	want := symbols.Resolve(in, symbols.OpenFile, nil)
	mixed := symbols.Input{
		Modules: in.Modules, Functions: slices.Clone(in.Functions),
		Bodies: slices.Clone(in.Bodies), Instructions: slices.Clone(in.Instructions),
	}
	r := rand.New(rand.NewSource(1))
	r.Shuffle(len(mixed.Functions), func(i, j int) {
		mixed.Functions[i], mixed.Functions[j] = mixed.Functions[j], mixed.Functions[i]
	})
	r.Shuffle(len(mixed.Bodies), func(i, j int) { mixed.Bodies[i], mixed.Bodies[j] = mixed.Bodies[j], mixed.Bodies[i] })
	r.Shuffle(len(mixed.Instructions), func(i, j int) {
		mixed.Instructions[i], mixed.Instructions[j] = mixed.Instructions[j], mixed.Instructions[i]
	})
	have := symbols.Resolve(mixed, symbols.OpenFile, nil)
	slices.SortFunc(have.Functions, func(a, b session.Function) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(have.Instructions, func(a, b session.Instruction) int { return cmp.Compare(a.ID, b.ID) })
	if diff := gocmp.Diff(want, have); diff != "" {
		t.Errorf("(-in order +shuffled)\n%s", diff)
	}
	if len(want.Lines) < 100 || len(want.SourceFiles) != 5 {
		t.Errorf("only %d lines in %d files", len(want.Lines), len(want.SourceFiles))
	}
}

// TestLinesAreDistinct checks what the table line promises: each span of a
// function once, ids in order, all of them used.
func TestLinesAreDistinct(t *testing.T) {
	out := symbols.Resolve(manyInstructions(t), symbols.OpenFile, nil)
	seen := map[session.Line]session.LineID{}
	for i, l := range out.Lines {
		if int(l.ID) != i+1 {
			t.Errorf("line %d has the id %d", i+1, l.ID)
		}
		l.ID = 0
		if other := seen[l]; other != 0 {
			t.Errorf("lines %d and %d are the same", other, i+1)
		}
		seen[l] = session.LineID(i + 1)
	}
	used := map[session.LineID]bool{}
	unknown := 0
	for _, n := range out.Instructions {
		if n.Line == 0 {
			unknown++
			continue
		}
		used[n.Line] = true
		if out.Lines[n.Line-1].Function != n.Function {
			t.Errorf("instruction %d has a line of another function", n.ID)
		}
	}
	if len(used) != len(out.Lines) {
		t.Errorf("%d of %d lines are used", len(used), len(out.Lines))
	}
	if unknown == 0 {
		t.Error("methods without sequence points have lines")
	}
	if s := out.Summary; s.Instructions != len(out.Instructions) || s.InstructionsUnmapped != 0 ||
		s.Functions != len(out.Functions) || s.FunctionsWithoutLines == 0 || s.FunctionsWithoutLines > s.Functions/2 {
		t.Errorf("summary %+v", s)
	}
}

// TestSession reads the input from a session file and writes the output back.
func TestSession(t *testing.T) {
	in := manyInstructions(t)
	path := filepath.Join(t.TempDir(), "x.clrprof")
	w, err := session.Create(path, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		w.InsertModules(in.Modules), w.InsertFunctions(in.Functions), w.InsertBodies(in.Bodies),
		w.InsertInstructions(in.Instructions),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	read, err := symbols.Read(w.Session)
	if err != nil {
		t.Fatal(err)
	}
	out := symbols.Resolve(read, symbols.OpenFile, nil)
	if err := out.Write(w); err != nil {
		t.Fatal(err)
	}
	functions, err := w.Functions()
	if err != nil {
		t.Fatal(err)
	}
	lines, err := w.Lines()
	if err != nil {
		t.Fatal(err)
	}
	instructions, err := w.Instructions()
	if err != nil {
		t.Fatal(err)
	}
	want := symbols.Resolve(in, symbols.OpenFile, nil)
	if diff := gocmp.Diff([]any{want.Functions, want.Lines, want.Instructions},
		[]any{functions, lines, instructions}); diff != "" {
		t.Errorf("(-want +have)\n%s", diff)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}
