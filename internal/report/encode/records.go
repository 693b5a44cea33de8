package encode

import (
	"bufio"
	"io"
	"math"

	"github.com/clrprof/clrprof/internal/report"
)

// recordBuffer is how much is written at once: rows with stacks are thousands of bytes each.
const recordBuffer = 64 << 10

// WriteRecords writes records.
func WriteRecords(w io.Writer, r *report.Records, f Format) error {
	if f == JSON {
		return writeRecordsJSON(w, r)
	}
	return writeSeparated(w, f, r.Columns, func(fn func([]string) error) error {
		for i := range r.Len() {
			if err := fn(valueTexts(r.Row(i))); err != nil {
				return err
			}
		}
		return nil
	})
}

// StreamRecords writes rows as they come, as CSV or TSV, and keeps none. rows calls one function with the names of the
// columns, and then the other with each row.
func StreamRecords(w io.Writer, f Format, rows func(columns func([]string) error, row func([]any) error) error) error {
	write, flush := separated(w, f)
	if err := rows(write, func(row []any) error { return write(valueTexts(row)) }); err != nil {
		return err
	}
	return flush()
}

func valueTexts(row []any) []string {
	record := make([]string, len(row))
	for i, v := range row {
		record[i] = report.ValueText(v)
	}
	return record
}

func writeRecordsJSON(w io.Writer, r *report.Records) error {
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
			if late, is := v.(report.LateText); is {
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
				out.WriteString(report.ValueText(v))
			default:
				text = appendString(text[:0], report.ValueText(v))
				out.Write(text)
			}
		}
		out.WriteString("}")
	}
	out.WriteString(pick(r.Len() > 0, "\n]\n", "]\n"))
	return out.Flush()
}
