// Package sheet shows tables and summaries to a program that draws them, such as a page: exact values, the texts that a
// person reads, and what each column means.
package sheet

import (
	"encoding/json"
	"strings"

	"github.com/clrprof/clrprof/internal/present/report"
	"github.com/clrprof/clrprof/internal/present/report/encode"
	"github.com/clrprof/clrprof/internal/present/report/text"
	"github.com/clrprof/clrprof/internal/present/report/words"
)

// Table is a table, or a part of it, for a program that shows it: exact values, the texts that a person reads, and what
// each column means.
type Table struct {
	View    string   `json:"view"`
	IsTree  bool     `json:"is_tree"`
	Columns []Column `json:"columns"`
	Shown   []string `json:"shown"`  // keys of the columns to show first, the most important first
	Order   string   `json:"order"`  // key of the column that rows are ordered by
	Total   int      `json:"total"`  // rows of the table that were looked for
	Offset  int      `json:"offset"` // of the first row here among these
	Rows    []Row    `json:"rows"`
	Notes   []string `json:"notes"`
	Losses  []string `json:"losses"`
}

// Column describes a column.
type Column struct {
	Key   string `json:"key"`
	Title string `json:"title"`
	Kind  string `json:"kind"`
	About string `json:"about"`
}

// Row is a row. Values are as in JSON, texts as on a terminal that is wide enough, with short names.
type Row struct {
	Kind    string            `json:"kind"`
	Level   int               `json:"level"`
	Process int64             `json:"process"`          // unique id
	Path    int64             `json:"path"`             // of a row of a call tree
	Hidden  int               `json:"hidden,omitempty"` // how many rows it stands for, which a limit leaves out
	Leaf    bool              `json:"leaf,omitempty"`   // of a row of a call tree: nothing is below it
	Values  []json.RawMessage `json:"values"`
	Texts   []string          `json:"texts"`
	// by the position of a value that is an estimate: where it lies in 95 of 100 recordings, in words
	Estimates map[int]string `json:"estimates,omitempty"`

	Link *report.Link `json:"link,omitempty"`
}

// Find returns the rows of a table of which a name or word contains the text, whatever its case; all for "". Rows that
// stand for hidden ones are always among them.
func Find(t *report.Table, text string) []int {
	out := make([]int, 0, len(t.Rows))
	text = strings.ToLower(text)
	for i := range t.Rows {
		if text == "" || t.IsRest(i) || contains(t, i, text) {
			out = append(out, i)
		}
	}
	return out
}

func contains(t *report.Table, row int, lower string) bool {
	for _, c := range t.Columns {
		if c.Kind.IsNumeric() && c.Kind != report.Address {
			continue
		}
		if strings.Contains(strings.ToLower(encode.CellText(c, t.Cell(row, c))), lower) {
			return true
		}
	}
	return false
}

// All makes a sheet of all rows of a table.
func All(t *report.Table) *Table { return Of(t, Find(t, ""), 0, 0) }

// Of makes a sheet of the rows of a table with the given positions: at most limit of them from offset on; limit 0: all.
func Of(t *report.Table, rows []int, offset, limit int) *Table {
	s := &Table{View: t.View, IsTree: t.IsTree, Order: t.Order, Total: len(rows),
		Offset: min(max(0, offset), len(rows)),
		Shown:  []string{}, Rows: []Row{}, Notes: words.Notes(t.Notes), Losses: words.Notes(t.Losses)}
	var columns []report.Column
	var names []func(int) string
	drawn := map[string]bool{}
	for _, c := range t.Columns {
		if c.Drawn {
			drawn[c.Key] = true
			continue
		}
		columns, names = append(columns, c), append(names, text.Cells(t, c, text.Options{}))
		s.Columns = append(s.Columns, Column{c.Key, c.Title, c.Kind.String(), report.Describe(c.Key)})
	}
	for _, key := range t.TextColumns {
		if !drawn[key] {
			s.Shown = append(s.Shown, key)
		}
	}
	end := len(rows)
	if limit > 0 {
		end = min(end, s.Offset+limit)
	}
	for _, i := range rows[s.Offset:end] {
		s.Rows = append(s.Rows, row(t, i, columns, names))
	}
	return s
}

func row(t *report.Table, i int, columns []report.Column, names []func(int) string) Row {
	of := &t.Rows[i]
	row := Row{Kind: of.Kind(), Level: of.Level(), Process: int64(of.Process()), Path: int64(of.Path())}
	if t.IsRest(i) {
		row.Hidden, row.Texts, row.Values = t.Rest(i).Rows, []string{text.Rest(t, i)}, []json.RawMessage{}
		return row
	}
	for k, c := range columns {
		row.Values = append(row.Values, encode.AppendCell(nil, c, t.Cell(i, c)))
		row.Texts = append(row.Texts, names[k](i))
		if e := t.Cell(i, c).Estimate; e != nil {
			if row.Estimates == nil {
				row.Estimates = map[int]string{}
			}
			row.Estimates[k] = text.Estimate(c, e)
		}
	}
	row.Link, row.Leaf = t.Link(i), t.IsLeaf(i)
	return row
}

// Summary is a summary for a program that shows it.
type Summary struct {
	Facts    [][2]string `json:"facts"`
	Findings []Finding   `json:"findings"`
	Sections []Section   `json:"sections"`
	Notes    []string    `json:"notes"`
	Remarks  []string    `json:"remarks"`
	Losses   []string    `json:"losses"`
	Broken   int         `json:"broken"` // findings of rules, which the view rules has
}

// Finding is a sentence of a summary, and where to look; nil: nowhere else.
type Finding struct {
	Text string       `json:"text"`
	Link *report.Link `json:"link"`
}

// Section is a list of a summary.
type Section struct {
	Key   string `json:"key"`
	Title string `json:"title"`
	*Table
}

// OfSummary makes a sheet of what text shows of a summary, and of its hot path of allocations.
func OfSummary(s *report.Summary) *Summary {
	out := &Summary{Facts: text.Facts(s), Findings: []Finding{}, Notes: words.Notes(s.Notes),
		Losses:  words.Notes(s.Losses),
		Remarks: text.Remarks(s), Sections: []Section{}}
	for _, next := range s.Next {
		out.Broken = max(out.Broken, int(next.Findings))
	}
	for i, said := range s.Findings {
		out.Findings = append(out.Findings, Finding{words.Note(said), s.Links[i]})
	}
	for _, x := range s.Sections {
		if (x.Shown || x.HotPath) && len(x.Table.Rows) > 0 {
			out.Sections = append(out.Sections, Section{x.Key, x.Title, All(x.Table)})
		}
	}
	return out
}
