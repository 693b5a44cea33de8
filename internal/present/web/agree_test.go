package web_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/present/report"
	"github.com/clrprof/clrprof/internal/present/report/encode"
	"github.com/clrprof/clrprof/internal/present/report/sheet"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// row is a row of a sheet, as the page reads it.
type row struct {
	Kind   string
	Level  int
	Hidden int
	Values []any
	Texts  []string
	Link   *report.Link
}

type shownSheet struct {
	Columns []sheet.Column
	IsTree  bool `json:"is_tree"`
	Total   int
	Notes   []string
	Rows    []row
	Command string
}

// records are the rows by key, without those that stand for others and without columns that only text has.
func (s *shownSheet) records(keys []string) []map[string]any {
	out := []map[string]any{}
	for _, r := range s.Rows {
		if r.Hidden > 0 {
			continue
		}
		record := map[string]any{}
		for i, c := range s.Columns {
			for _, k := range keys {
				if k == c.Key {
					record[k] = r.Values[i]
				}
			}
		}
		out = append(out, record)
	}
	return out
}

// arguments are those of views that need one.
var viewArguments = map[string]string{"shop callers": "Insert", "aging diff-gcs": "1 2", "timed callers": "Work",
	"aging callers": "Main"}

// TestAgree: the page gets, for every view, the numbers of report --json, whole or selected, in pages.
func TestAgree(t *testing.T) {
	for name, b := range map[string]*sessiontest.Builder{"shop": sessiontest.Shop(), "several": sessiontest.Several(),
		"kitchen": sessiontest.Kitchen(),
		"aging":   sessiontest.Aging(), "heap": sessiontest.Heap(), "timed": sessiontest.Timed()} {
		t.Run(name, func(t *testing.T) {
			s, compared := serve(t, b), 0
			for _, chosen := range []string{"", "module=" + url.QueryEscape("!Shop*"), "process=%231", "focus=*Main*",
				"my-code=1", "my-code=1&my-code-callees=0&my-code-callers=1", "filter=" + url.QueryEscape("process = #1 and not focus = nothing")} {
				for _, view := range report.Views() {
					if s.agrees(view, viewArguments[name+" "+view.Name], chosen) {
						compared++
					}
				}
			}
			if compared < 10 {
				t.Errorf("only %d views were compared", compared)
			}
		})
	}
}

// selected opens the session as the command line would.
func (s *served) selected(query url.Values) (*analysis.Source, error) {
	terms := analysis.Terms{Modules: query["module"], Processes: query["process"], Focus: query["focus"],
		MyCode: query.Has("my-code"), Filter: query.Get("filter")}
	if query.Has("my-code-callers") {
		terms.CodeLevels = &analysis.CodeLevels{Callers: 1}
	}
	selection, err := terms.Select(s.session)
	if err != nil {
		return nil, err
	}
	return analysis.Open(s.session, selection)
}

// agrees compares a view, and reports whether there was anything to compare.
func (s *served) agrees(view report.View, argument, chosen string) bool {
	s.t.Helper()
	selection, err := url.ParseQuery(chosen)
	if err != nil {
		s.t.Fatal(err)
	}
	query := url.Values{"view": {view.Name}, "limit": {"100000"}, "top": {"100000"}, "depth": {"100000"}}
	for k, v := range selection {
		query[k] = v
	}
	if argument != "" {
		query.Set("argument", argument)
	}
	path := "/api/view?" + query.Encode()
	src, err := s.selected(selection)
	var table *report.Table
	if err == nil {
		table, err = view.Build(src, report.Options{Argument: argument, Top: 100000, Depth: 100000})
	}
	if err != nil { // both refuse
		if got, body := s.ask(http.MethodGet, path, nil); got.StatusCode != http.StatusBadRequest {
			s.t.Errorf("%s: %s %s, but report says: %v", path, got.Status, body, err)
		}
		return false
	}
	var b bytes.Buffer
	if err := encode.WriteTable(&b, table, encode.JSON); err != nil {
		s.t.Fatal(err)
	}
	want := []map[string]any{}
	if err := json.Unmarshal(b.Bytes(), &want); err != nil {
		s.t.Fatal(err)
	}
	var got shownSheet
	s.get(path, &got)
	if records := got.records(table.Keys()); !reflect.DeepEqual(records, want) {
		s.t.Errorf("%s:\n%v\nwant\n%v", path, records, want)
	}
	s.pages(query, got)
	return len(want) > 0
}

// pages reads a flat view three rows at a time.
func (s *served) pages(query url.Values, whole shownSheet) {
	s.t.Helper()
	if len(whole.Rows) > 30 {
		return
	}
	var rows []row
	query.Set("limit", "3")
	for len(rows) < whole.Total {
		query.Set("offset", fmt.Sprint(len(rows)))
		var part shownSheet
		s.get("/api/view?"+query.Encode(), &part)
		if len(part.Rows) == 0 {
			break
		}
		rows = append(rows, part.Rows...)
	}
	if len(rows) != len(whole.Rows) || len(rows) > 0 && !reflect.DeepEqual(rows, whole.Rows) {
		s.t.Errorf("%v in pages: %d rows that differ from %d", query, len(rows), len(whole.Rows))
	}
}

// opened are the rows below one of the call tree.
type opened struct {
	shownSheet
	Rows []struct {
		row
		Process, Path int64
		Leaf          bool
	}
}

// TestTree: the call tree, opened level by level, has the rows of the call tree, in every shape, and says below which
// there is none.
func TestTree(t *testing.T) {
	for name, b := range map[string]*sessiontest.Builder{"shop": sessiontest.Shop(), "timed": sessiontest.Timed(),
		"kitchen": sessiontest.Kitchen(), "several": sessiontest.Several()} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, b)
			for query, o := range map[string]report.Options{"": {}, "fold-recursion=1": {Fold: true},
				"min-share=20": {MinShare: 20},
				"root=Main":    {Root: "Main"}, "async=physical": {Physical: true},
				"by=module": {By: analysis.ByModule}, "by=type": {By: analysis.ByType},
				"by=namespace&min-share=5":               {By: analysis.ByNamespace, MinShare: 5},
				"root=Main&fold-recursion=1&min-share=5": {Root: "Main", Fold: true, MinShare: 5},
				"bottom-up=1":                            {BottomUp: true},
				"bottom-up=1&min-share=20":               {BottomUp: true, MinShare: 20},
				"bottom-up=1&root=Main&by=module":        {BottomUp: true, Root: "Main", By: analysis.ByModule},
				"bottom-up=1&sort=elapsed_exclusive":     {BottomUp: true, Sort: "elapsed_exclusive"}} {
				s.hasTree(query, o)
			}
		})
	}
}

// hasTree compares the call tree in a shape, opened level by level, with the view.
func (s *served) hasTree(query string, o report.Options) {
	s.t.Helper()
	src, err := s.selected(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	view, err := report.FindView("calltree")
	if err != nil {
		s.t.Fatal(err)
	}
	table, err := view.Build(src, o)
	if err != nil {
		if got, body := s.ask(http.MethodGet, "/api/tree?"+query, nil); got.StatusCode != http.StatusBadRequest {
			s.t.Errorf("%s: %s %s, but report says: %v", query, got.Status, body, err)
		}
		return
	}
	var got []string
	said := func(level int, values []any) string {
		return fmt.Sprint(level, values[0], values[7:])
	}
	var open func(of, path string, level int)
	open = func(of, path string, level int) {
		var below opened
		s.get("/api/tree?"+query+of+path, &below)
		for _, r := range below.Rows {
			got = append(got, said(level, r.Values))
			before := len(got)
			at := fmt.Sprintf("&of_path=%d", r.Path)
			if o.BottomUp && path != "" && path != "&of_path=0" {
				at = fmt.Sprintf("%s.%d", path, r.Path)
			}
			open(fmt.Sprintf("&of_process=%d", r.Process), at, level+1)
			if isLeaf := len(got) == before; r.Leaf != isLeaf {
				s.t.Errorf("%s: %v is a leaf: %t, want %t", query, r.Values[0], r.Leaf, isLeaf)
			}
		}
	}
	open("", "", 0)
	var want []string
	b, err := json.Marshal(sheet.All(table))
	if err != nil {
		s.t.Fatal(err)
	}
	var rows shownSheet
	if err := json.Unmarshal(b, &rows); err != nil {
		s.t.Fatal(err)
	}
	first := 0 // the level of the roots
	for i, r := range rows.Rows {
		if i == 0 {
			first = r.Level
		}
		want = append(want, said(r.Level-first, r.Values))
	}
	if !reflect.DeepEqual(got, want) {
		s.t.Errorf("%s opened:\n%s\nwant\n%s", query, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestFind: rows are searched by names, whatever their case, and sorted either way.
func TestFind(t *testing.T) {
	s := serve(t, sessiontest.Shop())
	var got shownSheet
	s.get("/api/view?view=functions&find=INSERT", &got)
	if len(got.Rows) != 1 || !strings.Contains(got.Rows[0].Texts[0], "Insert") {
		t.Errorf("found %v", got.Rows)
	}
	var down, up shownSheet
	s.get("/api/view?view=functions&sort=exclusive_bytes", &down)
	s.get("/api/view?view=functions&sort=exclusive_bytes&reverse=1", &up)
	for i := range down.Rows {
		if !reflect.DeepEqual(down.Rows[i], up.Rows[len(up.Rows)-1-i]) {
			t.Fatalf("row %d is not the same from the other end", i)
		}
	}
	if want := s.session.Path() + " functions --sort exclusive_bytes"; !strings.HasSuffix(down.Command, want) {
		t.Errorf("command %s, want …%s", down.Command, want)
	}
}

// TestTimeline: what was allocated in the slices adds up to all of it.
func TestTimeline(t *testing.T) {
	for name, b := range map[string]*sessiontest.Builder{"aging": sessiontest.Aging(), "several": sessiontest.Several(),
		"random": sessiontest.Random(7)} {
		t.Run(name, func(t *testing.T) {
			b.Counters = []session.Counter{{ID: 1, Name: "process.cpu_user", Unit: "ns", IsSum: true}}
			b.CounterValues = []session.CounterValue{{Time: 5, Process: 1, Counter: 1, Value: 3},
				{Time: 9, Process: 1, Counter: 1, Value: 10}}
			if name == "several" {
				b.Pauses = []session.Pause{{ID: 1, Level: session.LevelGlobal, Begin: 1, End: 2},
					{ID: 2, Level: session.LevelThread, Process: 1, Thread: 1, Begin: 3, End: 4}}
			}
			s := serve(t, b)
			src, err := s.selected(nil)
			if err != nil {
				t.Fatal(err)
			}
			total, err := src.Total()
			if err != nil {
				t.Fatal(err)
			}
			var got struct {
				Slices []struct{ Allocations, Bytes int64 }
				Usage  []struct {
					CPU int64 `json:"cpu_ns"`
				}
				Marks, Pauses []struct{ Name, Level string }
			}
			s.get("/api/timeline", &got)
			made := slices.DeleteFunc(slices.Clone(b.Marks), func(m session.Mark) bool {
				return m.Source == session.MarkProgram
			})
			off := slices.DeleteFunc(slices.Clone(b.Pauses), func(p session.Pause) bool {
				return p.Level == session.LevelThread
			})
			if len(got.Usage) != 2 || got.Usage[0].CPU != 3 || got.Usage[1].CPU != 7 || len(got.Marks) != len(made) ||
				len(got.Pauses) != len(off) {
				t.Errorf("usage %v, marks %v of %v, pauses %v of %v", got.Usage, got.Marks, made, got.Pauses, off)
			}
			for _, x := range got.Slices {
				total.Bytes, total.Allocations = total.Bytes-quantity.Bytes(x.Bytes), total.Allocations-quantity.Count(
					x.Allocations)
			}
			if !total.IsZero() {
				t.Errorf("the slices lack %v", total)
			}
		})
	}
}

// TestSQL: queries read, within limits.
func TestSQL(t *testing.T) {
	s := serve(t, sessiontest.Shop())
	ask := func(query string) (int, string) {
		t.Helper()
		b, err := json.Marshal(map[string]string{"query": query})
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.client.Post(s.at+"/api/sql", "application/json", bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		defer got.Body.Close()
		var out bytes.Buffer
		if _, err := out.ReadFrom(got.Body); err != nil {
			t.Fatal(err)
		}
		return got.StatusCode, out.String()
	}
	if code, body := ask("select sum(exclusive_bytes) as bytes from functions"); code != http.StatusOK ||
		!strings.Contains(body, "[[391656]]") {
		t.Errorf("%d %s", code, body)
	}
	for _, query := range []string{"delete from function", "attach 'x' as y", "pragma journal_mode=wal",
		"select load_extension('x')", "select 1; select 2", "", "selec"} {
		if code, body := ask(query); code != http.StatusBadRequest {
			t.Errorf("%s: %d %s", query, code, body)
		}
	}
	code, body := ask("with recursive n(i) as (select 1 union all select i+1 from n) select i from n")
	var cut struct {
		Cut  bool
		Rows [][]any
	}
	if err := json.Unmarshal([]byte(body), &cut); err != nil || code != http.StatusOK || !cut.Cut ||
		len(cut.Rows) != 10_000 {
		t.Errorf("endless rows: %d, %d rows, cut %t", code, len(cut.Rows), cut.Cut)
	}
	var schema map[string][]struct{ Name string }
	s.get("/api/schema", &schema)
	if len(schema["functions"]) == 0 || len(schema["node"]) == 0 {
		t.Errorf("the schema lacks tables: %d", len(schema))
	}
}

// TestSource: only files that the session names are read.
func TestSource(t *testing.T) {
	s := serve(t, sessiontest.Shop())
	if got, body := s.ask(http.MethodGet, "/api/source?path="+url.QueryEscape("/etc/passwd"),
		nil); got.StatusCode != http.StatusBadRequest {
		t.Errorf("a file that is not of the session: %s %s", got.Status, body)
	}
	files, err := s.session.SourceFiles()
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	var got struct{ Sheet shownSheet }
	s.get("/api/source?path="+url.QueryEscape(files[0].Path), &got)
	if len(got.Sheet.Rows) == 0 || !slices.ContainsFunc(got.Sheet.Notes, func(n string) bool {
		return strings.HasPrefix(n, "Without the text of "+files[0].Path)
	}) {
		t.Errorf("no lines of the first file, or no note: %q", got.Sheet.Notes)
	}
}
