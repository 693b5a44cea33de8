package mcp

import (
	"encoding/json"
	"slices"

	"github.com/clrprof/clrprof/internal/present/report"
	"github.com/clrprof/clrprof/internal/present/report/encode"
)

// rowBytes is how many bytes a row of a view has unless columns are asked for, if its names are no longer than most
// are. Names are never cut: requests are made of them.
const rowBytes = 300

// placing are the columns that say what a row is about and where that is: no row is without them.
var placing = map[string]bool{"name": true, "kind": true, "type": true, "level": true, "function": true,
	"source_file": true, "line": true, "line_begin": true, "process_id": true}

// few leaves the columns that most questions are about, as many as rowBytes has room for: those that say where
// something is, and of the others those that come first in text. order is the column that rows are ordered by. Percent
// follow from the values.
func few(table *report.Table, order string) {
	at := func(c report.Column) int { return slices.Index(table.TextColumns, c.Key) }
	left := rowBytes
	keep := map[string]bool{}
	take := func(c report.Column) {
		keep[c.Key] = true
		left -= expected(c)
	}
	var others []report.Column
	for _, c := range table.ExactColumns() {
		switch {
		case placing[c.Key] || c.Key == order:
			take(c)
		case at(c) >= 0 && c.Kind != report.Percent:
			others = append(others, c)
		}
	}
	slices.SortStableFunc(others, func(a, b report.Column) int { return at(a) - at(b) })
	for _, c := range others {
		if len(keep) > 0 && expected(c) > left {
			break
		}
		take(c)
	}
	table.Columns = slices.DeleteFunc(slices.Clone(table.Columns), func(c report.Column) bool { return !keep[c.Key] })
}

// usual is how many bytes values of columns mostly have.
var usual = map[string]int{"name": 75, "function": 75, "source_file": 42, "kind": 5, "line": 5, "line_begin": 5,
	"level": 5, "process_id": 5}

// expected is how many bytes a column mostly takes in a row: with its key, quotes and what is between columns.
func expected(c report.Column) int {
	value, known := usual[c.Key]
	switch {
	case known:
	case c.Kind == report.Name || c.Kind == report.Text:
		value = 26
	default:
		value = 8
	}
	return len(c.Key) + len(`"":,`) + value
}

// appendRows writes the rows of a table as a JSON array. Cells without a value are left out.
func appendRows(out []byte, table *report.Table) []byte {
	columns, first := table.ExactColumns(), true
	out = append(out, '[')
	for i := range table.Rows {
		if table.IsRest(i) {
			continue
		}
		if !first {
			out = append(out, ',')
		}
		first = false
		out = append(out, '{')
		begin := len(out)
		for _, c := range columns {
			cell := table.Cell(i, c)
			if cell.Empty {
				continue
			}
			if len(out) > begin {
				out = append(out, ',')
			}
			key, err := json.Marshal(c.Key)
			if err != nil { // a string always encodes
				continue
			}
			out = append(append(out, key...), ':')
			out = encode.AppendCell(out, c, cell)
		}
		out = append(encode.AppendEstimates(out, table, i, columns), '}')
	}
	return append(out, ']')
}
