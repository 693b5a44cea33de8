package cli

import (
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/capture/collect"
	"github.com/clrprof/clrprof/internal/capture/steer"
	"github.com/clrprof/clrprof/internal/quantity"
)

// steerFlags are the flags of the run command that say when something is recorded.
type steerFlags struct {
	paused     bool
	stopped    bool
	after, For time.Duration
	first      int // collections, 0: all
	stopWhen   string
	signals    bool
}

func (s *steerFlags) add(f *pflag.FlagSet) {
	f.BoolVar(&s.paused, "paused", false,
		"record nothing until clrprof ctl resume, SIGUSR1 or the program itself resumes")
	f.BoolVar(&s.stopped, "stopped", false,
		"record nothing until clrprof ctl start, --start-at or the program itself starts recording")
	f.DurationVar(&s.after, "after", 0, "record nothing until this long after the start, such as 2m")
	f.DurationVar(&s.For, "for", 0, "record for this long, such as 30s; then the command continues unrecorded")
	f.StringVar(&s.stopWhen, "stop-when", "",
		"record until this condition is true: allocated, allocations, calls, gcs or time, then > and a number, such as "+
			"'allocated > 2GB'")
	f.BoolVar(&s.signals, "control-signals", false,
		"SIGUSR1 to clrprof pauses and resumes, SIGUSR2 makes a mark; without this flag the command gets both signals")
}

// maxFirst fits the agent's counter.
const maxFirst = 1_000_000_000

// addFirst adds the flag of a recording that ends with a collection.
func (s *steerFlags) addFirst(f *pflag.FlagSet) {
	f.IntVar(&s.first, "record-first", 0, "with --lifetime: record each process until this many garbage collections "+
		"have ended; then it continues unrecorded, but its recorded objects are followed to their end")
}

// check refuses what contradicts itself. lifetime: objects are followed.
func (s *steerFlags) check(lifetime bool) error {
	switch {
	case s.after < 0 || s.For < 0:
		return usage("--after and --for are durations, such as 30s")
	case s.paused && s.after > 0:
		return usage("--paused and --after exclude each other, because --after is paused until then")
	}
	switch {
	case s.first > 0 && !lifetime:
		return usage("--record-first needs --lifetime")
	case s.first < 0 || s.first > maxFirst:
		return usage("--record-first %d: want a number of collections, at most %d", s.first, maxFirst)
	}
	name, _, _ := strings.Cut(s.stopWhen, ">")
	if strings.TrimSpace(name) == gcsCondition && !lifetime {
		return usage("--stop-when %q needs --lifetime", s.stopWhen)
	}
	_, err := parseCondition(s.stopWhen)
	return err
}

// keptSignals are the signals that control the recording and are not the command's.
func (s *steerFlags) keptSignals() []os.Signal {
	if !s.signals {
		return nil
	}
	return []os.Signal{unix.SIGUSR1, unix.SIGUSR2}
}

// steering is what the flags say; released lets signals be the command's again.
func (s *steerFlags) steering(n *notes, queue *steer.Queue) (out collect.Steering, released func()) {
	out = collect.Steering{Queue: queue, Paused: s.paused, Stopped: s.stopped, After: s.after, For: s.For}
	out.Say = func(message string) {
		n.say("%s", message)
	}
	out.StopWhen, _ = parseCondition(s.stopWhen) // checked before
	if !s.signals {
		return out, func() {}
	}
	toggle, mark := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(toggle, unix.SIGUSR1)
	signal.Notify(mark, unix.SIGUSR2)
	out.Toggle, out.Mark = toggle, mark
	return out, func() {
		signal.Stop(toggle)
		signal.Stop(mark)
	}
}

// gcsCondition is about collections, which are known only if objects are followed.
const gcsCondition = "gcs"

// conditions are the quantities that --stop-when knows, with how they are read.
var conditions = map[string]struct {
	parse func(string) (int64, error)
	value func(collect.Totals) int64
}{
	"allocated":   {bytesOf, func(t collect.Totals) int64 { return int64(t.Bytes) }},
	"allocations": {countOf, func(t collect.Totals) int64 { return int64(t.Allocations) }},
	"calls":       {countOf, func(t collect.Totals) int64 { return int64(t.Calls) }},
	gcsCondition:  {countOf, func(t collect.Totals) int64 { return int64(t.GCs) }},
	"time": {func(text string) (int64, error) {
		d, err := time.ParseDuration(text)
		return int64(d), err
	}, func(t collect.Totals) int64 { return int64(t.Age) }},
}

func bytesOf(text string) (int64, error) {
	number, shift := quantity.CutUnit(text)
	n, err := strconv.ParseInt(number, 10, 64)
	if err == nil && n > 1<<(62-shift) {
		err = strconv.ErrRange
	}
	return n << shift, err
}

func countOf(text string) (int64, error) { return strconv.ParseInt(text, 10, 64) }

// parseCondition reads --stop-when; "" is no condition.
func parseCondition(text string) (func(collect.Totals) string, error) {
	if text == "" {
		return nil, nil
	}
	name, limit, ok := strings.Cut(text, ">")
	condition, known := conditions[strings.TrimSpace(name)]
	n, err := int64(0), error(nil)
	if ok && known {
		n, err = condition.parse(strings.TrimSpace(limit))
	}
	if !ok || !known || err != nil || n < 0 {
		return nil,
			usage("--stop-when %q: want allocated, allocations, calls, gcs or time, then > and a number, such as "+
				"'allocated > 2GB'", text)
	}
	return func(t collect.Totals) string {
		if condition.value(t) <= n {
			return ""
		}
		return fmt.Sprintf("%s > %s", strings.TrimSpace(name), strings.TrimSpace(limit))
	}, nil
}
