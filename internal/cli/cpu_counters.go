package cli

import (
	"os"
	"slices"
	"strings"

	"github.com/clrprof/clrprof/internal/capture/cpucounter"
	"github.com/clrprof/clrprof/internal/present/report"
	"github.com/clrprof/clrprof/internal/present/report/encode"
	"github.com/clrprof/clrprof/internal/present/report/text"
	"github.com/clrprof/clrprof/internal/quantity"
)

// cpuCounterNames are the names of all CPU counters.
func cpuCounterNames() []string {
	var names []string
	for _, c := range cpucounter.All() {
		names = append(names, c.Name)
	}
	return names
}

// chosenCounters returns the CPU counters of --cpu-counters, all of which this machine can count at once.
func chosenCounters(names []string, time bool) ([]cpucounter.Counter, error) {
	var out []cpucounter.Counter
	for _, name := range names {
		c, ok := cpucounter.Find(name)
		switch {
		case !ok:
			return nil, exit(exitUsage, report.Unknown("CPU counter", name, cpuCounterNames()))
		case slices.Contains(out, c):
			return nil, usage("--cpu-counters names %s twice", name)
		}
		out = append(out, c)
	}
	switch {
	case len(out) == 0:
		return nil, nil
	case !time:
		return nil, usage("--cpu-counters needs --time: the counters are read where calls begin and end")
	case len(out) > quantity.MaxCounters:
		return nil, usage("--cpu-counters names %d: at most %d can be read together", len(out), quantity.MaxCounters)
	}
	root := os.DirFS("/")
	if err := cpucounter.Check(root, out); err != nil {
		return nil, usage("--cpu-counters %w: see clrprof counters --cpu", err)
	}
	for i := range out {
		out[i], _ = out[i].Here(root) // which Check has asked
	}
	return out, nil
}

// cpuRecords lists all CPU counters, and whether this machine lets them be read.
func cpuRecords() *report.Records {
	out := &report.Records{Columns: []string{"name", "unit", "counted_by", "meaning", "here"}}
	root := os.DirFS("/")
	for _, c := range cpucounter.All() {
		by, here := "kernel", "yes"
		if c.Hardware {
			by = "processor"
		}
		if err := cpucounter.Check(root, []cpucounter.Counter{c}); err != nil {
			here = "no: " + strings.TrimPrefix(err.Error(), c.Name+": ")
		}
		out.Rows = append(out.Rows, []any{c.Name, c.Unit, by, c.Meaning, here})
	}
	return out
}

// listCPUCounters lists all CPU counters, and says in one line why there are none of the processor.
func listCPUCounters(e *environment, format encode.Format, layout text.Options) error {
	if err := writeRecords(e.stdout, cpuRecords(), format, layout); err != nil {
		return written(err)
	}
	if why := cpucounter.Hardware(os.DirFS("/")); why != "" && format == asText {
		newNotes(e.stderr).say("%s; the counters of the kernel are available", why)
	}
	return nil
}
