package recording

import (
	"testing"

	"pgregory.net/rapid"
)

// TestNumbering: each row has the id that it was given, also where other processes' rows came between.
func TestNumbering(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var n numbering
		id, ids := short(0), []short(nil)
		for _, skipped := range rapid.SliceOfN(rapid.OneOf(rapid.Just(0), rapid.IntRange(0, 3)), 1, 40).Draw(t, "skipped") {
			id += short(skipped) + 1
			n.add(len(ids), id)
			ids = append(ids, id)
		}
		for row, id := range ids {
			if n.id(row) != id || n.row(id) != row {
				t.Fatalf("row %d of %v has id %d, id %d is of row %d", row, ids, n.id(row), id, n.row(id))
			}
		}
	})
}
