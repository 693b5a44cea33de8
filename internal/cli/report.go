package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/analysis/rules"
	"github.com/clrprof/clrprof/internal/present/report"
	"github.com/clrprof/clrprof/internal/present/report/encode"
	"github.com/clrprof/clrprof/internal/present/report/text"
	"github.com/clrprof/clrprof/internal/present/report/words"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/shell"
)

// summaryTop is how many rows the lists of a summary have for programs unless --top says so.
const summaryTop = 8

// groupTop is how many functions of a group text has unless --top says so.
const groupTop = 10

// reportFlags are the flags of the report command.
type reportFlags struct {
	output     outputFlags
	only       selectionFlags
	unfinished unfinishedFlags
	top        int
	depth      int
	min        float64
	sort       string
	by         string
	columns    []string
	inRange    string
	raw        bool
	allCode    bool
	async      string
	root       string
	hot        bool
	fold       bool
	reverse    bool
	share      float64
	disable    []string
	unit       string
	md         bool
	limit      int
}

func newReportCommand(e *environment) *cobra.Command {
	r := &reportFlags{}
	cmd := &cobra.Command{
		Use:   "report SESSION [VIEW [ARGUMENT]]",
		Short: "Show a session: a summary, or one of its views",
		Long:  "Show a session: a summary, or one of its views.",
		Example: "  clrprof report app.clrprof\n" +
			"  clrprof report app.clrprof functions --sort exclusive_bytes --top 50\n" +
			"  clrprof report app.clrprof callers Parser.Parse\n" +
			"  clrprof report app.clrprof calltree --root Parser.Parse --bottom-up\n" +
			"  clrprof report app.clrprof lifetime --by site --sort gen2_bytes\n" +
			"  clrprof report app.clrprof lines --json | jq '.[0]'",
		Args: arguments(1, 4, "a SESSION"),
		RunE: func(cmd *cobra.Command, args []string) error { return r.run(e, cmd, args) },
		ValidArgsFunction: func(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			switch len(args) {
			case 0:
				return nil, cobra.ShellCompDirectiveDefault
			case 1:
			default:
				return offerArgument(args[0], args[1], typed)
			}
			names := []string{"summary\ttotals, and the first rows of the other views"}
			for _, v := range report.Views() {
				names = append(names, v.Name+"\t"+v.Short)
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
	f := cmd.Flags()
	f.IntVar(&r.top, "top", 0,
		"rows, in trees below each parent; 0: all (default: what a person can read; all with --json, --csv, --tsv)")
	f.IntVar(&r.depth, "depth", 0, "levels of a tree; 0: all (default: as for --top)")
	f.Float64Var(&r.min, "min", 0,
		"hide tree rows with less than this percent of bytes, of allocations, of time and of CPU time "+
			"(default: as for --top)")
	f.StringVar(&r.sort, "sort", "", "sort by this column: numbers descending, names ascending")
	f.StringVar(&r.by, "by", "", "rows of lifetime, ages, survivors and diff-gcs: type, site (stack and type), "+
		"function, line, module or namespace that allocated (default type); functions, types: below their module or "+
		"namespace; threads: below their name; calltree: modules or namespaces in place of functions; "+
		"interactions: text (default; ids in addresses count as one), exact or line")
	f.StringSliceVar(&r.columns, "columns", nil, "show these columns, separated by commas")
	f.StringVar(&r.inRange, "range", "",
		"functions: only those that this pattern matches, as in run --include, with one row for all of them together")
	f.StringVar(&r.unit, "unit", "", "print times of calls in ms, us, ns or ticks of the clock (default: what "+
		"suits each number; JSON, CSV and TSV: always ns)")
	f.BoolVar(&r.allCode, "all-code", false, "summary: all functions, not only your code and what it calls")
	f.StringVar(&r.async, "async", "",
		"calltree (default logical), callers, function: logical, async methods below callers, or physical stacks")
	f.StringVar(&r.root, "root", "", "calltree: only this function and what is below it")
	f.BoolVar(&r.hot, "hot", false, "calltree: only the hot path: always the child with the most time, or bytes")
	f.BoolVar(&r.fold, "fold-recursion", false,
		"calltree: a call of a function that is already on the path is part of that function's row")
	f.Float64Var(&r.share, "min-share", 0,
		"calltree: what has less than this percent of bytes, of allocations, of time and of CPU time is added up "+
			"in one row, [left out], below each row")
	f.BoolVar(&r.reverse, "bottom-up", false,
		"calltree: functions by what they did themselves, each with its callers below it")
	f.StringSliceVar(&r.disable, "disable", nil,
		"summary, rules: rules that are not applied, by id, separated by commas")
	f.BoolVar(&r.raw, "raw", false, "elapsed times that include what the probes added; by default it is subtracted")
	f.BoolVar(&r.md, "md", false, "print Markdown, for comments on pull requests and summaries of pipelines")
	f.IntVar(&r.limit, "limit", 0, "at most this many rows of a view in total; JSON is then an object that says "+
		"how many are left out (docs/json.md)")
	r.only.add(cmd)
	r.unfinished.add(cmd)
	r.output.add(cmd)
	completeReport(e, cmd, &r.output)
	return cmd
}

// completeReport sets the help of report, and offers what its flags take.
func completeReport(e *environment, cmd *cobra.Command, output *outputFlags) {
	cmd.SetHelpFunc(reportHelp(e, output))
	// The only error of these is a flag that does not exist, which the tests of completion would show.
	for _, flag := range []string{"sort", "columns"} {
		_ = cmd.RegisterFlagCompletionFunc(flag, completeColumns)
	}
	offerNames(cmd, map[string]string{"root": "function"})
	_ = cmd.RegisterFlagCompletionFunc("disable",
		func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return rules.IDs(), cobra.ShellCompDirectiveNoFileComp
		})
	_ = cmd.RegisterFlagCompletionFunc("unit",
		func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return unitNames(), cobra.ShellCompDirectiveNoFileComp
		})
}

// completeColumns offers the columns of the view that is on the command line; of a list, of its last part.
func completeColumns(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) < 2 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	view, err := report.FindView(args[1])
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	before := typed[:strings.LastIndex(typed, ",")+1]
	var out []string
	for _, key := range slices.Concat(view.ColumnKeys(), view.TimeKeys(), view.OptionalKeys()) {
		out = append(out, before+key)
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

func viewList() string {
	var b strings.Builder
	line := func(name, short string) { fmt.Fprintf(&b, "  %-18s %s\n", name, short) }
	line("summary", "totals, and the first rows of the other views (default)")
	for _, v := range report.Views() {
		line(strings.TrimSpace(v.Name+" "+v.Argument), v.Short)
	}
	return "Views:\n" + strings.TrimRight(b.String(), "\n")
}

func (r *reportFlags) run(e *environment, cmd *cobra.Command, args []string) error {
	format, err := r.output.format()
	if err != nil {
		return err
	}
	if r.md && format != asText {
		return usage("--md excludes --json, --csv and --tsv")
	}
	layout, err := r.output.text(e)
	if err != nil {
		return err
	}
	if layout.Unit = text.Unit(r.unit); r.unit != "" && !slices.Contains(unitNames(), r.unit) {
		return exit(exitUsage, report.Unknown("--unit", r.unit, unitNames()))
	}
	layout.Markdown = r.md // it has the limits that text has
	name := "summary"
	if len(args) > 1 {
		name = args[1]
	}
	view, err := r.view(name, args)
	if _, swapped := report.FindView(args[0]); err != nil && (swapped == nil || args[0] == "summary") && isFile(name) {
		return usage("the session comes before the view: clrprof report %s %s", shell.Quote(name), args[0])
	}
	if err != nil {
		return err
	}
	if err := r.checkChoices(name, view); err != nil {
		return err
	}
	r.output.page(e, format)
	s, err := r.unfinished.open(cmd.Context(), e, args[0])
	if _, noView := report.FindView(args[0]); errors.Is(err, session.ErrNotFound) &&
		(noView == nil || args[0] == "summary") {
		return usage("the session comes before the view: clrprof report SESSION %s", args[0])
	}
	if err != nil {
		return readError(err)
	}
	defer s.Close()
	selection, err := r.only.selection(s)
	if err != nil {
		return readError(err)
	}
	src, err := analysis.Open(s, selection)
	if err != nil {
		return readError(err)
	}
	if err := r.checkTimes(src); err != nil {
		return err
	}
	if name == "summary" {
		return r.summary(e, cmd, src, format, layout)
	}
	o := r.options(cmd, view, format, args)
	table, err := view.Build(src, o)
	if err != nil {
		return readError(err)
	}
	if cmd.Flags().Changed("limit") {
		table.Limit(r.limit)
	}
	if format != asText { // where a program reads, a person reads it on the side
		tell(e, words.Notes(append(table.Notes, table.Losses...)))
	}
	if n := table.Left(); n > 0 {
		tell(e, []string{fmt.Sprintf("%d more rows are left out: --limit %d", n, r.limit)})
	}
	return written(writeTable(e.stdout, table, format, layout))
}

// isFile reports whether there is a file with a name.
func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// summary prints the summary.
func (r *reportFlags) summary(e *environment, cmd *cobra.Command, src *analysis.Source, format encode.Format,
	layout text.Options) error {
	top := summaryTop
	switch {
	case cmd.Flags().Changed("top"):
		top = r.top
	case format == asText:
		if top = report.FitTop; !r.allCode && !r.md {
			layout.Lines = text.Screen
		}
	}
	summary, err := report.Summarize(src, report.Options{Top: top, Raw: r.raw, AllCode: r.allCode, Disabled: r.disable,
		Shown: format == asText})
	if err != nil {
		return readError(err)
	}
	if format != asText && !src.Selection().IsZero() {
		tell(e, words.Notes(summary.Notes))
	}
	return written(writeSummary(e.stdout, summary, format, layout))
}

// shapeFlag is the first flag that was given for the shape of a call tree, and that a view does not have; "": none.
func (r *reportFlags) shapeFlag(view report.View) string {
	if view.Shaped {
		return ""
	}
	for _, f := range []struct {
		name  string
		given bool
	}{{"--async", r.async != "" && !view.Async}, {"--root", r.root != ""}, {"--hot", r.hot},
		{"--fold-recursion", r.fold}, {"--bottom-up", r.reverse}, {"--min-share", r.share != 0}} {
		if f.given {
			return f.name
		}
	}
	return ""
}

// checkChoices refuses values that options do not have.
func (r *reportFlags) checkChoices(name string, view report.View) error {
	if r.async != "" && !slices.Contains(report.AsyncOptions(), r.async) {
		return exit(exitUsage, report.Unknown("--async", r.async, report.AsyncOptions()))
	}
	switch flag := r.shapeFlag(view); {
	case flag == "--async":
		return usage("view %s has no --async: it is for the views calltree, callers and function", name)
	case flag != "":
		return usage("view %s has no %s: it is for the view calltree", name, flag)
	case r.reverse && r.hot:
		return usage("--hot is the path from the root down, so it does not work with --bottom-up")
	case r.share < 0:
		return usage("--min-share cannot be negative")
	case name != "summary" && r.allCode:
		return usage("view %s shows all code: --all-code is for the summary", name)
	case name != "summary" && !view.Judges && len(r.disable) > 0:
		return usage("view %s has no rules: --disable is for the summary and the view rules", name)
	}
	return checkRules(r.disable)
}

// checkRules refuses ids that no rule has.
func checkRules(ids []string) error {
	for _, id := range ids {
		if !slices.Contains(rules.IDs(), id) {
			return exit(exitUsage, report.Unknown("rule", id, rules.IDs()))
		}
	}
	return nil
}

// tell says on the side what a person should know.
func tell(e *environment, lines []string) {
	for _, line := range lines {
		fmt.Fprintf(e.stderr, "clrprof: %s\n", text.Printable(line))
	}
}

func unitNames() []string {
	var out []string
	for _, u := range text.Units() {
		out = append(out, string(u))
	}
	return out
}

// checkTimes refuses flags about times where there are none.
func (r *reportFlags) checkTimes(src *analysis.Source) error {
	if !r.raw && r.unit != string(text.Ticks) {
		return nil
	}
	timed, err := src.ProcessesTimed()
	if err != nil {
		return readError(err)
	}
	if len(timed) == 0 {
		return readError(analysis.ErrNoTime)
	}
	return nil
}

// view finds the view and checks its argument.
func (r *reportFlags) view(name string, args []string) (report.View, error) {
	if name == "summary" {
		switch {
		case len(args) > 2:
			return report.View{}, usage("summary takes no argument %q", args[2])
		case r.by != "":
			return report.View{}, usage("summary has no --by: name a view, such as lifetime")
		case r.sort != "" || len(r.columns) > 0:
			return report.View{}, usage("summary has no --sort and no --columns: name a view, such as functions")
		case r.inRange != "":
			return report.View{}, usage("summary has no --range: name the view functions")
		case r.limit != 0:
			return report.View{}, usage("summary has no --limit: --top is for its lists")
		}
		return report.View{}, nil
	}
	view, err := report.FindView(name)
	switch {
	case err != nil:
		return view, err
	case len(args) > 2 && view.Argument == "":
		return view, usage("view %s takes no argument %q", name, args[2])
	case len(args) != 4 && view.Needs == report.NeedsCollections:
		return view, usage("view %s needs the numbers of two collections: clrprof report %s %s A B", name, args[0],
			name)
	case len(args) > 3 && view.Needs != report.NeedsCollections:
		return view, usage("view %s takes one argument, so %q is too much", name, args[3])
	case r.by != "" && !view.HasBy():
		return view, usage("view %s has no --by", name)
	case r.by != "" && r.inRange != "":
		return view, usage("--range is one row for functions, --by is one row for each group: give one of the two")
	case r.inRange != "" && !view.Ranged:
		return view, usage("view %s has no --range: it is for the view functions", name)
	case (r.depth > 0 || r.min > 0) && !view.IsTree() && r.by == "":
		return view, usage("view %s is a list: --depth and --min are for trees", name)
	case len(args) == 2 && view.Needs == report.NeedsFunction:
		return view, usage("view %s needs the name of a function: clrprof report %s %s NAME", name, args[0], name)
	}
	if r.top < 0 || r.depth < 0 || r.min < 0 || r.limit < 0 {
		return view, usage("--top, --limit, --depth and --min cannot be negative")
	}
	return view, nil
}

// options joins the flags with the limits that text has by itself.
func (r *reportFlags) options(cmd *cobra.Command, view report.View, format encode.Format,
	args []string) report.Options {
	o := report.Options{}
	if format == asText {
		o = view.Text
	}
	if format == asText && r.by != "" && !view.Grouped { // for each group
		o.Top = groupTop
	}
	if len(args) > 2 {
		o.Argument = strings.Join(args[2:], " ")
	}
	if view.Paths {
		o.Depth = view.Levels(o.Argument, analysis.By(r.by))
	}
	changed := cmd.Flags().Changed
	if changed("top") {
		o.Top = r.top
	}
	if changed("depth") {
		o.Depth = r.depth
	}
	if r.share > 0 { // nothing else is hidden for being small
		o.Min = 0
	}
	if changed("min") {
		o.Min = r.min
	}
	o.Sort, o.Columns, o.By, o.Range, o.Raw, o.Disabled = r.sort, r.columns, analysis.By(
		r.by), r.inRange, r.raw, r.disable
	o.Physical, o.Logical, o.Root, o.Hot = r.async == "physical", r.async == "logical", r.root, r.hot
	o.Fold, o.BottomUp, o.MinShare = r.fold, r.reverse, r.share
	return o
}

// readError gives an error of reading a session its exit code.
func readError(err error) error {
	if code := codeOf(err); code != exitInternal {
		return exit(code, err)
	}
	return exit(exitUnreadable, err)
}
