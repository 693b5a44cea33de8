package report

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/clrprof/clrprof/internal/session"
)

// Sheet is a table, or a part of it, for a program that shows it: exact values, the texts that a person reads, and what each
// column means.
type Sheet struct {
	View    string        `json:"view"`
	IsTree  bool          `json:"is_tree"`
	Columns []SheetColumn `json:"columns"`
	Shown   []string      `json:"shown"`  // keys of the columns to show first, the most important first
	Order   string        `json:"order"`  // key of the column that rows are ordered by
	Total   int           `json:"total"`  // rows of the table that were looked for
	Offset  int           `json:"offset"` // of the first row here among these
	Rows    []SheetRow    `json:"rows"`
	Notes   []string      `json:"notes"`
	Losses  []string      `json:"losses"`
}

// SheetColumn describes a column.
type SheetColumn struct {
	Key   string `json:"key"`
	Title string `json:"title"`
	Kind  string `json:"kind"`
	About string `json:"about"`
}

// SheetRow is a row. Values are as in JSON, texts as on a terminal that is wide enough, with short names.
type SheetRow struct {
	Kind    string            `json:"kind"`
	Level   int               `json:"level"`
	Process int64             `json:"process"`          // unique id
	Path    int64             `json:"path"`             // of a row of a call tree
	Hidden  int               `json:"hidden,omitempty"` // how many rows it stands for, which a limit leaves out
	Leaf    bool              `json:"leaf,omitempty"`   // of a row of a call tree: nothing is below it
	Values  []json.RawMessage `json:"values"`
	Texts   []string          `json:"texts"`
	Link    *Link             `json:"link,omitempty"`
}

// Link says which view tells more about a row.
type Link struct {
	View     string `json:"view"`
	Argument string `json:"argument,omitempty"`
	GC       string `json:"gc,omitempty"` // of the collections that are selected
}

var kindNames = map[Kind]string{Text: "text", Name: "name", Number: "number", Count: "count", Bytes: "bytes", Percent: "percent",
	Time: "time", Duration: "duration", Address: "address"}

// Find returns the rows of which a name or word contains the text, whatever its case; all for "". Rows that stand for hidden ones are
// always among them.
func (t *Table) Find(text string) []int {
	out := make([]int, 0, len(t.Rows))
	text = strings.ToLower(text)
	for i := range t.Rows {
		if text == "" || t.IsRest(i) || t.contains(i, text) {
			out = append(out, i)
		}
	}
	return out
}

func (t *Table) contains(row int, lower string) bool {
	for _, c := range t.Columns {
		if c.Kind.IsNumeric() && c.Kind != Address {
			continue
		}
		if strings.Contains(strings.ToLower(machineText(c, t.Cell(row, c))), lower) {
			return true
		}
	}
	return false
}

// sheetColumns are all columns but those that draw with characters.
func (t *Table) sheetColumns() []Column {
	var out []Column
	for _, c := range t.Columns {
		if !strings.HasSuffix(c.Key, "chart") {
			out = append(out, c)
		}
	}
	return out
}

// Sheet makes a sheet of the rows with the given positions: at most limit of them from offset on; limit 0: all.
func (t *Table) Sheet(rows []int, offset, limit int) *Sheet {
	columns := t.sheetColumns()
	s := &Sheet{View: t.View, IsTree: t.IsTree, Order: t.order, Total: len(rows), Offset: min(max(0, offset), len(rows)),
		Shown: []string{}, Rows: []SheetRow{}, Notes: append([]string{}, t.Notes...), Losses: append([]string{}, t.Losses...)}
	names := make([]func(int) string, len(columns))
	for i, c := range columns {
		s.Columns = append(s.Columns, SheetColumn{c.Key, c.Title, kindNames[c.Kind], Describe(c.Key)})
		names[i] = t.namer(c, TextOptions{})
	}
	for _, key := range t.TextColumns {
		if !strings.HasSuffix(key, "chart") {
			s.Shown = append(s.Shown, key)
		}
	}
	end := len(rows)
	if limit > 0 {
		end = min(end, s.Offset+limit)
	}
	for _, i := range rows[s.Offset:end] {
		s.Rows = append(s.Rows, t.sheetRow(i, columns, names))
	}
	return s
}

func (t *Table) sheetRow(i int, columns []Column, names []func(int) string) SheetRow {
	r := &t.Rows[i]
	row := SheetRow{Kind: string(r.kind), Level: r.level, Process: int64(r.process), Path: int64(r.path)}
	if t.IsRest(i) {
		row.Hidden, row.Texts, row.Values = r.rest, []string{t.restText(i)}, []json.RawMessage{}
		return row
	}
	for k, c := range columns {
		cell := t.Cell(i, c)
		row.Values = append(row.Values, appendJSON(nil, c, cell))
		row.Texts = append(row.Texts, names[k](i))
	}
	row.Link, row.Leaf = t.link(r), t.isLeaf != nil && t.isLeaf(r)
	return row
}

// link chooses the view that tells more about a row.
func (t *Table) link(r *Row) *Link {
	c := t.context
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

// SummarySheet is a summary for a program that shows it.
type SummarySheet struct {
	Facts    [][2]string    `json:"facts"`
	Findings []Finding      `json:"findings"`
	Sections []SectionSheet `json:"sections"`
	Notes    []string       `json:"notes"`
	Remarks  []string       `json:"remarks"`
	Losses   []string       `json:"losses"`
}

// Finding is a sentence of a summary, and where to look; nil: nowhere else.
type Finding struct {
	Text string `json:"text"`
	Link *Link  `json:"link"`
}

// SectionSheet is a list of a summary.
type SectionSheet struct {
	Key   string `json:"key"`
	Title string `json:"title"`
	*Sheet
}

// Sheet makes a sheet of what text shows of the summary, and of the hot paths.
func (s *Summary) Sheet() *SummarySheet {
	out := &SummarySheet{Findings: []Finding{}, Notes: append([]string{}, s.Notes...), Losses: append([]string{}, s.losses...),
		Remarks: s.remarks(), Sections: []SectionSheet{}}
	for i, text := range s.Findings {
		out.Findings = append(out.Findings, Finding{text, s.links[i]})
	}
	s.facts(func(key, format string, args ...any) {
		out.Facts = append(out.Facts, [2]string{key, fmt.Sprintf(format, args...)})
	})
	for _, x := range s.Sections {
		if (s.shows(x) || strings.HasSuffix(x.Key, "hot_path")) && len(x.Table.Rows) > 0 {
			out.Sections = append(out.Sections, SectionSheet{x.Key, x.Title, x.Table.Sheet(x.Table.Find(""), 0, 0)})
		}
	}
	return out
}
