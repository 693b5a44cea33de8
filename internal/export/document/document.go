// Package document writes every view of a session as one JSON document, for programs: docs/json.md describes it.
//
// The output depends on nothing but the session and what is selected of it.
package document

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/present/report"
	"github.com/clrprof/clrprof/internal/present/report/encode"
	"github.com/clrprof/clrprof/internal/present/report/words"
	"github.com/clrprof/clrprof/internal/session"
)

// formatName and formatVersion say what a document is. The version changes when something that was there means another
// thing or is gone; new views, columns and members do not change it.
const (
	formatName    = "clrprof.views"
	formatVersion = 1
)

// column describes a column of a view.
type column struct {
	Key   string `json:"key"`
	Title string `json:"title"`
	Unit  string `json:"unit,omitempty"`
}

// units are those of kinds of cells that have one.
var units = map[report.Kind]string{report.Count: "count", report.Bytes: "bytes", report.Percent: "percent",
	report.Time: "nanoseconds", report.Duration: "nanoseconds"}

// Write writes the part of s that is selected. Errors are those of reading s, of the selection, and of w.
func Write(w io.Writer, s *session.Session, sel analysis.Selection, shape Options) error {
	src, err := analysis.Open(s, sel)
	if err != nil {
		return err
	}
	notes, err := sel.Notes(s, "")
	if err != nil {
		return err
	}
	out := &writer{Writer: bufio.NewWriter(w)}
	fmt.Fprintf(out, "{\n\"format\": %q,\n\"version\": %d,\n\"session\": ", formatName, formatVersion)
	out.put(filepath.Base(s.Path()))
	out.WriteString(",\n\"selection\": ")
	out.put(append([]string{}, notes...))
	out.WriteString(",\n\"views\": {")
	absent := map[string]string{}
	var losses []report.Note
	first := true
	for _, view := range report.Views() {
		o, skip := shape.of(view)
		if skip != "" {
			absent[view.Name] = skip
			continue
		}
		table, err := view.Build(src, o)
		if lacks(err) {
			absent[view.Name] = err.Error()
			continue
		}
		if err != nil {
			return err
		}
		if !first {
			out.WriteString(",")
		}
		first, losses = false, table.Losses
		if err := out.view(view.Name, table); err != nil {
			return fmt.Errorf("writing views: %w", err)
		}
	}
	out.WriteString("\n},\n\"absent\": ")
	out.put(absent)
	out.WriteString(",\n\"losses\": ")
	out.put(words.Notes(losses))
	out.WriteString("\n}\n")
	if err := errors.Join(out.err, out.Flush()); err != nil {
		return fmt.Errorf("writing views: %w", err)
	}
	return nil
}

// Options say how views that have several shapes are put together.
type Options struct {
	Tree    report.Options // the call tree
	Threads report.Options
}

// of are what a document has of a view, and why it has not.
func (shape Options) of(view report.View) (o report.Options, skip string) {
	switch {
	case view.Shaped:
		o = shape.Tree
	case view.GroupsBy(shape.Threads.By):
		return shape.Threads, ""
	case view.TakesAll:
		o.Argument = report.AllFunctions
	case view.Needs == report.NeedsFunction:
		return o, fmt.Sprintf("is about one function: clrprof report SESSION %s NAME --json", view.Name)
	case view.Needs == report.NeedsCollections:
		return o, fmt.Sprintf("is about two collections: clrprof report SESSION %s A B --json", view.Name)
	}
	o.Depth = view.Levels("", "") // without the paths of each type, which are as many as all sites
	return o, ""
}

// lacks reports whether a view is not there since the session does not hold what it is about.
func lacks(err error) bool {
	for _, known := range []error{report.ErrNoMemory, analysis.ErrNoLifetime, analysis.ErrNoTime,
		analysis.ErrNoSnapshot,
		analysis.ErrNoChanges, analysis.ErrNoGC} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}

// writer writes a document view by view.
type writer struct {
	*bufio.Writer
	err error // the first of put
}

func (w *writer) put(v any) {
	b, err := json.Marshal(v)
	w.Write(b)
	if w.err == nil {
		w.err = err
	}
}

func (w *writer) view(name string, t *report.Table) error {
	fmt.Fprintf(w, "\n%q: {\n\"columns\": ", name)
	columns := []column{}
	keys := map[string]bool{}
	for _, key := range t.Keys() {
		keys[key] = true
	}
	for _, c := range t.Columns {
		if keys[c.Key] {
			keys[c.Key] = false
			columns = append(columns, column{c.Key, c.Title, units[c.Kind]})
		}
	}
	w.put(columns)
	w.WriteString(",\n\"notes\": ")
	w.put(words.Notes(t.Notes))
	w.WriteString(",\n\"rows\": ")
	if err := encode.WriteTable(w, t, encode.JSON); err != nil {
		return err
	}
	_, err := w.WriteString("}")
	return err
}
