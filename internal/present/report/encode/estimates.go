package encode

import (
	"fmt"
	"strconv"

	"github.com/clrprof/clrprof/internal/present/report"
	q "github.com/clrprof/clrprof/internal/quantity"
)

// appendEstimates appends to a row's members which of its numbers are estimates: by their keys how many samples they
// are from, and where they lie in 95 of 100 recordings. A row without estimates gets nothing.
func appendEstimates(line []byte, t *report.Table, row int, columns []report.Column) []byte {
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
