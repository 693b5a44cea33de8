package session

import (
	"cmp"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"zombiezen.com/go/sqlite"

	q "github.com/clrprof/clrprof/internal/quantity"
)

// TestManyMarks: a session of many marks has an index by time, one of few has none, and the first marks by the index are
// those that sorting all marks gives.
func TestManyMarks(t *testing.T) {
	for name, tt := range map[string]struct {
		marks   int
		indexed bool
	}{
		"few": {fewMarks, false}, "many": {fewMarks + 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := Create(filepath.Join(t.TempDir(), "s.clrprof"), false)
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			rows := make([]Mark, tt.marks)
			for i := range rows { // in another order than that of time, and several at one time
				rows[i] = Mark{ID: MarkID(i + 1), Time: q.Nanoseconds(i * 7919 % (tt.marks / 3)), Source: MarkAPI}
			}
			if err := w.ReplaceMarks(rows); err != nil {
				t.Fatal(err)
			}
			for range 2 { // completing again changes nothing
				if err := w.SetState(Complete); err != nil {
					t.Fatal(err)
				}
			}
			plan := ""
			err = w.each("EXPLAIN QUERY PLAN SELECT id FROM mark ORDER BY time_ns, id LIMIT 3", func(s *sqlite.Stmt) error {
				plan += s.ColumnText(3) + "\n"
				return nil
			})
			indexed, sorts := strings.Contains(plan, "mark_time"), strings.Contains(plan, "B-TREE")
			if err != nil || indexed != tt.indexed || sorts == tt.indexed {
				t.Errorf("%d marks: %s %v", tt.marks, plan, err)
			}
			slices.SortFunc(rows, func(a, b Mark) int { return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.ID, b.ID)) })
			got, all, err := w.FirstMarks(0, math.MaxInt64, nil, 7)
			if err != nil || all != int64(tt.marks) || !slices.Equal(got, rows[:7]) {
				t.Errorf("%v, %d of %d, want %v: %v", got, all, tt.marks, rows[:7], err)
			}
		})
	}
}
