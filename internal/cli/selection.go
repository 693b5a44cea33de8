package cli

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/files/openfile"
	"github.com/clrprof/clrprof/internal/present/report"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// selectionFlags restrict a command to a part of the session.
type selectionFlags struct {
	terms     analysis.Terms
	from, to  time.Duration
	span, gcs string
	marks     string
	filter    string  // file
	clauses   *string // what is in it, nil: it was not read yet
	levels    analysis.CodeLevels
	given     func() bool // whether levels are; nil: they cannot be
}

func (f *selectionFlags) add(cmd *cobra.Command) {
	f.addLimits(cmd)
	flags, t := cmd.Flags(), &f.terms
	flags.StringArrayVar(&t.Hide, "hide", nil,
		"leave functions that match out of stacks: what they did counts for their callers")
	flags.BoolVar(&t.MyCode, "my-code", false, "show stacks with only your code and what it calls: what the "+
		"framework did beyond that counts for the function that your code called")
	f.levels = analysis.DefaultCodeLevels
	flags.IntVar(&f.levels.Callees, "my-code-callees", f.levels.Callees,
		"with --my-code: so many levels of what your code calls in the framework")
	flags.IntVar(&f.levels.Callers, "my-code-callers", f.levels.Callers,
		"with --my-code: so many levels of framework code through which yours is called")
	f.given = func() bool { return flags.Changed("my-code-callees") || flags.Changed("my-code-callers") }
}

// checkLevels takes over how much framework code --my-code shows. Without it there is nothing to say of that.
func (f *selectionFlags) checkLevels(t *analysis.Terms) error {
	switch {
	case f.levels.Callers < 0 || f.levels.Callees < 0:
		return usage("--my-code-callers and --my-code-callees cannot be negative")
	case t.MyCode:
		t.CodeLevels = &f.levels
	case f.given != nil && f.given():
		return usage("--my-code-callers and --my-code-callees are for --my-code")
	}
	return nil
}

// addLimits adds the flags that change sums, without those that change how stacks are shown.
func (f *selectionFlags) addLimits(cmd *cobra.Command) {
	flags, t := cmd.Flags(), &f.terms
	flags.StringVar(&f.span, "time", "", "only this span since the start: A..B, such as 1.5s..2m, or A.. or ..B")
	flags.DurationVar(&f.from, "from", 0, "only what comes after this time since the start, such as 1.5s or 2m")
	flags.DurationVar(&f.to, "to", 0, "only what comes before this time since the start")
	flags.StringVar(&f.marks, "mark", "",
		"only what was recorded between two marks: A..B, or A.. or ..B, by name or #ID; whole slices of time")
	flags.StringVar(&f.gcs, "gc", "", "only memory, from the end of collection A to that of B: A..B, or A.. or ..B")
	flags.StringVar(&f.filter, "filter", "",
		"only what the clauses in this file select: FIELD OPERATOR VALUE, with and, or, not and parentheses")
	for _, flag := range []struct {
		to          *[]string
		name, usage string
	}{
		{&t.Processes, "process", "only this process: its pid, #N for the unique id N, or a pattern of its name; " +
			"!PATTERN, in every flag with a pattern, selects what does not match"},
		{&t.Threads, "thread", "only this thread: its tid, #N for the unique id N, or a pattern of its name"},
		{&t.Modules, "module", "only what functions of this module allocated or did themselves"},
		{&t.Namespaces, "namespace", "only what functions of this namespace allocated or did themselves"},
		{&t.Functions, "function", "only what functions that match this pattern allocated or did themselves"},
		{&t.Types, "type", "only objects of types that match this pattern; no times"},
		{&t.Focus, "focus", "only stacks with a function that matches this pattern; with !PATTERN, without one"},
	} {
		flags.StringArrayVar(flag.to, flag.name, nil, flag.usage)
	}
	offerNames(cmd, map[string]string{"function": "function", "focus": "function", "hide": "function", "type": "type",
		"module": "module", "namespace": "namespace", "process": "process", "thread": "thread"})
	offerMarks(cmd, "mark")
}

// selection compiles the flags for the session.
func (f *selectionFlags) selection(s *session.Session) (analysis.Selection, error) {
	t, err := f.of(s)
	if err != nil {
		return analysis.Selection{}, err
	}
	sel, err := t.Select(s)
	return sel, known(err)
}

// of returns the flags as terms: spans between marks are spans of time of the session.
func (f *selectionFlags) of(s *session.Session) (analysis.Terms, error) {
	t := f.terms
	if err := f.checkLevels(&t); err != nil {
		return t, err
	}
	from, to := f.from, f.to
	if f.span != "" {
		if f.from != 0 || f.to != 0 {
			return t, usage("--time is the same as --from and --to: give one of the two")
		}
		var ok bool
		if from, to, ok = analysis.ParseTimes(f.span); !ok {
			return t, usage("--time %q is not a span of time: want A..B, A.. or ..B, such as 1.5s..2m", f.span)
		}
	}
	if f.marks != "" {
		if from != 0 || to != 0 {
			return t, usage("--mark is a span of time, so it does not work with --time")
		}
		begin, end, err := analysis.ParseMarks(s, f.marks)
		switch {
		case errors.Is(err, analysis.ErrMarkSpan):
			return t, usage("--mark %q %v", f.marks, err)
		case errors.Is(err, analysis.ErrMarkOrder):
			return t, usage("--mark %q: %v", f.marks, err)
		}
		if err != nil {
			return t, known(err)
		}
		from, to, t.Marks = time.Duration(begin), time.Duration(end), f.marks
	}
	if from < 0 || to < 0 || to != 0 && to <= from {
		return t, usage("--from %s --to %s is not a span of time", from, to)
	}
	t.From, t.To = quantity.Nanoseconds(from), quantity.Nanoseconds(to)
	if f.gcs != "" {
		var ok bool
		if t.GCs, ok = analysis.ParseGCs(f.gcs); !ok {
			return t, usage("--gc %q is not a span of collections: want A..B, such as 3..7, or A.. or ..B", f.gcs)
		}
	}
	if err := f.readClauses(context.Background()); err != nil {
		return t, err
	}
	t.Filter, t.FilterName = *f.clauses, f.filter
	return t, nil
}

// mostFilter bounds the file of a filter: a thousand clauses are a tenth of it.
const mostFilter = 1 << 20

// readClauses reads the file of --filter, once, also for several sessions: it can be a pipe.
func (f *selectionFlags) readClauses(ctx context.Context) error {
	if f.clauses != nil {
		return nil
	}
	text, err := readFilter(ctx, f.filter)
	if err == nil {
		f.clauses = &text
	}
	return err
}

// readFilter reads a file of --filter; "" has none.
func readFilter(ctx context.Context, path string) (string, error) {
	if path == "" {
		return "", nil
	}
	text, err := readGiven(ctx, path, mostFilter)
	switch {
	case errors.Is(err, openfile.ErrTooLarge):
		return "", usage("--filter %s: it is larger than %d bytes", path, mostFilter)
	case errors.Is(err, context.Canceled):
		return "", err
	case err != nil:
		return "", usage("--filter: %w", err)
	}
	if _, err := analysis.CheckFilter(string(text)); err != nil {
		return "", usage("--filter %s: %v", path, err)
	}
	return string(text), nil
}

// known makes an error that says what a term could have meant of one that says what there is. Others stay.
func known(err error) error {
	var term *analysis.TermError
	if errors.As(err, &term) {
		return exit(exitUsage, report.Known(err))
	}
	return err
}
