package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clrprof/clrprof/internal/capture/running"
	"github.com/clrprof/clrprof/internal/present/report"
	"github.com/clrprof/clrprof/internal/quantity"
)

func newPsCommand(e *environment) *cobra.Command {
	var output outputFlags
	cmd := &cobra.Command{
		Use:   "ps",
		Short: "List the .NET processes that run, and what can be recorded of each",
		Long: "List the .NET processes that this user may look into, in containers too, with the version of\n" +
			"their runtime, for how long they run, how much memory they have, and what clrprof attach can record:\n" +
			"allocations, in which generation objects die (lifetimes), calls and their times, and counters. With\n" +
			"\"large objects\" it records objects of 85,000 bytes and more. clrprof doctor PID says why. No\n" +
			"process is changed. JSON, CSV and TSV also have the reasons, process ids inside of containers, and\n" +
			"the profilers that a process has.",
		Example: "  clrprof ps\n" +
			"  clrprof ps --json | jq '.[] | select(.lifetimes == \"yes\") | .pid'\n" +
			"  clrprof doctor 4711\n" +
			"  clrprof attach shop",
		Args: arguments(0, 0),
		RunE: func(_ *cobra.Command, _ []string) error {
			format, layout, err := output.choose(e)
			if err != nil {
				return err
			}
			found, hidden, err := running.List()
			if err != nil {
				return exit(exitInternal, err)
			}
			records := processRecords(found)
			if format == asText {
				records = processTable(found)
			}
			if err := writeRecords(e.stdout, records, format, layout); err != nil {
				return written(err)
			}
			for _, note := range psNotes(found, hidden) {
				fmt.Fprintln(e.stderr, "clrprof:", note)
			}
			return nil
		},
	}
	output.add(cmd)
	return cmd
}

// processTable is what people read of the processes.
func processTable(found []*running.Process) *report.Records {
	out := &report.Records{
		Columns: []string{"pid", "user", "version", "uptime_ns", "resident_bytes"},
		Titles:  map[string]string{"pid": "PID", "version": ".NET", "uptime_ns": "uptime", "resident_bytes": "memory"},
		Cut:     map[string]report.Cut{"command": report.CutEnd},
		Format: func(column string, n int64) string {
			switch column {
			case "uptime_ns":
				return quantity.Nanoseconds(n).String()
			case "resident_bytes":
				return quantity.Bytes(n).String()
			}
			return fmt.Sprint(n)
		},
	}
	out.Columns = append(append(out.Columns, running.AbilityNames[:]...), "program", "command")
	for _, p := range found {
		row := []any{int64(p.PID), p.User, p.Version, int64(p.Age), int64(p.Resident)}
		for _, a := range p.Abilities {
			row = append(row, a.Extent.String())
		}
		out.Rows = append(out.Rows, append(row, p.Name, strings.Join(p.Arguments, " ")))
	}
	return out
}

// processRecords is what programs read of them.
func processRecords(found []*running.Process) *report.Records {
	out := &report.Records{Columns: []string{"pid", "inner_pid", "user", "uid", "version", "rid", "apart", "uptime_ns",
		"resident_bytes", "program", "command", "profilers", "state"}}
	for _, name := range running.AbilityNames {
		out.Columns = append(out.Columns, name, name+"_why")
	}
	for _, p := range found {
		row := []any{int64(p.PID), int64(p.Inner), p.User, int64(p.UID), p.Version, p.RID, yesOrNo(p.Apart),
			int64(p.Age), int64(p.Resident), p.Name, strings.Join(p.Arguments, " "), profilerNames(p.Profilers),
			p.State.String()}
		for _, a := range p.Abilities {
			row = append(row, a.Extent.String(), a.Why)
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

func yesOrNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func profilerNames(all []running.Profiler) string {
	var out []string
	for _, p := range all {
		name := p.Name
		if !p.Loaded {
			name += " (not loaded)"
		}
		out = append(out, name)
	}
	return strings.Join(out, ", ")
}

// psNotes are what the rows leave open.
func psNotes(found []*running.Process, hidden bool) (notes []string) {
	if len(found) == 0 {
		notes = append(notes, "no .NET process was found")
	}
	if hidden {
		notes = append(notes, "processes that this user may not look into are not listed: sudo clrprof ps")
	}
	return notes
}
