package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/clrprof/clrprof/internal/capture/instrument"
	"github.com/clrprof/clrprof/internal/present/report"
	"github.com/clrprof/clrprof/internal/quantity"
)

// listColumns are the columns of list-functions.
var listColumns = []string{"module", "function", "il_bytes", "recorded", "why"}

func newListCommand(e *environment) *cobra.Command {
	var plan planFlags
	var output outputFlags
	only := false
	cmd := &cobra.Command{
		Use:   "list-functions [flags] APP.dll|DIRECTORY…",
		Short: "List the functions of modules, and which of them run --time would record",
		Long: "List the functions of .NET modules, or of all modules in directories, and say which of them\n" +
			"`clrprof run --time` would record with the same flags, and why. Nothing is run. The names\n" +
			"are those that patterns are compared with: Namespace.Outer/Nested.Method, the module's file\n" +
			"name, and the namespace. A pattern must match one of them as a whole.",
		Example: "  clrprof list-functions app.dll\n" +
			"  clrprof list-functions --recorded --include 'Shop.*' --exclude '*.get_*' bin/Release/net9.0/publish\n" +
			"  clrprof list-functions --exclude-small --json app.dll | jq '.[] | select(.recorded == \"no\")'",
		Args: arguments(1, 1<<20, "a module or DIRECTORY"),
		RunE: func(_ *cobra.Command, args []string) error {
			format, layout, err := output.choose(e)
			if err != nil {
				return err
			}
			if err := plan.check(); err != nil {
				return err
			}
			records, recorded, err := listRecords(plan.plan(), args, only)
			if err != nil {
				return err
			}
			if err := writeRecords(e.stdout, records, format, layout); err != nil {
				return written(err)
			}
			fmt.Fprintln(e.stderr, "clrprof:", recorded)
			return nil
		},
	}
	plan.add(cmd)
	cmd.Flags().BoolVar(&only, "recorded", false, "list only functions that would be recorded")
	output.add(cmd)
	return cmd
}

// listed is how many functions would be recorded, and how.
type listed struct{ whole, called, all quantity.Count }

// String says it in words. Calls by your code are recorded only where there is some.
func (l listed) String() string {
	switch {
	case l.whole == 0:
		return fmt.Sprintf("none of %s functions would be recorded: --include, --exclude, --mine and the other flags "+
			"leave none", l.all)
	case l.called == 0:
		return fmt.Sprintf("%s of %s functions would be recorded", l.whole, l.all)
	}
	return fmt.Sprintf("%s of %s functions would be recorded, and calls that these make of %s others", l.whole, l.all,
		l.called)
}

// listRecords lists the functions of all paths, and counts them.
func listRecords(plan instrument.Plan, paths []string, only bool) (*report.Records, listed, error) {
	records := &report.Records{Columns: listColumns}
	var count listed
	for _, path := range paths {
		functions, err := plan.List(path)
		if err != nil {
			return nil, count, listError(path, err)
		}
		for _, f := range functions {
			count.all++
			switch {
			case f.Class == instrument.Recorded:
				count.whole++
			case f.Class == instrument.CalledByMine:
				count.called++
			case only:
				continue
			}
			records.Rows = append(records.Rows, []any{f.Module, f.Name(), int64(f.IL), string(f.Class), f.Why})
		}
	}
	if only && count.whole == 0 {
		records.Rows = nil
	}
	return records, count, nil
}

// listError gives an error of reading modules its exit code.
func listError(path string, err error) error {
	switch info, failed := os.Stat(path); {
	case errors.Is(failed, fs.ErrNotExist):
		return usage("%s: no such file", path)
	case failed == nil && !info.IsDir() && errors.Is(err, instrument.ErrNoModule):
		return usage("%s: not a .NET module: name an assembly (.dll), or a directory of assemblies", path)
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, instrument.ErrNoModule) {
		return exit(exitUsage, err)
	}
	return exit(exitUnreadable, err)
}
