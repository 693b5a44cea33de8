package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"strings"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/analysis/budget"
	"github.com/clrprof/clrprof/internal/pattern"
	"github.com/clrprof/clrprof/internal/present/report"
	"github.com/clrprof/clrprof/internal/present/report/text"
	"github.com/clrprof/clrprof/internal/session"
)

// Exit codes of clrprof itself. Those of `clrprof run` start at 120, so that the code of the profiled command, which it
// passes through, is hardly ever one of them.
const (
	exitOK           = 0
	exitUnfinished   = 119 // a session that is still being written, with --no-wait
	exitUsage        = 120 // unknown command, flag, view, column, function; a bad query
	exitUnreadable   = 121 // a session that cannot be read, or contradicts itself
	exitUnwritable   = 122 // a session, profile or report that cannot be written
	exitNoTarget     = 123 // the command to profile could not be started
	exitNoRuntime    = 124 // no .NET runtime loaded the agent
	exitInternal     = 125 // a mistake in clrprof
	exitNotSupported = 126 // asked for, but not in this build
	// Ctrl-C until clrprof stopped waiting for the command, or while it exported, as a shell would say
	exitInterrupted = 130
)

// exitError is an error with an exit code.
type exitError struct {
	code int
	err  error
}

// Error returns the message of the wrapped error.
func (e *exitError) Error() string { return e.err.Error() }

// Unwrap returns the wrapped error.
func (e *exitError) Unwrap() error { return e.err }

// exit gives an error an exit code; nil stays nil.
func exit(code int, err error) error {
	if err == nil {
		return nil
	}
	return &exitError{code, err}
}

// usage makes an error about how clrprof was called.
func usage(format string, args ...any) error {
	return exit(exitUsage, fmt.Errorf(format, args...))
}

// statusError ends clrprof with a code and without a message: the profiled
// command's own code, or a check that has said what it found.
type statusError int

// Error names the code; it is not meant to be printed.
func (e statusError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// codeOf chooses the exit code of an error.
func codeOf(err error) int {
	var status statusError
	var coded *exitError
	var name *report.UnknownError
	switch {
	case errors.As(err, &status):
		return int(status)
	case errors.As(err, &coded):
		return coded.code
	case errors.As(err, &name), errors.Is(err, session.ErrQuery), errors.Is(err, analysis.ErrNoProcess),
		errors.Is(err, analysis.ErrNoThread), errors.Is(err, analysis.ErrNoSlice), errors.Is(err,
			analysis.ErrNoLifetime), errors.Is(err, analysis.ErrNoChanges), errors.Is(err, analysis.ErrNoGC), errors.Is(
			err, analysis.ErrSplitsSlice), errors.Is(err, analysis.ErrGCsInTime), errors.Is(err,
			analysis.ErrNoSnapshot),
		errors.Is(err, analysis.ErrNoTime), errors.Is(err, report.ErrNoMemory), errors.Is(err,
			report.ErrShapedLifetimes), errors.Is(err, pattern.ErrNoPattern), errors.Is(err, analysis.ErrFilter),
		errors.Is(err, analysis.ErrMarkOrder), errors.Is(err, analysis.ErrDifference), errors.Is(err,
			budget.ErrNothing), errors.Is(err, analysis.ErrNothingInCommon), errors.Is(err,
			analysis.ErrNoTimeSelected), errors.Is(err, analysis.ErrNoEntries):
		return exitUsage
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.Is(err, session.ErrNotFound), errors.Is(err, session.ErrNotSession),
		errors.Is(err, session.ErrNewer), errors.Is(err, session.ErrOlder), errors.Is(err, session.ErrCorrupt):
		return exitUnreadable
	case errors.Is(err, session.ErrExists), errors.Is(err, session.ErrInUse):
		return exitUnwritable
	}
	return exitInternal
}

// plain is the text of an error without the names of the system's calls, which say nothing to who reads it.
func plain(err error) string {
	line := err.Error()
	var path *fs.PathError
	if errors.As(err, &path) {
		line = strings.ReplaceAll(line, path.Error(), path.Path+": "+path.Err.Error())
	}
	var address *net.OpError
	if errors.As(err, &address) {
		line = strings.ReplaceAll(line, address.Error(), address.Err.Error())
	}
	return line
}

// complain prints an error as one line and returns its exit code.
func complain(w io.Writer, err error) int {
	var status statusError
	if errors.As(err, &status) {
		return int(status)
	}
	line := strings.Join(strings.FieldsFunc(plain(err), func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
	fmt.Fprintf(w, "clrprof: %s\n", text.Printable(line))
	return codeOf(err)
}
