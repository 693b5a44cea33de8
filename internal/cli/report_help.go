package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clrprof/clrprof/internal/report"
)

// flagGroup is a line of a help that fits on a screen: flags that belong together.
type flagGroup struct{ what, flags string }

// The flags that select a part of a session.
const (
	selectedPart      = "--time A..B  --from  --to  --mark A..B  --gc A..B  --process  --thread"
	selectedFunctions = "--module  --namespace  --function  --type  --focus  --hide PATTERN  --my-code"
)

// reportFlagGroups are the flags of report, as its help names them: what each does is in the help of a view.
var reportFlagGroups = []flagGroup{
	{"rows", "--top N  --limit N  --sort COLUMN  --columns A,B  --by WHAT  --range PATTERN"},
	{"trees", "--depth N  --min PERCENT  --min-share PERCENT  --root NAME  --hot"},
	{"", "--bottom-up  --fold-recursion  --async HOW"},
	{"a part", selectedPart},
	{"", selectedFunctions},
	{"", "--filter FILE"},
	{"output", "--json  --csv  --tsv  --md  --width N  --full-names  --color WHEN"},
	{"", "--unit UNIT  --raw  --no-pager"},
	{"summary", "--all-code  --disable RULES"},
}

// reportHelp prints the help of the command, or of a view that is named.
func reportHelp(e *environment, output *outputFlags) func(*cobra.Command, []string) {
	return func(cmd *cobra.Command, _ []string) {
		output.page(e, asText)
		for _, name := range cmd.Flags().Args() {
			if view, err := report.FindView(name); err == nil {
				writeViewHelp(e.stdout, cmd, view)
				return
			}
		}
		writeReportHelp(e.stdout, cmd)
	}
}

// writeReportHelp prints what fits on a screen.
func writeReportHelp(w io.Writer, cmd *cobra.Command) {
	fmt.Fprintf(w, "%s\n\nUsage:\n  clrprof %s\n\n%s\n\nExamples:\n%s\n\nFlags (clrprof report VIEW --help says what "+
		"they do, and what columns are):\n", cmd.Long, cmd.Use, viewList(), cmd.Example)
	writeFlagGroups(w, reportFlagGroups)
}

func writeFlagGroups(w io.Writer, groups []flagGroup) {
	for _, g := range groups {
		fmt.Fprintf(w, "  %-9s%s\n", g.what, g.flags)
	}
}

// writeViewHelp prints the columns of a view, each with what it means, and the flags.
func writeViewHelp(w io.Writer, cmd *cobra.Command, view report.View) {
	fmt.Fprintf(w, "%s: %s.\n\nUsage:\n  clrprof report SESSION %s [flags]\n", view.Name, view.Short,
		strings.TrimSpace(view.Name+" "+view.Argument))
	own := view.ColumnKeys()
	timed := slices.DeleteFunc(view.TimeKeys(), func(key string) bool { return slices.Contains(own, key) })
	for _, list := range []struct {
		title string
		keys  []string
	}{{"Columns (names for --sort and --columns; also those of JSON and CSV)", own}, {"Columns with run --time", timed},
		{"Columns if asked for, with --columns or --sort", view.OptionalKeys()}} {
		if len(list.keys) == 0 {
			continue
		}
		fmt.Fprintf(w, "\n%s:\n", list.title)
		width := 0
		for _, key := range list.keys {
			width = max(width, len(key))
		}
		for _, key := range list.keys {
			fmt.Fprintf(w, "  %-*s  %s\n", width, key, report.Describe(key))
		}
	}
	fmt.Fprintf(w, "\nFlags:\n%s", cmd.LocalFlags().FlagUsagesWrapped(helpWidth))
}
