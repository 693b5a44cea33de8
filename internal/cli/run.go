package cli

import (
	"errors"

	"github.com/spf13/cobra"
)

func newRunCommand(_ *environment) *cobra.Command {
	return &cobra.Command{
		Use:   "run [flags] [--] COMMAND [ARG…]",
		Short: "Run a command and record the allocations of its .NET processes",
		RunE: func(*cobra.Command, []string) error {
			return exit(exitNotSupported, errors.New("run is not there yet"))
		},
	}
}
