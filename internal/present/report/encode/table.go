// Package encode writes what a report found for programs: as JSON, CSV or TSV.
package encode

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/clrprof/clrprof/internal/present/report"
	"github.com/clrprof/clrprof/internal/printable"
	q "github.com/clrprof/clrprof/internal/quantity"
)

// Format is a way to write what a report found, for programs: with exact numbers and whole names.
type Format string

// The formats.
const (
	JSON Format = "json" // an array with one object for each row
	CSV  Format = "csv"  // RFC 4180, the keys as first line
	// SafeCSV is CSV for a spreadsheet: a text that it would run has an apostrophe before it.
	SafeCSV Format = "safe-csv"
	TSV     Format = "tsv" // tab-separated; tabs, line ends and backslashes in names as \t \n \r \\
)

// WriteTable writes a table. Of one that was limited, JSON is an object with the rows and how many there are in all.
func WriteTable(w io.Writer, t *report.Table, f Format) error {
	if f != JSON {
		estimated := estimatedColumns(t)
		header := append(t.Keys(), estimateKeys(estimated)...)
		return writeSeparated(w, f, header, func(fn func([]string) error) error { return eachRecord(t, estimated, fn) })
	}
	if all, limited := t.InAll(); limited {
		return writeLimited(w, t, all)
	}
	return writeRows(w, t, "")
}

// writeLimited writes the rows after what says whether they are all.
func writeLimited(w io.Writer, t *report.Table, all int) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "{\"truncated\": %t, \"rows_in_all\": %d, \"rows_left_out\": %d, \"rows\":\n", t.Left() > 0, all,
		t.Left())
	if err := writeRows(out, t, ""); err != nil {
		return err
	}
	out.WriteString("}\n")
	return out.Flush()
}

// AppendCell appends a cell as a JSON value.
func AppendCell(out []byte, c report.Column, cell report.Cell) []byte {
	switch {
	case cell.Empty:
		return append(out, "null"...)
	case c.Kind == report.Percent:
		return append(out, percentText(cell.Percent)...)
	case c.Kind.IsNumeric() && c.Kind != report.Address:
		return strconv.AppendInt(out, cell.Number, 10)
	}
	return appendString(out, CellText(c, cell))
}

// standsForItself says which bytes of a text stand for themselves in JSON.
var standsForItself = func() (out [256]bool) {
	for b := byte(' '); b < utf8.RuneSelf; b++ {
		out[b] = b != '"' && b != '\\'
	}
	return out
}()

// appendString appends a text as encoding/json writes it. Nearly all are of letters that stand for themselves.
func appendString[T string | []byte](out []byte, s T) []byte {
	before, from := len(out), 0
	out = append(out, '"')
	for i := 0; i < len(s); {
		b := s[i]
		switch {
		case standsForItself[b]:
			i++
		case b >= utf8.RuneSelf:
			r, size := utf8.DecodeRuneInString(string(s[i:min(i+utf8.UTFMax, len(s))]))
			if r == utf8.RuneError && size == 1 || r == '\u2028' || r == '\u2029' {
				return appendEscaped(out[:before], string(s))
			}
			i += size
		case b < ' ':
			return appendEscaped(out[:before], string(s))
		default: // a quote, or what escapes it
			out = append(append(out, s[from:i]...), '\\', b)
			i++
			from = i
		}
	}
	return append(append(out, s[from:]...), '"')
}

// appendEscaped is appendString for what is written in another way than it is read.
func appendEscaped(out []byte, s string) []byte {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)  // names are full of < and >
	if e.Encode(s) != nil { // a string always encodes
		return append(out, `""`...)
	}
	return append(out, strings.TrimSuffix(b.String(), "\n")...)
}

// percentText prints a percentage with up to six decimals.
func percentText(p q.Percent) string {
	s := strconv.FormatFloat(p.Float(), 'f', 6, 64)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// CellText prints a cell for CSV and TSV.
func CellText(c report.Column, cell report.Cell) string {
	switch {
	case cell.Empty:
		return ""
	case c.Kind == report.Percent:
		return percentText(cell.Percent)
	case c.Kind == report.Address:
		return "0x" + strconv.FormatUint(uint64(cell.Number), 16)
	case c.Kind.IsNumeric():
		return strconv.FormatInt(cell.Number, 10)
	}
	return cell.Text
}

// writeRows writes an array with one row to a line, indented by indent.
func writeRows(w io.Writer, t *report.Table, indent string) error {
	out := bufio.NewWriter(w)
	columns := t.ExactColumns()
	out.WriteString("[")
	first := true
	var line []byte
	for i := range t.Rows {
		if t.IsRest(i) {
			continue
		}
		line = line[:0]
		for k, c := range columns {
			if k > 0 {
				line = append(line, ", "...)
			}
			line = appendString(line, c.Key)
			line = append(line, ": "...)
			line = AppendCell(line, c, t.Cell(i, c))
		}
		line = AppendEstimates(line, t, i, columns)
		if !first {
			out.WriteString(",")
		}
		first = false
		out.WriteString("\n" + indent + "  {")
		out.Write(line)
		out.WriteString("}")
	}
	if !first {
		out.WriteString("\n" + indent)
	}
	out.WriteString("]")
	if indent == "" {
		out.WriteString("\n")
	}
	return out.Flush()
}

// eachRecord calls fn with the cells of each row.
func eachRecord(t *report.Table, estimated []report.Column, fn func([]string) error) error {
	columns := t.ExactColumns()
	record := make([]string, len(columns), len(columns)+len(estimated)*len(estimateSuffixes))
	for i := range t.Rows {
		if t.IsRest(i) {
			continue
		}
		for k, c := range columns {
			record[k] = CellText(c, t.Cell(i, c))
		}
		if err := fn(appendEstimateTexts(record, t, i, estimated)); err != nil {
			return err
		}
	}
	return nil
}

var tsvEscapes = strings.NewReplacer("\\", `\\`, "\t", `\t`, "\n", `\n`, "\r", `\r`)

// writeSeparated writes a header and records as CSV or TSV. It is the one place where their cells are cleaned.
func writeSeparated(w io.Writer, f Format, header []string, records func(func([]string) error) error) error {
	write, flush := separated(w, f)
	if err := write(header); err != nil {
		return err
	}
	if err := records(write); err != nil {
		return err
	}
	return flush()
}

// separated writes records as CSV or TSV, all of them once it is flushed.
func separated(w io.Writer, f Format) (write func([]string) error, flush func() error) {
	if f == CSV || f == SafeCSV {
		out := csv.NewWriter(w)
		return func(record []string) error {
			record = slices.Clone(record)
			for i, s := range record {
				if record[i] = printable.Text(s); f == SafeCSV {
					record[i] = printable.Inert(record[i])
				}
			}
			return out.Write(record)
		}, func() error { out.Flush(); return out.Error() }
	}
	out := bufio.NewWriter(w)
	return func(record []string) error {
		for i, s := range record {
			if i > 0 {
				out.WriteByte('\t')
			}
			out.WriteString(printable.Text(tsvEscapes.Replace(s)))
		}
		_, err := out.WriteString("\n")
		return err
	}, out.Flush
}
