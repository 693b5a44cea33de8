package report

import (
	"fmt"
	"slices"

	"github.com/clrprof/clrprof/internal/session"
)

// Link says which view tells more about a row.
type Link struct {
	View     string `json:"view"`
	Argument string `json:"argument,omitempty"`
	GC       string `json:"gc,omitempty"` // of the collections that are selected
}

// Link chooses the view that tells more about a row; nil: there is none.
func (t *Table) Link(row int) *Link {
	c, r := t.context, &t.Rows[row]
	switch {
	case r.kind == rowLine && c.fileOf(r) != "":
		return &Link{View: "source", Argument: fmt.Sprintf("%s:%d", c.fileOf(r), c.lines.get(r.line).LineBegin)}
	case r.kind == rowFunction && r.function != 0, r.kind == rowLine, r.kind == rowBody, r.kind == rowInstruction:
		return &Link{View: "callers", Argument: c.functionName(r.function)}
	case r.kind == rowGC && r.gc != nil:
		return &Link{View: "lifetime", GC: fmt.Sprintf("%d..%d", r.gc.Number-1, r.gc.Number)}
	case r.typ != 0 && (r.kind == rowType || r.kind == rowSite):
		return &Link{View: "types", Argument: c.typeName(r.typ)}
	}
	return nil
}

// PositionOf returns where the row of a path is, -1: nowhere.
func (t *Table) PositionOf(path session.PathID) int {
	return slices.IndexFunc(t.Rows, func(r Row) bool { return r.path == path && path != 0 })
}
