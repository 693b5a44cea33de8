package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// printUsage prints the usage of a command as the library does, but folds what flags do at helpWidth. The library has a
// template for that, and with text/template in the binary the linker keeps every exported method of every type.
func printUsage(c *cobra.Command) error {
	var b strings.Builder
	b.WriteString("Usage:")
	if c.Runnable() {
		b.WriteString("\n  " + c.UseLine())
	}
	if c.HasAvailableSubCommands() {
		b.WriteString("\n  " + c.CommandPath() + " [command]")
	}
	if c.HasExample() {
		b.WriteString("\n\nExamples:\n" + c.Example)
	}
	if c.HasAvailableSubCommands() {
		b.WriteString("\n\nAvailable Commands:")
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() || sub.Name() == "help" {
				fmt.Fprintf(&b, "\n  %-*s %s", sub.NamePadding(), sub.Name(), sub.Short)
			}
		}
	}
	for _, flags := range []struct{ title, text string }{
		{"Flags", c.LocalFlags().FlagUsagesWrapped(helpWidth)},
		{"Global Flags", c.InheritedFlags().FlagUsagesWrapped(helpWidth)}} {
		if flags.text != "" {
			b.WriteString("\n\n" + flags.title + ":\n" + strings.TrimRight(flags.text, " \n"))
		}
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n\nUse \"%s [command] --help\" for more information about a command.", c.CommandPath())
	}
	_, err := fmt.Fprintln(c.OutOrStderr(), b.String())
	return err
}
