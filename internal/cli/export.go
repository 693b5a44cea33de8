package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/export/collapsed"
	"github.com/clrprof/clrprof/internal/export/parquet"
	"github.com/clrprof/clrprof/internal/export/pprof"
	"github.com/clrprof/clrprof/internal/export/speedscope"
	"github.com/clrprof/clrprof/internal/report"
	"github.com/clrprof/clrprof/internal/session"
)

// exportFormat is a format that sessions can be exported to.
type exportFormat struct {
	name, extension string
	write           func(w io.Writer, s *session.Session, sel analysis.Selection, value string) error
	oneValue        bool // write takes a value
	// file is instead of write, of formats that are no streams and have everything.
	file      func(path string, s *session.Session) error
	directory bool // file fills a directory
}

var exportFormats = []exportFormat{
	{name: "pprof", extension: ".pb.gz", write: func(w io.Writer, s *session.Session, sel analysis.Selection, _ string) error {
		return pprof.Write(w, s, sel)
	}},
	{name: "speedscope", extension: ".speedscope.json", write: speedscope.Write, oneValue: true},
	{name: "collapsed", extension: ".collapsed.txt", write: collapsed.Write, oneValue: true},
	{name: "sqlite", extension: ".sqlite", file: func(path string, s *session.Session) error { return s.WritePlain(path) }},
	{name: "parquet", extension: parquet.Extension, directory: true, file: func(path string, s *session.Session) error {
		_, err := parquet.Write(path, s)
		return err
	}},
}

// exportFlags are the flags of the export command.
type exportFlags struct {
	format, output, value string
	force                 bool
	only                  selectionFlags
}

func newExportCommand(e *environment) *cobra.Command {
	x := &exportFlags{}
	cmd := &cobra.Command{
		Use:   "export SESSION --format FORMAT [-o FILE]",
		Short: "Write a session in the format of another tool",
		Long: "Write a session in the format of another tool.\n\nFormats:\n" +
			"  pprof       for go tool pprof, speedscope, Grafana: allocations and bytes, calls, elapsed and\n" +
			"              application time, with functions, lines, and the labels type, thread and process\n" +
			"  speedscope  for https://www.speedscope.app: the same values, a profile for each\n" +
			"  collapsed   for flamegraph.pl, Pyroscope, Firefox: a line for each stack, with one value\n" +
			"  sqlite      for any SQLite tool: all tables and views of the session as docs/session.md describes\n" +
			"              them. It is ten times as large as the session, and clrprof does not read it\n" +
			"  parquet     for DuckDB, ClickHouse, pandas, Spark: a directory with a file for each table",
		Example: "  clrprof export app.clrprof --format pprof -o app.pb.gz\n" +
			"  go tool pprof -top app.pb.gz\n" +
			"  go tool pprof -top -sample_index application app.pb.gz\n" +
			"  go tool pprof -http=: -tagfocus type=System.String app.pb.gz\n" +
			"  clrprof export app.clrprof --format collapsed --value gen2_bytes -o - | flamegraph.pl > gen2.svg\n" +
			"  clrprof export app.clrprof --format sqlite && sqlite3 app.sqlite 'select * from allocations limit 9'",
		Args: arguments(1, 1, "a SESSION"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return x.run(ctx, e, args[0])
		},
	}
	f := cmd.Flags()
	f.StringVar(&x.format, "format", "", "the format: "+strings.Join(formatNames(), ", "))
	f.StringVar(&x.value, "value", "", "speedscope, collapsed: the value to write, such as bytes, gen2_bytes, elapsed, cpu "+
		"(default: all; of collapsed bytes, or elapsed with --time)")
	f.StringVarP(&x.output, "output", "o", "",
		"the file to write; - for standard output (default: the session's name with the format's extension)")
	f.BoolVarP(&x.force, "force", "f", false, "replace the file if it exists")
	x.only.add(cmd)
	return cmd
}

// run writes the file, unless ctx is done before it is there: then there is none.
func (x *exportFlags) run(ctx context.Context, e *environment, path string) error {
	chosen, err := findFormat(x.format)
	if err != nil {
		return err
	}
	if x.value != "" && !chosen.oneValue {
		return usage("the format %s has all values: --value is for speedscope and collapsed", chosen.name)
	}
	open := func(path string) (*session.Session, error) { return session.Open(path) }
	if chosen.file != nil { // all tables: also those that a recording which was cut off has not
		open = func(path string) (*session.Session, error) { return openComplete(e, path) }
	}
	s, err := open(path)
	if err != nil {
		return readError(err)
	}
	defer s.Close()
	s.Until(ctx)
	sel, err := x.only.selection(s)
	if err != nil {
		return readError(err)
	}
	if chosen.file != nil && (x.output == "-" || !sel.IsZero()) {
		return usage("the format %s is a file with everything: no filters, and no standard output", chosen.name)
	}
	notes, err := sel.Notes(s, "")
	if err != nil {
		return readError(err)
	}
	write := func(w io.Writer) error { return chosen.write(untilWriter{ctx, w}, s, sel, x.value) }
	if x.output == "-" {
		err := exported(write(e.stdout))
		if err == nil {
			tell(e, notes)
		}
		return err
	}
	output := cmp.Or(x.output, strings.TrimSuffix(path, ".clrprof")+chosen.extension)
	if chosen.file != nil {
		err = writePlace(output, x.force, chosen.directory, func() error { return chosen.file(output, s) })
	} else {
		err = writeFile(output, x.force, write)
	}
	if err != nil {
		return err
	}
	tell(e, notes) // the file may have no place for it
	_, err = fmt.Fprintln(e.stdout, output)
	return written(err)
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

// writeFile writes a file as a whole or not at all.
func writeFile(path string, force bool, write func(io.Writer) error) error {
	f, err := createOutput(path, force)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	err = write(w)
	if err == nil {
		err = w.Flush()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		os.Remove(path)
	}
	return exported(err)
}

// writePlace has a file or a directory filled by its path, as a whole or not at all. A directory may exist with
// force.
func writePlace(path string, force, directory bool, write func() error) error {
	var err error
	if directory {
		err = createDirectory(path, force)
	} else {
		var f *os.File
		if f, err = createOutput(path, force); err == nil {
			err = f.Close()
		}
	}
	if err != nil {
		return err
	}
	if err = write(); err != nil {
		os.Remove(path) // a directory only if nothing else is in it
	}
	return exported(err)
}

func createDirectory(path string, force bool) error {
	err := os.Mkdir(path, 0o777)
	if errors.Is(err, fs.ErrExist) {
		if force {
			return nil
		}
		return exit(exitUnwritable, fmt.Errorf("%s exists: use -f to write into it, or -o for another name", path))
	}
	return exit(exitUnwritable, err)
}

// exported separates errors of the session from those of the output.
func exported(err error) error {
	if err = known(err); err == nil {
		return nil
	}
	if code := codeOf(err); code != exitInternal {
		return exit(code, err)
	}
	return exit(exitUnwritable, err)
}
