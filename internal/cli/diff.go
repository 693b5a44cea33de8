package cli

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clrprof/clrprof/internal/analysis"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/report"
	"github.com/clrprof/clrprof/internal/session"
)

// diffTop is how many rows text has unless --top says so.
const diffTop = 30

// diffFlags are the flags of the diff command.
type diffFlags struct {
	output outputFlags
	only   selectionFlags
	column string
	top    int
}

func newDiffCommand(e *environment) *cobra.Command {
	d := &diffFlags{}
	cmd := &cobra.Command{
		Use:   "diff OLD NEW [VIEW]",
		Short: "Compare two sessions of a program",
		Long: "Compare two sessions of a program: functions (default), types or lines of which a value differs, the\n" +
			"greatest difference first. They are matched by name, with parameters and type arguments, and lines by\n" +
			"where they are in their function, so the program may have been built again. Values of several\n" +
			"processes are added up. Sessions that differ in nothing have no rows.",
		Example: "  clrprof diff before.clrprof after.clrprof\n" +
			"  clrprof diff before.clrprof after.clrprof types --column instances\n" +
			"  clrprof diff before.clrprof after.clrprof lines --function 'Shop.*' --json",
		Args: arguments(2, 3, "a session OLD", "a session NEW"),
		RunE: func(cmd *cobra.Command, args []string) error {
			view := "functions"
			if len(args) > 2 {
				view = args[2]
			}
			return d.run(e, args[0], args[1], view, cmd.Flags().Changed("top"))
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) != 2 {
				return nil, cobra.ShellCompDirectiveDefault
			}
			return analysis.ComparedViews(), cobra.ShellCompDirectiveNoFileComp
		},
	}
	f := cmd.Flags()
	f.StringVar(&d.column, "column", "", "the column to compare, as report names it (default: elapsed_exclusive where both have times, "+
		"else exclusive_bytes; of types bytes)")
	f.IntVar(&d.top, "top", diffTop, "rows; 0: all (default with --json, --csv, --tsv: all)")
	d.only.add(cmd)
	d.output.add(cmd)
	return cmd
}

func (d *diffFlags) run(e *environment, from, to, view string, limited bool) error {
	format, err := d.output.format()
	if err != nil {
		return err
	}
	layout, err := d.output.text(e)
	if err != nil {
		return err
	}
	if d.top < 0 {
		return usage("--top cannot be negative")
	}
	var sources [2]*analysis.Source
	var notes []string
	var sessions [2]*session.Session
	for i, path := range []string{from, to} {
		if sessions[i], err = session.Open(path); err != nil {
			return readError(err)
		}
		defer sessions[i].Close()
	}
	for i, s := range sessions {
		sel, err := d.selection(s, sessions[1-i])
		if err != nil {
			return readError(fmt.Errorf("session %s: %w", s.Path(), err))
		}
		if notes, err = sel.Notes(s, ""); err != nil {
			return readError(err)
		}
		if sources[i], err = analysis.Open(s, sel); err != nil {
			return readError(err)
		}
	}
	c, err := analysis.Compare(sources[0], sources[1], view, d.column)
	if err != nil {
		return readError(known(err))
	}
	notes = append(notes, totalNote(c, from, to))
	records := diffRecords(c)
	if top := d.top; top > 0 && len(records.Rows) > top && (format == report.FormatText || limited) {
		notes = append(notes, fmt.Sprintf("%d of %d differences are shown; --top 0 shows them all.", top, len(records.Rows)))
		records.Rows = records.Rows[:top]
	}
	if format != report.FormatText {
		tell(e, notes)
		return written(records.Write(e.stdout, format, layout))
	}
	head := report.Printable(strings.Join(notes, " ")) + "\n"
	if len(records.Rows) > 0 {
		head += "\n"
	}
	if _, err := io.WriteString(e.stdout, head); err != nil || len(records.Rows) == 0 {
		return written(err)
	}
	return written(records.Write(e.stdout, format, layout))
}

// selection compiles the flags for a session. A pattern may match nothing in it that matches something in the other
// one: what is new, or gone.
func (d *diffFlags) selection(s, other *session.Session) (analysis.Selection, error) {
	sel, err := d.only.selection(s)
	var unknown *report.UnknownError
	if errors.As(err, &unknown) {
		if _, inOther := d.only.selection(other); inOther == nil {
			may := d.only
			may.terms.MayMiss = true
			return may.selection(s)
		}
	}
	return sel, err
}

// totalNote says what the whole is in both sessions, or that nothing differs.
func totalNote(c *analysis.Comparison, from, to string) string {
	switch {
	case len(c.Changes) == 0:
		return fmt.Sprintf("%s of %s: no differences.", c.Column, c.View)
	case !c.AddsUp:
		return fmt.Sprintf("%s of %s: %s differ.", c.Column, c.View, q.Count(len(c.Changes)))
	}
	return fmt.Sprintf("%s of %s: %s in %s, %s in %s, %s.", c.Column, c.View, withUnit(c.Unit, c.Old), filepath.Base(from),
		withUnit(c.Unit, c.New), filepath.Base(to), signed(c.Unit, c.New-c.Old))
}

// diffRecords makes a row for each change.
func diffRecords(c *analysis.Comparison) *report.Records {
	r := &report.Records{Columns: strings.Fields("delta delta_percent baseline comparison name module")}
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
