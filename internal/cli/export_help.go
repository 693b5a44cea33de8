package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// formatHelp says what the formats are for: in a line, and what else there is to say of each.
var formatHelp = []struct{ names, short, more string }{
	{"pprof", "go tool pprof, speedscope, Grafana: functions, lines, all values",
		"Sample types are allocations and bytes, what happened to these objects, calls, elapsed,\n" +
			"application and CPU time. Labels are type, thread and process. go tool pprof -sample_index\n" +
			"chooses a value, -tagfocus a label."},
	{"speedscope", "https://www.speedscope.app: a profile for each value, and one for each thread",
		"A frame is a function. Browsers do not open files of more than about 100 MB: select less."},
	{"collapsed", "flamegraph.pl, inferno, Pyroscope: a line for each stack, with one value",
		"The value is bytes, or elapsed with --time, unless --value names another column."},
	{"firefox", "https://profiler.firefox.com: stacks with lines, with one value; collections",
		"A session stores amounts, not the order of calls, so the file has no order of calls."},
	{"chrome", "https://ui.perfetto.dev, chrome://tracing: the heap over time, and calls summed up",
		"A session stores amounts, not the order of calls, so the file has no order of calls. In it a\n" +
			"nanosecond stands for a byte, an object or a nanosecond."},
	{"callgrind", "callgrind_annotate, KCachegrind: functions, lines and calls, all values",
		"callgrind_annotate --inclusive=yes has the inclusive values. Calls are counted with --time alone:\n" +
			"without it calls=1 stands for any number of them."},
	{"otlp", "OpenTelemetry: an ExportProfilesServiceRequest (protobuf)",
		"It is profiles/v1development of opentelemetry-proto 1.11: each process is a resource, each\n" +
			"kind of value a profile."},
	{"sarif", "code scanning and editors: findings of rules, at their lines",
		"clrprof report SESSION rules shows the same; docs/rules.md describes each rule."},
	{"json", "programs: every view in one document",
		"docs/json.md describes it. clrprof report SESSION VIEW --json is one view."},
	{"csv, xml", "scripts that read the files of VSPerfReport: BASE_FunctionSummary.csv and so on",
		"-o is the BASE. There is a file for each kind of report that the session has, or for the kinds of\n" +
			"--summary; -o - writes one kind to standard output."},
	{"html", "any browser: the page of clrprof view as one file",
		"It needs neither clrprof nor a network. It has no filters and no SQL, which need the session.\n" +
			"Its call tree leaves out what has less than --min-share percent of the whole."},
	{"sqlite", "any SQLite tool: all tables and views of the session",
		"docs/session.md describes them. It is ten times as large as the session, and clrprof does not\n" +
			"read it."},
	{"parquet", "DuckDB, ClickHouse, pandas, Spark: a directory with a file for each table",
		"docs/session.md describes the tables, and the views that --views adds."},
}

// exportFlagGroups are the flags of export, as its help names them: what each does is in the help of a format.
var exportFlagGroups = []flagGroup{
	{"file", "-o, --output FILE (-: standard output)  -f, --force  --no-wait  --so-far"},
	{"a part", selectedPart},
	{"", selectedFunctions},
	{"", selectedCode},
	{"stacks", "--async HOW  --root FUNCTION  --by WHAT  --fold-recursion  --min-share PERCENT"},
	{"", "--merge-threads  --bottom-up  --hot"},
	{"formats", "--value NAME  --sample-types NAMES  --labels A,B  --summary KINDS  --disable RULES"},
	{"others", "--arguments WHICH  --csv-safe  --source-root DIR  --compression HOW  --views"},
}

// exportHelp prints the help of the command, or of a format that is named.
func exportHelp(e *environment, format *string) func(*cobra.Command, []string) {
	return func(cmd *cobra.Command, _ []string) {
		for _, name := range append(slices.Clone(cmd.Flags().Args()), *format) {
			if chosen, err := findFormat(name); err == nil {
				writeFormatHelp(e.stdout, cmd, chosen)
				return
			}
		}
		writeExportHelp(e.stdout, cmd)
	}
}

// writeExportHelp prints what fits on a screen.
func writeExportHelp(w io.Writer, cmd *cobra.Command) {
	fmt.Fprintf(w, "%s\n\nUsage:\n  clrprof %s\n\nFormats, and what opens them:\n", cmd.Long, cmd.Use)
	for _, f := range formatHelp {
		fmt.Fprintf(w, "  %-11s %s\n", f.names, f.short)
	}
	fmt.Fprintf(w, "\nExamples:\n%s\n\nFlags (clrprof export FORMAT --help describes the flags of a format):\n", cmd.Example)
	writeFlagGroups(w, exportFlagGroups)
}

// writeFormatHelp prints what a format is, and the flags that it has.
func writeFormatHelp(w io.Writer, cmd *cobra.Command, chosen exportFormat) {
	for _, f := range formatHelp {
		if slices.Contains(strings.Split(f.names, ", "), chosen.name) {
			fmt.Fprintf(w, "%s is for %s.\n\n%s\n", chosen.name, f.short, f.more)
		}
	}
	fmt.Fprintf(w, "\nUsage:\n  clrprof export SESSION --format %s [-o FILE] [flags]\n", chosen.name)
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Name != "format" && chosen.takes(f) {
			own.AddFlag(f)
		}
	})
	fmt.Fprintf(w, "\nFlags:\n%s", own.FlagUsagesWrapped(helpWidth))
}

// helpWidth is how wide flags are described.
const helpWidth = 100

// onlyOfTrees are flags of what has a call tree, and is no stacks.
var onlyOfTrees = []string{"bottom-up", "hot"}

// takes reports whether a format goes with a flag. What it does in some formats alone begins with their names.
func (f exportFormat) takes(flag *pflag.Flag) bool {
	of, _, found := strings.Cut(flag.Usage, ": ")
	shaped := f.stacks || f.hasTree()
	switch names := strings.Split(of, ", "); {
	case flag.Name == "min-share":
		return shaped || f.name == "html"
	case strings.HasPrefix(of, "stacks and call trees"), flag.Name == "merge-threads":
		return shaped
	case slices.Contains(onlyOfTrees, flag.Name):
		return f.hasTree()
	case found && slices.ContainsFunc(names, func(name string) bool { _, err := findFormat(name); return err == nil }):
		return slices.Contains(names, f.name)
	case flag.Name == "output", flag.Name == "force", flag.Name == "help", flag.Name == "no-wait",
		flag.Name == "so-far":
		return true
	}
	return !f.isWhole() // a selection: a file has everything
}
