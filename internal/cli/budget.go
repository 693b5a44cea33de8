package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/clrprof/clrprof/internal/budget"
	"github.com/clrprof/clrprof/internal/openfile"
	"github.com/clrprof/clrprof/internal/report"
	"github.com/clrprof/clrprof/internal/session"
)

// Exit codes of check: 0 is that every limit is held.
const (
	exitBroken  = 1
	exitUnknown = 2
)

// maxBudget bounds a budget's file.
const maxBudget = 1 << 20

// budgetFlags are the flags of the check command.
type budgetFlags struct {
	file, baseline, format, afterMark string
	sourceRoot                        string
	optional                          bool // the baseline need not be there
	only                              selectionFlags
	unfinished                        unfinishedFlags
}

func newBudgetCommand(e *environment) *cobra.Command {
	b := &budgetFlags{}
	cmd := &cobra.Command{
		Use:   "check SESSION --budget FILE [--baseline OLD]",
		Short: "Check a session against limits, for CI",
		Long: "Check a session against the limits of a file: bytes, objects, calls, times and collections of the\n" +
			"whole program or of some code, absolute or against a baseline (docs/budgets.md). Exit code 0: all\n" +
			"limits are held; 1: one is broken; 2: none is known to be broken, but one cannot be checked.",
		Example: "  clrprof check app.clrprof --budget budget.toml\n" +
			"  clrprof check new.clrprof --budget budget.toml --baseline main.clrprof --baseline-optional --format github\n" +
			"  clrprof check new.clrprof --budget budget.toml --baseline old.clrprof --format junit > budget.xml\n" +
			"  clrprof check app.clrprof --budget budget.toml --after-mark 'after warm-up'\n" +
			"  clrprof check app.clrprof --budget budget.toml --filter orders.filter --process Worker\n" +
			"  clrprof check app.clrprof --budget budget.toml --format markdown >> \"$GITHUB_STEP_SUMMARY\"",
		Args: arguments(1, 1, "a SESSION"),
		RunE: func(cmd *cobra.Command, args []string) error { return b.run(e, cmd, args[0]) },
	}
	f := cmd.Flags()
	f.StringVar(&b.file, "budget", "", "the file with the limits")
	f.StringVar(&b.baseline, "baseline", "", "the session that growth is measured against")
	f.BoolVar(&b.optional, "baseline-optional", false, "if there is no baseline yet, check the limits that need none")
	f.StringVar(&b.afterMark, "after-mark", "", "only what was recorded after this mark, given by name or #ID, "+
		"such as the end of a warm-up (default: after_mark of the file)")
	f.StringVar(&b.format, "format", "text", "text, json, junit (test results), github (annotations), markdown")
	f.StringVar(&b.sourceRoot, "source-root", "", "the root of the repository, to which paths in annotations are "+
		"relative (default: the current directory)")
	b.only.addLimits(cmd)
	b.unfinished.addNoWait(cmd)
	offerNames(cmd, map[string]string{"after-mark": "mark"})
	return cmd
}

func (b *budgetFlags) run(e *environment, cmd *cobra.Command, path string) error {
	if b.file == "" {
		return usage("check needs --budget FILE: see %s --help", cmd.CommandPath())
	}
	if !slices.Contains(budget.Formats(), b.format) {
		return exit(exitUsage, report.Unknown("--format", b.format, budget.Formats()))
	}
	text, err := readBudget(b.file)
	if err != nil {
		return err
	}
	limits, err := budget.Parse(text)
	if err != nil {
		return usage("%s: %w", b.file, err)
	}
	s, err := b.unfinished.open(cmd.Context(), e, path)
	if err != nil {
		return readError(err)
	}
	defer s.Close()
	old, first, err := b.openBaseline(cmd.Context(), e)
	if err != nil {
		return err
	}
	if old != nil {
		defer old.Close()
	}
	limits.AfterMark = cmp.Or(b.afterMark, limits.AfterMark)
	if _, err := b.only.selection(s); err != nil { // of a limit a pattern may match nothing, but not of a flag
		return readError(err)
	}
	limits.Only = b.only.of
	notes, err := limits.Notes(s)
	if err != nil {
		return readError(known(err))
	}
	if first && limits.LimitsGrowth() {
		limits.LeaveOutGrowth()
		notes = append(notes, fmt.Sprintf("There is no baseline %s yet: limits on growth are left out.", b.baseline))
	}
	if old != nil && !limits.LimitsGrowth() {
		notes = append(notes, "The baseline is compared with nothing: no limit has grow.")
	}
	if old != nil && limits.LimitsGrowth() {
		if err := b.tellDifferences(e, &notes, old, s); err != nil {
			return err
		}
	}
	verdicts, err := limits.Judge(cmd.Context(), s, old)
	if err != nil {
		return readError(known(err))
	}
	around := budget.Around{Notes: notes, Root: absolute(b.sourceRoot)}
	if err := budget.Write(e.stdout, b.format, verdicts, around); err != nil {
		return written(err)
	}
	switch {
	case budget.Count(verdicts, budget.Broken) > 0:
		return statusError(exitBroken)
	case budget.Count(verdicts, budget.Unknown) > 0:
		return statusError(exitUnknown)
	}
	return nil
}

// openBaseline opens the baseline, if one was named. first: it is not there, and need not be.
func (b *budgetFlags) openBaseline(ctx context.Context, e *environment) (old *session.Session, first bool, err error) {
	if b.baseline == "" {
		if b.optional {
			return nil, false, usage("--baseline-optional needs --baseline OLD")
		}
		return nil, false, nil
	}
	if _, err := os.Stat(b.baseline); b.optional && errors.Is(err, fs.ErrNotExist) {
		return nil, true, nil
	}
	if old, err = b.unfinished.open(ctx, e, b.baseline); err != nil {
		return nil, false, readError(err)
	}
	return old, false, nil
}

// tellDifferences says what else differs between the sessions that growth is measured by: text and Markdown have it
// with the limits, the others would take it for what is selected.
func (b *budgetFlags) tellDifferences(e *environment, notes *[]string, old, s *session.Session) error {
	differ, err := report.RecordedDifferently(old, s)
	switch {
	case err != nil:
		return readError(err)
	case b.format == "text" || b.format == "markdown":
		*notes = append(*notes, differ...)
	default:
		tell(e, differ)
	}
	return nil
}

// absolute makes a path absolute; "" is the current directory.
func absolute(dir string) string {
	path, err := filepath.Abs(dir)
	if err != nil {
		return "" // without a current directory nothing is below it
	}
	return path
}

func readBudget(path string) (string, error) {
	text, err := readGiven(context.Background(), path, maxBudget)
	switch info, failed := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
		return "", usage("budget %s: no such file: clrprof budget init SESSION writes a first budget", path)
	case failed == nil && info.IsDir():
		return "", usage("budget %s: it is a directory: name a file in it", path)
	case errors.Is(err, openfile.ErrNotRegular), errors.Is(err, errNobodyWrites):
		return "", usage("budget: %w", err)
	case errors.Is(err, openfile.ErrTooLarge):
		return "", usage("budget %s has more than %d bytes", path, maxBudget)
	case err != nil:
		return "", exit(exitUnreadable, fmt.Errorf("budget: %w", err))
	}
	return string(text), nil
}
