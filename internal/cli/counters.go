package cli

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/clrprof/clrprof/internal/counter"
	"github.com/clrprof/clrprof/internal/report"
	"github.com/clrprof/clrprof/internal/session"
)

func newCountersCommand(e *environment) *cobra.Command {
	var output outputFlags
	missing := false
	cmd := &cobra.Command{
		Use:   "counters [SESSION]",
		Short: "List what the operating system counts for a process, or show it over time",
		Long: "List the counters that clrprof run samples (--sample-counters), with their units, and whether this\n" +
			"machine has them. With a session: what they said over time. A sum only grows, since the process, its\n" +
			"control group or the machine began; a level is what it was at that moment. Collections, the heap and\n" +
			"allocations over time are exact and elsewhere: report SESSION gcs, and the tables of slices.",
		Example: "  clrprof counters\n" +
			"  clrprof counters app.clrprof\n" +
			"  clrprof counters app.clrprof --csv > counters.csv\n" +
			"  clrprof counters app.clrprof --missing",
		Args: arguments(0, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			format, layout, err := output.choose(e)
			if err != nil {
				return err
			}
			records := hereRecords()
			if len(args) > 0 {
				if records, err = sampleRecords(args[0], missing); err != nil {
					return err
				}
			}
			return written(records.Write(e.stdout, format, layout))
		},
	}
	cmd.Flags().BoolVar(&missing, "missing", false, "of a session: the counters without values, and why")
	output.add(cmd)
	return cmd
}

// hereRecords lists all counters, and what they say of clrprof itself.
func hereRecords() *report.Records {
	out := &report.Records{Columns: []string{"name", "unit", "kind", "meaning", "here"}}
	here := map[counter.ID]string{}
	root := os.DirFS("/")
	for _, r := range append(counter.Process(root, os.Getpid()), counter.Machine(root)...) {
		here[r.Counter] = "yes"
		if r.Err != nil {
			here[r.Counter] = "no: " + r.Err.Error()
		}
	}
	for _, c := range counter.All() {
		out.Rows = append(out.Rows, []any{c.Name, c.Unit, kindOf(c.Sum), c.Meaning, here[c.ID]})
	}
	return out
}

func kindOf(sum bool) string {
	if sum {
		return "sum"
	}
	return "level"
}

// sampleRecords lists the samples of a session, or the counters that it has none of.
func sampleRecords(path string, missing bool) (*report.Records, error) {
	s, err := session.Open(path)
	if err != nil {
		return nil, readError(err)
	}
	defer s.Close()
	list, err := s.Counters()
	if err != nil {
		return nil, readError(err)
	}
	if missing {
		out := &report.Records{Columns: []string{"name", "why"}}
		for _, c := range list {
			if c.Missing != "" {
				out.Rows = append(out.Rows, []any{c.Name, c.Missing})
			}
		}
		return out, nil
	}
	processes, err := s.Processes()
	if err != nil {
		return nil, readError(err)
	}
	values, err := s.CounterValues()
	if err != nil {
		return nil, readError(err)
	}
	counters, pids := map[int64]session.Counter{}, map[session.ProcessID]any{} // of the machine: NULL
	for _, c := range list {
		counters[c.ID] = c
	}
	for _, p := range processes {
		pids[p.ID] = p.PID
	}
	out := &report.Records{Columns: []string{"time_ns", "process_id", "name", "value", "unit", "kind"}}
	for _, v := range values {
		c := counters[v.Counter]
		out.Rows = append(out.Rows, []any{int64(v.Time), pids[v.Process], c.Name, v.Value, c.Unit, kindOf(c.IsSum)})
	}
	return out, nil
}
