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
	"strings"

	"github.com/spf13/cobra"

	"github.com/clrprof/clrprof/internal/analysis/budget"
	"github.com/clrprof/clrprof/internal/files/openfile"
	"github.com/clrprof/clrprof/internal/present/report"
	"github.com/clrprof/clrprof/internal/session"
)

// Exit codes of check: 0 is that every limit is held.
const (
	exitBroken  = 1
	exitUnknown = 2
)

// maxRuns bounds the sessions of a check: all are open at once, and more say hardly more of the spread.
const maxRuns = 100

// maxBudget bounds a budget's file.
const maxBudget = 1 << 20

// budgetFlags are the flags of the check command.
type budgetFlags struct {
	file, format, afterMark string
	baselines               []string
	sourceRoot              string
	optional                bool // the baseline need not be there
	only                    selectionFlags
	unfinished              unfinishedFlags
}

func newBudgetCommand(e *environment) *cobra.Command {
	b := &budgetFlags{}
	cmd := &cobra.Command{
		Use:   "check SESSION... --budget FILE [--baseline OLD]...",
		Short: "Check a session against limits, for CI",
		Long: "Check a session against the limits of a file: bytes, objects, calls, times and collections of the\n" +
			"whole program or of some code, absolute or against a baseline (docs/budgets.md). Exit code 0: all\n" +
			"limits are held; 1: one is broken; 2: none is known to be broken, but one cannot be checked.\n" +
			"Several sessions are runs of the same: their median is checked, and what the runs of the baseline\n" +
			"reach, too, is no growth.",
		Example: "  clrprof check app.clrprof --budget budget.toml\n" +
			"  clrprof check new.clrprof --budget budget.toml --baseline main.clrprof --baseline-optional --format github\n" +
			"  clrprof check new.clrprof --budget budget.toml --baseline old.clrprof --format junit > budget.xml\n" +
			"  clrprof check app.clrprof --budget budget.toml --after-mark 'after warm-up'\n" +
			"  clrprof check app.clrprof --budget budget.toml --filter orders.filter --process Worker\n" +
			"  clrprof check app.clrprof --budget budget.toml --format markdown >> \"$GITHUB_STEP_SUMMARY\"",
		Args: arguments(1, maxRuns, "a SESSION"),
		RunE: func(cmd *cobra.Command, args []string) error { return b.run(e, cmd, args) },
	}
	f := cmd.Flags()
	f.StringVar(&b.file, "budget", "", "the file with the limits")
	f.StringArrayVar(&b.baselines, "baseline", nil, "the session that growth is measured against; given several times: "+
		"runs of one program")
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

func (b *budgetFlags) run(e *environment, cmd *cobra.Command, paths []string) error {
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
	runs, err := b.openAll(cmd.Context(), e, paths)
	defer closeAll(runs)
	if err != nil {
		return err
	}
	olds, first, err := b.openBaselines(cmd.Context(), e)
	defer closeAll(olds)
	if err != nil {
		return err
	}
	limits.AfterMark = cmp.Or(b.afterMark, limits.AfterMark)
	for _, s := range runs {
		if _, err := b.only.selection(s); err != nil { // of a limit a pattern may match nothing, but not of a flag
			return readError(err)
		}
	}
	limits.Only = b.only.of
	notes, err := limits.Notes(runs[0])
	if err != nil {
		return readError(known(err))
	}
	if first && limits.LimitsGrowth() {
		limits.LeaveOutGrowth()
		notes = append(notes, fmt.Sprintf("There is no baseline %s yet: limits on growth are left out.",
			strings.Join(b.baselines, ", ")))
	}
	if len(olds) > 0 && !limits.LimitsGrowth() {
		notes = append(notes, "The baseline is compared with nothing: no limit has grow.")
	}
	if len(olds) > 0 && limits.LimitsGrowth() {
		if err := b.tellDifferences(e, &notes, slices.Concat(olds, runs)); err != nil {
			return err
		}
	}
	verdicts, err := limits.Judge(cmd.Context(), runs, olds)
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

// openAll opens sessions. With an error it returns those that are open.
func (b *budgetFlags) openAll(ctx context.Context, e *environment, paths []string) (out []*session.Session, err error) {
	for _, path := range paths {
		s, err := b.unfinished.open(ctx, e, path)
		if err != nil {
			return out, readError(err)
		}
		out = append(out, s)
	}
	return out, nil
}

func closeAll(list []*session.Session) {
	for _, s := range list {
		s.Close()
	}
}

// openBaselines opens the baselines, if there are any. first: one is not there, and need not be.
func (b *budgetFlags) openBaselines(ctx context.Context, e *environment) (olds []*session.Session, first bool,
	err error) {
	if len(b.baselines) == 0 && b.optional {
		return nil, false, usage("--baseline-optional needs --baseline OLD")
	}
	if len(b.baselines) > maxRuns {
		return nil, false, usage("%d baselines are more than %d", len(b.baselines), maxRuns)
	}
	for _, path := range b.baselines {
		if _, err := os.Stat(path); b.optional && errors.Is(err, fs.ErrNotExist) {
			return nil, true, nil
		}
	}
	olds, err = b.openAll(ctx, e, b.baselines)
	return olds, false, err
}

// tellDifferences says what else differs between the sessions that growth is measured by: text and Markdown have it
// with the limits, the others would take it for what is selected.
func (b *budgetFlags) tellDifferences(e *environment, notes *[]string, all []*session.Session) error {
	differ, err := report.RecordedDifferently(all...)
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
