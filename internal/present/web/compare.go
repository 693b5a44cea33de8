package web

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/present/report"
	"github.com/clrprof/clrprof/internal/present/report/sheet"
	"github.com/clrprof/clrprof/internal/present/report/text"
	"github.com/clrprof/clrprof/internal/present/report/words"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/shell"
)

// compared is a comparison with the older session.
type compared struct {
	View    string     `json:"view"`
	Column  string     `json:"column"`
	Note    string     `json:"note"`
	Total   int        `json:"total"`
	Unit    string     `json:"unit"`
	Columns []string   `json:"columns"`
	Rows    [][]any    `json:"rows"`
	Texts   [][]string `json:"texts"`
	Names   []string   `json:"names"` // of the rows, as short as in other tables
	Command string     `json:"command"`
}

// errNoOlder means that there is one session.
var errNoOlder = bad("there is nothing to compare with: clrprof view SESSION OLDER")

// diffCommand is what to type for a comparison that a request shows.
func (s *Server) diffCommand(r *http.Request, view, column string) string {
	return "clrprof diff " + shell.Quote(s.sessions[1].Path()) + " " + shell.Quote(s.sessions[0].Path()) + " " + view +
		" --column " + column + s.selected(r)
}

// differenceNumbers is how many numbers the rows of a comparison begin with.
const differenceNumbers = 4

// compare answers with the rows that differ between the older session and the one that is shown.
func (s *Server) compare(w http.ResponseWriter, r *http.Request) error {
	if len(s.sessions) < 2 {
		return errNoOlder
	}
	v := r.URL.Query()
	if err := s.lock(r.Context()); err != nil {
		return err
	}
	defer s.mu.Unlock()
	var sources [2]*analysis.Source
	for i, of := range []*session.Session{s.sessions[1], s.sessions[0]} {
		chosen, err := s.readerOf(of, r, true) // what is new or gone matches in one of them
		if err != nil {
			return err
		}
		sources[i] = chosen.source
	}
	view := v.Get("of")
	if view == "" {
		view = analysis.ComparedViews()[0]
	}
	c, err := report.Compare(sources[:1], sources[1:], view, v.Get("column"))
	if err != nil {
		return report.Known(err)
	}
	older, newer := s.sessions[1].Path(), s.sessions[0].Path()
	differ, err := report.RecordedDifferently(s.sessions[1], s.sessions[0])
	if err != nil {
		return err
	}
	note := strings.Join(slices.Concat([]string{report.DifferenceNote(c, older, newer)}, differ, c.Notes), " ")
	records := report.Differences(c)
	out := compared{View: c.View, Column: c.Column, Note: note, Total: records.Len(),
		Unit:    c.Unit,
		Columns: records.Columns,
		Rows:    [][]any{}, Texts: [][]string{}, Names: []string{}, Command: s.diffCommand(r, c.View, c.Column)}
	readable := report.ReadableDifferences(c, false)
	name := slices.Index(readable.Columns, "name")
	for i := range min(records.Len(), mostRows) {
		row, read := records.Row(i), text.Values(readable, readable.Row(i))
		texts := text.Values(records, row)
		for k, key := range readable.Columns { // of estimates a person reads more than numbers
			if at := slices.Index(records.Columns, key); c.Estimated && at >= 0 && at < differenceNumbers {
				texts[at] = read[k]
			}
		}
		out.Rows, out.Texts, out.Names = append(out.Rows, row), append(out.Texts, texts), append(out.Names, read[name])
	}
	return writeJSON(w, out)
}

// sourced is a source file with what its lines did.
type sourced struct {
	Path  string       `json:"path"`
	Lines []string     `json:"lines"`
	Sheet *sheet.Table `json:"sheet"` // rows of the view lines, in the order of lines

	Command string `json:"command"` // that prints these rows, among those of other files
}

// source answers with a source file of the session, if it is on this machine, or in the symbols: no other file.
func (s *Server) source(w http.ResponseWriter, r *http.Request) error {
	path := r.URL.Query().Get("path")
	if err := s.lock(r.Context()); err != nil {
		return err
	}
	defer s.mu.Unlock()
	files, err := s.sessions[0].SourceFiles()
	if err != nil {
		return err
	}
	file := slices.IndexFunc(files, func(f session.SourceFile) bool { return f.Path == path })
	if file < 0 {
		return bad("no source file of the session is %q", path)
	}
	of, err := s.reader(r)
	if err != nil {
		return err
	}
	view, err := report.FindView("lines")
	if err != nil {
		return err
	}
	table, err := of.views.Build(view, report.Options{})
	if err != nil {
		return err
	}
	all := sheet.All(table)
	at := slices.IndexFunc(all.Columns, func(c sheet.Column) bool { return c.Key == "source_file" })
	all.Rows = slices.DeleteFunc(all.Rows, func(row sheet.Row) bool {
		return len(row.Values) <= at || row.Kind != "line" || !isText(row.Values[at], path)
	})
	out := sourced{Path: path, Sheet: all, Lines: []string{}, Command: s.command(r, view.Name)}
	sources := of.views.Sources()
	lines, notes, err := of.views.SourceText(files[file].ID, sources)
	if sources.Wanted() && err == nil {
		s.load(sources)
		lines, notes, err = of.views.SourceText(files[file].ID, sources)
	}
	if err != nil {
		return err
	}
	all.Notes = append(all.Notes, words.Notes(notes)...)
	for _, line := range lines {
		out.Lines = append(out.Lines, text.Printable(line))
	}
	return writeJSON(w, out)
}

// isText reports whether a value of a sheet is a text.
func isText(value json.RawMessage, text string) bool {
	var got string
	return json.Unmarshal(value, &got) == nil && got == text
}
