package report

import (
	"bytes"
	"io"
	"path/filepath"
	"slices"
	"testing"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// naiveCallers makes the view callers by looking through all functions and all calls.
func naiveCallers(b *builder) error {
	functions, err := b.functionRows()
	if err != nil {
		return err
	}
	calls, err := b.calls()
	if err != nil {
		return err
	}
	of := map[session.FunctionID]Row{}
	var ids []session.FunctionID
	for _, r := range functions {
		of[r.function] = r
		ids = append(ids, r.function)
	}
	ids, err = find("function", b.options.Argument, ids, b.functionName, func(id session.FunctionID) int64 {
		row := of[id]
		return b.heavier()(inclusiveCost(&row))
	})
	for _, id := range ids {
		var callers, callees []Row
		for i := range calls {
			caller, callee := b.callRows(&calls[i])
			if calls[i].callee == id {
				callers = append(callers, caller)
			}
			if calls[i].caller == id {
				callees = append(callees, callee)
			}
		}
		row := of[id]
		row.role, row.root = roleCurrent, id
		b.callersOf(row, callers, callees)
	}
	return err
}

// TestCallersOfMany: one reader, which finds functions and calls by an index that it makes once, says of each function
// what looking through all of them says, also of names that are parts or nothing, and with the same notes and losses
// each time.
func TestCallersOfMany(t *testing.T) {
	view, err := FindView("callers")
	if err != nil {
		t.Fatal(err)
	}
	naive := view
	naive.build = naiveCallers
	sessions := sessiontest.Various(20, 10)
	compared := 0
	for _, name := range slices.Sorted(mapsKeys(sessions)) {
		b := sessions[name]
		src, err := analysis.Open(complete(t, b, filepath.Join(t.TempDir(), "s")), analysis.Selection{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := NewReader(src, false)
		if err != nil {
			t.Fatal(err)
		}
		asked := []string{"F", "C.F1()", "(", "there is none"}
		for i := range b.Functions {
			asked = append(asked, b.Functions[i].DisplayName())
		}
		for _, of := range asked {
			got, gotErr := r.Build(view, Options{Argument: of})
			want, wantErr := naive.Build(src, Options{Argument: of})
			if (gotErr == nil) != (wantErr == nil) || gotErr != nil && gotErr.Error() != wantErr.Error() {
				t.Fatalf("%s: callers of %s: %v, want %v", name, of, gotErr, wantErr)
			}
			if gotErr != nil {
				continue
			}
			got.Notes = slices.DeleteFunc(got.Notes, func(n Note) bool { return n.Kind == NoteAsyncMethods }) // see async_test.go
			var texts [2]bytes.Buffer
			for i, table := range []*Table{got, want} {
				for _, write := range []func(io.Writer, *Table) error{Writers.JSON, Writers.Text} {
					if err := write(&texts[i], table); err != nil {
						t.Fatal(err)
					}
				}
			}
			if texts[0].String() != texts[1].String() {
				t.Fatalf("%s: callers of %s:\n%s\nwant\n%s", name, of, &texts[0], &texts[1])
			}
			compared++
		}
	}
	if compared < 100 {
		t.Errorf("only %d views are compared", compared)
	}
}
