package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clrprof/clrprof/internal/present/report/text"
)

// topicFlags, as an argument beside --help, asks what each flag does, for which one screen has no room.
const topicFlags = "flags"

// groupedHelp makes the help of a command that has more flags than a screen has lines: most are only named there.
// common, if any, says of some flags what they do.
func groupedHelp(e *environment, common string, groups []flagGroup) func(*cobra.Command, []string) {
	return func(cmd *cobra.Command, _ []string) {
		(&outputFlags{}).page(e, asText)
		if slices.Contains(cmd.Flags().Args(), topicFlags) {
			fmt.Fprintf(e.stdout, "Flags of %s; %[1]s --help has the rest.\n\n%s", cmd.CommandPath(),
				cmd.LocalFlags().FlagUsagesWrapped(helpWidth))
			return
		}
		writeGroupedHelp(e.stdout, cmd, common, groups)
	}
}

// writeGroupedHelp prints what fits on a screen.
func writeGroupedHelp(w io.Writer, cmd *cobra.Command, common string, groups []flagGroup) {
	fmt.Fprintf(w, "%s\n\nUsage:\n  %s\n\nExamples:\n%s\n", cmd.Long, cmd.UseLine(), cmd.Example)
	title := "Flags"
	if common != "" {
		fmt.Fprintf(w, "\nMost used:\n%s\n", common)
		title = "All flags"
	}
	fmt.Fprintf(w, "\n%s (%s --help %s describes them):\n", title, cmd.CommandPath(), topicFlags)
	writeFlagGroups(w, groups)
}

// variants are what comes before or after keys of columns by the two rules, and mean the same otherwise.
var variants = []struct {
	title string
	keys  []string
	of    func(key, variant string) (base string, ok bool)
}{
	{"inclusive_… and exclusive_…", []string{"inclusive_", "exclusive_"}, strings.CutPrefix},
	{"…_inclusive and …_exclusive", []string{"_inclusive", "_exclusive"}, strings.CutSuffix},
}

// writeColumnNames names columns, those that are there by the inclusive and by the exclusive rule once.
func writeColumnNames(w io.Writer, keys []string) {
	also := shares(keys)
	left := slices.DeleteFunc(slices.Clone(keys), func(key string) bool {
		base, isShare := strings.CutSuffix(key, "_percent")
		return isShare && also[base]
	})
	named := func(key, base string) string {
		if also[key] {
			return base + " %"
		}
		return base
	}
	for _, v := range variants {
		var both []string
		left = slices.DeleteFunc(left, func(key string) bool {
			first, isFirst := v.of(key, v.keys[0])
			_, isSecond := v.of(key, v.keys[1])
			if isFirst {
				both = append(both, named(key, first))
			}
			return isFirst || isSecond
		})
		writeNames(w, v.title+": ", both)
	}
	for i, key := range left {
		left[i] = named(key, key)
	}
	writeNames(w, "", left)
}

// writeNames prints names on as few lines as they need, behind what they have in common.
func writeNames(w io.Writer, title string, names []string) {
	if len(names) == 0 {
		return
	}
	for i, line := range strings.Split(text.Wrap(title+strings.Join(names, ", "), helpWidth-len("    ")), "\n") {
		if i > 0 {
			line = "  " + line
		}
		fmt.Fprintf(w, "  %s\n", line)
	}
}

// withoutSingle leaves out averages, least and most of single calls, if there are any.
func withoutSingle(keys []string) (out []string, any bool) {
	for _, key := range keys {
		isSingle := slices.ContainsFunc([]string{"avg_", "min_", "max_"}, func(prefix string) bool {
			base, ok := strings.CutPrefix(key, prefix)
			return ok && slices.Contains(keys, base)
		})
		if isSingle {
			any = true
		} else {
			out = append(out, key)
		}
	}
	return out, any
}
