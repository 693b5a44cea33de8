package cli

import (
	"cmp"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/capture/counter"
	"github.com/clrprof/clrprof/internal/pattern"
	"github.com/clrprof/clrprof/internal/present/report"
	"github.com/clrprof/clrprof/internal/session"
)

func newCountersCommand(e *environment) *cobra.Command {
	var output outputFlags
	var unfinished unfinishedFlags
	var missing, marks, overTime, cpu, events bool
	var names []string
	cmd := &cobra.Command{
		Use:   "counters [SESSION]",
		Short: "List the counters of the operating system, or show what they were in a session",
		Long: "List the counters that clrprof run samples (--sample-counters), with their units, and whether this\n" +
			"machine has them. With a session: what they were, and what programs counted themselves with\n" +
			"meters and event sources (run --meter); with --over-time, and as JSON and CSV, each value. A sum\n" +
			"only grows, since the process, its control group or the machine started, or since its first\n" +
			"sample; a level is the value at that moment.\n" +
			"Collections, the heap and allocations over time are exact and are elsewhere: report SESSION gcs,\n" +
			"and the tables of slices. With --cpu: the counters of the processor and the kernel that run --time\n" +
			"--cpu-counters reads where calls begin and end, and why this machine does not have some of them.\n" +
			"With --events: the same for the events that run --time --events lists.",
		Example: "  clrprof counters\n" +
			"  clrprof counters --cpu\n" +
			"  clrprof counters --events\n" +
			"  clrprof counters app.clrprof\n" +
			"  clrprof counters app.clrprof --csv > counters.csv\n" +
			"  clrprof counters app.clrprof --name 'Shop.*'\n" +
			"  clrprof counters app.clrprof --marks --name process.resident\n" +
			"  clrprof counters app.clrprof --missing",
		Args: arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			format, layout, err := output.choose(e)
			if err != nil {
				return err
			}
			if cpu || events {
				if missing || marks || overTime || len(names) > 0 || len(args) > 0 || cpu && events {
					return usage("--cpu and --events are about this machine: give one of them, without a SESSION " +
						"and its flags")
				}
				return listHere(e, events, format, layout)
			}
			if len(args) == 0 {
				if missing || marks || overTime || len(names) > 0 {
					return usage("--missing, --marks, --over-time and --name are about a SESSION: name one")
				}
				return written(writeRecords(e.stdout, hereRecords(), format, layout))
			}
			if missing && (marks || overTime) || marks && overTime {
				return usage("--missing, --marks and --over-time exclude each other")
			}
			s, err := readSamples(func(path string) (*session.Session, error) {
				return unfinished.open(cmd.Context(), e, path)
			}, args[0], names)
			if err != nil {
				return err
			}
			each := overTime || format != asText
			return written(writeRecords(e.stdout, s.records(missing, marks, each), format, layout))
		},
	}
	cmd.Flags().BoolVar(&missing, "missing", false, "of a session: the counters without values, and why")
	cmd.Flags().BoolVar(&marks, "marks", false,
		"of a session: a row for each mark, with the last value of each counter before it")
	cmd.Flags().BoolVar(&overTime, "over-time", false, "of a session: each value, in the order of time, also as text")
	cmd.Flags().BoolVar(&cpu, "cpu", false, "list the counters of the processor that can be read for each call")
	cmd.Flags().BoolVar(&events, "events", false, "list the events that run --events can list, and what the others "+
		"need")
	cmd.Flags().StringArrayVar(&names, "name", nil,
		"of a session: only counters whose names match a pattern, such as 'process.*'")
	output.add(cmd)
	unfinished.add(cmd)
	return cmd
}

// records are those that the flags --missing and --marks choose, else each value, or an overview.
func (s *samples) records(missing, marks, each bool) *report.Records {
	switch {
	case missing:
		return s.missing()
	case marks:
		return s.atMarks()
	case each:
		return s.overTime()
	}
	return s.overview()
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

// samples are what the counters of a session said.
type samples struct {
	counters  []session.Counter
	byID      map[int64]*session.Counter
	processes []session.Process
	pids      map[session.ProcessID]any // of the machine: NULL
	values    []session.CounterValue    // in the order of time
	marks     []session.Mark
}

// readSamples reads those that names allow: patterns of names of counters, none for all.
func readSamples(open func(path string) (*session.Session, error), path string, names []string) (*samples, error) {
	s, err := open(path)
	if err != nil {
		return nil, readError(err)
	}
	defer s.Close()
	var out samples
	if out.counters, err = s.Counters(); err != nil {
		return nil, readError(err)
	}
	if out.values, err = s.CounterValues(); err != nil {
		return nil, readError(err)
	}
	if out.processes, err = s.Processes(); err != nil {
		return nil, readError(err)
	}
	if out.marks, err = analysis.Marks(s); err != nil {
		return nil, readError(err)
	}
	if err := out.choose(names); err != nil {
		return nil, err
	}
	out.byID, out.pids = map[int64]*session.Counter{}, map[session.ProcessID]any{}
	for i := range out.counters {
		out.byID[out.counters[i].ID] = &out.counters[i]
	}
	for _, p := range out.processes {
		out.pids[p.ID] = p.PID
	}
	out.values = slices.DeleteFunc(out.values, func(v session.CounterValue) bool { return out.byID[v.Counter] == nil })
	slices.SortStableFunc(out.values, func(a, b session.CounterValue) int { return cmp.Compare(a.Time, b.Time) })
	return &out, nil
}

// choose leaves out the counters that no pattern matches.
func (s *samples) choose(patterns []string) error {
	if len(patterns) == 0 {
		return nil
	}
	var compiled []pattern.Pattern
	for _, text := range patterns {
		p, err := pattern.Compile(text)
		if err != nil {
			return usage("--name: %v", err)
		}
		compiled = append(compiled, p)
	}
	all := len(s.counters)
	s.counters = slices.DeleteFunc(s.counters, func(c session.Counter) bool {
		names := pattern.NamesOf(c.Name, c.Label())
		return !slices.ContainsFunc(compiled, func(p pattern.Pattern) bool { return p.Match(names) })
	})
	if len(s.counters) == 0 {
		return usage("--name: none of the session's %d counters has a matching name", all)
	}
	return nil
}

// missing lists the counters without values, and why.
func (s *samples) missing() *report.Records {
	out := &report.Records{Columns: []string{"name", "why"}}
	for _, c := range s.counters {
		if c.Missing != "" {
			out.Rows = append(out.Rows, []any{c.Name, c.Missing})
		}
	}
	return out
}

// overTime lists all values.
func (s *samples) overTime() *report.Records {
	out := &report.Records{Columns: []string{"time_ns", "process_id", "name", "value", "unit", "kind", "tags"}}
	for _, v := range s.values {
		c := s.byID[v.Counter]
		out.Rows = append(out.Rows, []any{int64(v.Time), s.pids[v.Process], c.Name, number(&v), c.Unit, kindOf(c.IsSum),
			c.Tags})
	}
	return out
}

// number is a value as it is printed: whole, if it is.
func number(v *session.CounterValue) any {
	if v.Fraction == 0 {
		return v.Value
	}
	return v.Number()
}

// atMarks has a row for each mark, and of one that is not about a process for each process that ran then, with what
// each counter said last before it.
func (s *samples) atMarks() *report.Records {
	out := &report.Records{Columns: []string{"mark_id", "mark_name", "mark_ns", "process_id"}}
	valued := map[int64]bool{}
	for _, v := range s.values {
		valued[v.Counter] = true
	}
	columns := slices.DeleteFunc(slices.Clone(s.counters), func(c session.Counter) bool { return !valued[c.ID] })
	for _, c := range columns {
		out.Columns = append(out.Columns, c.Label())
	}
	type key struct {
		process session.ProcessID
		counter int64
	}
	last, next := map[key]any{}, 0
	for _, m := range s.marks {
		for ; next < len(s.values) && s.values[next].Time <= m.Time; next++ {
			v := &s.values[next]
			last[key{v.Process, v.Counter}] = number(v)
		}
		for _, p := range s.processes {
			if m.Process != 0 && m.Process != p.ID || p.Begin > m.Time || p.End < m.Time {
				continue
			}
			row := []any{int64(m.ID), cmp.Or(m.Name, fmt.Sprintf("#%d", m.Number)), int64(m.Time), p.PID}
			for _, c := range columns {
				value, ok := last[key{p.ID, c.ID}]
				if !ok {
					value = last[key{0, c.ID}] // of the machine, or none yet
				}
				row = append(row, value)
			}
			out.Rows = append(out.Rows, row)
		}
	}
	return out
}
