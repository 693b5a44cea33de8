package collect

import (
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/clrprof/clrprof/internal/capture/arena"
	"github.com/clrprof/clrprof/internal/capture/counter"
	"github.com/clrprof/clrprof/internal/capture/launch"
	"github.com/clrprof/clrprof/internal/files/safefs"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/wire"
)

// sampler makes samples of all processes that run, on a goroutine of its own: a look at an arena with millions of
// timings takes seconds, in which nothing would be sampled. It finds the arenas itself and maps them once more, so that
// it shares nothing with who looks at them but the list of samples. A nil sampler makes none.
type sampler struct {
	files    *safefs.Dir
	interval quantity.Nanoseconds
	start    quantity.Nanoseconds // of the session
	root     fs.FS
	alive    func(pid int) bool
	outer    func(inner int) int
	now      func() quantity.Nanoseconds
	wait     func(until quantity.Nanoseconds) <-chan time.Time
	arenas   map[string]*arena.Arena // by file name; nil: there is nothing to sample there, or not any more

	lock    sync.Mutex
	made    []sample      // that nobody has taken: some kilobytes each, and as many as fit into the longest look
	arrived chan struct{} // has one element if there are some
	stop    chan struct{}
	stopped chan struct{}
}

// sample is what was counted at one time.
type sample struct {
	at        quantity.Nanoseconds // on the Monotonic clock
	processes []processSample
	machine   []counter.Reading
}

// processSample is what was counted in a process.
type processSample struct {
	arena    string // file name
	measured []wire.MeterValue
	readings []counter.Reading
}

func (r *Recorder) newSampler(interval quantity.Nanoseconds, root fs.FS) *sampler {
	return &sampler{files: r.files, interval: interval, start: r.start, root: root, alive: r.alive,
		outer: r.outer, now: Monotonic, arenas: map[string]*arena.Arena{},
		wait: func(until quantity.Nanoseconds) <-chan time.Time {
			return time.After(time.Duration(until - Monotonic()))
		},
		arrived: make(chan struct{}, 1), stop: make(chan struct{}), stopped: make(chan struct{})}
}

// begin begins to make samples.
func (s *sampler) begin() {
	go func() {
		defer close(s.stopped)
		// Sums of the machine say something from the second on: of short programs there is one sample only.
		first := []sample{{at: s.now(), machine: counter.Machine(s.root)}}
		for next := s.start + s.interval; ; {
			select {
			case <-s.stop:
				return
			case <-s.wait(next):
			}
			now := s.now()
			if x := s.sample(now); len(x.processes) != 0 {
				s.add(append(first, x)...)
				first = nil
			}
			next = now + max(s.interval, (now-s.start)/samplesOfAge)
		}
	}()
}

// end ends that: when it returns, no more samples are made. It can be called again.
func (s *sampler) end() {
	if s == nil {
		return
	}
	select {
	case <-s.stop:
	default:
		close(s.stop)
	}
	<-s.stopped
	for name := range s.arenas {
		s.forget(name)
	}
}

// add makes samples available to take.
func (s *sampler) add(x ...sample) {
	s.lock.Lock()
	s.made = append(s.made, x...)
	s.lock.Unlock()
	select {
	case s.arrived <- struct{}{}:
	default:
	}
}

// take returns the samples that were made since it was called last, in their order, up to the first that has a process
// whose arena is not known.
func (s *sampler) take(known func(arena string) bool) []sample {
	if s == nil {
		return nil
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	n := slices.IndexFunc(s.made, func(x sample) bool {
		return slices.ContainsFunc(x.processes, func(p processSample) bool { return !known(p.arena) })
	})
	if n < 0 {
		n = len(s.made)
	}
	made := s.made[:n:n]
	s.made = s.made[n:]
	return made
}

// arrival receives when there are samples to take.
func (s *sampler) arrival() <-chan struct{} {
	if s == nil {
		return nil
	}
	return s.arrived
}

// sample reads all counters of all processes that run.
func (s *sampler) sample(now quantity.Nanoseconds) sample {
	out := sample{at: now}
	for _, name := range s.names() {
		a := s.arenas[name]
		var header *wire.Header
		var values []wire.MeterValue
		err := arena.Guard(func() (err error) {
			header, err = a.Header()
			values = meterValues(a)
			return err
		})
		if err != nil || wire.State(header.State) == wire.StateDetached || !s.alive(int(header.PID)) {
			s.forget(name) // what is wrong with an arena is said when it is read
			continue
		}
		out.processes = append(out.processes, processSample{name, values,
			counter.Process(s.root, s.outer(int(header.PID)))})
	}
	if len(out.processes) != 0 {
		out.machine = counter.Machine(s.root)
	}
	return out
}

// names returns the arenas of processes that may run, in the order of their start, and opens those that are new.
func (s *sampler) names() (names []string) {
	all, err := s.files.Names()
	if err != nil {
		return nil // the recorder, which looks for arenas too, says so
	}
	for _, name := range all {
		a, known := s.arenas[name]
		if !strings.HasSuffix(name, launch.ArenaSuffix) || (known && a == nil) {
			continue
		}
		if !known {
			if a, err = openArena(s.files, name); err != nil {
				s.arenas[name] = nil
				continue
			}
			s.arenas[name] = a
		}
		names = append(names, name)
	}
	slices.SortFunc(names, compareStarts)
	return names
}

// forget lets go of an arena, for good.
func (s *sampler) forget(name string) {
	if a := s.arenas[name]; a != nil {
		_ = a.Close() // the recorder has it too, and says what cannot be closed
	}
	s.arenas[name] = nil
}

// meterValues reads what the instruments of a process have measured.
func meterValues(a *arena.Arena) []wire.MeterValue {
	rows := a.MeterValues()
	out := make([]wire.MeterValue, min(len(rows), wire.MaxMeterCounters))
	for i := range out {
		out[i] = arena.MeterValue(&rows[i])
	}
	return out
}
