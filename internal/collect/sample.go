package collect

import (
	"errors"
	"io/fs"
	"os"

	"github.com/clrprof/clrprof/internal/counter"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/recording"
	"github.com/clrprof/clrprof/internal/session"
)

// samplesOfAge makes samples rarer with the age of a recording: there are never more than some ten thousand of each
// counter.
const samplesOfAge = 5000

// samples are what the operating system counts, from time to time.
type samples struct {
	interval quantity.Nanoseconds // 0: none are taken
	next     quantity.Nanoseconds
	root     fs.FS
	rows     []session.CounterValue    // that are not written yet
	present  map[counter.ID]bool       // had a value at least once
	missing  map[counter.ID]string     // why a counter has none
	written  map[int64]session.Counter // as in the session
}

// sampleEvery makes the recorder take samples.
func (r *Recorder) sampleEvery(interval quantity.Nanoseconds) {
	r.samples = samples{interval: interval, next: r.start + interval, root: os.DirFS("/"),
		present: map[counter.ID]bool{},
		missing: map[counter.ID]string{}, written: map[int64]session.Counter{}}
	var rows []session.Counter
	for _, c := range counter.All() {
		rows = append(rows, describeCounter(c))
	}
	r.rec.TellCounters(rows)
}

// describeCounter is a counter as sessions have it.
func describeCounter(c counter.Counter) session.Counter {
	return session.Counter{ID: int64(c.ID), Name: c.Name, Unit: c.Unit, IsSum: c.Sum, Meaning: c.Meaning}
}

// before is when to take the next sample, if that is before the given time.
func (s *samples) before(other quantity.Nanoseconds) (at quantity.Nanoseconds, take bool) {
	if s.interval == 0 || s.next >= other {
		return other, false
	}
	return s.next, true
}

// sample reads all counters of all processes that run.
func (r *Recorder) sample(now quantity.Nanoseconds) error {
	s := &r.samples
	at := max(0, now-r.start)
	s.next = now + max(s.interval, at/samplesOfAge)
	if err := r.findArenas(); err != nil {
		return err
	}
	found, before := false, len(s.rows)
	for _, name := range r.names {
		p := r.processes[name]
		header, err := p.arena.Header()
		if err != nil || p.over || !r.alive(int(header.PID)) {
			continue // what is wrong with an arena is said when it is read
		}
		found = true
		r.takeMeasured(p, at)
		s.add(at, p.rec.ID(), counter.Process(s.root, p.outer(int(header.PID))))
	}
	if found {
		s.add(at, 0, counter.Machine(s.root))
	}
	r.rec.TellCounterValues(s.rows[before:])
	r.meters.tell(r)
	return nil
}

// add takes readings. A process may end meanwhile: what it has no more is not missing.
func (s *samples) add(at quantity.Nanoseconds, process session.ProcessID, readings []counter.Reading) {
	for _, x := range readings {
		switch {
		case x.Err == nil:
			s.present[x.Counter] = true
			s.rows = append(s.rows, session.CounterValue{Time: at, Process: process, Counter: int64(x.Counter),
				Value: x.Value})
		case !errors.Is(x.Err, fs.ErrNotExist) || process == 0:
			s.missing[x.Counter] = x.Err.Error()
		}
	}
}

// write writes what is new.
func (s *samples) write(rec *recording.Recording) error {
	if s.interval == 0 {
		return nil
	}
	var rows []session.Counter
	for _, c := range counter.All() {
		row := describeCounter(c)
		switch why, ok := s.missing[c.ID]; {
		case s.present[c.ID]:
		case ok:
			row.Missing = why
		default:
			row.Missing = "no sample was taken: the program was shorter"
		}
		if s.written[row.ID] != row {
			s.written[row.ID] = row
			rows = append(rows, row)
		}
	}
	if err := rec.ReplaceCounters(rows); err != nil {
		return err
	}
	err := rec.AddCounterValues(s.rows)
	s.rows = s.rows[:0]
	return err
}
