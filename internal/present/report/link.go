package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/clrprof/clrprof/internal/session"
)

// Link says which view tells more about a row, and of which part of the session alone: what is not empty takes the
// place of that limit of the selection, and is written as the flag of its name is.
type Link struct {
	View      string `json:"view"`
	Argument  string `json:"argument,omitempty"`
	GC        string `json:"gc,omitempty"`
	Process   string `json:"process,omitempty"`
	Thread    string `json:"thread,omitempty"`
	Module    string `json:"module,omitempty"`
	Namespace string `json:"namespace,omitempty"`
}

// Limits reports whether the view is of a part of the session, which it is not by itself.
func (l *Link) Limits() bool { return *l != Link{View: l.View, Argument: l.Argument} }

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
	return c.linkToPart(r)
}

// linkToPart is to the functions of a process, a thread, a module or a namespace. What has no name of its own, such as
// code of no module, is shown with a word in parentheses, and no pattern means it.
func (c *context) linkToPart(r *Row) *Link {
	l := Link{View: "functions"}
	switch r.kind {
	case rowProcess:
		l.Process = fmt.Sprint("#", r.process)
	case rowThread:
		l.Thread = fmt.Sprint("#", r.thread)
	case rowThreads:
		l.Thread = named(r.text)
	case rowModule:
		l.Module = named(c.moduleName(r.module))
	case rowNamespace:
		l.Namespace = named(r.text)
	}
	if !l.Limits() {
		return nil
	}
	if r.kind != rowProcess && r.kind != rowThread && len(c.processes.list) > 1 { // others have parts of this name, too
		l.Process = fmt.Sprint("#", r.process)
	}
	return &l
}

// named is a name that a pattern can mean, or nothing.
func named(name string) string {
	if strings.ContainsAny(name, "(!/*") {
		return ""
	}
	return name
}

// PositionOf returns where the row of a path is, -1: nowhere.
func (t *Table) PositionOf(path session.PathID) int {
	return slices.IndexFunc(t.Rows, func(r Row) bool { return r.path == path && path != 0 })
}
