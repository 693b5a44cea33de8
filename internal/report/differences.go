package report

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clrprof/clrprof/internal/analysis"
	q "github.com/clrprof/clrprof/internal/quantity"
)

// DifferenceNote says what the whole is in both sessions, or that nothing differs.
func DifferenceNote(c *analysis.Comparison, from, to string) string {
	if c.Runs[0]*c.Runs[1] != 1 {
		return runsNote(c)
	}
	switch {
	case len(c.Changes) == 0:
		return fmt.Sprintf("%s of %s: no differences.", c.Column, c.View)
	case !c.AddsUp:
		return fmt.Sprintf("%s of %s: %s differ.", c.Column, c.View, q.Count(len(c.Changes)))
	}
	return fmt.Sprintf("%s of %s: %s in %s, %s in %s, %s.", c.Column, c.View, withUnit(c.Unit, c.Old),
		filepath.Base(from),
		withUnit(c.Unit, c.New), filepath.Base(to), signed(c.Unit, c.New-c.Old))
}

// runsNote says how much differs by more than runs of one side do.
func runsNote(c *analysis.Comparison) string {
	beyond := 0
	for i := range c.Changes {
		if c.Changes[i].Beyond() {
			beyond++
		}
	}
	return fmt.Sprintf("%s of %s, means of %s before and %s after: %s beyond the spread of the runs (no run of one "+
		"side has a value between those of the other), "+
		"%s within it.", c.Column, c.View, counted(c.Runs[0], "run"), counted(c.Runs[1], "run"),
		counted(beyond, "difference"), counted(len(c.Changes)-beyond, "difference"))
}

// Differences makes a row for each change, when it is written.
func Differences(c *analysis.Comparison) *Records {
	r := &Records{Columns: strings.Fields("delta delta_percent baseline comparison name module")}
	if !c.HasModules() {
		r.Columns = r.Columns[:len(r.Columns)-1]
	}
	several := c.Runs[0]*c.Runs[1] != 1
	placed, stacked := c.HasLines(), c.HasStacks()
	if several {
		r.Columns = slices.Insert(r.Columns, 0, "beyond_spread")
		r.Columns = slices.Insert(r.Columns, 5,
			strings.Fields("baseline_min baseline_max comparison_min comparison_max")...)
	}
	if placed {
		r.Columns = append(r.Columns, "source_file", "line", "baseline_line", "state")
	}
	if stacked {
		r.Columns = append(r.Columns, "stack")
	}
	r.count, r.late = len(c.Changes), func(i int) []any {
		x := &c.Changes[i]
		var percent any // of nothing there is none
		if x.Old != 0 {
			percent = float64(x.Delta()) / float64(x.Old) * 100
		}
		row := []any{x.Delta(), percent, side(x.InOld, x.Old), side(x.InNew, x.New), x.Name, x.Module}
		if !c.HasModules() {
			row = row[:len(row)-1]
		}
		if several {
			from, to := x.Ranges()
			row = slices.Insert(row, 4, []any{from[0], from[1], to[0], to[1]}...)
			row = slices.Insert(row, 0, []any{pick(x.Beyond(), "yes", "no")}...)
		}
		if placed {
			row = append(row, x.File, side(x.Line != 0, x.Line), side(x.InOld && x.OldLine != 0, x.OldLine), state(x))
		}
		if stacked {
			row = append(row, LateText(x.AppendStack))
		}
		return row
	}
	r.Cut = map[string]Cut{"name": CutParts, "module": CutMiddle, "source_file": CutMiddle, "stack": CutMiddle}
	r.Format = func(column string, n int64) string {
		switch column {
		case "delta":
			return signed(c.Unit, n)
		case "baseline", "comparison", "baseline_min", "baseline_max", "comparison_min", "comparison_max":
			return withUnit(c.Unit, n)
		}
		return fmt.Sprint(n)
	}
	return r
}

// state says what became of a line, or of the line of a site.
func state(x *analysis.Change) string {
	switch {
	case !x.InOld:
		return "new"
	case !x.InNew:
		return "gone"
	case x.Moved():
		return "moved"
	}
	return "changed"
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
