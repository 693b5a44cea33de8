package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/export/parquet"
	"github.com/clrprof/clrprof/internal/export/pprof"
	"github.com/clrprof/clrprof/internal/report"
	"github.com/clrprof/clrprof/internal/session"
)

// exportFormat is a format that sessions can be exported to.
type exportFormat struct {
	name, extension string
	write           func(io.Writer, *session.Session, analysis.Selection) error
	file            func(path string, s *session.Session) error // instead of write, of formats that are no streams and have everything
	directory       bool                                        // file fills a directory
}

var exportFormats = []exportFormat{
	{name: "pprof", extension: ".pb.gz", write: pprof.Write},
	{name: "sqlite", extension: ".sqlite", file: func(path string, s *session.Session) error { return s.WritePlain(path) }},
	{name: "parquet", extension: parquet.Extension, directory: true, file: func(path string, s *session.Session) error {
		_, err := parquet.Write(path, s)
		return err
	}},
}

func newExportCommand(e *environment) *cobra.Command {
	var format, output string
	var force bool
	var only selectionFlags
	cmd := &cobra.Command{
		Use:   "export SESSION --format FORMAT [-o FILE]",
		Short: "Write a session in the format of another tool",
		Long: "Write a session in the format of another tool.\n\nFormats:\n" +
			"  pprof   for go tool pprof, speedscope, Grafana: allocations and bytes, calls, elapsed and\n" +
			"          application time, with functions, lines, and the labels type, thread and process\n" +
			"  sqlite  for any SQLite tool: all tables and views of the session as docs/session.md describes them.\n" +
			"          It is ten times as large as the session, and clrprof does not read it\n" +
			"  parquet for DuckDB, ClickHouse, pandas, Spark: a directory with a file for each table of the session",
		Example: "  clrprof export app.clrprof --format pprof -o app.pb.gz\n" +
			"  go tool pprof -top app.pb.gz\n" +
			"  go tool pprof -top -sample_index application app.pb.gz\n" +
			"  go tool pprof -http=: -tagfocus type=System.String app.pb.gz\n" +
			"  clrprof export app.clrprof --format sqlite && sqlite3 app.sqlite 'select * from allocations limit 9'",
		Args: arguments(1, 1, "a SESSION"),
		RunE: func(_ *cobra.Command, args []string) error {
			chosen, err := findFormat(format)
			if err != nil {
				return err
			}
			open := func(path string) (*session.Session, error) { return session.Open(path) }
			if chosen.file != nil { // all tables: also those that a recording which was cut off has not
				open = func(path string) (*session.Session, error) { return openComplete(e, path) }
			}
			s, err := open(args[0])
			if err != nil {
				return readError(err)
			}
			defer s.Close()
			sel, err := only.selection(s)
			if err != nil {
				return readError(err)
			}
			if chosen.file != nil && (output == "-" || !sel.IsZero()) {
				return usage("the format %s is a file with everything: no filters, and no standard output", chosen.name)
			}
			notes, err := report.SelectionNotes(sel, s, "")
			if err != nil {
				return readError(err)
			}
			tell(e, notes) // the file may have no place for it
			if output == "-" {
				return exported(chosen.write(e.stdout, s, sel))
			}
			if output == "" {
				output = strings.TrimSuffix(args[0], ".clrprof") + chosen.extension
			}
			if chosen.file != nil {
				err = writePlace(output, force, chosen.directory, func() error { return chosen.file(output, s) })
			} else {
				err = writeFile(output, force, func(w io.Writer) error { return chosen.write(w, s, sel) })
			}
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(e.stdout, output)
			return written(err)
		},
	}
	cmd.Flags().StringVar(&format, "format", "", "the format: pprof, sqlite, parquet")
	cmd.Flags().StringVarP(&output, "output", "o", "", "the file to write; - for standard output (default: the session's name with the format's extension)")
	cmd.Flags().BoolVarP(&force, "force", "f", false, "replace the file if it exists")
	only.add(cmd)
	return cmd
}

func findFormat(name string) (exportFormat, error) {
	var names []string
	for _, f := range exportFormats {
		if f.name == name {
			return f, nil
		}
		names = append(names, f.name)
	}
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

// writePlace has a file or a directory filled by its path, as a whole or not at all. A directory may exist with force.
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
	if err == nil {
		return nil
	}
	if code := codeOf(err); code != exitInternal {
		return exit(code, err)
	}
	return exit(exitUnwritable, err)
}
