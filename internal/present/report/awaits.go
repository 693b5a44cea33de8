package report

import (
	"slices"

	q "github.com/clrprof/clrprof/internal/quantity"
)

// awaitColumns say how async methods waited; a view has them if some did.
var awaitColumns = []Column{
	{Key: "suspensions", Title: "Suspensions", Kind: Count, cell: func(_ *context, r *Row) Cell {
		if r.await == nil {
			return Cell{Empty: true}
		}
		return numberCell(r.await.Suspensions)
	}},
	{Key: "awaited", Title: "Awaited", Kind: Duration, cell: func(_ *context, r *Row) Cell {
		if r.await == nil || !r.await.Known {
			return Cell{Empty: true}
		}
		return numberCell(r.await.Awaited)
	}},
}

// awaitKeys are the keys of awaitColumns, as text has them.
var awaitKeys = keys("awaited suspensions")

// withAwaits adds the columns of waits of async methods, in text after the number of calls.
func (v View) withAwaits() View {
	v.columns = append(slices.Clone(v.columns), awaitKeys...)
	v.text = slices.Insert(slices.Clone(v.text), slices.Index(v.text, "calls")+1, awaitKeys...)
	return v
}

// unknownAwaits is how many async methods waited for a time that is not known.
func (c *context) unknownAwaits() int {
	n := 0
	for _, a := range c.awaits {
		if !a.Known {
			n++
		}
	}
	return n
}

// noteAwaits says why rows of threads have no awaited time, where async methods waited.
func (b *builder) noteAwaits() error {
	awaits, err := b.source.FunctionAwaits()
	sum, any := q.Nanoseconds(0), false
	for _, a := range awaits {
		if a.Known {
			sum, any = sum+a.Awaited, true
		}
	}
	if any && b.hasTime() {
		b.note(NoteAwaitsNoThread, sum)
	}
	return err
}

// awaitsOfParts says that awaited times are left out of a part of a process.
func (c *context) awaitsOfParts() ([]Note, error) {
	sel := c.source.Selection()
	if sel.WholeProcesses() || !c.hasTime() {
		return nil, nil
	}
	whole, err := c.source.Session().FunctionAwaits()
	if err != nil || len(whole) == 0 {
		return nil, err
	}
	return []Note{note(NoteAwaitsWhole)}, nil
}
