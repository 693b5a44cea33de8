package report

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	q "github.com/clrprof/clrprof/internal/quantity"
)

// Format is a way to write a table.
type Format int

// The formats. All but FormatText and FormatMarkdown carry exact numbers and whole names.
const (
	FormatText     Format = iota
	FormatJSON            // an array with one object for each row
	FormatCSV             // RFC 4180, the keys as first line
	FormatTSV             // tab-separated; tabs, line ends and backslashes in names as \t \n \r \\
	FormatMarkdown        // as text, for comments on pull requests
)

// Write writes the table. Text and Markdown use o; the other formats do not.
func (t *Table) Write(w io.Writer, f Format, o TextOptions) error {
	switch f {
	case FormatJSON:
		if t.limited {
			return t.writeLimited(w)
		}
		return t.writeJSON(w, "")
	case FormatMarkdown:
		return t.writeMarkdown(w, o)
	case FormatCSV, FormatTSV:
		return writeSeparated(w, f, t.Keys(), t.eachRecord)
	}
	return t.writeText(w, o)
}

// machineColumns are the columns of the formats for programs: all that the view has, or those asked for.
func (t *Table) machineColumns() []Column {
	var out []Column
	for _, c := range t.Columns {
		if !c.textOnly {
			out = append(out, c)
		}
	}
	return out
}

// Keys returns the keys of the columns in JSON, CSV and TSV.
func (t *Table) Keys() []string {
	var out []string
	for _, c := range t.machineColumns() {
		out = append(out, c.Key)
	}
	return out
}

// appendJSON appends a cell as a JSON value.
func appendJSON(out []byte, c Column, cell Cell) []byte {
	switch {
	case cell.Empty:
		return append(out, "null"...)
	case c.Kind == Percent:
		return append(out, percentText(cell.Percent)...)
	case c.Kind.IsNumeric() && c.Kind != Address:
		return strconv.AppendInt(out, cell.Number, 10)
	}
	return appendString(out, machineText(c, cell))
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

// machineText prints a cell for CSV and TSV.
func machineText(c Column, cell Cell) string {
	switch {
	case cell.Empty:
		return ""
	case c.Kind == Percent:
		return percentText(cell.Percent)
	case c.Kind == Address:
		return "0x" + strconv.FormatUint(uint64(cell.Number), 16)
	case c.Kind.IsNumeric():
		return strconv.FormatInt(cell.Number, 10)
	}
	return cell.Text
}

// writeJSON writes an array with one row to a line, indented by indent.
func (t *Table) writeJSON(w io.Writer, indent string) error {
	out := bufio.NewWriter(w)
	columns := t.machineColumns()
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
			line = appendJSON(line, c, t.Cell(i, c))
		}
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
func (t *Table) eachRecord(fn func([]string) error) error {
	columns := t.machineColumns()
	record := make([]string, len(columns))
	for i := range t.Rows {
		if t.IsRest(i) {
			continue
		}
		for k, c := range columns {
			record[k] = machineText(c, t.Cell(i, c))
		}
		if err := fn(record); err != nil {
			return err
		}
	}
	return nil
}

var tsvEscapes = strings.NewReplacer("\\", `\\`, "\t", `\t`, "\n", `\n`, "\r", `\r`)

// writeSeparated writes a header and records as CSV or TSV.
func writeSeparated(w io.Writer, f Format, header []string, records func(func([]string) error) error) error {
	if f == FormatCSV {
		out := csv.NewWriter(w)
		if err := out.Write(header); err != nil {
			return err
		}
		if err := records(out.Write); err != nil {
			return err
		}
		out.Flush()
		return out.Error()
	}
	out := bufio.NewWriter(w)
	write := func(record []string) error {
		for i, s := range record {
			if i > 0 {
				out.WriteByte('\t')
			}
			out.WriteString(tsvEscapes.Replace(s))
		}
		_, err := out.WriteString("\n")
		return err
	}
	if err := write(header); err != nil {
		return err
	}
	if err := records(write); err != nil {
		return err
	}
	return out.Flush()
}
