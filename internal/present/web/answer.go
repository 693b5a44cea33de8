package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/present/report"
	"github.com/clrprof/clrprof/internal/present/report/sheet"
	"github.com/clrprof/clrprof/internal/present/report/text"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/shell"
)

// badRequest is an error that the address of the page caused.
type badRequest struct{ err error }

func (e badRequest) Error() string { return e.err.Error() }
func (e badRequest) Unwrap() error { return e.err }

func bad(format string, args ...any) error { return badRequest{fmt.Errorf(format, args...)} }

// writeError tells an error as JSON: what was asked for is wrong, or the session cannot be read.
func writeError(w http.ResponseWriter, err error) {
	code := http.StatusBadRequest
	if errors.Is(err, session.ErrCorrupt) || errors.Is(err, context.Canceled) || errors.As(err, new(bug)) {
		code = http.StatusInternalServerError
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(code)
	// who went away needs no answer
	_ = json.NewEncoder(w).Encode(map[string]string{"error": text.Printable(err.Error())})
}

func writeJSON(w http.ResponseWriter, value any) error {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return fmt.Errorf("writing an answer: %w", err)
	}
	return nil
}

// selectionFlags are the parameters that say which part of a session is shown, as the flags of the command line are
// named.
var selectionFlags = []string{"time", "gc", "mark", clauses, "process", "thread", "module", "namespace", "function",
	"type", "focus", "hide", myCode, myCodeCallees, myCodeCallers}

const (
	myCode        = "my-code"         // the flag that has no value
	myCodeCallees = "my-code-callees" // how many levels of framework code it shows
	myCodeCallers = "my-code-callers"
	clauses       = "filter" // the one whose value is in a file
)

// mostClauses bounds the text of a filter: an address holds no more.
const mostClauses = 64 << 10

// terms reads the selection of a request, in a session.
func terms(of *session.Session, v url.Values) (analysis.Terms, error) {
	t := analysis.Terms{Filter: v.Get(clauses), Processes: v["process"], Threads: v["thread"], Modules: v["module"],
		Namespaces: v["namespace"], Functions: v["function"], Types: v["type"], Focus: v["focus"], Hide: v["hide"],
		MyCode: v.Get(myCode) != ""}
	var err error
	if t.CodeLevels, err = codeLevels(v); err != nil {
		return t, err
	}
	if span := v.Get("time"); span != "" {
		from, to, ok := analysis.ParseTimes(span)
		if !ok || from < 0 || to < 0 {
			return t, bad("time %q is not a span of time: want A..B, such as 1.5s..2m", span)
		}
		t.From, t.To = q.Nanoseconds(from), q.Nanoseconds(to)
	}
	if span := v.Get("mark"); span != "" {
		if t.From != 0 || t.To != 0 {
			return t, bad("mark is a span of time, so it does not work with time")
		}
		t.Marks = span
		t.From, t.To, err = analysis.ParseMarks(of, span)
		if errors.Is(err, analysis.ErrMarkSpan) {
			return t, bad("mark %q %w", span, err)
		} else if err != nil {
			return t, bad("mark %q: %w", span, report.Known(err))
		}
	}
	if len(t.Filter) > mostClauses {
		return t, bad("the filter is larger than %d bytes", mostClauses)
	}
	if span := v.Get("gc"); span != "" {
		var ok bool
		if t.GCs, ok = analysis.ParseGCs(span); !ok {
			return t, bad("gc %q is not a span of collections: want A..B, such as 3..7", span)
		}
	}
	return t, nil
}

// codeLevels are how much framework code is shown around the user's own.
func codeLevels(v url.Values) (*analysis.CodeLevels, error) {
	levels := analysis.DefaultCodeLevels
	var err error
	if levels.Callees, err = number(v, myCodeCallees, levels.Callees); err != nil {
		return nil, err
	}
	levels.Callers, err = number(v, myCodeCallers, levels.Callers)
	return &levels, err
}

// selectionKey is the part of a request that says which part of the session is shown.
func selectionKey(v url.Values) url.Values {
	out := url.Values{}
	for _, flag := range selectionFlags {
		if v.Get(myCode) == "" && (flag == myCodeCallees || flag == myCodeCallers) {
			continue // they say how the other is meant
		}
		if list := slices.DeleteFunc(slices.Clone(v[flag]), func(s string) bool { return s == "" }); len(list) > 0 {
			out[flag] = list
		}
	}
	return out
}

// reader is what is kept of a selection.
type reader struct {
	key    string
	source *analysis.Source
	views  *report.Reader

	threads *q.Count // see threadsOf; nil: not counted yet
}

// reader returns the reader of a request's selection. The server must be locked.
func (s *Server) reader(r *http.Request) (*reader, error) { return s.readerOf(s.sessions[0], r, false) }

// readerOf returns the reader of a session's part that a request selects. With mayMiss what it names need not be there:
// it may be in the session that is compared.
func (s *Server) readerOf(of *session.Session, r *http.Request, mayMiss bool) (*reader, error) {
	selection := selectionKey(r.URL.Query())
	key := readerKey(of, selection, mayMiss)
	for i, kept := range s.readers {
		if kept.key == key && kept.source.Session() == of {
			s.readers = append(slices.Delete(s.readers, i, i+1), kept)
			return kept, nil
		}
	}
	t, err := terms(of, selection)
	if err != nil {
		return nil, err
	}
	t.MayMiss = mayMiss
	chosen, err := t.Select(of)
	if err != nil {
		return nil, report.Known(err)
	}
	out := &reader{key: key}
	if out.source, err = analysis.Open(of, chosen); err != nil {
		return nil, err
	}
	if out.views, err = report.NewReader(out.source, false); err != nil {
		return nil, err
	}
	if s.readers = append(s.readers, out); len(s.readers) > maxReaders {
		s.readers = slices.Delete(s.readers, 0, 1)
	}
	return out, nil
}

// readerKey tells readers of one server apart.
func readerKey(of *session.Session, selection url.Values, mayMiss bool) string {
	return fmt.Sprintf("%s %t %s", of.Path(), mayMiss && len(selection) > 0, selection.Encode())
}

// keptTable is a table that the page is looking at, a summary or a timeline.
type keptTable struct {
	key     string
	table   *report.Table
	summary *sheet.Summary

	timeline *timelined
}

// lock waits until it is the turn of a request, and fails if nobody waits for its answer any more. If not, the server
// is locked.
func (s *Server) lock(ctx context.Context) error { return s.mu.lock(ctx) }

// isKept reports whether something has a key. The server must be locked.
func (s *Server) isKept(key string) bool {
	return slices.ContainsFunc(s.tables, func(t *keptTable) bool { return t.key == key })
}

// keep returns what has a key, or makes it. What is not a table takes long to make, and little room: tables, of which
// an open call tree alone has dozens, do not take its place. The server must be locked.
func (s *Server) keep(key string, build func(*keptTable) error) (*keptTable, error) {
	for i, kept := range s.tables {
		if kept.key == key {
			s.tables = append(slices.Delete(s.tables, i, i+1), kept)
			return kept, nil
		}
	}
	t := &keptTable{key: key}
	if err := build(t); err != nil {
		return nil, err
	}
	s.tables = append(s.tables, t)
	alike, first := 0, -1
	for i, kept := range s.tables {
		if (kept.table != nil) == (t.table != nil) {
			if alike++; first < 0 {
				first = i
			}
		}
	}
	if alike > s.most {
		s.tables = slices.Delete(s.tables, first, first+1)
	}
	return t, nil
}

// forget removes what has a key. The server must be locked.
func (s *Server) forget(key string) {
	s.tables = slices.DeleteFunc(s.tables, func(t *keptTable) bool { return t.key == key })
}

// command is what to type for what a request shows.
func (s *Server) command(r *http.Request, words ...string) string {
	out := []string{"clrprof", "report", shell.Quote(s.sessions[0].Path())}
	for _, w := range words {
		if w != "" {
			out = append(out, shell.Quote(w))
		}
	}
	return strings.Join(out, " ") + s.selected(r)
}

// selected are the flags for the selection of a request.
func (s *Server) selected(r *http.Request) string {
	var b strings.Builder
	selection := selectionKey(r.URL.Query())
	for _, flag := range selectionFlags {
		if flag == myCode && len(selection[flag]) > 0 {
			b.WriteString(" --" + flag)
			continue
		}
		for _, value := range selection[flag] {
			if value = shell.Quote(value); flag == clauses {
				value = "<(printf %s " + value + ")"
			}
			b.WriteString(" --" + flag + " " + value)
		}
	}
	return b.String()
}

// number reads a parameter that is a whole number from 0 on; without it, it is the default.
func number(v url.Values, name string, otherwise int) (int, error) {
	text := v.Get(name)
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, bad("%s %q is not a whole number", name, text)
	}
	return n, nil
}
