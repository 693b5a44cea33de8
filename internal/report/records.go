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
}

// Write writes the records in a format. Text shortens no name: who writes a query
// asks for what it returns.
func (r *Records) Write(w io.Writer, f Format, o TextOptions) error {
	switch f {
	case FormatJSON:
		return r.writeJSON(w)
	case FormatCSV, FormatTSV:
		return writeSeparated(w, f, r.Columns, func(fn func([]string) error) error {
			for _, row := range r.Rows {
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
	case []byte:
		return hex.EncodeToString(v)
	}
	return ""
}

func (r *Records) writeJSON(w io.Writer) error {
	out := bufio.NewWriter(w)
	out.WriteString("[")
	for i, row := range r.Rows {
		out.WriteString(pick(i > 0, ",\n  {", "\n  {"))
		for k, v := range row {
			fmt.Fprintf(out, "%s%s: ", pick(k > 0, ", ", ""), appendString(nil, r.Columns[k]))
			number, isFloat := v.(float64)
			_, isInteger := v.(int64)
			switch {
			case v == nil, isFloat && (math.IsInf(number, 0) || math.IsNaN(number)):
				out.WriteString("null")
			case isFloat, isInteger:
				out.WriteString(valueText(v))
			default:
				out.Write(appendString(nil, valueText(v)))
			}
		}
		out.WriteString("}")
	}
	out.WriteString(pick(len(r.Rows) > 0, "\n]\n", "]\n"))
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

func (r *Records) writeText(w io.Writer, o TextOptions) error {
	out := bufio.NewWriter(w)
	widths := make([]int, len(r.Columns))
	numeric := make([]bool, len(r.Columns))
	for i, name := range r.Columns {
		widths[i] = stringWidth(Printable(name))
		numeric[i] = len(r.Rows) > 0
	}
	cells := make([][]string, len(r.Rows))
	for k, row := range r.Rows {
		for i, v := range row {
			s := r.text(i, v)
			cells[k] = append(cells[k], s)
			widths[i] = max(widths[i], stringWidth(s))
			switch v.(type) {
			case string, []byte:
				numeric[i] = false
			}
		}
	}
	line := func(row []string, style string) {
		parts := make([]string, len(row))
		for i, s := range row {
			parts[i] = pad(s, widths[i], numeric[i])
		}
		fmt.Fprintln(out, o.style(style, strings.TrimRight(strings.Join(parts, gap), " ")))
	}
	var head []string
	for _, name := range r.Columns {
		head = append(head, Printable(name))
	}
	line(head, styleBold)
	for _, row := range cells {
		line(row, "")
	}
	return out.Flush()
}
