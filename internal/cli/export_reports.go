package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/export/vsperf"
	"github.com/clrprof/clrprof/internal/present/report"
	"github.com/clrprof/clrprof/internal/session"
)

// allReports means all kinds of reports that a session has.
const allReports = "all"

// reportNames are what --summary takes.
func reportNames() []string {
	out := []string{allReports}
	for _, k := range vsperf.Kinds() {
		out = append(out, k.Name)
	}
	return out
}

// kinds are the kinds of reports that are asked for; nil of formats without. all is every kind, without an error for
// those that the session does not have.
func (x *exportFlags) kinds(chosen exportFormat) ([]vsperf.Kind, error) {
	isAll := slices.Equal(x.reports, []string{allReports})
	if x.safeCSV && chosen.reports != vsperf.CSV {
		return nil, usage("--csv-safe is for the format csv")
	}
	if chosen.reports == "" {
		if len(x.reports) > 0 && !isAll {
			return nil, usage("--summary is for the formats csv and xml")
		}
		return nil, nil
	}
	var out []vsperf.Kind
	for _, k := range vsperf.Kinds() {
		if isAll || slices.ContainsFunc(x.reports, func(name string) bool { return strings.EqualFold(name, k.Name) }) {
			out = append(out, k)
		}
	}
	for _, name := range x.reports {
		if !slices.ContainsFunc(reportNames(), func(known string) bool { return strings.EqualFold(name, known) }) {
			return nil, exit(exitUsage, report.Unknown("--summary", name, reportNames()))
		}
	}
	has := func(name string) bool {
		return slices.ContainsFunc(out, func(k vsperf.Kind) bool { return k.Name == name })
	}
	switch {
	case x.shape.isTree() && !has(vsperf.CallTree):
		return nil, usage("--async, --root, --fold-recursion, --by, --min-share, --hot and --bottom-up are for the " +
			"report CallTree, which --summary leaves out")
	case x.shape.merge && !has(vsperf.Thread):
		return nil, usage("--merge-threads is for the report Thread, which --summary leaves out")
	case len(out) == 0:
		return nil, usage("--summary needs one of: %s", strings.Join(reportNames(), ", "))
	case x.output == "-" && len(out) > 1:
		return nil,
			usage("the format %s writes several files: for standard output choose one with --summary, such as Function",
				chosen.name)
	}
	return out, nil
}

// writeReports writes a file for each kind, all of them or none, and prints their names.
func (x *exportFlags) writeReports(ctx context.Context, e *environment, s *session.Session, sel analysis.Selection,
	kinds []vsperf.Kind, f vsperf.Format) error {
	src, err := analysis.Open(s, sel)
	if err != nil {
		return readError(err)
	}
	if x.safeCSV {
		f = vsperf.SafeCSV
	}
	base := x.output
	if base == "" {
		base = strings.TrimSuffix(s.Path(), ".clrprof")
	}
	var files []*outputFile
	var names bytes.Buffer
	err = func() error {
		for _, kind := range kinds {
			made, err := kind.Build(src, x.shape.tree(), x.shape.threads())
			if err != nil && !vsperf.Applies(err) && slices.Equal(x.reports, []string{allReports}) {
				continue
			}
			if err != nil {
				return readError(err)
			}
			write := func(w io.Writer) error { return made.Write(untilWriter{ctx, w}, f) }
			if x.output == "-" {
				return exported(write(e.stdout))
			}
			path := kind.File(base, f)
			out, err := newOutput(path, x.force)
			if err != nil {
				return err
			}
			if err := out.fill(ctx, write); err != nil {
				return err
			}
			files = append(files, out)
			fmt.Fprintln(&names, path)
		}
		return nil
	}()
	for i, out := range files {
		if err == nil {
			err = out.publish()
		} else {
			files[i].discard()
		}
	}
	if err != nil {
		return err
	}
	_, err = e.stdout.Write(names.Bytes())
	return written(err)
}
