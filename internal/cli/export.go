package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/export/callgrind"
	"github.com/clrprof/clrprof/internal/export/chrome"
	"github.com/clrprof/clrprof/internal/export/collapsed"
	"github.com/clrprof/clrprof/internal/export/document"
	"github.com/clrprof/clrprof/internal/export/firefox"
	"github.com/clrprof/clrprof/internal/export/otlp"
	"github.com/clrprof/clrprof/internal/export/parquet"
	"github.com/clrprof/clrprof/internal/export/pprof"
	"github.com/clrprof/clrprof/internal/export/sarif"
	"github.com/clrprof/clrprof/internal/export/speedscope"
	"github.com/clrprof/clrprof/internal/export/vsperf"
	"github.com/clrprof/clrprof/internal/present/report"
	"github.com/clrprof/clrprof/internal/present/web"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/session/secrets"
)

// exportFormat is a format that sessions can be exported to.
type exportFormat struct {
	name, extension string
	write           func(w io.Writer, s *session.Session, o exportOptions) error
	oneValue        bool // write takes a value
	oneOnly         bool // and writes no more than one
	stacks          bool // it is made of stacks
	// file is instead of write, of formats that are no streams and have everything.
	file func(path string, s *session.Session) error
	// files is file of a format that is a directory: create makes a file in it.
	files   func(create func(name string) (io.WriteCloser, error), s *session.Session, o exportOptions) error
	reports vsperf.Format // a file for each kind of report
}

// exportOptions say what is written.
type exportOptions struct {
	selection analysis.Selection
	value     string // "": the default, or all
	pprof     pprof.Options
	minShare  float64 // percent; of html
	shape     *shapeFlags
	disabled  []string // ids of rules; of sarif
	// sourceRoot is the root of the sources, of sarif; "": the current directory.
	sourceRoot string
	parquet    parquet.Options
}

var exportFormats = []exportFormat{
	{name: "pprof", extension: ".pb.gz", stacks: true,
		write: func(w io.Writer, s *session.Session, o exportOptions) error {
			return pprof.Write(w, s, o.selection, o.pprof)
		}},
	{name: "speedscope", extension: ".speedscope.json", write: valued(speedscope.Write), oneValue: true, stacks: true},
	{name: "collapsed", extension: ".collapsed.txt", write: valued(collapsed.Write), oneValue: true, stacks: true,
		oneOnly: true},
	{name: "firefox", extension: ".firefox.json", write: valued(firefox.Write), oneValue: true, stacks: true,
		oneOnly: true},
	{name: "chrome", extension: ".trace.json", write: valued(chrome.Write), oneValue: true, stacks: true,
		oneOnly: true},
	{name: "callgrind", extension: ".callgrind", stacks: true,
		write: func(w io.Writer, s *session.Session, o exportOptions) error {
			return callgrind.Write(w, s, o.selection, Version)
		}},
	{name: "otlp", extension: ".otlp.pb", stacks: true,
		write: func(w io.Writer, s *session.Session, o exportOptions) error {
			return otlp.Write(w, s, o.selection, Version)
		}},
	{name: "json", extension: ".views.json", write: func(w io.Writer, s *session.Session, o exportOptions) error {
		return document.Write(w, s, o.selection, document.Options{Tree: o.shape.tree(), Threads: o.shape.threads()})
	}},
	{name: "sarif", extension: ".sarif", write: func(w io.Writer, s *session.Session, o exportOptions) error {
		return sarif.Write(w, s, sarif.Options{Selection: o.selection, Disabled: o.disabled, Version: Version,
			Root: absolute(o.sourceRoot)})
	}},
	{name: "csv", reports: vsperf.CSV},
	{name: "xml", reports: vsperf.XML},
	{name: "html", extension: ".html", write: func(w io.Writer, s *session.Session, o exportOptions) error {
		return web.Write(w, s, o.selection, o.minShare)
	}},
	{name: "sqlite", extension: ".sqlite", file: func(path string, s *session.Session) error {
		return s.WritePlain(path)
	}},
	{name: "parquet", extension: parquet.Extension,
		files: func(create func(string) (io.WriteCloser, error), s *session.Session, o exportOptions) error {
			return parquet.Write(create, s, o.parquet)
		}},
}

// valued is the writer of a format that takes one value.
func valued(write func(io.Writer, *session.Session, analysis.Selection, string) error,
) func(io.Writer, *session.Session, exportOptions) error {
	return func(w io.Writer, s *session.Session, o exportOptions) error { return write(w, s, o.selection, o.value) }
}

// offlineShare is the least share, in percent, of what a page has in its call tree, unless another one is given.
const offlineShare = 0.1

// exportFlags are the flags of the export command.
type exportFlags struct {
	format, output, value, sampleTypes string
	parquet                            parquet.Options
	reports, labels, disabled          []string
	sourceRoot                         string
	force                              bool
	only                               selectionFlags
	unfinished                         unfinishedFlags
	shape                              shapeFlags
	minShareGiven                      bool
	arguments                          secrets.Keep // that are exported
	safeCSV                            bool
	written                            int64 // bytes, of a format with write
}

func newExportCommand(e *environment) *cobra.Command {
	x := &exportFlags{}
	cmd := &cobra.Command{
		Use:   "export SESSION --format FORMAT [-o FILE]",
		Short: "Write a session in the format of another tool",
		Long:  "Write a session in the format of another tool.",
		Example: "  clrprof export app.clrprof --format pprof -o app.pb.gz\n" +
			"  go tool pprof -http=: -tagfocus type=string app.pb.gz\n" +
			"  clrprof export app.clrprof --format collapsed --value gen2_bytes -o - | flamegraph.pl > gen2.svg\n" +
			"  clrprof export app.clrprof --format sqlite && sqlite3 app.sqlite 'select * from allocations'",
		Args: arguments(1, 1, "a SESSION"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			// Standard output leaves no file to remove: there a signal ends clrprof, even while it waits to write.
			if x.output != "-" {
				var stop context.CancelFunc
				ctx, stop = endAtSignal(ctx)
				defer stop()
			}
			x.minShareGiven = cmd.Flags().Changed("min-share")
			return x.run(ctx, e, args[0])
		},
	}
	x.flags(cmd)
	cmd.SetHelpFunc(exportHelp(e, &x.format))
	return cmd
}

// flags adds the flags to a command.
func (x *exportFlags) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&x.format, "format", "", "the format: "+strings.Join(formatNames(), ", "))
	f.StringVar(&x.value, "value", "",
		"speedscope, collapsed, firefox, chrome: the value to write, such as bytes, gen2_bytes, elapsed, cpu "+
			"(default: for speedscope all, for the others bytes, or elapsed with --time)")
	f.StringVar(&x.sampleTypes, "sample-types", string(pprof.Clrprof), "pprof: how values are named: clrprof "+
		"(bytes), dotnet (alloc_size), as in other profilers of .NET, or go (alloc_space), as in Go's profiles")
	f.StringSliceVar(&x.labels, "labels", nil, "pprof: the labels of samples, separated by commas: "+
		strings.Join(pprof.Labels(), ", ")+"; or none (default: all)")
	f.StringSliceVar(&x.disabled, "disable", nil, "sarif: rules that are not applied, by id, separated by commas")
	f.StringVar(&x.sourceRoot, "source-root", "", "sarif: the root of the repository, to which paths are relative "+
		"(default: the current directory)")
	f.StringVar(&x.parquet.Compression, "compression", "", "parquet: how pages are compressed: "+
		strings.Join(parquet.Compressions(), ", ")+" (default: the first)")
	f.BoolVar(&x.parquet.Views, "views", false, "parquet: also a file for each view, with names instead of numbers")
	f.StringVarP(&x.output, "output", "o", "",
		"the file to write; - for standard output (default: the session's name with the format's extension)")
	f.StringSliceVar(&x.reports, "summary", []string{allReports},
		"csv, xml: the kinds of reports, separated by commas: "+
			strings.Join(reportNames(), ", "))
	f.BoolVarP(&x.force, "force", "f", false, "replace the file if it exists")
	f.BoolVar(&x.safeCSV, "csv-safe", false, "csv: for a spreadsheet, with an apostrophe before texts that it would run")
	addArguments(f, &x.arguments)
	x.shape.add(cmd)
	x.only.add(cmd)
	x.unfinished.add(cmd)
}

// run writes the file, unless ctx is done before it is there: then there is none.
func (x *exportFlags) run(ctx context.Context, e *environment, path string) error {
	chosen, err := findFormat(x.format)
	if err != nil {
		return err
	}
	if err := x.check(chosen); err != nil {
		return err
	}
	asked, err := x.pprofOptions(chosen)
	if err != nil {
		return err
	}
	kinds, err := x.kinds(chosen)
	if err != nil {
		return err
	}
	open := x.unfinished.open
	if chosen.isWhole() { // all tables: also those that a recording which was cut off has not
		open = x.unfinished.openComplete
	}
	s, err := open(ctx, e, path)
	if err != nil {
		return readError(err)
	}
	defer func() { s.Close() }()
	s.Until(ctx)
	kept, err := s.KeepArguments(x.arguments.Of)
	if err != nil {
		return readError(err)
	}
	if kept != s { // a copy
		s.Close()
		s = kept
		s.Until(ctx)
	}
	sel, err := x.chosen(ctx, s)
	if err != nil {
		return readError(err)
	}
	if chosen.stacks {
		if sel, err = x.shape.onSamples(s, sel); err != nil {
			return readError(known(err))
		}
	}
	if chosen.isWhole() && (x.output == "-" || !sel.IsZero()) {
		return usage("the format %s is one file with everything: it takes no filters and does not write to "+
			"standard output", chosen.name)
	}
	notes, err := x.notes(s, sel, chosen)
	if err != nil {
		return readError(known(err))
	}
	o := x.options(sel, asked)
	switch {
	case kinds != nil:
		err = x.writeReports(ctx, e, s, sel, kinds, chosen.reports)
	case x.output == "-":
		err = exported(chosen.write(x.counted(untilWriter{ctx, e.stdout}), s, o))
	default:
		err = x.writeOutput(ctx, e, s, chosen, o)
	}
	if err == nil {
		tell(e, append(notes, x.nothing(chosen)...)) // the file may have no place for it
	}
	return err
}

// options are how the formats are written.
func (x *exportFlags) options(sel analysis.Selection, asked pprof.Options) exportOptions {
	o := exportOptions{sel, x.value, asked, offlineShare, &x.shape, x.disabled, x.sourceRoot, x.parquet}
	if x.minShareGiven {
		o.minShare = x.shape.share
	}
	return o
}

// nothing says why a file is empty.
func (x *exportFlags) nothing(chosen exportFormat) []string {
	if chosen.write == nil || x.written > 0 {
		return nil
	}
	return []string{fmt.Sprintf("Nothing that is selected has any %s: there are no stacks.",
		cmp.Or(x.value, "of the value"))}
}

// counted is a writer that counts what is written: where nothing is, the file cannot say why.
func (x *exportFlags) counted(w io.Writer) io.Writer { return countedWriter{w, &x.written} }

// countedWriter counts bytes.
type countedWriter struct {
	io.Writer
	written *int64
}

// Write counts what was written, also of a part.
func (w countedWriter) Write(b []byte) (int, error) {
	n, err := w.Writer.Write(b)
	*w.written += int64(n)
	return n, err
}

// chosen is what is selected of the session. The file of --filter can be a pipe that nobody closes.
func (x *exportFlags) chosen(ctx context.Context, s *session.Session) (analysis.Selection, error) {
	if err := x.only.readClauses(ctx); err != nil {
		return analysis.Selection{}, err
	}
	return x.only.selection(s)
}

// notes say what is written: the file may have no place for it.
func (x *exportFlags) notes(s *session.Session, sel analysis.Selection, chosen exportFormat) ([]string, error) {
	notes, err := sel.Notes(s, "")
	if err != nil {
		return nil, err
	}
	if sampled, err := s.IsSampled(); err != nil || sampled {
		if err != nil {
			return nil, err
		}
		notes = append(notes, analysis.EstimatesNote)
	}
	if sel.Shape != nil {
		notes = append(notes, sel.Shape.Notes...)
	}
	if chosen.hasTree() {
		said, err := x.shape.treeNotes(s, sel)
		if err != nil {
			return nil, err
		}
		notes = append(notes, said...)
	}
	if len(x.disabled) > 0 {
		notes = append(notes, fmt.Sprintf("Disabled: %s.", strings.Join(x.disabled, ", ")))
	}
	return notes, nil
}

// isWhole reports whether the format has everything.
func (f exportFormat) isWhole() bool { return f.file != nil || f.files != nil }

// hasTree reports whether the call tree is in the format, as a report or a view.
func (f exportFormat) hasTree() bool { return f.reports != "" || f.name == "json" }

// check refuses values of flags, and flags that the format has no use for.
func (x *exportFlags) check(chosen exportFormat) error {
	if err := x.shape.check(chosen); err != nil {
		return err
	}
	if x.value != "" && !chosen.oneValue {
		return usage("the format %s has all values: --value is for speedscope, collapsed, firefox and chrome",
			chosen.name)
	}
	if x.parquet != (parquet.Options{}) && chosen.name != "parquet" {
		return usage("--compression and --views are for the format parquet")
	}
	if how := x.parquet.Compression; how != "" && !slices.Contains(parquet.Compressions(), how) {
		return exit(exitUsage, report.Unknown("--compression", how, parquet.Compressions()))
	}
	if len(x.disabled) > 0 && chosen.name != "sarif" {
		return usage("--disable is for the format sarif")
	}
	if x.sourceRoot != "" && chosen.name != "sarif" {
		return usage("--source-root is for the format sarif")
	}
	return checkRules(x.disabled)
}

// writeOutput writes the file and prints its name.
func (x *exportFlags) writeOutput(ctx context.Context, e *environment, s *session.Session, chosen exportFormat,
	o exportOptions) error {
	output := cmp.Or(x.output, strings.TrimSuffix(s.Path(), ".clrprof")+chosen.extension)
	var err error
	switch {
	case chosen.files != nil:
		err = writeDirectory(output, x.force, func(create func(string) (io.WriteCloser, error)) error {
			return chosen.files(create, s, o)
		})
	case chosen.file != nil:
		err = writePlace(output, x.force, func(path string) error { return chosen.file(path, s) })
	default:
		err = writeFile(ctx, output, x.force, func(w io.Writer) error {
			return chosen.write(x.counted(untilWriter{ctx, w}), s, o)
		})
	}
	if err != nil {
		return err
	}
	if _, err = fmt.Fprintln(e.stdout, output); err != nil {
		return written(err)
	}
	if chosen.stacks {
		tell(e, x.sizeNotes(output, largeStacks))
	}
	return nil
}

// largeStacks is from which size of a file on it is said how it becomes smaller, in bytes: viewers are slow with larger
// ones, or refuse them.
const largeStacks = 200_000_000

// sizeNotes says why a file of stacks is larger than a limit: where a recursion is thousands of levels deep, so is the
// stack of each sample, and many formats write it out for each.
func (x *exportFlags) sizeNotes(path string, limit int64) []string {
	made, err := os.Stat(path)
	if err != nil || made.Size() <= limit {
		return nil
	}
	smaller := "--fold-recursion or --min-share makes"
	if x.shape.fold {
		smaller = "--min-share makes"
	}
	return []string{fmt.Sprintf("The file has %s, because it holds whole stacks: %s it smaller.",
		quantity.Bytes(made.Size()), smaller)}
}

// noLabels is the value of --labels for none.
const noLabels = "none"

// pprofOptions compiles the flags of the format pprof, and refuses them for others.
func (x *exportFlags) pprofOptions(chosen exportFormat) (pprof.Options, error) {
	o := pprof.Options{Names: pprof.Names(x.sampleTypes)}
	if chosen.name != "pprof" && (x.sampleTypes != string(pprof.Clrprof) || x.labels != nil) {
		return o, usage("--sample-types and --labels are for the format pprof")
	}
	if all := pprof.AllNames(); !slices.Contains(all, o.Names) {
		var names []string
		for _, n := range all {
			names = append(names, string(n))
		}
		return o, exit(exitUsage, report.Unknown("--sample-types", x.sampleTypes, names))
	}
	if slices.Equal(x.labels, []string{noLabels}) {
		o.Labels = []string{}
		return o, nil
	}
	for _, label := range x.labels {
		if !slices.Contains(pprof.Labels(), label) {
			return o, exit(exitUsage, report.Unknown("--labels", label, append(pprof.Labels(), noLabels)))
		}
		o.Labels = append(o.Labels, label)
	}
	return o, nil
}

// untilWriter writes until a context is done.
type untilWriter struct {
	ctx context.Context
	io.Writer
}

// Write returns the context's error once it is done.
func (w untilWriter) Write(b []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	return w.Writer.Write(b)
}

func formatNames() []string {
	var out []string
	for _, f := range exportFormats {
		out = append(out, f.name)
	}
	return out
}

func findFormat(name string) (exportFormat, error) {
	for _, f := range exportFormats {
		if f.name == name {
			return f, nil
		}
	}
	names := formatNames()
	if name == "" {
		return exportFormat{}, usage("export needs --format, one of: %s", strings.Join(names, ", "))
	}
	return exportFormat{}, exit(exitUsage, report.Unknown("format", name, names))
}
