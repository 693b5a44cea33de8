package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/clrprof/clrprof/internal/analysis/budget"
	"github.com/clrprof/clrprof/internal/session"
)

// defaultHeadroom is how many percent more than a run's a first budget allows: what is exact hardly needs it, but input
// does.
const defaultHeadroom = 10

// draftFlags are the flags of the command budget init.
type draftFlags struct {
	output     string
	headroom   float64
	force      bool
	unfinished unfinishedFlags
}

func newDraftCommand(e *environment) *cobra.Command {
	parent := &cobra.Command{
		Use:     "budget",
		Short:   "Make a budget: limits for clrprof check",
		Example: "  clrprof budget init app.clrprof",
		Args:    arguments(0, 0),
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	d := &draftFlags{}
	cmd := &cobra.Command{
		Use:   "init SESSION...",
		Short: "Write a first budget from a run",
		Long: "Write a first budget from a run: what it allocated, kept and called, in total, by your code and by\n" +
			"the functions that allocate most, plus some headroom. Edit it then: docs/budgets.md describes it. Of\n" +
			"several runs it takes the greatest values, and allows at least as much more as they differ by. Of\n" +
			"runs of tests it limits each test, in the process that ran it, and takes the median.",
		Example: "  clrprof budget init app.clrprof\n" +
			"  clrprof check app.clrprof --budget budget.toml\n" +
			"  clrprof budget init run1.clrprof run2.clrprof run3.clrprof\n" +
			"  clrprof budget init app.clrprof --headroom 25 -o -",
		Args: arguments(1, maxRuns, "a SESSION"),
		RunE: func(cmd *cobra.Command, args []string) error { return d.run(cmd.Context(), e, args) },
	}
	f := cmd.Flags()
	f.StringVarP(&d.output, "output", "o", "budget.toml", "the file to write; - for standard output")
	f.Float64Var(&d.headroom, "headroom", defaultHeadroom, "how many percent more than in the run are allowed")
	f.BoolVarP(&d.force, "force", "f", false, "replace the file if it exists")
	d.unfinished.addNoWait(cmd)
	parent.AddCommand(cmd)
	return parent
}

func (d *draftFlags) run(ctx context.Context, e *environment, paths []string) error {
	if !(d.headroom >= 0 && d.headroom <= 1000) {
		return usage("--headroom %g: want a percentage from 0 to 1000", d.headroom)
	}
	var runs []*session.Session
	for _, path := range paths {
		s, err := d.unfinished.open(ctx, e, path)
		if err != nil {
			return readError(err)
		}
		defer s.Close()
		runs = append(runs, s)
	}
	text, err := budget.Draft(runs, d.headroom/100)
	if err != nil {
		return readError(err)
	}
	if d.output == "-" {
		_, err := io.WriteString(e.stdout, text)
		return written(err)
	}
	err = writeFile(context.Background(), d.output, d.force, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
	if err != nil {
		return err
	}
	_, err = io.WriteString(e.stdout, d.output+"\n")
	return written(err)
}
