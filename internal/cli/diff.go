package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/analysis/budget"
	"github.com/clrprof/clrprof/internal/present/report"
	"github.com/clrprof/clrprof/internal/present/report/text"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// diffTop is how many rows text has unless --top says so.
const diffTop = 30

// diffFlags are the flags of the diff command.
type diffFlags struct {
	output     outputFlags
	only       selectionFlags
	unfinished unfinishedFlags
	column     string
	top        int
	md         bool
	least      string
	order      string
	old        []string
	new        []string
}

func newDiffCommand(e *environment) *cobra.Command {
	d := &diffFlags{}
	cmd := &cobra.Command{
		Use:   "diff OLD NEW [VIEW]",
		Short: "Compare two sessions of a program",
		Long: "Compare two sessions of a program: functions (default), types, lines, modules, sites (stacks\n" +
			"with types), calltree, lifetime, threads, tests, endpoints, gcs (garbage collections) or rules\n" +
			"(their findings) with different values, the largest difference first.\n" +
			"Rows are matched by name, with parameters and type arguments, and lines by their place in their\n" +
			"function, so the program may have been rebuilt in between. A function of your code that is gone and\n" +
			"a new one with the same instructions are one row: (was Parser.ParseLine). Values of several\n" +
			"processes are added up. Sessions without differences have no rows.\n\n" +
			"With several runs before and after (--old, --new), the output shows which differences are larger\n" +
			"than those between the runs of one side.",
		Example: "  clrprof diff before.clrprof after.clrprof\n" +
			"  clrprof diff before.clrprof after.clrprof types --column instances\n" +
			"  clrprof diff before.clrprof after.clrprof lines --function 'Shop.*' --json\n" +
			"  clrprof diff before.clrprof after.clrprof --threshold 5% --sort delta_percent\n" +
			"  clrprof diff before.clrprof after.clrprof rules --md\n" +
			"  clrprof diff before.clrprof after.clrprof sites --type 'Shop.*'\n" +
			"  clrprof diff --old b1.clrprof,b2.clrprof --new a1.clrprof,a2.clrprof lifetime",
		Args: d.arguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(d.old) == 0 {
				d.old, d.new, args = args[:1], args[1:2], args[2:]
			}
			view := "functions"
			if len(args) > 0 {
				view = args[0]
			}
			return d.run(cmd.Context(), e, view, cmd.Flags().Changed("top"))
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) != 2 && !(len(args) == 0 && len(d.old) > 0) {
				return nil, cobra.ShellCompDirectiveDefault
			}
			return report.ComparedViews(), cobra.ShellCompDirectiveNoFileComp
		},
	}
	f := cmd.Flags()
	f.StringVar(&d.column, "column", "",
		"the column to compare, as in report (default: elapsed_exclusive if both have times, otherwise "+
			"exclusive_bytes; of types bytes)")
	f.StringSliceVar(&d.old, "old", nil, "several runs in place of OLD, separated by commas")
	f.StringSliceVar(&d.new, "new", nil, "several runs in place of NEW, separated by commas")
	f.IntVar(&d.top, "top", diffTop, "rows; 0: all (default with --json, --csv, --tsv: all)")
	f.StringVar(&d.least, "threshold", "", "only differences of at least this much: 64K, 10ms or 1000, depending "+
		"on the column, or 5% of the baseline")
	f.StringVar(&d.order, "sort", "", "order by delta (default), delta_percent, baseline or comparison, the "+
		"largest first, whatever its sign, or by name")
	f.BoolVar(&d.md, "md", false, "print Markdown, for a comment on a pull request")
	d.only.add(cmd)
	d.unfinished.add(cmd)
	d.output.add(cmd)
	cmd.SetHelpFunc(groupedHelp(e, "", diffFlagGroups))
	return cmd
}

// diffFlagGroups are the flags of diff, as its help names them.
var diffFlagGroups = []flagGroup{
	{"runs", "--old A,B,C  --new A,B,C"},
	{"rows", "--column COLUMN  --threshold VALUE  --sort COLUMN  --top N"},
	{"a part", selectedPart},
	{"", selectedFunctions},
	{"", selectedCode},
	{"output", "--json  --csv  --csv-safe  --tsv  --md  --width N  --full-names  --color WHEN  --no-pager"},
	{"", "--no-wait  --so-far"},
}

// arguments are OLD, NEW and a view, or a view with --old and --new.
func (d *diffFlags) arguments(cmd *cobra.Command, args []string) error {
	switch {
	case (len(d.old) == 0) != (len(d.new) == 0):
		return usage("--old and --new go together: give the runs of both sides")
	case len(d.old) > 0 && len(args) > 1:
		return usage("with --old and --new the only argument is the view, so %q is too much", args[1])
	case len(d.old) > 0:
		return nil
	}
	return arguments(2, 3, "a session OLD", "a session NEW")(cmd, args)
}

func (d *diffFlags) run(ctx context.Context, e *environment, view string, limited bool) error {
	format, layout, err := d.output.choose(e)
	if err != nil {
		return err
	}
	switch {
	case d.top < 0:
		return usage("--top cannot be negative")
	case d.md && format != asText:
		return usage("--md excludes --json, --csv and --tsv")
	}
	paths := slices.Concat(d.old, d.new)
	sessions, sources := make([]*session.Session, len(paths)), make([]*analysis.Source, len(paths))
	for i, path := range paths {
		if sessions[i], err = d.unfinished.open(ctx, e, path); err != nil {
			return readError(err)
		}
		defer sessions[i].Close()
	}
	var notes []string
	for i, s := range sessions {
		sel, err := d.selection(s, sessions)
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
	c, err := report.Compare(sources[:len(d.old)], sources[len(d.old):], view, d.column)
	if err != nil {
		return readError(known(err))
	}
	about, err := d.about(c, sessions, sources)
	if err != nil {
		return err
	}
	notes = append(notes, about...)
	records := report.Differences(c)
	if format == asText {
		records = report.ReadableDifferences(c, layout.FullNames)
	}
	if top := d.top; top > 0 && records.Len() > top && (format == asText || limited) {
		notes = append(notes, fmt.Sprintf("%s of %s differences are shown; --top 0 shows them all.",
			q.Count(top), q.Count(records.Len())))
		records.Limit(top)
	}
	if format != asText {
		tell(e, notes)
		return written(writeRecords(e.stdout, records, format, layout))
	}
	head := text.Wrap(text.Printable(strings.Join(notes, " ")), layout.Width) + "\n"
	if d.md {
		layout.Markdown, head = true, text.Markdown(strings.Join(notes, " "))+"\n"
	}
	if records.Len() > 0 {
		head += "\n"
	}
	if _, err := io.WriteString(e.stdout, head); err != nil || records.Len() == 0 {
		return written(err)
	}
	return written(writeRecords(e.stdout, records, format, layout))
}

// about says what is compared, what else differs between the sessions, and which differences are left out.
func (d *diffFlags) about(c *analysis.Comparison, sessions []*session.Session, sources []*analysis.Source) ([]string,
	error) {
	differ, err := report.RecordedDifferently(sessions...)
	if err != nil {
		return nil, readError(err)
	}
	out := append([]string{report.DifferenceNote(c, d.old[0], d.new[0])}, differ...)
	unlined, err := report.WithoutLines(c, sources[:len(d.old)], sources[len(d.old):])
	if err != nil {
		return nil, readError(err)
	}
	if unlined != "" {
		out = append(out, unlined)
	}
	out = append(out, c.Notes...)
	left, err := d.choose(c)
	return append(out, left...), err
}

// choose leaves out the differences that are less than the threshold, which it says, and orders the others.
func (d *diffFlags) choose(c *analysis.Comparison) ([]string, error) {
	var t report.Threshold
	var err error
	if share, found := strings.CutSuffix(strings.TrimSpace(d.least), "%"); !found {
		t.Least, err = budget.ParseValue(c.Unit, "--threshold", d.least)
	} else if t.Percent, err = strconv.ParseFloat(strings.TrimSpace(share), 64); err != nil || !(t.Percent >= 0) {
		err = fmt.Errorf("--threshold %q: want a percentage, such as 5%%", d.least)
	}
	if err != nil {
		return nil, exit(exitUsage, err)
	}
	var notes []string
	if left := t.Apply(c); left != "" {
		notes = append(notes, left)
	}
	if d.order != "" {
		err = readError(report.OrderDifferences(c, d.order))
	}
	return notes, err
}

// selection compiles the flags for a session. A pattern may match nothing in it that matches something in another
// one: what is new, or gone.
func (d *diffFlags) selection(s *session.Session, all []*session.Session) (analysis.Selection, error) {
	sel, err := d.only.selection(s)
	var unknown *report.UnknownError
	if !errors.As(err, &unknown) {
		return sel, err
	}
	for _, other := range all {
		if _, inOther := d.only.selection(other); inOther == nil {
			may := d.only
			may.terms.MayMiss = true
			return may.selection(s)
		}
	}
	return sel, err
}
