package report

import (
	"bufio"
	"fmt"
	"io"
)

// Limit leaves the first rows of the table, at most so many. Every format then says whether there are more: JSON is an
// object with the rows instead of an array.
func (t *Table) Limit(rows int) {
	if !t.limited {
		t.limited, t.all = true, t.shown()
	}
	shown := 0
	for i := range t.Rows {
		if t.IsRest(i) {
			continue
		}
		if shown == rows {
			t.Rows = t.Rows[:i]
			return
		}
		shown++
	}
}

// Left returns how many rows Limit left out.
func (t *Table) Left() int {
	if !t.limited {
		return 0
	}
	return t.all - t.shown()
}

// shown counts the rows that stand for themselves.
func (t *Table) shown() int {
	n := 0
	for i := range t.Rows {
		if !t.IsRest(i) {
			n++
		}
	}
	return n
}

// cutNote says that there are more rows, or nothing.
func (t *Table) cutNote() []string {
	if t.Left() == 0 {
		return nil
	}
	return []string{fmt.Sprintf("Cut: %d of %d rows are left out by --limit.", t.Left(), t.all)}
}

// writeLimited writes the rows as JSON, after what says whether they are all.
func (t *Table) writeLimited(w io.Writer) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "{\"truncated\": %t, \"rows_in_all\": %d, \"rows_left_out\": %d, \"rows\":\n", t.Left() > 0, t.all, t.Left())
	if err := t.writeJSON(out, ""); err != nil {
		return err
	}
	out.WriteString("}\n")
	return out.Flush()
}

// WriteRows writes the rows as a JSON array, also those of a table that Limit cut.
func (t *Table) WriteRows(w io.Writer) error { return t.writeJSON(w, "") }
