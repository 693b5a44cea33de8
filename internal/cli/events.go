package cli

import (
	"io/fs"
	"os"
	"slices"

	"github.com/spf13/pflag"

	"github.com/clrprof/clrprof/internal/capture/cpucounter"
	"github.com/clrprof/clrprof/internal/capture/systemevent"
	"github.com/clrprof/clrprof/internal/present/report"
	"github.com/clrprof/clrprof/internal/present/report/encode"
	"github.com/clrprof/clrprof/internal/present/report/text"
	"github.com/clrprof/clrprof/internal/quantity"
)

// Bounds of --event-limit: an event has 64 bytes of the agent's memory.
const (
	defaultEventLimit = 200_000
	mostEvents        = 10_000_000
)

// addEvents adds the flags of system events.
func (r *runFlags) addEvents(f *pflag.FlagSet) {
	f.StringSliceVar(&r.events, "events", nil, "with --time: also list what the operating system did to threads, "+
		"by time, thread and function: sched, page-faults, io, syscalls, migrations (clrprof counters --events "+
		"lists what is available)")
	f.IntVar(&r.eventLimit, "event-limit", defaultEventLimit, "with --events: how many events of a process are "+
		"listed; later ones are counted as lost")
}

// chooseEvents settles what is listed, all of which this machine can tell, and adds the counters that are read for it.
func (r *runFlags) chooseEvents(changed func(string) bool) error {
	if changed("event-limit") && len(r.events) == 0 {
		return usage("--event-limit needs --events")
	}
	if r.eventLimit < 1 || r.eventLimit > mostEvents {
		return usage("--event-limit %d: want 1 to %d", r.eventLimit, mostEvents)
	}
	for _, name := range r.events {
		k, ok := systemevent.Find(name)
		switch {
		case !ok:
			return exit(exitUsage, report.Unknown("kind of event", name, eventNames()))
		case !r.time:
			return usage("--events needs --time, because an event is listed with the function that ran")
		case slices.ContainsFunc(r.eventKinds, func(o systemevent.Kind) bool { return o.Name == name }):
			return usage("--events names %s twice", name)
		}
		if err := k.Check(os.DirFS("/")); err != nil {
			return usage("--events %s: %w", name, err)
		}
		r.eventKinds = append(r.eventKinds, k)
		for _, counter := range k.Counters {
			c, err := countedHere(counter)
			if err != nil {
				return usage("--events %s: %w", name, err)
			}
			if !slices.Contains(r.counters, c) {
				r.counters = append(r.counters, c)
			}
		}
	}
	if len(r.counters) > quantity.MaxCounters {
		return usage("--events page-faults and io read two counters each, syscalls and migrations one; together "+
			"with --cpu-counters that is %d: at most %d can be read at once", len(r.counters), quantity.MaxCounters)
	}
	return nil
}

// countedHere returns a CPU counter that this machine can read, as it is read here.
func countedHere(name string) (cpucounter.Counter, error) {
	root := os.DirFS("/")
	c, _ := cpucounter.Find(name)
	if err := cpucounter.Check(root, []cpucounter.Counter{c}); err != nil {
		return c, err
	}
	return c.Here(root)
}

func eventNames() []string {
	var names []string
	for _, k := range systemevent.All() {
		names = append(names, k.Name)
	}
	return names
}

// listHere lists what can be recorded on this machine beside times: system events, or CPU counters.
func listHere(e *environment, events bool, format encode.Format, layout text.Options) error {
	if events {
		return written(writeRecords(e.stdout, eventRecords(os.DirFS("/")), format, layout))
	}
	return listCPUCounters(e, format, layout)
}

// eventRecords lists what --events can name, and whether this machine tells it. root is that of the file system.
func eventRecords(root fs.FS) *report.Records {
	out := &report.Records{Columns: []string{"name", "meaning", "here"}}
	for _, k := range systemevent.All() {
		here, err := "yes", k.Check(root)
		for _, name := range k.Counters {
			if err == nil {
				_, err = countedHere(name)
			}
		}
		if err != nil {
			here = "no: " + err.Error()
		}
		out.Rows = append(out.Rows, []any{k.Name, k.Meaning, here})
	}
	return out
}
