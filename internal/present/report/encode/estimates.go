package encode

import (
	"fmt"
	"strconv"

	"github.com/clrprof/clrprof/internal/present/report"
	q "github.com/clrprof/clrprof/internal/quantity"
)

// AppendEstimates appends to a row's members which of its numbers are estimates: by their keys how many samples they
// are from, and where they lie in 95 of 100 recordings. A row without estimates gets nothing.
func AppendEstimates(line []byte, t *report.Table, row int, columns []report.Column) []byte {
	if !t.IsEstimated() {
		return line
	}
	var samples, intervals []byte
	for _, c := range columns {
		e := t.Cell(row, c).Estimate
		if e == nil || c.Kind == report.Percent {
			continue
		}
		samples = strconv.AppendUint(appendMember(samples, c.Key), uint64(e.Samples), 10)
		intervals = appendInterval(appendMember(intervals, c.Key), e.Interval)
	}
	if samples == nil {
		return line
	}
	return fmt.Appendf(line, ", \"estimated\": true, \"samples\": {%s}, \"interval_95\": {%s}", samples, intervals)
}

// estimateSuffixes end the keys of the columns that CSV and TSV have of an estimate.
var estimateSuffixes = []string{"_samples", "_low_95", "_high_95"}

// estimatedColumns are the columns of a table of which some number is an estimate.
func estimatedColumns(t *report.Table) (out []report.Column) {
	if !t.IsEstimated() {
		return nil
	}
	for _, c := range t.ExactColumns() {
		for i := range t.Rows {
			if c.Kind != report.Percent && !t.IsRest(i) && t.Cell(i, c).Estimate != nil {
				out = append(out, c)
				break
			}
		}
	}
	return out
}

// estimateKeys are the keys of the columns that follow those of a table.
func estimateKeys(estimated []report.Column) (out []string) {
	for _, c := range estimated {
		for _, suffix := range estimateSuffixes {
			out = append(out, c.Key+suffix)
		}
	}
	return out
}

// appendEstimateTexts appends to a record of a row what estimateKeys are: nothing, where the number was counted.
func appendEstimateTexts(record []string, t *report.Table, row int, estimated []report.Column) []string {
	for _, c := range estimated {
		record = appendEstimateText(record, t.Cell(row, c).Estimate)
	}
	return record
}

// appendEstimateText appends what is known of an estimate; nil: nothing, as the number was counted.
func appendEstimateText(record []string, e *report.Estimate) []string {
	texts := [3]string{}
	if e != nil {
		texts[0] = strconv.FormatUint(uint64(e.Samples), 10)
		if i := e.Interval; i != nil {
			texts[1], texts[2] = strconv.FormatInt(i.Low, 10), strconv.FormatInt(i.High, 10)
		}
	}
	return append(record, texts[:]...)
}

func appendMember(out []byte, key string) []byte {
	if out != nil {
		out = append(out, ", "...)
	}
	return append(appendString(out, key), ": "...)
}

// appendInterval appends an interval; nil: there are too few samples.
func appendInterval(out []byte, i *q.Interval) []byte {
	if i == nil {
		return append(out, "null"...)
	}
	return fmt.Appendf(out, "[%d, %d]", i.Low, i.High)
}
