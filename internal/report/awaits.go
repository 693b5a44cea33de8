package report

import "slices"

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
