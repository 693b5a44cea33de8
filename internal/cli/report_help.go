package cli

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/clrprof/clrprof/internal/present/report"
	"github.com/clrprof/clrprof/internal/present/report/text"
)

// flagGroup is a line of a help that fits on a screen: flags that belong together.
type flagGroup struct{ what, flags string }

// The flags that select a part of a session.
const (
	selectedPart      = "--time A..B  --from  --to  --mark A..B  --gc A..B  --process  --thread"
	selectedFunctions = "--module  --namespace  --function  --type  --focus  --hide PATTERN"
	selectedCode      = "--filter FILE  --my-code  --my-code-callees N  --my-code-callers N"
)

// reportFlagGroups are the flags of report, as its help names them: what each does is in another help.
var reportFlagGroups = []flagGroup{
	{"rows", "--top N  --limit N  --sort COLUMN  --columns A,B  --by WHAT  --range PATTERN"},
	{"trees", "--depth N  --min PERCENT  --min-share PERCENT  --root NAME  --hot"},
	{"", "--bottom-up  --fold-recursion  --async HOW"},
	{"a part", selectedPart},
	{"", selectedFunctions},
	{"", selectedCode},
	{"output", "--json  --csv  --csv-safe  --tsv  --md  --width N  --full-names  --color WHEN"},
	{"", "--unit UNIT  --raw  --no-pager  --no-wait  --so-far"},
	{"summary", "--all-code  --disable RULES"},
}

// reportHelp prints the help of the command, or of a view that is named.
func reportHelp(e *environment, output *outputFlags) func(*cobra.Command, []string) {
	return func(cmd *cobra.Command, _ []string) {
		output.page(e, asText)
		for _, name := range cmd.Flags().Args() {
			if name == topicFlags {
				writeCommonHelp(e.stdout, cmd)
				return
			}
			if view, err := report.FindView(name); err == nil {
				if slices.Contains(cmd.Flags().Args(), topicAll) {
					writeWholeViewHelp(e.stdout, cmd, view)
				} else {
					writeViewHelp(e.stdout, cmd, view)
				}
				return
			}
		}
		writeReportHelp(e.stdout, cmd)
	}
}

// writeReportHelp prints what fits on a screen.
func writeReportHelp(w io.Writer, cmd *cobra.Command) {
	fmt.Fprintf(w, "%s\n\nUsage:\n  clrprof %s\n\n%s\n\nExamples:\n%s\n\nFlags (clrprof report flags --help describes "+
		"them, clrprof report VIEW --help the flags of a view):\n", cmd.Long, cmd.Use, viewList(), cmd.Example)
	writeFlagGroups(w, reportFlagGroups)
}

func writeFlagGroups(w io.Writer, groups []flagGroup) {
	for _, g := range groups {
		fmt.Fprintf(w, "  %-9s%s\n", g.what, g.flags)
	}
}

// ofView reports whether a flag is for some views, and whether for this one. What a flag is for alone is said before a
// colon where its description begins.
func ofView(f *pflag.Flag, view report.View) (special, here bool) {
	switch f.Name {
	case "by":
		return true, view.HasBy()
	case "depth", "min":
		return true, view.IsTree() || view.HasBy()
	}
	of, _, found := strings.Cut(f.Usage, ": ")
	if !found {
		return false, false
	}
	views := strings.Split(of, ", ")
	isView := func(name string) bool {
		_, err := report.FindView(name)
		return err == nil || name == "summary"
	}
	return slices.ContainsFunc(views, isView), slices.Contains(views, view.Name)
}

// writeCommonHelp prints what the flags do that all views have, and those of the summary.
func writeCommonHelp(w io.Writer, cmd *cobra.Command) {
	common := pflag.NewFlagSet("", pflag.ContinueOnError)
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if special, summary := ofView(f, report.View{Name: "summary"}); !special || summary {
			common.AddFlag(f)
		}
	})
	fmt.Fprintf(w, "Flags of all views, and of the summary; clrprof report VIEW --help lists the flags of one "+
		"view.\n\n%s",
		common.FlagUsagesWrapped(helpWidth))
}

// shares are the keys of which a list also has the share of the whole.
func shares(keys []string) map[string]bool {
	out := map[string]bool{}
	for _, key := range keys {
		if base, isShare := strings.CutSuffix(key, "_percent"); isShare && slices.Contains(keys, base) {
			out[base] = true
		}
	}
	return out
}

// writeColumns prints columns, each with what it means; a share of the whole stands beside its value.
func writeColumns(w io.Writer, keys []string) {
	also := shares(keys)
	var names []string
	width := 0
	for _, key := range keys {
		name := key
		if also[key] {
			name += " %"
		}
		names, width = append(names, name), max(width, len(name))
	}
	for i, key := range keys {
		if base, isShare := strings.CutSuffix(key, "_percent"); isShare && also[base] {
			continue
		}
		said := strings.Split(text.Wrap(report.Describe(key), helpWidth-width-len("    ")), "\n")
		fmt.Fprintf(w, "  %-*s  %s\n", width, names[i], said[0])
		for _, more := range said[1:] {
			fmt.Fprintf(w, "  %-*s  %s\n", width, "", more)
		}
	}
}

// screen is how many lines a help may have that fits on one.
const screen = 50

// topicAll, as an argument beside --help, asks for all that there is to say of a view.
const topicAll = "all"

// writeViewHelp prints what fits on a screen of the help of a view: all of it, if that does, else the names of columns
// that are there if asked for, and if need be of the others.
func writeViewHelp(w io.Writer, cmd *cobra.Command, view report.View) {
	var help bytes.Buffer
	for _, write := range []func(){
		func() { writeWholeViewHelp(&help, cmd, view) },
		func() { writeShortViewHelp(&help, cmd, view, writeColumns) },
		func() { writeShortViewHelp(&help, cmd, view, writeColumnNames) },
	} {
		help.Reset()
		if write(); bytes.Count(help.Bytes(), []byte("\n")) <= screen {
			break
		}
	}
	fmt.Fprint(w, help.String())
}

// The titles of the columns of a view.
const (
	ownColumns    = "Columns (names for --sort and --columns, and in JSON and CSV)"
	timedColumns  = "Columns with run --time"
	askedColumns  = "Columns on request, with --columns or --sort"
	shareOfColumn = "\nA column with % has its share of the whole beside it: bytes and bytes_percent.\n"
)

// viewColumns are the keys of the columns of a view: its own, those of times, and those that are there if asked for.
func viewColumns(view report.View) (own, timed, asked []string) {
	own = view.ColumnKeys()
	timed = slices.DeleteFunc(view.TimeKeys(), func(key string) bool { return slices.Contains(own, key) })
	return own, timed, view.OptionalKeys()
}

// writeShortViewHelp prints what the columns of a view are, as write does, and the names of those that are there if
// asked for.
func writeShortViewHelp(w io.Writer, cmd *cobra.Command, view report.View, write func(io.Writer, []string)) {
	writeViewUsage(w, view)
	own, timed, asked := viewColumns(view)
	fmt.Fprintf(w, "\n%s:\n", ownColumns)
	write(w, own)
	if len(timed) > 0 {
		once, single := withoutSingle(timed)
		title := timedColumns
		if single {
			title += "; with avg_, min_ or max_ in front of a time, for single calls"
		}
		fmt.Fprintf(w, "\n%s:\n", title)
		writeColumnNames(w, once)
	}
	if len(asked) > 0 {
		fmt.Fprintf(w, "\n%s:\n", askedColumns)
		writeColumnNames(w, asked)
	}
	fmt.Fprint(w, shareOfColumn)
	writeSpecialFlags(w, cmd, view)
	fmt.Fprintf(w, "\nWhat each column means: clrprof report %s --help %s\n"+
		"Flags of all views (--top, --sort, --process, --json, …): clrprof report flags --help\n", view.Name, topicAll)
}

func writeViewUsage(w io.Writer, view report.View) {
	fmt.Fprintf(w, "%s: %s.\n\nUsage:\n  clrprof report SESSION %s [flags]\n", view.Name, view.Short,
		strings.TrimSpace(view.Name+" "+view.Argument))
}

func writeSpecialFlags(w io.Writer, cmd *cobra.Command, view report.View) {
	special := pflag.NewFlagSet("", pflag.ContinueOnError)
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if _, here := ofView(f, view); here {
			special.AddFlag(f)
		}
	})
	if special.HasFlags() {
		fmt.Fprintf(w, "\nFlags:\n%s", special.FlagUsagesWrapped(helpWidth))
	}
}

// writeWholeViewHelp prints the columns of a view, each with what it means, and the flags that it has and not all views
// have.
func writeWholeViewHelp(w io.Writer, cmd *cobra.Command, view report.View) {
	writeViewUsage(w, view)
	own, timed, asked := viewColumns(view)
	for _, list := range []struct {
		title string
		keys  []string
	}{{ownColumns, own}, {timedColumns, timed}, {askedColumns, asked}} {
		if len(list.keys) == 0 {
			continue
		}
		fmt.Fprintf(w, "\n%s:\n", list.title)
		writeColumns(w, list.keys)
	}
	fmt.Fprint(w, shareOfColumn)
	writeSpecialFlags(w, cmd, view)
	fmt.Fprint(w, "\nFlags of all views (--top, --sort, --process, --json, …): clrprof report flags --help\n")
}
