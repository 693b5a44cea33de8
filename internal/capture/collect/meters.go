package collect

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/clrprof/clrprof/internal/capture/arena"
	"github.com/clrprof/clrprof/internal/capture/eventpipe"
	"github.com/clrprof/clrprof/internal/pattern"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/wire"
)

// Limits of what programs count.
const (
	firstMeterCounter = 1000    // ids of counters; those of package counter are below
	firstMeterName    = 900     // ids of what was asked for and is missing
	maxMeterCounters  = 20_000  // in a session, of all processes: each is some hundred bytes
	maxWaitingPoints  = 100_000 // of a process, from one slice to the next: a second of 8,000 values each 100 ms
	maxMeterReasons   = 8       // shown in one line
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
	names     []string
	interval  quantity.Nanoseconds
	listening bool           // code in the processes listens to meters; otherwise they are asked to publish them
	sources   []*meterSource // in the order of their processes
	ids       map[label]int64
	counters  []session.Counter            // that are not written
	reported  [2]int                       // of these, and of rows: those that watchers got
	kept      map[[2]int64]*keptPoint      // by process and counter
	rows      []session.CounterValue       // that are not written
	seen      map[string]bool              // names of which there are values
	troubles  map[session.ProcessID]string // why there is less of a process than was asked for
}

// label is what a counter is called. An event source and a meter can have one of the same name.
type label struct {
	name    string
	ofMeter bool
}

// keptPoint is the last value of a counter.
type keptPoint struct {
	row     session.CounterValue
	written quantity.Nanoseconds // when the last one was that is written
	pending bool                 // this one is not
}

// meterSource reads what one process sends.
type meterSource struct {
	process    session.ProcessID
	pid        int
	arena      *arena.Arena
	until      quantity.Nanoseconds // then it is looked at only when a slice ends
	begun      bool                 // its runtime is asked, or never will be
	unrecorded bool                 // nothing of it is recorded, and that is said
	unasked    bool                 // nothing is asked for
	measured   *measured            // by its meters
	done       chan struct{}        // closed when there is no more
	stop       chan struct{}        // closed when no more is wanted

	lock     sync.Mutex
	sessions []*eventpipe.Session
	owner    map[string]int    // by event source: the session that its values are taken from
	points   []eventpipe.Point // that nobody has taken
	dropped  int
	lost     []uint64   // by session
	troubles [][]string // by session
	failure  error      // there is no session

	publishes bool // its meters are asked for
	published published
}

// sampleMeters makes the recorder sample counters of event sources, and of meters: what code in the programs that
// listens to them counts, or else what their runtimes publish.
func (r *Recorder) sampleMeters(names []string, interval quantity.Nanoseconds, listening bool) {
	if len(names) == 0 || interval == 0 {
		return
	}
	r.meters = newMeters(names, interval)
	r.meters.listening = listening
}

func newMeters(names []string, interval quantity.Nanoseconds) *meters {
	return &meters{names: names, interval: interval, ids: map[label]int64{}, kept: map[[2]int64]*keptPoint{},
		seen: map[string]bool{}, troubles: map[session.ProcessID]string{}}
}

// oldestSampled is the first version of .NET whose programs do not hang when they end while they are sampled for the
// first time. .NET Core 3.1 says that it is 4.
const oldestSampled = 8

var (
	errOldRuntime = errors.New("not sampled, because programs on .NET Core 3.1 can then hang at their end")
	errSilent     = errors.New("its runtime did not answer in time")
	errEnded      = errors.New("it ended before its counters could be asked for")
)

// addProcess notes a process that is new. Its runtime is asked when the agent says that it runs.
func (m *meters) addProcess(process session.ProcessID, by *measured, a *arena.Arena, pid int) {
	m.sources = append(m.sources, &meterSource{process: process, measured: by, arena: a, pid: pid,
		done: make(chan struct{}), until: Monotonic() + longestStart,
		stop: make(chan struct{}), owner: map[string]int{}})
}

// A process is looked at so often, and for so long, until its runtime has accepted the agent: that takes milliseconds,
// and more on a busy machine.
const (
	startLook    quantity.Nanoseconds = 5_000_000
	longestStart quantity.Nanoseconds = 2_000_000_000
)

// before is when to look at processes that start, if that is before the given time.
func (m *meters) before(other quantity.Nanoseconds) (at quantity.Nanoseconds, look bool) {
	if m == nil {
		return other, false
	}
	now := Monotonic()
	starts := func(s *meterSource) bool { return !s.begun && now < s.until }
	if now+startLook >= other || !slices.ContainsFunc(m.sources, starts) {
		return other, false
	}
	return now + startLook, true
}

// look begins to sample the processes whose runtimes have accepted the agent: before that it is not known which they
// are. What is wrong with an arena is said when it is read.
func (m *meters) look() {
	for _, s := range m.sources {
		if s.begun {
			continue
		}
		h, err := s.arena.Header()
		if err != nil || wire.State(h.State) == wire.StateStarting {
			continue
		}
		if h, err = s.arena.Header(); err == nil { // what was written before the state is there now
			m.begin(s, h)
		}
	}
}

func (m *meters) begin(s *meterSource, h *wire.Header) {
	s.begun = true
	switch {
	case wire.State(h.State) == wire.StateFailed:
		s.unrecorded = true
	case len(m.exact()) == 0 && m.listening:
		s.unasked = true
	case h.RuntimeMajor < oldestSampled:
		s.failure = errOldRuntime
	case wire.State(h.State).Over():
		s.failure = errEnded
	default:
		s.publishes = !m.listening
		go s.readAll(m)
		return
	}
	close(s.done)
}

// readAll reads what a process sends until it ends or the source is closed.
func (s *meterSource) readAll(m *meters) {
	defer close(s.done)
	var readers sync.WaitGroup
	if s.publishes {
		readers.Go(func() { s.publish(m.names, m.interval) })
	}
	s.run(m.exact(), m.interval)
	readers.Wait()
}

// exact are the names that can be those of event sources. That of meters, which has no counters, has its own session.
func (m *meters) exact() []string {
	return slices.DeleteFunc(slices.Clone(m.names), func(name string) bool {
		return strings.Contains(name, "*") || name == eventpipe.Meters
	})
}

// An event source that is asked for in the moment in which the program makes it, after the source and before its
// counters, never sends a value: the runtime forgets that somebody asked. So who is silent is asked again, by a new
// session, some times: for good it can only be silent if it does not exist.
const (
	silentIntervals = 5           // then a new session begins; twice as many after the next one, and so on
	leastSilence    = time.Second // of a machine that is busy
	maxAsked        = 4           // sessions: each has a thread in the process
)

// run reads event sources until the process ends or the source is closed.
func (s *meterSource) run(names []string, interval quantity.Nanoseconds) {
	var readers sync.WaitGroup
	defer readers.Wait()
	ended := make(chan struct{}, maxAsked)
	silence := max(leastSilence, silentIntervals*time.Duration(interval))
	for asked := 0; asked < maxAsked && len(names) > 0; asked++ {
		n, x, err := s.start(eventpipe.CounterProviders(names, interval))
		if err != nil {
			s.fail(err)
			return
		}
		readers.Go(func() {
			s.read(n, x)
			ended <- struct{}{}
		})
		timer := time.NewTimer(silence << asked)
		select {
		case <-timer.C:
		case <-ended:
			return
		case <-s.stop:
			return
		}
		names = s.silent(names)
	}
}

// fail notes why there is no session. If there was one before, it has all but what is silent.
func (s *meterSource) fail(err error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if len(s.sessions) == 0 {
		s.failure = err
	}
}

// silent are the names of which there is no value.
func (s *meterSource) silent(names []string) []string {
	s.lock.Lock()
	defer s.lock.Unlock()
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		_, has := s.owner[name]
		return has
	})
}

// start begins a session, of which it returns the number, as soon as the process listens.
func (s *meterSource) start(providers []eventpipe.Provider) (int, *eventpipe.Session, error) {
	until := time.Now().Add(startOfMeters)
	for pause := time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		x, err := eventpipe.Start(s.pid, providers)
		switch {
		case err == nil:
			return s.keep(x), x, nil
		case !alive(s.pid):
			return 0, nil, errEnded
		case !errors.Is(err, eventpipe.ErrNotYet) || time.Now().After(until):
			return 0, nil, err
		}
		select {
		case <-time.After(pause):
		case <-s.stop:
			return 0, nil, err
		}
	}
}

// keep notes a session, which is closed with the source, and returns its number.
func (s *meterSource) keep(x *eventpipe.Session) int {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.sessions = append(s.sessions, x)
	s.lost, s.troubles = append(s.lost, 0), append(s.troubles, nil)
	select {
	case <-s.stop:
		_ = x.Close() // nobody reads it
	default:
	}
	return len(s.sessions) - 1
}

// read reads a session until it ends: in the middle where the process was killed, or the source closed.
func (s *meterSource) read(n int, x *eventpipe.Session) {
	stream, c := eventpipe.NewStream(x), eventpipe.NewCounters()
	for {
		e, err := stream.Next()
		if err != nil {
			s.ended(n, x, err)
			return
		}
		s.add(n, c.Add(e), c.Troubles(), stream.Lost())
	}
}

// ended notes why a stream ended, if that is not its end.
func (s *meterSource) ended(n int, x *eventpipe.Session, err error) {
	if errors.Is(err, eventpipe.ErrFormat) {
		s.lock.Lock()
		s.troubles[n] = append(s.troubles[n], err.Error())
		s.lock.Unlock()
	}
	_ = x.Close() // it was only read
}

// add keeps points until somebody takes them. All sessions tell the values of an event source: those of one count.
func (s *meterSource) add(n int, points []eventpipe.Point, troubles []string, lost uint64) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.lost[n], s.troubles[n] = lost, troubles
	for i := range points {
		p := &points[i]
		if _, ok := s.owner[p.Source]; !ok {
			s.owner[p.Source] = n
		}
		switch {
		case s.owner[p.Source] != n:
		case len(s.points) >= maxWaitingPoints:
			s.dropped++
		default:
			s.points = append(s.points, *p)
		}
	}
}

// close ends the source, if the process goes on, or else waits until all that it sent is read.
func (s *meterSource) close(alive bool) {
	if !s.begun {
		return
	}
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
	select {
	case <-s.stop:
		return
	default:
	}
	close(s.stop)
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
	points, values := s.points, s.published.values
	s.points, s.published.values = nil, nil
	s.lock.Unlock()
	for i := range points {
		m.add(s.process, &points[i], max(0, points[i].Time-r.start))
	}
	for i := range values {
		m.addPublished(s.process, &s.published, &values[i], max(0, values[i].Time-r.start))
	}
	m.tell(r)
}

// tell tells who watches what is new.
func (m *meters) tell(r *Recorder) {
	if m == nil {
		return
	}
	r.rec.TellCounters(m.counters[m.reported[0]:])
	r.rec.TellCounterValues(m.rows[m.reported[1]:])
	m.reported = [2]int{len(m.counters), len(m.rows)}
}

// takeAll takes what is new of all processes.
func (m *meters) takeAll(r *Recorder) {
	for _, s := range m.sources {
		m.take(r, s)
	}
}

// add takes a value of an event source.
func (m *meters) add(process session.ProcessID, p *eventpipe.Point, at quantity.Nanoseconds) {
	value, fraction, ok := session.SplitNumber(p.Value)
	m.put(process, &p.Counter, false, at, number{value, fraction, !ok})
}

// put takes a value. They are kept more rarely with the age of the recording, like samples; the last one always is.
func (m *meters) put(process session.ProcessID, of *eventpipe.Counter, ofMeter bool, at quantity.Nanoseconds,
	n number) {
	id, known := m.id(of, ofMeter)
	if n.none || !known {
		return
	}
	key := [2]int64{int64(process), id}
	k := m.kept[key]
	if k == nil {
		k = &keptPoint{written: -m.interval}
		m.kept[key] = k
	}
	k.row = session.CounterValue{Time: at, Process: process, Counter: id, Value: n.whole, Fraction: n.fraction}
	k.pending = at-k.written < at/samplesOfAge || at == k.written
	if !k.pending {
		k.written = at
		m.rows = append(m.rows, k.row)
	}
}

// id is the counter that a value is of.
func (m *meters) id(of *eventpipe.Counter, ofMeter bool) (int64, bool) {
	row := session.Counter{Name: of.Name, Unit: cmp.Or(of.Unit, "count"), IsSum: of.Sum, Meaning: of.Meaning,
		Tags: of.Tags}
	called := label{row.Label(), ofMeter}
	if id, ok := m.ids[called]; ok {
		return id, true
	}
	for _, name := range m.names {
		m.seen[name] = m.seen[name] || pattern.Wildcard(name).Match(pattern.NamesOf(of.Source))
	}
	if _, taken := m.ids[label{called.name, !ofMeter}]; taken {
		row.Name += otherOfName[ofMeter]
	}
	if len(m.ids) >= maxMeterCounters {
		m.troubles[0] = fmt.Sprintf("there are more than %d counters: others are left out", maxMeterCounters)
		return 0, false
	}
	row.ID = firstMeterCounter + int64(len(m.ids))
	m.ids[called] = row.ID
	m.counters = append(m.counters, row)
	return row.ID, true
}

// otherOfName is what the second of an event source and a meter is called besides that have a counter of one name.
var otherOfName = map[bool]string{false: " (event source)", true: " (meter)"}

// write writes what is new, and in the end what is missing.
func (m *meters) write(r *Recorder, last bool) error {
	m.look()
	for _, s := range m.sources {
		if last {
			s.close(r.alive(s.pid))
		}
		m.take(r, s)
	}
	m.tell(r)
	if err := r.rec.AddLosses(m.losses(last)); err != nil {
		return err
	}
	if last {
		r.rec.TellCounterValues(m.finish())
	}
	if err := r.rec.ReplaceCounters(m.counters); err != nil {
		return err
	}
	if err := r.rec.AddCounterValues(m.rows); err != nil {
		return err
	}
	m.counters, m.rows, m.reported = nil, m.rows[:0], [2]int{}
	return nil
}

// losses are the processes that cannot be sampled, as far as it is known, and in the end all that were not.
func (m *meters) losses(last bool) []session.Loss {
	var out []session.Loss
	for _, s := range m.sources {
		if s.why(last) != nil || s.unmeasured(last) != nil || s.isIncomplete() {
			out = append(out, session.Loss{Process: s.process, Reason: session.LossCounters, Events: 1})
		}
		out = append(out, s.unpublished()...)
	}
	return out
}

// why says why a process is not sampled, nil if nothing is known to be in the way.
func (s *meterSource) why(last bool) error {
	s.lock.Lock()
	defer s.lock.Unlock()
	if last && s.failure == nil && len(s.sessions) == 0 && !s.unrecorded && !s.unasked {
		s.failure = errSilent
	}
	if s.failure == nil && s.publishes {
		return s.published.why(last)
	}
	return s.failure
}

// unmeasured says why the meters of a process are not sampled, nil if nothing is known to be in the way.
func (s *meterSource) unmeasured(last bool) error {
	if s.measured == nil || s.unrecorded {
		return nil
	}
	return s.measured.why(last)
}

// finish adds the last values, which it returns, and rows for what was asked for and is not there.
func (m *meters) finish() (last []session.CounterValue) {
	order := func(a, b session.CounterValue) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.Process, b.Process), cmp.Compare(a.Counter, b.Counter))
	}
	for _, k := range m.kept {
		if k.pending && k.row.Time > k.written {
			last = append(last, k.row)
		}
	}
	slices.SortFunc(last, order)
	m.rows = append(m.rows, last...)
	slices.SortStableFunc(m.rows, order)
	reasons, unseen := m.reasons(), false
	for i, name := range m.names {
		if !m.seen[name] {
			unseen = true
			m.addMissing(i, name, cmp.Or(reasons, m.nobodyHas(name)))
		}
	}
	if reasons != "" && !unseen {
		m.addMissing(0, strings.Join(m.names, ", "), reasons)
	}
	return last
}

// addMissing adds a row for what was asked for.
func (m *meters) addMissing(i int, name, why string) {
	m.counters = append(m.counters, session.Counter{ID: firstMeterName + int64(i), Name: name, Unit: "count",
		Meaning: "a name of --meter", Missing: why})
}

// nobodyHas is why there are no values of what was asked for, if nothing else is known. A meter appears with its first
// measurement.
func (m *meters) nobodyHas(name string) string {
	if strings.Contains(name, "*") {
		return "no meter with such a name has measured anything; event sources are sampled by their exact names"
	}
	return "no process has an event source with exactly this name and with counters, or a meter with this name " +
		"that has measured anything"
}

// reasons says why there is less than was asked for, "" if nothing is known to be missing.
func (m *meters) reasons() string {
	var out []string
	if text, ok := m.troubles[0]; ok {
		out = append(out, text)
	}
	for _, s := range m.sources {
		for _, text := range s.said() {
			out = append(out, fmt.Sprintf("process %d: %s", s.pid, text))
		}
	}
	if n := len(out) - maxMeterReasons; n > 0 {
		out = append(out[:maxMeterReasons], fmt.Sprintf("and %d more reasons", n))
	}
	return strings.Join(out, "; ")
}

// said is what is known to be missing of a process.
func (s *meterSource) said() []string {
	s.lock.Lock()
	defer s.lock.Unlock()
	var out []string
	if s.failure != nil {
		out = append(out, s.failure.Error())
	}
	if why := s.unmeasured(true); why != nil {
		out = append(out, why.Error())
	}
	out = append(out, s.published.said(s.publishes && s.failure == nil)...)
	lost := uint64(0)
	for n, troubles := range s.troubles {
		out = append(out, troubles...)
		lost += s.lost[n]
	}
	slices.Sort(out)
	out = slices.Compact(out)
	if s.dropped > 0 {
		out = append(out, fmt.Sprintf("%d values came faster than they could be written", s.dropped))
	}
	if lost > 0 {
		out = append(out, fmt.Sprintf("the runtime had no room for %d events", lost))
	}
	return out
}
