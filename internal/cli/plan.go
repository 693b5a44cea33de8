package cli

import (
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/clrprof/clrprof/internal/capture/instrument"
	"github.com/clrprof/clrprof/internal/present/report"
)

// maxSmall bounds --exclude-small: nearly all methods have less IL, so that more would leave nothing to measure.
const maxSmall = 1 << 16

// planFlags choose the functions that are recorded, of a run and of the command that lists them.
type planFlags struct {
	include, exclude []string
	mine             []string // patterns of modules
	instrument       string
	small            int
}

func (p *planFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	p.addRules(f)
	p.addMode(cmd, "boundary (your code, and calls that it makes into the framework), mine (only your code), all")
	f.IntVar(&p.small, "exclude-small", 0, "with --time: leave out functions with less than this many bytes of IL; "+
		"without =N, "+strconv.Itoa(instrument.DefaultSmall))
	f.Lookup("exclude-small").NoOptDefVal = strconv.Itoa(instrument.DefaultSmall)
}

// addRules adds the flags that choose functions and modules by their names.
func (p *planFlags) addRules(f *pflag.FlagSet) {
	f.StringSliceVar(&p.include, "include", nil, "record only functions of these modules, namespaces, types, or "+
		"Type.Method, with * for any characters; what other functions allocate counts for their callers, and with "+
		"--time they count as framework code")
	f.StringSliceVar(&p.exclude, "exclude", nil, "leave out functions of these modules, namespaces, types, or "+
		"Type.Method; what they do counts for their callers")
	f.StringSliceVar(&p.mine, "mine", nil, "more modules that are your code, with * for any characters, in "+
		"addition to those that clrprof finds: the projects of the program's deps.json, or what lies beside it")
}

// addMode adds the flag that says whose calls are recorded.
func (p *planFlags) addMode(cmd *cobra.Command, modes string) {
	cmd.Flags().StringVar(&p.instrument, "instrument", string(instrument.Boundary), "with --time: "+modes)
	// The only error is a flag that does not exist, which the tests of completion would show.
	_ = cmd.RegisterFlagCompletionFunc("instrument",
		func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return modeNames(), cobra.ShellCompDirectiveNoFileComp
		})
}

func modeNames() []string {
	var out []string
	for _, m := range instrument.Modes() {
		out = append(out, string(m))
	}
	return out
}

func (p *planFlags) check() error {
	if !slices.Contains(modeNames(), p.instrument) {
		return exit(exitUsage, report.Unknown("--instrument", p.instrument, modeNames()))
	}
	if p.small < 0 || p.small > maxSmall {
		return usage("--exclude-small=%d is not between 0 and %d", p.small, maxSmall)
	}
	if err := p.rules().Check(); err != nil {
		return exit(exitUsage, err)
	}
	return nil
}

func (p *planFlags) rules() instrument.Rules { return instrument.NewRules(p.include, p.exclude) }

func (p *planFlags) plan() instrument.Plan {
	return instrument.Plan{Mode: instrument.Mode(p.instrument), Rules: p.rules(), Mine: p.mineRules(), Small: p.small}
}

// mineRules are the modules that --mine names.
func (p *planFlags) mineRules() instrument.Rules { return instrument.NewRules(p.mine, nil) }
