package cli

import (
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/analysis/rules"
	"github.com/clrprof/clrprof/internal/present/report"
	"github.com/clrprof/clrprof/internal/present/report/encode"
	"github.com/clrprof/clrprof/internal/present/report/text"
	"github.com/clrprof/clrprof/internal/session"
)

// tableBytes bounds the result of a query that is printed as a table: its columns are as wide as the widest value, so
// all rows are in memory, some times as large.
const tableBytes = 32 << 20

func newSQLCommand(e *environment) *cobra.Command {
	var output outputFlags
	var unfinished unfinishedFlags
	cmd := &cobra.Command{
		Use:   "sql SESSION QUERY",
		Short: "Run a read-only SQL query over a session",
		Long: "Run one SELECT over a session, which is an SQLite database. docs/session.md describes its tables " +
			"and views.\nThe views functions, types, call_tree, lines, modules, allocations are made for people.",
		Example: "  clrprof sql app.clrprof 'select name, exclusive_bytes from functions order by 2 desc limit 10'\n" +
			"  clrprof sql app.clrprof 'select type, sum(bytes) from allocations group by 1 order by 2 desc' --csv",
		Args: arguments(2, 2, "a SESSION", "a QUERY"),
		RunE: func(cmd *cobra.Command, args []string) error {
			format, layout, err := output.choose(e)
			if err != nil {
				return err
			}
			s, err := unfinished.openComplete(cmd.Context(), e, args[0])
			if err != nil {
				return readError(err)
			}
			defer s.Close()
			if format != asText { // of any size
				return e.stream(s, args[1], format)
			}
			columns, rows, more, err := s.QueryUpTo(args[1], session.Bounds{Rows: math.MaxInt, Bytes: tableBytes})
			if err == nil && more {
				err = fmt.Errorf("%w: its result has more than %d MB, too much for a table: restrict it, or add --csv, "+
					"--tsv or --json", session.ErrQuery, tableBytes>>20)
			}
			if err != nil {
				return readError(err)
			}
			return written(writeRecords(e.stdout, &report.Records{Columns: columns, Rows: rows}, format, layout))
		},
	}
	output.add(cmd)
	unfinished.add(cmd)
	return cmd
}

// stream prints what a query returns as it comes.
func (e *environment) stream(s *session.Session, query string, format encode.Format) error {
	var failed error // of the query, and not of standard output
	err := encode.StreamRecords(e.stdout, format, func(columns func([]string) error, row func([]any) error) error {
		var unwritten error
		keep := func(err error) error {
			unwritten = err
			return err
		}
		failed = s.Query(query, func(names []string) error { return keep(columns(names)) },
			func(values []any) error { return keep(row(values)) })
		if unwritten != nil {
			failed = nil
			return unwritten
		}
		return failed
	})
	if failed != nil {
		return readError(failed)
	}
	return written(err)
}

func newCheckCommand(e *environment) *cobra.Command {
	var unfinished unfinishedFlags
	cmd := &cobra.Command{
		Use:   "check-session SESSION",
		Short: "Check that a session does not contradict itself",
		Long: "Check that a session does not contradict itself: references exist, all ways to add up give the\n" +
			"same totals, each parent is the sum of itself and its children, and every stored sum equals a\n" +
			"recomputation. Prints each error on a line, and ends with code 121 if there is one.",
		Example: "  clrprof check-session app.clrprof",
		Args:    arguments(1, 1, "a SESSION"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := unfinished.open(cmd.Context(), e, args[0])
			if err != nil {
				return readError(err)
			}
			defer s.Close()
			if err := s.CheckFile(); err != nil {
				return readError(err)
			}
			found, err := analysis.Check(s)
			if err != nil {
				return readError(err)
			}
			if len(found) == 0 {
				if found, err = rules.Check(s); err != nil {
					return readError(err)
				}
			}
			for _, v := range found {
				if _, err := fmt.Fprintln(e.stdout, text.Printable(fmt.Sprint(v))); err != nil {
					return written(err)
				}
			}
			if len(found) > 0 {
				return statusError(exitUnreadable)
			}
			_, err = fmt.Fprintln(e.stdout, "ok")
			return written(err)
		},
	}
	unfinished.add(cmd)
	return cmd
}
