package report

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// Records is the result of a query: columns of distinct names, and values of type nil, int64,
// float64, string or []byte.
type Records struct {
	Columns []string
	Rows    [][]any
	// Format is how text prints the integers of a column; nil: as they are.
	Format func(column string, n int64) string

	count int             // of rows that are made one by one
	late  func(int) []any // makes them; nil: they are Rows
}

// lateText is a text of a row that is made when it is written: it appends it.
type lateText func([]byte) []byte

// MarshalJSON writes the text.
func (t lateText) MarshalJSON() ([]byte, error) { return appendString(nil, t(nil)), nil }

// Len returns the number of rows.
func (r *Records) Len() int {
	if r.late != nil {
		return r.count
	}
	return len(r.Rows)
}

// Row returns a row.
func (r *Records) Row(i int) []any {
	if r.late != nil {
		return r.late(i)
	}
	return r.Rows[i]
}

// Limit leaves the first rows, at most so many.
func (r *Records) Limit(rows int) {
	r.count = min(r.count, rows)
	r.Rows = r.Rows[:min(len(r.Rows), rows)]
}

// recordBuffer is how much is written at once: rows with stacks are thousands of bytes each.
const recordBuffer = 64 << 10

// Write writes the records in a format. Text shortens no name: who writes a query
// asks for what it returns.
func (r *Records) Write(w io.Writer, f Format, o TextOptions) error {
	switch f {
	case FormatJSON:
		return r.writeJSON(w)
	case FormatMarkdown:
		return r.writeMarkdown(w)
	case FormatCSV, FormatTSV:
		return writeSeparated(w, f, r.Columns, func(fn func([]string) error) error {
			for i := range r.Len() {
				row := r.Row(i)
				record := make([]string, len(row))
				for i, v := range row {
					record[i] = valueText(v)
				}
				if err := fn(record); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return r.writeText(w, o)
}

// valueText prints a value; blobs are lower-case hexadecimal.
func valueText(v any) string {
	switch v := v.(type) {
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case string:
		return v
	case lateText:
		return string(v(nil))
	case []byte:
		return hex.EncodeToString(v)
	}
	return ""
}

func (r *Records) writeJSON(w io.Writer) error {
	out := bufio.NewWriterSize(w, recordBuffer)
	out.WriteString("[")
	keys := make([]string, len(r.Columns))
	for k, name := range r.Columns {
		keys[k] = pick(k > 0, ", ", "") + string(appendString(nil, name)) + ": "
	}
	var text, raw []byte
	for i := range r.Len() {
		out.WriteString(pick(i > 0, ",\n  {", "\n  {"))
		for k, v := range r.Row(i) {
			out.WriteString(keys[k])
			if late, is := v.(lateText); is {
				raw = late(raw[:0])
				text = appendString(text[:0], raw)
				out.Write(text)
				continue
			}
			number, isFloat := v.(float64)
			_, isInteger := v.(int64)
			switch {
			case v == nil, isFloat && (math.IsInf(number, 0) || math.IsNaN(number)):
				out.WriteString("null")
			case isFloat, isInteger:
				out.WriteString(valueText(v))
			default:
				text = appendString(text[:0], valueText(v))
				out.Write(text)
			}
		}
		out.WriteString("}")
	}
	out.WriteString(pick(r.Len() > 0, "\n]\n", "]\n"))
	return out.Flush()
}

// text prints a value of a column.
func (r *Records) text(column int, v any) string {
	switch v := v.(type) {
	case float64:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case int64:
		if r.Format != nil {
			return r.Format(r.Columns[column], v)
		}
	}
	return Printable(valueText(v))
}

// Texts prints the values of a row as text does.
func (r *Records) Texts(row []any) []string {
	out := make([]string, len(row))
	for i, v := range row {
		out[i] = r.text(i, v)
	}
	return out
}

// grid is the cells as text prints them, below their titles, and which columns are numbers.
func (r *Records) grid() (titles []string, cells [][]string, numeric []bool) {
	numeric = make([]bool, len(r.Columns))
	for i, name := range r.Columns {
		titles = append(titles, Printable(name))
		numeric[i] = r.Len() > 0
	}
	cells = make([][]string, r.Len())
	for k := range cells {
		row := r.Row(k)
		cells[k] = r.Texts(row)
		for i, v := range row {
			switch v.(type) {
			case string, []byte, lateText:
				numeric[i] = false
			}
		}
	}
	return titles, cells, numeric
}

func (r *Records) writeText(w io.Writer, o TextOptions) error {
	out := bufio.NewWriter(w)
	titles, cells, numeric := r.grid()
	widths := make([]int, len(titles))
	for _, row := range append([][]string{titles}, cells...) {
		for i, s := range row {
			widths[i] = max(widths[i], stringWidth(s))
		}
	}
	line := func(row []string, style string) {
		parts := make([]string, len(row))
		for i, s := range row {
			parts[i] = pad(s, widths[i], numeric[i])
		}
		fmt.Fprintln(out, o.style(style, strings.TrimRight(strings.Join(parts, gap), " ")))
	}
	line(titles, styleBold)
	for _, row := range cells {
		line(row, "")
	}
	return out.Flush()
}

// writeMarkdown writes a table; names are code.
func (r *Records) writeMarkdown(w io.Writer) error {
	out := bufio.NewWriter(w)
	titles, cells, numeric := r.grid()
	for _, title := range titles {
		fmt.Fprintf(out, "| %s ", markdownText.Replace(title))
	}
	out.WriteString("|\n")
	for _, is := range numeric {
		out.WriteString(pick(is, "| ---: ", "| --- "))
	}
	out.WriteString("|\n")
	for _, row := range cells {
		for i, s := range row {
			fmt.Fprintf(out, "| %s ", pick(r.Columns[i] == "name", codeSpan(s), markdownText.Replace(s)))
		}
		out.WriteString("|\n")
	}
	return out.Flush()
}
