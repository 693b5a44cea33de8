package collect

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/clrprof/clrprof/internal/capture/eventpipe"
	"github.com/clrprof/clrprof/internal/pattern"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/wire"
)

// published are the meters of a process that ran already: its runtime publishes what their instruments measure, at the
// end of each interval. The lock is that of the source.
type published struct {
	values    []eventpipe.Published // that nobody has taken
	heard     bool                  // anything at all
	refused   bool
	lost      uint64 // values, here and in the process
	callbacks uint64 // collections in which some threw
	troubles  []string

	// Of the recorder alone.
	names  measured // what rows are called
	series map[*eventpipe.Series]*publishedSeries
}

// publishedSeries are the rows of an instrument with its tags.
type publishedSeries struct {
	counter wire.MeterCounter
	before  wire.MeterValue
}

// Why a process publishes nothing.
var (
	errOtherTool = errors.New("its meters are not sampled: another tool reads them, and a process has one such session")
	errNoMeters  = errors.New("its meters are not sampled: its runtime publishes none, as in trimmed programs " +
		"(EventSourceSupport), or the recording ended before the first interval")
)

// publish reads what a process publishes of the meters that are named, until it ends or the source is closed.
func (s *meterSource) publish(names []string, interval quantity.Nanoseconds) {
	var patterns []pattern.Pattern
	for _, name := range names {
		patterns = append(patterns, pattern.Wildcard(name))
	}
	wants := func(meter string) bool { return pattern.First(patterns, pattern.NamesOf(meter)) != "" }
	client := fmt.Sprintf("clrprof-%d-%d", s.pid, Monotonic()) // so that no two recordings are taken for one
	all := eventpipe.NewInstruments(names, wants, client, interval)
	n, x, err := s.start([]eventpipe.Provider{all.First()})
	if err != nil {
		s.fail(err)
		return
	}
	stream := eventpipe.NewStream(x)
	for {
		e, err := stream.Next()
		if err != nil {
			all.Finish()
			s.addPublished(nil, all, stream.Lost())
			s.ended(n, x, err)
			return
		}
		s.addPublished(all.Add(e), all, stream.Lost())
		if more, ok := all.More(); ok {
			if err := askMore(s.pid, more); err != nil && alive(s.pid) {
				all.Trouble("more meters could not be asked for: " + err.Error())
			}
		}
	}
}

// askMore adds names to a session: those of another one in the same process, which ends at once.
func askMore(pid int, provider eventpipe.Provider) error {
	x, err := eventpipe.Start(pid, []eventpipe.Provider{provider})
	if err != nil {
		return err
	}
	return x.Close()
}

// addPublished keeps values until somebody takes them. One that is left out is only a sample less: the next one has its
// sums.
func (s *meterSource) addPublished(values []eventpipe.Published, all *eventpipe.Instruments, lost uint64) {
	s.lock.Lock()
	defer s.lock.Unlock()
	p := &s.published
	p.heard, p.refused, p.callbacks = all.Heard(), all.Refused(), all.Callbacks()
	p.lost, p.troubles = all.Lost()+lost, all.Troubles()
	for _, value := range values {
		if len(p.values) >= maxWaitingPoints {
			s.dropped++
			continue
		}
		p.values = append(p.values, value)
	}
}

// why says why nothing is published, nil if nothing is known to be in the way.
func (p *published) why(last bool) error {
	switch {
	case p.refused:
		return errOtherTool
	case last && !p.heard:
		return errNoMeters
	}
	return nil
}

// said is what is known to be missing, of a process that was asked.
func (p *published) said(asked bool) []string {
	why := p.why(true)
	if !asked || why == nil {
		return p.troubles
	}
	return append([]string{why.Error()}, p.troubles...)
}

// isIncomplete reports whether some meters are not published, as far as it is known.
func (s *meterSource) isIncomplete() bool {
	s.lock.Lock()
	defer s.lock.Unlock()
	return len(s.published.troubles) > 0
}

// unpublished are the losses of what a process publishes: the agent has none of these reasons if nothing listens.
func (s *meterSource) unpublished() (out []session.Loss) {
	s.lock.Lock()
	defer s.lock.Unlock()
	add := func(reason string, n uint64) {
		if n > 0 {
			out = append(out, session.Loss{Process: s.process, Reason: reason, Events: quantity.Count(n)})
		}
	}
	add(session.LossMeters, s.published.lost)
	add(session.LossMeterCallbacks, s.published.callbacks)
	return out
}

// wireKinds are the kinds of instruments as the agent has them.
var wireKinds = map[eventpipe.InstrumentKind]uint32{
	eventpipe.Added: wire.MeterAdded, eventpipe.UpDown: wire.MeterUpDown, eventpipe.Set: wire.MeterSet,
	eventpipe.Total: wire.MeterTotal, eventpipe.Measured: wire.MeterMeasured}

// addPublished takes a value: into the counters that the instrument has if it is listened to.
func (m *meters) addPublished(process session.ProcessID, p *published, value *eventpipe.Published,
	at quantity.Nanoseconds) {
	if p.series == nil {
		p.series = map[*eventpipe.Series]*publishedSeries{}
	}
	s := p.series[value.Series]
	if s == nil {
		of := value.Series
		s = &publishedSeries{counter: p.names.called(&wire.MeterCounter{Kind: wireKinds[of.Kind], Meter: of.Meter,
			Instrument: of.Name, Tags: of.Tags, Unit: of.Unit, Description: of.Description})}
		p.series[of] = s
	}
	now := wire.MeterValue{Count: uint64(value.Count), Sum: math.Float64bits(value.Sum),
		Last: math.Float64bits(value.Last), Min: math.Float64bits(math.Inf(1)), Max: math.Float64bits(math.Inf(-1))}
	if k := s.counter.Kind; k == wire.MeterSet || k == wire.MeterTotal {
		now.Count = 1 // there is one
	}
	m.addMeasured(process, &s.counter, &s.before, &now, at)
	s.before = now
	for _, q := range value.Quantiles {
		m.put(process, quantileOf(&s.counter, q.Of), true, at, numberOf(math.Float64bits(q.Value), false))
	}
}

// quantileOf is the counter of a histogram's quantile: that of 0.95 is called .p95.
func quantileOf(c *wire.MeterCounter, of string) *eventpipe.Counter {
	_, digits, _ := strings.Cut(of, ".")
	if len(digits) == 1 {
		digits += "0"
	}
	counter := counterOf(c)
	counter.Name += ".p" + digits
	return &counter
}
