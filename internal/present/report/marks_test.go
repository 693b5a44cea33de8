package report

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/clrprof/clrprof/internal/analysis"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/analysistest"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// TestFirstMarks: the first marks are those of all in the order of time, also of a part of a session, and the others
// are counted and not read: a session can have millions.
func TestFirstMarks(t *testing.T) {
	const marks, most = 20_000, 5
	b := sessiontest.New()
	for i := range 2 {
		p := b.Process("App", int64(100+i))
		b.Thread(p, "main")
		b.Processes[p-1].Begin, b.Processes[p-1].End = 0, marks
	}
	for i := range marks { // in another order than that of time
		b.Marks = append(b.Marks, session.Mark{ID: session.MarkID(i + 1), Time: q.Nanoseconds(i * 7 % marks),
			Name: fmt.Sprint("mark ", i), Process: session.ProcessID(i % 3), Source: "api"})
	}
	s := analysistest.Open(t, b, filepath.Join(t.TempDir(), "made.clrprof"))
	for _, sel := range []analysis.Selection{{}, {Processes: []session.ProcessID{2}},
		{Processes: []session.ProcessID{1, 2}}} {
		src, err := analysis.Open(s, sel)
		if err != nil {
			t.Fatal(err)
		}
		r, err := NewReader(src, false)
		if err != nil {
			t.Fatal(err)
		}
		all, err := r.Build(marksView, Options{})
		if err != nil {
			t.Fatal(err)
		}
		var first *Table
		allocated := testing.AllocsPerRun(1, func() {
			if first, err = r.Build(marksView, Options{Top: most}); err != nil {
				t.Fatal(err)
			}
		})
		if allocated > marks {
			t.Errorf("%v: %.0f allocations to show %d marks", sel.Processes, allocated, most)
		}
		ids := func(rows []Row) (out []session.MarkID) {
			for i := range rows {
				out = append(out, rows[i].mark.ID)
			}
			return out
		}
		if have, want := ids(first.Rows), ids(all.Rows[:most]); !slices.Equal(have, want) {
			t.Errorf("%v: marks %v, want %v", sel.Processes, have, want)
		}
		if more := note(NoteMore, Things{len(all.Rows) - most, "more mark"}); !slices.ContainsFunc(first.Next,
			func(n Note) bool { return fmt.Sprint(n) == fmt.Sprint(more) }) {
			t.Errorf("%v: next %v, want %v", sel.Processes, first.Next, more)
		}
	}
}
