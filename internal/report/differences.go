package report

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/clrprof/clrprof/internal/analysis"
	q "github.com/clrprof/clrprof/internal/quantity"
)

// DifferenceNote says what the whole is in both sessions, or that nothing differs.
func DifferenceNote(c *analysis.Comparison, from, to string) string {
	switch {
	case len(c.Changes) == 0:
		return fmt.Sprintf("%s of %s: no differences.", c.Column, c.View)
	case !c.AddsUp:
		return fmt.Sprintf("%s of %s: %s differ.", c.Column, c.View, q.Count(len(c.Changes)))
	}
	return fmt.Sprintf("%s of %s: %s in %s, %s in %s, %s.", c.Column, c.View, withUnit(c.Unit, c.Old), filepath.Base(from),
		withUnit(c.Unit, c.New), filepath.Base(to), signed(c.Unit, c.New-c.Old))
}

// Differences makes a row for each change.
func Differences(c *analysis.Comparison) *Records {
	r := &Records{Columns: strings.Fields("delta delta_percent baseline comparison name module")}
	if c.View == "lines" {
		r.Columns = append(r.Columns, "source_file", "line", "baseline_line")
	}
	for i := range c.Changes {
		x := &c.Changes[i]
		var percent any // of nothing there is none
		if x.Old != 0 {
			percent = float64(x.Delta()) / float64(x.Old) * 100
		}
		row := []any{x.Delta(), percent, side(x.InOld, x.Old), side(x.InNew, x.New), x.Name, x.Module}
		if c.View == "lines" {
			row = append(row, x.File, x.Line, side(x.InOld, x.OldLine))
		}
		r.Rows = append(r.Rows, row)
	}
	r.Format = func(column string, n int64) string {
		switch column {
		case "delta":
			return signed(c.Unit, n)
		case "baseline", "comparison":
			return withUnit(c.Unit, n)
		}
		return fmt.Sprint(n)
	}
	return r
}

// side is a value of a session that has it.
func side(there bool, n int64) any {
	if !there {
		return nil
	}
	return n
}

func withUnit(unit string, n int64) string {
	switch unit {
	case "bytes":
		return q.Bytes(n).String()
	case "nanoseconds":
		return q.Nanoseconds(n).String()
	}
	return q.Count(n).String()
}

// signed prints a difference with its sign.
func signed(unit string, n int64) string {
	if n > 0 {
		return "+" + withUnit(unit, n)
	}
	return withUnit(unit, n)
}
