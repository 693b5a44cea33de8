package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clrprof/clrprof/internal/analysis"
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
	md     bool
}

func newDiffCommand(e *environment) *cobra.Command {
	d := &diffFlags{}
	cmd := &cobra.Command{
		Use:   "diff OLD NEW [VIEW]",
		Short: "Compare two sessions of a program",
		Long: "Compare two sessions of a program: functions (default), types, lines or modules of which a value differs, the\n" +
			"greatest difference first. They are matched by name, with parameters and type arguments, and lines by\n" +
			"where they are in their function, so the program may have been built again. Values of several\n" +
			"processes are added up. Sessions that differ in nothing have no rows.",
		Example: "  clrprof diff before.clrprof after.clrprof\n" +
			"  clrprof diff before.clrprof after.clrprof types --column instances\n" +
			"  clrprof diff before.clrprof after.clrprof lines --function 'Shop.*' --json\n" +
			"  clrprof diff before.clrprof after.clrprof --md",
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
	f.BoolVar(&d.md, "md", false, "print Markdown, for a comment on a pull request")
	d.only.add(cmd)
	d.output.add(cmd)
	return cmd
}

func (d *diffFlags) run(e *environment, from, to, view string, limited bool) error {
	format, layout, err := d.output.choose(e)
	if err != nil {
		return err
	}
	switch {
	case d.top < 0:
		return usage("--top cannot be negative")
	case d.md && format != report.FormatText:
		return usage("--md excludes --json, --csv and --tsv")
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
	notes = append(notes, report.DifferenceNote(c, from, to))
	records := report.Differences(c)
	if top := d.top; top > 0 && len(records.Rows) > top && (format == report.FormatText || limited) {
		notes = append(notes, fmt.Sprintf("%d of %d differences are shown; --top 0 shows them all.", top, len(records.Rows)))
		records.Rows = records.Rows[:top]
	}
	if format != report.FormatText {
		tell(e, notes)
		return written(records.Write(e.stdout, format, layout))
	}
	head := report.Printable(strings.Join(notes, " ")) + "\n"
	if d.md {
		format, head = report.FormatMarkdown, report.MarkdownText(strings.Join(notes, " "))+"\n"
	}
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
