package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/spf13/pflag"

	"github.com/clrprof/clrprof/internal/capture/collect"
	"github.com/clrprof/clrprof/internal/export/trace"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/session/calltrace"
)

// eventsSuffix is what the file of events has after the name of the trace, until that is written.
const eventsSuffix = ".events"

// defaultTraceLimit is that of --trace-limit, and leastTraceLimit the least: a chunk of an agent.
const (
	defaultTraceLimit = "1G"
	leastTraceLimit   = 64 << 10
)

// traceKeeps are what may stand behind the size of --trace-limit.
var traceKeeps = map[string]calltrace.Keep{"stop": calltrace.First, "ring": calltrace.Last}

// traceFlags are the flags of a call trace.
type traceFlags struct {
	path, limit string
}

func (x *traceFlags) add(f *pflag.FlagSet) {
	f.StringVar(&x.path, "trace", "", "record calls and times, and write each event in order (calls, their ends, "+
		"exceptions, marks, collections, what --events lists) to this file: .json for Perfetto and Chrome, .csv, or "+
		"either with .gz")
	f.StringVar(&x.limit, "trace-limit", defaultTraceLimit, "with --trace: the size of the trace, at 16 bytes for "+
		"each event; at the limit the trace ends, and later events are only counted; with :ring after the size it "+
		"keeps the last events instead")
}

// check refuses what no trace can be.
func (x *traceFlags) check(changed func(string) bool) error {
	if changed("trace-limit") && x.path == "" {
		return usage("--trace-limit needs --trace")
	}
	if _, _, err := x.room(); err != nil {
		return err
	}
	if x.path == "" && !changed("trace") {
		return nil
	}
	if _, _, known := trace.FormatOf(x.path); !known {
		return usage("--trace %q: want a file that ends with .json, .csv, .json.gz or .csv.gz", x.path)
	}
	return nil
}

// room is how many bytes of events are kept, and which.
func (x *traceFlags) room() (int64, calltrace.Keep, error) {
	size, way, named := strings.Cut(x.limit, ":")
	keep, known := traceKeeps[way]
	if named && !known {
		return 0, 0, usage("--trace-limit %q: want :stop (the trace ends at its limit) or :ring (it keeps the last events) "+
			"after the size", x.limit)
	}
	number, shift := quantity.CutUnit(size)
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n > 1<<(62-shift) || n<<shift < leastTraceLimit {
		return 0, 0, usage("--trace-limit %q: want a number of bytes, at least 64K, such as 512M, 4G or 64M:ring", x.limit)
	}
	return n << shift, keep, nil
}

// options says where the events are kept. What is there already must not be lost: force replaces it.
func (x *traceFlags) options(force bool) (collect.Trace, error) {
	if x.path == "" {
		return collect.Trace{}, nil
	}
	if _, err := os.Stat(x.path); err == nil && !force {
		err := fmt.Errorf("--trace: %s exists: use -f to replace it, or give another name", x.path)
		return collect.Trace{}, exit(exitUnwritable, err)
	}
	if _, err := newOutput(x.path, force); err != nil { // a folder, or what cannot be looked at
		return collect.Trace{}, err
	}
	limit, keep, err := x.room()
	return collect.Trace{Path: x.path + eventsSuffix, Limit: limit, Keep: keep}, err
}

// writeTrace writes a trace when its session is complete, and removes the events. Without a trace it does nothing.
func writeTrace(n *notes, s *session.Session, r *calltrace.Recorded, recorded error, force bool) error {
	if r == nil {
		return exit(exitUnwritable, recorded)
	}
	events := r.Store.Path()
	path := strings.TrimSuffix(events, eventsSuffix)
	defer os.Remove(events)
	defer r.Store.Close()
	out, err := newOutput(path, force)
	if err != nil {
		return err
	}
	out.private = true // as the session is
	n.work("writing the trace")
	format, zipped, _ := trace.FormatOf(path)
	var totals calltrace.Totals
	err = out.write(context.Background(), func(w io.Writer) error {
		totals, err = writeTo(w, format, zipped, s, r)
		return err
	})
	n.clear()
	if err != nil {
		return err
	}
	more := ""
	if totals.System > 0 {
		more = fmt.Sprintf(", and %d of the operating system", totals.System)
	}
	n.say("trace %s: %s%s", path, plural(int(totals.Events), "event", "events"), more)
	tellTraceLosses(n, &totals)
	return exit(exitUnwritable, recorded)
}

func writeTo(w io.Writer, format trace.Format, zipped bool, s *session.Session, r *calltrace.Recorded,
) (calltrace.Totals, error) {
	if !zipped {
		return trace.Write(w, format, s, r)
	}
	z := gzip.NewWriter(w)
	totals, err := trace.Write(z, format, s, r)
	return totals, errors.Join(err, z.Close())
}

// recoverTrace writes the trace of a run that was killed. Its session is there, whatever becomes of that.
func recoverTrace(n *notes, found collect.Recovered, force bool) error {
	if found.Trace == nil && found.TraceErr == nil {
		return nil
	}
	s, err := found.Session.Reader()
	if err != nil {
		return readError(err)
	}
	if err := writeTrace(n, s, found.Trace, found.TraceErr, force); err != nil {
		return exit(exitUnwritable, fmt.Errorf("the call trace of the run: %w", err))
	}
	return nil
}

// tellTraceLosses says what a trace has not.
func tellTraceLosses(n *notes, t *calltrace.Totals) {
	switch d := t.Dropped; {
	case d.Err != nil:
		n.say("the trace lacks %d events that could not be stored: %v", d.Events, d.Err)
	case d.First:
		n.say("the trace has only the last events: %d earlier events are missing; --trace-limit gives it more "+
			"room, --include and --exclude choose functions", d.Events)
	case d.Events > 0:
		n.say("the trace ends at its limit: %d later events are missing; --trace-limit gives it more room, "+
			"--include and --exclude choose functions", d.Events)
	}
	if t.Missed > 0 {
		n.say("the trace lacks %d events that came faster than they could be stored: it shows where", t.Missed)
	}
	if t.SystemLost > 0 {
		n.say("the trace lacks %d events of the operating system, for which their list had no room (--event-limit)",
			t.SystemLost)
	}
	if t.NotTold > 0 {
		n.say("the trace lacks %d beginnings and ends of collections, for lack of memory", t.NotTold)
	}
}
