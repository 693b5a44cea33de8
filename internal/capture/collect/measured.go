package collect

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/clrprof/clrprof/internal/capture/eventpipe"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/wire"
)

// measured is what the instruments of a process's meters measured. Code of ours in the process adds to its rows: so
// they are right whenever it ends.
type measured struct {
	state    uint32              // wire.MeterWanted and so on; 0: nobody asked
	counters []wire.MeterCounter // by row
	labels   map[string]bool     // that are taken: instruments with different units or kinds can be called alike
	numbers  map[alike]int       // the number that one of these took last
	before   []wire.MeterValue   // when they were taken last
	taken    quantity.Nanoseconds
	complete bool // they were taken when the process was over
}

// addState notes what became of the code that listens.
func (s *measured) addState(record *wire.MeterState) { s.state = record.State }

// addCounter notes an instrument with its tags.
func (s *measured) addCounter(record *wire.MeterCounter) error {
	if int(record.ID) != len(s.counters)+1 || len(s.counters) >= wire.MaxMeterCounters || record.Kind == 0 ||
		record.Kind >= wire.MeterKinds {
		return fmt.Errorf("%w: counter %d of a meter, of kind %d", wire.ErrCorrupt, record.ID, record.Kind)
	}
	s.counters = append(s.counters, s.called(record))
	s.before = append(s.before, wire.MeterValue{})
	return nil
}

// alike is what is equal in records that differ in the number behind their instrument's name.
type alike struct {
	meter, instrument, tags string
	counters                int
}

// histogramParts are what the counters of a histogram are called besides. Those of quantiles are only there if the
// runtime publishes them.
var histogramParts = []string{"", ".count", ".sum", ".min", ".max"}

// called returns a record whose counters nobody is called like yet, for which its instrument may have a number behind
// its name.
func (s *measured) called(record *wire.MeterCounter) wire.MeterCounter {
	if s.labels == nil {
		s.labels, s.numbers = map[string]bool{}, map[alike]int{}
	}
	suffixes := histogramParts[:1]
	if record.Kind == wire.MeterMeasured {
		suffixes = histogramParts
	}
	key := alike{record.Meter, record.Instrument, record.Tags, len(suffixes)}
	for n := max(s.numbers[key], 1); ; n++ { // those before stay taken; to try them all again took minutes
		out := *record
		if n > 1 {
			out.Instrument += fmt.Sprintf(" (%d)", n)
		}
		label := func(suffix string) string { return out.Meter + "/" + out.Instrument + suffix + "{" + out.Tags + "}" }
		if slices.ContainsFunc(suffixes, func(suffix string) bool { return s.labels[label(suffix)] }) {
			continue
		}
		for _, suffix := range suffixes {
			s.labels[label(suffix)] = true
		}
		s.numbers[key] = n
		return out
	}
}

// Why instruments of a process are not listened to.
var (
	errMetersOld     = errors.New("its meters are not sampled: that needs .NET 8 or later")
	errMetersFile    = errors.New("its meters are not sampled: it cannot read the assembly that would listen to them")
	errMetersStartup = errors.New("its meters are not sampled: startup hooks are off, as in trimmed programs " +
		"(StartupHookSupport), or what they need was trimmed away, or the program has another assembly named " +
		"Clrprof.Meters, or the process ended before sampling began")
)

// why says why nothing is measured, nil if nothing is known to be in the way.
func (s *measured) why(last bool) error {
	switch {
	case s.state == wire.MeterOldRuntime:
		return errMetersOld
	case s.state == wire.MeterNoFile:
		return errMetersFile
	case s.state == wire.MeterWanted && last:
		return errMetersStartup
	}
	return nil
}

// takeMeasured takes what the instruments of a process have measured up to now. While it runs, samples have that.
func (r *Recorder) takeMeasured(p *process, now quantity.Nanoseconds, last bool) {
	switch s := &p.measured; {
	case len(s.counters) == 0 || s.complete:
		return
	case p.over:
		now = p.end
	case r.samples.sampler != nil && !last:
		return
	}
	r.addMeasured(p, now, meterValues(p.arena))
	if p.over {
		p.measured.complete = true
	}
}

// addMeasured adds what the instruments of a process had measured at a time.
func (r *Recorder) addMeasured(p *process, at quantity.Nanoseconds, values []wire.MeterValue) {
	s := &p.measured
	if len(s.counters) == 0 || len(values) == 0 || s.complete {
		return
	}
	if r.meters == nil { // what a killed collector left
		r.meters = newMeters(nil, 0)
	}
	if s.taken > 0 {
		at = max(at, s.taken+1) // a process says that it ends before it has
	}
	s.taken = at
	for i := range min(len(s.counters), len(values)) {
		r.meters.addMeasured(p.rec.ID(), &s.counters[i], &s.before[i], &values[i], at)
		s.before[i] = values[i]
	}
}

// number is a value of an instrument, exactly.
type number struct {
	whole    int64
	fraction float64
	none     bool // it is no number that a session can have
}

func numberOf(bits uint64, whole bool) number {
	if whole {
		return number{whole: int64(bits)}
	}
	value, fraction, ok := session.SplitNumber(math.Float64frombits(bits))
	return number{value, fraction, !ok}
}

// addMeasured adds the values of an instrument, those of a histogram as those of an EventCounter: the mean is that of
// what was measured since before.
func (m *meters) addMeasured(process session.ProcessID, c *wire.MeterCounter, before, now *wire.MeterValue,
	at quantity.Nanoseconds) {
	whole, of := c.Whole != 0, counterOf(c)
	put := func(of eventpipe.Counter, n number) { m.put(process, &of, true, at, n) }
	part := func(name, unit string, sum bool, bits uint64) {
		of := of
		of.Name, of.Unit, of.Sum = of.Name+name, unit, sum
		put(of, numberOf(bits, whole))
	}
	switch c.Kind {
	case wire.MeterAdded:
		part("", c.Unit, true, now.Sum)
	case wire.MeterUpDown:
		part("", c.Unit, false, now.Sum)
	case wire.MeterTotal, wire.MeterSet:
		if now.Count != 0 {
			part("", c.Unit, c.Kind == wire.MeterTotal, now.Last)
		}
	case wire.MeterMeasured:
		if now.Count != before.Count {
			put(of, meanOf(before, now, whole))
		}
		count := of
		count.Name, count.Unit, count.Sum = of.Name+".count", "count", true
		put(count, number{whole: int64(now.Count)})
		part(".sum", c.Unit, true, now.Sum)
		if now.Count != 0 && !numberOf(now.Min, whole).none { // else nobody says
			part(".min", c.Unit, false, now.Min)
			part(".max", c.Unit, false, now.Max)
		}
	}
}

// counterOf is the counter of an instrument.
func counterOf(c *wire.MeterCounter) eventpipe.Counter {
	return eventpipe.Counter{Source: c.Meter, Name: c.Meter + "/" + c.Instrument, Tags: c.Tags, Unit: c.Unit,
		Meaning: c.Description}
}

// meanOf is the mean of what was measured between two looks.
func meanOf(before, now *wire.MeterValue, whole bool) number {
	sum := math.Float64frombits(now.Sum) - math.Float64frombits(before.Sum)
	if whole {
		sum = float64(int64(now.Sum - before.Sum))
	}
	return numberOf(math.Float64bits(sum/float64(now.Count-before.Count)), false)
}
