package collect

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/clrprof/clrprof/internal/eventpipe"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// Limits of what programs count.
const (
	firstMeterCounter = 1000    // ids of counters; those of package counter are below
	firstMeterName    = 900     // ids of what was asked for and is missing
	maxMeterCounters  = 20_000  // in a session, of all processes: each is some hundred bytes
	maxWaitingPoints  = 100_000 // of a process, from one slice to the next: a second of 8,000 values each 100 ms
	maxMeterReasons   = 8       // told in one line
)

// MaxMeterNames is how many names can be asked for.
const MaxMeterNames = firstMeterCounter - firstMeterName - 1

// startOfMeters is how long it may take from a process's first sign to its diagnostics socket, on a machine that is
// busy.
const startOfMeters = 30 * time.Second

// endOfMeters is how long what a process has sent may take to be read after its end.
const endOfMeters = 5 * time.Second

// meters are what the runtimes of all processes say that programs count.
type meters struct {
	names    []string
	interval quantity.Nanoseconds
	sources  []*meterSource               // in the order of their processes
	ids      map[string]int64             // by label
	counters []session.Counter            // that are not written
	kept     map[[2]int64]*keptPoint      // by process and counter
	rows     []session.CounterValue       // that are not written
	seen     map[string]bool              // names of which there are values
	troubles map[session.ProcessID]string // why there is less of a process than was asked for
}

// keptPoint is the last value of a counter.
type keptPoint struct {
	row     session.CounterValue
	written quantity.Nanoseconds // when the last one was that is written
	pending bool                 // this one is not
}

// meterSource reads what one process sends.
type meterSource struct {
	process session.ProcessID
	pid     int
	done    chan struct{} // closed when there is no more

	lock     sync.Mutex
	sessions []*eventpipe.Session
	points   []eventpipe.Point // that nobody has taken
	dropped  int
	lost     uint64
	troubles []string
	failure  error // there is no session
	closed   bool
}

// sampleMeters makes the recorder sample counters of event sources.
func (r *Recorder) sampleMeters(names []string, interval quantity.Nanoseconds) {
	if len(names) == 0 || interval == 0 {
		return
	}
	m := &meters{names: names, interval: interval, ids: map[string]int64{}, kept: map[[2]int64]*keptPoint{},
		seen: map[string]bool{}, troubles: map[session.ProcessID]string{}}
	r.meters = m
}

// oldestSampled is the first version of .NET whose programs do not hang when they end while they are sampled for the
// first time. .NET Core 3.1 says that it is 4.
const oldestSampled = 8

var errOldRuntime = errors.New("not sampled, since programs of .NET Core 3.1 can hang at their end then")

// begin starts to sample a process that is new.
func (m *meters) begin(process session.ProcessID, pid, major int) {
	s := &meterSource{process: process, pid: pid, done: make(chan struct{})}
	m.sources = append(m.sources, s)
	if major < oldestSampled {
		s.failure = errOldRuntime
		close(s.done)
		return
	}
	wanted := func(source string) bool { return slices.Contains(m.names, source) }
	providers := eventpipe.MetersProviders("", nil, m.names, m.interval)
	go func() {
		defer close(s.done)
		s.run(providers, wanted)
	}()
}

// run reads until the process ends or the source is closed.
func (s *meterSource) run(providers []eventpipe.Provider, wanted func(string) bool) {
	first, err := s.start(providers)
	if err != nil {
		s.lock.Lock()
		s.failure = err
		s.lock.Unlock()
		return
	}
	s.keep(first)
	stream, m := eventpipe.NewStream(first), eventpipe.NewMeters(wanted)
	for {
		e, err := stream.Next()
		if err != nil {
			s.ended(err)
			return
		}
		s.add(m.Add(e), m, stream.Lost())
	}
}

// start begins a session as soon as the process listens.
func (s *meterSource) start(providers []eventpipe.Provider) (*eventpipe.Session, error) {
	until := time.Now().Add(startOfMeters)
	for pause := time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		x, err := eventpipe.Start(s.pid, providers)
		switch {
		case err == nil:
			return x, nil
		case !alive(s.pid):
			return nil, errors.New("it ended before its counters could be asked for")
		case !errors.Is(err, eventpipe.ErrNotYet) || time.Now().After(until) || s.isClosed():
			return nil, err
		}
		time.Sleep(pause)
	}
}

// keep notes a session, which is closed with the source.
func (s *meterSource) keep(x *eventpipe.Session) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.sessions = append(s.sessions, x)
	if s.closed {
		_ = x.Close() // nobody reads it
	}
}

func (s *meterSource) isClosed() bool {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.closed
}

// add keeps points until somebody takes them.
func (s *meterSource) add(points []eventpipe.Point, m *eventpipe.Meters, lost uint64) {
	s.lock.Lock()
	defer s.lock.Unlock()
	room := maxWaitingPoints - len(s.points)
	s.dropped += max(0, len(points)-room)
	s.points = append(s.points, points[:min(len(points), room)]...)
	s.lost, s.troubles = lost, m.Troubles()
}

// ended notes how the stream ended: in the middle where the process was killed, or the source closed.
func (s *meterSource) ended(err error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if errors.Is(err, eventpipe.ErrFormat) {
		s.troubles = append(s.troubles, err.Error())
	}
	for _, x := range s.sessions {
		_ = x.Close() // it was only read
	}
}

// close ends the source, if the process goes on, or else waits until all that it sent is read.
func (s *meterSource) close(alive bool) {
	if !alive {
		timer := time.NewTimer(endOfMeters)
		defer timer.Stop()
		select {
		case <-s.done:
			return
		case <-timer.C: // a child of the process has its socket
		}
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	s.closed = true
	for _, x := range s.sessions {
		_ = x.Close() // the runtime ends the session
	}
}

// close ends all sources.
func (m *meters) close() {
	for _, s := range m.sources {
		s.close(true)
	}
}

// take takes what is new.
func (m *meters) take(r *Recorder, s *meterSource) {
	s.lock.Lock()
	points := s.points
	s.points = nil
	s.lock.Unlock()
	for i := range points {
		m.add(s.process, &points[i], max(0, points[i].Time-r.start))
	}
}

// add takes a value. They are kept more rarely with the age of the recording, like samples; the last one always is.
func (m *meters) add(process session.ProcessID, p *eventpipe.Point, at quantity.Nanoseconds) {
	value, fraction, ok := session.SplitNumber(p.Value)
	id, known := m.id(p)
	if !ok || !known {
		return
	}
	key := [2]int64{int64(process), id}
	k := m.kept[key]
	if k == nil {
		k = &keptPoint{written: -m.interval}
		m.kept[key] = k
	}
	k.row = session.CounterValue{Time: at, Process: process, Counter: id, Value: value, Fraction: fraction}
	k.pending = at-k.written < at/samplesOfAge || at == k.written
	if !k.pending {
		k.written = at
		m.rows = append(m.rows, k.row)
	}
}

// id is the counter of a point.
func (m *meters) id(p *eventpipe.Point) (int64, bool) {
	row := session.Counter{Name: p.Name, Unit: cmp.Or(p.Unit, "count"), IsSum: p.Sum, Meaning: p.Meaning, Tags: p.Tags}
	label := row.Label()
	if id, ok := m.ids[label]; ok {
		return id, true
	}
	m.seen[p.Source] = true
	if len(m.ids) >= maxMeterCounters {
		m.troubles[0] = fmt.Sprintf("there are more than %d counters: others are left out", maxMeterCounters)
		return 0, false
	}
	row.ID = firstMeterCounter + int64(len(m.ids))
	m.ids[label] = row.ID
	m.counters = append(m.counters, row)
	return row.ID, true
}

// write writes what is new, and in the end what is missing.
func (m *meters) write(r *Recorder, last bool) error {
	for _, s := range m.sources {
		if last {
			s.close(r.alive(s.pid))
		}
		m.take(r, s)
	}
	if last {
		m.finish()
	}
	if err := r.w.ReplaceCounters(m.counters); err != nil {
		return err
	}
	if err := r.w.InsertCounterValues(m.rows); err != nil {
		return err
	}
	m.counters, m.rows = nil, m.rows[:0]
	return nil
}

// finish adds the last values, and rows for what was asked for and is not there.
func (m *meters) finish() {
	for _, k := range m.kept {
		if k.pending && k.row.Time > k.written {
			m.rows = append(m.rows, k.row)
		}
	}
	slices.SortStableFunc(m.rows, func(a, b session.CounterValue) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.Process, b.Process), cmp.Compare(a.Counter, b.Counter))
	})
	reasons, unseen := m.reasons(), false
	for i, p := range m.names {
		if !m.seen[p] {
			unseen = true
			m.addMissing(i, p, cmp.Or(reasons, noSource))
		}
	}
	if reasons != "" && !unseen {
		m.addMissing(0, strings.Join(m.names, ", "), reasons)
	}
}

// addMissing adds a row for what was asked for.
func (m *meters) addMissing(i int, name, why string) {
	m.counters = append(m.counters, session.Counter{ID: firstMeterName + int64(i), Name: name, Unit: "count",
		Meaning: "what --meter asked for", Missing: why})
}

// noSource is why there are no values of what was asked for, if nothing else is known. Meters of
// System.Diagnostics.Metrics are not sampled: a program can hang when it ends while the runtime reads them for the
// first time, with any tool.
const noSource = "no process has an event source of exactly this name with counters; meters are not sampled"

// reasons says why there is less than was asked for, "" if nothing is known to be missing.
func (m *meters) reasons() string {
	var out []string
	if text, ok := m.troubles[0]; ok {
		out = append(out, text)
	}
	for _, s := range m.sources {
		s.lock.Lock()
		said := slices.Clone(s.troubles)
		if s.failure != nil {
			said = append(said, s.failure.Error())
		}
		if s.dropped > 0 {
			said = append(said, fmt.Sprintf("%d values came faster than they could be written", s.dropped))
		}
		if s.lost > 0 {
			said = append(said, fmt.Sprintf("the runtime had no room for %d events", s.lost))
		}
		s.lock.Unlock()
		for _, text := range said {
			out = append(out, fmt.Sprintf("process %d: %s", s.pid, text))
		}
	}
	if n := len(out) - maxMeterReasons; n > 0 {
		out = append(out[:maxMeterReasons], fmt.Sprintf("and %d more reasons", n))
	}
	return strings.Join(out, "; ")
}
