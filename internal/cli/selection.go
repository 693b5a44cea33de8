package cli

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/report"
	"github.com/clrprof/clrprof/internal/session"
)

// selectionFlags restrict a command to a part of the session.
type selectionFlags struct {
	terms     analysis.Terms
	from, to  time.Duration
	span, gcs string
}

func (f *selectionFlags) add(cmd *cobra.Command) {
	flags, t := cmd.Flags(), &f.terms
	flags.StringVar(&f.span, "time", "", "only this span since the start: A..B, such as 1.5s..2m, or A.. or ..B")
	flags.DurationVar(&f.from, "from", 0, "only from this time since the start on, such as 1.5s or 2m")
	flags.DurationVar(&f.to, "to", 0, "only up to this time since the start")
	flags.StringVar(&f.gcs, "gc", "", "only memory, from the end of collection A to that of B: A..B, or A.. or ..B")
	for _, flag := range []struct {
		to          *[]string
		name, usage string
	}{
		{&t.Processes, "process", "only this process: its pid, #N for the unique id N, or a pattern of its name; " +
			"of all patterns, !PATTERN is what does not match"},
		{&t.Threads, "thread", "only this thread: its tid, #N for the unique id N, or a pattern of its name"},
		{&t.Modules, "module", "only what functions of this module allocated, or did, themselves"},
		{&t.Namespaces, "namespace", "only what functions of this namespace allocated, or did, themselves"},
		{&t.Functions, "function", "only what functions that match this pattern allocated, or did, themselves"},
		{&t.Types, "type", "only objects of types that match this pattern; no times"},
		{&t.Focus, "focus", "only stacks with a function that matches this pattern; with !PATTERN, without one"},
		{&t.Hide, "hide", "leave functions that match out of stacks: what they did counts for their callers"},
	} {
		flags.StringArrayVar(flag.to, flag.name, nil, flag.usage)
	}
}

// selection compiles the flags for the session.
func (f *selectionFlags) selection(s *session.Session) (analysis.Selection, error) {
	t := f.terms
	from, to := f.from, f.to
	if f.span != "" {
		if f.from != 0 || f.to != 0 {
			return analysis.Selection{}, usage("--time is --from and --to in one: give one of the two")
		}
		var err error
		if from, to, err = parseTimes(f.span); err != nil {
			return analysis.Selection{}, err
		}
	}
	if from < 0 || to < 0 || to != 0 && to <= from {
		return analysis.Selection{}, usage("--from %s --to %s is not a span of time", from, to)
	}
	t.From, t.To = quantity.Nanoseconds(from), quantity.Nanoseconds(to)
	if f.gcs != "" {
		var ok bool
		if t.GCs, ok = parseGCs(f.gcs); !ok {
			return analysis.Selection{}, usage("--gc %q is not a span of collections: want A..B, such as 3..7, or A.. or ..B", f.gcs)
		}
	}
	sel, err := t.Select(s)
	return sel, known(err)
}

// known makes an error that says what a term could have meant of one that says what there is. Others stay.
func known(err error) error {
	var term *analysis.TermError
	switch {
	case errors.As(err, &term) && term.Ambiguous:
		return exit(exitUsage, &report.UnknownError{What: term.What, Name: term.Text, Candidates: term.Names, Ambiguous: true})
	case errors.As(err, &term):
		return exit(exitUsage, report.Unknown(term.What, term.Text, term.Names))
	}
	return err
}

// parseTimes reads A..B, A.. or ..B.
func parseTimes(text string) (from, to time.Duration, err error) {
	a, b, ok := strings.Cut(text, "..")
	for _, end := range []struct {
		text string
		to   *time.Duration
	}{{a, &from}, {b, &to}} {
		if end.text != "" && ok {
			*end.to, err = time.ParseDuration(end.text)
			ok = err == nil
		}
	}
	if !ok || a == "" && b == "" || b != "" && to <= from {
		return 0, 0, usage("--time %q is not a span of time: want A..B, A.. or ..B, such as 1.5s..2m", text)
	}
	return from, to, nil
}

// parseGCs reads A..B, A.. or ..B.
func parseGCs(text string) (analysis.GCSpan, bool) {
	a, b, ok := strings.Cut(text, "..")
	var out analysis.GCSpan
	for _, end := range []struct {
		text string
		to   *int64
	}{{a, &out.After}, {b, &out.To}} {
		if end.text != "" {
			n, err := strconv.ParseInt(end.text, 10, 64)
			ok = ok && err == nil && n >= 0
			*end.to = n
		}
	}
	return out, ok && (a != "" || b != "") && (b == "" || out.After < out.To)
}
