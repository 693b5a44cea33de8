// Package cli is the command line of clrprof: flags, help, exit codes. Each command reads
// its arguments, calls the packages that do the work, and prints what they return;
// docs/cli.md describes them.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/clrprof/clrprof/internal/present/report"
	"github.com/clrprof/clrprof/internal/present/report/encode"
	"github.com/clrprof/clrprof/internal/present/report/text"
)

// environment is what a command sees of the world.
type environment struct {
	args           []string // of clrprof, without its name
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
	pager          *pager // nil: what is printed goes to stdout
}

// Main runs clrprof with args (without the program's name) and returns its exit code.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) (code int) {
	defer func() {
		if r := recover(); r != nil { // one line for the user; the stack is for us
			code = complain(stderr,
				exit(exitInternal,
					fmt.Errorf("internal error: %v: please report it, with the output of CLRPROF_TRACE=1", r)))
			if os.Getenv("CLRPROF_TRACE") != "" {
				fmt.Fprintf(stderr, "%s", debug.Stack())
			}
		}
	}()
	e := &environment{args: args, stdin: stdin, stdout: stdout, stderr: stderr, getenv: os.Getenv}
	root := newRoot(e)
	root.SetArgs(withReport(root, args))
	err := checkTopic(root, args)
	if err == nil {
		err = root.ExecuteContext(context.Background())
	}
	if ended := e.pager.finish(); err == nil {
		err = ended
	}
	if err != nil {
		return complain(stderr, err)
	}
	return exitOK
}

// shells are those that there are completions for.
var shells = []string{"bash", "fish", "powershell", "zsh"}

// checkTopic refuses a command that help, and a shell that completion does not know: the library prints another help.
func checkTopic(root *cobra.Command, args []string) error {
	if len(args) < 2 || strings.HasPrefix(args[1], "-") {
		return nil
	}
	known, what := shells, "shell"
	switch args[0] {
	case "help":
		known, what = commandNames(root), "command"
	case "completion":
	default:
		return nil
	}
	if slices.Contains(known, args[1]) {
		return nil
	}
	return exit(exitUsage, report.Unknown(what, args[1], known))
}

// withReport puts the command in front of a session: `clrprof app.clrprof` is `clrprof report app.clrprof`.
func withReport(root *cobra.Command, args []string) []string {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		return args
	}
	if found, _, err := root.Find(args[:1]); err == nil && found != root {
		return args
	}
	if strings.HasSuffix(args[0], ".clrprof") || isFile(args[0]) {
		return append([]string{"report"}, args...)
	}
	return args
}

// flagError says what is wrong with a flag. The library gives Go's own words for values that it cannot read.
func flagError(err error) string {
	var invalid *pflag.InvalidValueError
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() != "" {
		return "unknown flag: -" + unknown.GetSpecifiedShortnames()
	}
	if !errors.As(err, &invalid) {
		return err.Error()
	}
	flag, wanted := invalid.GetFlag(), ""
	switch flag.Value.Type() {
	case "int", "int64", "uint":
		wanted = "a whole number"
	case "float64":
		wanted = "a number"
	case "duration":
		wanted = "a time with a unit, such as 1.5s or 2m"
	case "bool":
		wanted = "true or false"
	default:
		return err.Error()
	}
	return fmt.Sprintf("--%s %q: want %s", flag.Name, invalid.GetValue(), wanted)
}

// Commands returns the commands of clrprof, for those who describe them elsewhere: the pages of the manual.
func Commands() *cobra.Command {
	return newRoot(&environment{stdin: strings.NewReader(""), stdout: io.Discard, stderr: io.Discard,
		getenv: os.Getenv})
}

func newRoot(e *environment) *cobra.Command {
	root := &cobra.Command{
		Use:   "clrprof",
		Short: "An exact profiler for .NET on Linux: allocations, lifetimes, calls and times",
		Long: "clrprof counts every allocation of a .NET program, with its type, size, thread, stack and\n" +
			"lifetime, or every call and its time. It shows which functions, lines and types these are.",
		Example: "  clrprof run -- dotnet app.dll\n" +
			"  clrprof run --time -- dotnet app.dll\n" +
			"  clrprof report app.1234.20260102-030405.clrprof\n" +
			"  clrprof report app.1234.20260102-030405.clrprof callers Parser.Parse",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return exit(exitUsage, report.Unknown("command", args[0], commandNames(cmd)))
		},
	}
	root.SetIn(e.stdin)
	root.SetOut(e.stdout)
	root.SetErr(e.stderr)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage("%s: see %s --help", flagError(err), cmd.CommandPath())
	})
	root.SetUsageFunc(printUsage)
	version := root.Flags().BoolP("version", "v", false, "print clrprof's version")
	root.RunE = func(cmd *cobra.Command, _ []string) error {
		if *version {
			_, err := fmt.Fprintf(e.stdout, "clrprof %s\n", Version)
			return err
		}
		return cmd.Help()
	}
	root.AddCommand(newRunCommand(e), newAttachCommand(e), newEnvCommand(e), newTopCommand(e), newListCommand(e),
		newRecoverCommand(e), newImportCommand(e), newReportCommand(e),
		newViewCommand(e), newDiffCommand(e), newExportCommand(e), newRedactCommand(e), newBudgetCommand(e),
		newSQLCommand(e),
		newCheckCommand(e), newVersionCommand(e))
	root.AddCommand(newMCPCommand(e), newDraftCommand(e), newCountersCommand(e), newCtlCommand(e), newPsCommand(e),
		newDoctorCommand(e))
	return root
}

func commandNames(root *cobra.Command) []string {
	names := []string{"help", "completion"} // the library adds them later
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// arguments checks the number of arguments; names are those that are missing when there are too few.
func arguments(least, most int, names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return usage("%s needs %s: see %s --help", ownPath(cmd), strings.Join(names[len(args):least], " and "),
				cmd.CommandPath())
		case len(args) > most:
			return usage("%s takes no argument %q: see %s --help", ownPath(cmd), args[most], cmd.CommandPath())
		}
		return nil
	}
}

// ownPath is what a command is called below clrprof, which errors begin with anyway.
func ownPath(cmd *cobra.Command) string {
	return strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
}

// outputFlags are the flags of commands that print tables.
type outputFlags struct {
	json, csv, tsv bool
	safeCSV        bool
	color          string
	width          int
	fullNames      bool
	noPager        bool
}

func (o *outputFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&o.json, "json", false, "print JSON: an array with one object for each row")
	f.BoolVar(&o.csv, "csv", false, "print CSV (RFC 4180), with the column keys in the first line")
	f.BoolVar(&o.safeCSV, "csv-safe", false,
		"as --csv, for a spreadsheet: a text that it would run as a formula has an apostrophe before it")
	f.BoolVar(&o.tsv, "tsv", false, "print tab-separated values, with the column keys in the first line")
	f.StringVar(&o.color, "color", "auto", "colours: auto (in a terminal, unless NO_COLOR is set), always, never")
	f.IntVar(&o.width, "width", 0, "width of text, in columns (default: the terminal's; unlimited without one)")
	f.BoolVar(&o.noPager, "no-pager", false,
		"print everything at once, also in a terminal; by default $PAGER, or less, shows text screen by screen")
	f.BoolVar(&o.fullNames, "full-names", false, "print functions and types with their namespaces in text too")
}

// choose returns the format, and how text is laid out.
func (o *outputFlags) choose(e *environment) (encode.Format, text.Options, error) {
	format, err := o.format()
	if err != nil {
		return format, text.Options{}, err
	}
	layout, err := o.text(e)
	if err == nil {
		o.page(e, format)
	}
	return format, layout, err
}

func (o *outputFlags) format() (encode.Format, error) {
	chosen, format := 0, asText
	for _, c := range []struct {
		set    bool
		format encode.Format
	}{{o.json, encode.JSON}, {o.csv && !o.safeCSV, encode.CSV}, {o.safeCSV, encode.SafeCSV}, {o.tsv, encode.TSV}} {
		if c.set {
			chosen++
			format = c.format
		}
	}
	if chosen > 1 {
		return format, usage("--json, --csv and --tsv exclude each other")
	}
	return format, nil
}

// text decides how text is laid out on the output.
func (o *outputFlags) text(e *environment) (text.Options, error) {
	out := text.Options{Width: o.width, FullNames: o.fullNames}
	f, isFile := e.stdout.(*os.File)
	terminal := isFile && term.IsTerminal(int(f.Fd()))
	if o.width < 0 {
		return out, usage("--width %d is negative", o.width)
	}
	if o.width == 0 && terminal {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			out.Width = width
		}
	}
	switch o.color {
	case "auto":
		out.Color = terminal && e.getenv("NO_COLOR") == "" && e.getenv("TERM") != "dumb"
	case "always":
		out.Color = true
	case "never":
	default:
		return out, exit(exitUsage, report.Unknown("--color", o.color, []string{"auto", "always", "never"}))
	}
	return out, nil
}

// written gives an error of writing the output its exit code.
func written(err error) error {
	var coded *exitError
	if err == nil || errors.As(err, &coded) {
		return err
	}
	return exit(exitUnwritable, fmt.Errorf("writing the output: %w", err))
}
