package encode

import (
	"bufio"
	"io"
	"math"

	"github.com/clrprof/clrprof/internal/present/report"
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

// StreamRecords writes rows as they come, and keeps none. rows calls one function with the names of the columns, and
// then the other with each row.
func StreamRecords(w io.Writer, f Format, rows func(columns func([]string) error, row func([]any) error) error) error {
	if f == JSON {
		out := &jsonRecords{to: bufio.NewWriterSize(w, recordBuffer)}
		if err := rows(out.begin, out.row); err != nil {
			return err
		}
		return out.end()
	}
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
	return StreamRecords(w, JSON, func(columns func([]string) error, row func([]any) error) error {
		err := columns(r.Columns)
		for i := 0; i < r.Len() && err == nil; i++ {
			err = row(r.Row(i))
		}
		return err
	})
}

// jsonRecords writes a list of objects.
type jsonRecords struct {
	to        *bufio.Writer // which says at its end what failed before
	keys      []string      // with what comes before and after them
	some      bool          // rows were written
	text, raw []byte        // of the value that is written
}

func (j *jsonRecords) begin(columns []string) error {
	j.keys = make([]string, len(columns))
	for k, name := range columns {
		j.keys[k] = pick(k > 0, ", ", "") + string(appendString(nil, name)) + ": "
	}
	_, err := j.to.WriteString("[")
	return err
}

func (j *jsonRecords) row(row []any) error {
	j.to.WriteString(pick(j.some, ",\n  {", "\n  {"))
	j.some = true
	for k, v := range row {
		j.to.WriteString(j.keys[k])
		if late, is := v.(report.LateText); is {
			j.raw = late(j.raw[:0])
			j.text = appendString(j.text[:0], j.raw)
			j.to.Write(j.text)
			continue
		}
		number, isFloat := v.(float64)
		_, isInteger := v.(int64)
		switch {
		case v == nil, isFloat && (math.IsInf(number, 0) || math.IsNaN(number)):
			j.to.WriteString("null")
		case isFloat, isInteger:
			j.to.WriteString(report.ValueText(v))
		default:
			j.text = appendString(j.text[:0], report.ValueText(v))
			j.to.Write(j.text)
		}
	}
	_, err := j.to.WriteString("}")
	return err
}

func (j *jsonRecords) end() error {
	j.to.WriteString(pick(j.some, "\n]\n", "]\n"))
	return j.to.Flush()
}
