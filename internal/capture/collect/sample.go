package collect

import (
	"errors"
	"io/fs"
	"os"

	"github.com/clrprof/clrprof/internal/capture/counter"
	"github.com/clrprof/clrprof/internal/capture/recording"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// samplesOfAge makes samples rarer with the age of a recording: there are never more than some ten thousand of each
// counter.
const samplesOfAge = 5000

// samples are what the operating system counts, from time to time, as the session gets it.
type samples struct {
	until   *quantity.Nanoseconds     // when an attached recording is to end, 0: not known; nil: it is not attached
	last    quantity.Nanoseconds      // when the last one was made that was taken
	sampler *sampler                  // nil: none are taken
	rows    []session.CounterValue    // that are not written yet
	present map[counter.ID]bool       // had a value at least once
	missing map[counter.ID]string     // why a counter has none
	written map[int64]session.Counter // as in the session
}

// sampleEvery makes the recorder take samples.
func (r *Recorder) sampleEvery(interval quantity.Nanoseconds) {
	r.samples = samples{present: map[counter.ID]bool{}, missing: map[counter.ID]string{},
		written: map[int64]session.Counter{}}
	var rows []session.Counter
	for _, c := range counter.All() {
		rows = append(rows, describeCounter(c))
	}
	r.rec.TellCounters(rows)
	if interval != 0 {
		r.samples.sampler = r.newSampler(interval, os.DirFS("/"))
		r.samples.sampler.begin()
	}
}

// describeCounter is a counter as sessions have it.
func describeCounter(c counter.Counter) session.Counter {
	return session.Counter{ID: int64(c.ID), Name: c.Name, Unit: c.Unit, IsSum: c.Sum, Meaning: c.Meaning}
}

// endWith lets samples end with an attached recording: whoever takes them may learn late that it is over.
func (s *samples) endWith(h *controller) {
	if h.Detach {
		s.until = &h.deadline
	}
}

// takeSamples takes the samples that have been made since it was called last; in the end, up to now. Those of processes
// that are not known yet it leaves for later, unless their arenas have just been looked for.
func (r *Recorder) takeSamples(now quantity.Nanoseconds, looked, last bool) {
	s := &r.samples
	made := s.sampler.take(func(arena string) bool {
		return looked || last || r.processes[arena] != nil
	})
	before := len(s.rows)
	for _, x := range made {
		if last && x.at > now || s.until != nil && *s.until != 0 && x.at > *s.until {
			break // the recording had ended
		}
		at := max(0, x.at-r.start)
		s.last = max(s.last, x.at)
		for _, of := range x.processes {
			p := r.processes[of.arena]
			if p == nil {
				continue // its arena is not there any more
			}
			r.addMeasured(p, at, of.measured)
			s.add(at, p.rec.ID(), of.readings)
		}
		s.add(at, 0, x.machine)
	}
	r.rec.TellCounterValues(s.rows[before:])
	r.meters.tell(r)
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
	if s.sampler == nil {
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
