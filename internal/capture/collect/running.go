package collect

import (
	"fmt"

	"github.com/clrprof/clrprof/internal/capture/arena"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/wire"
)

// stop returns the calls that have not ended, and adds what passed since the last event of each thread that is in one
// to the time of the innermost: to elapsed time only, as it is not known whether the operating system acted in it.
// Which calls those are follows from the counters, so that they always agree; the activations only say which is the
// innermost.
func (t *times) stop(r *Recorder, p *process, h *wire.Header) ([]session.TimingRunning, error) {
	open, err := t.openIntervals(r, p, h)
	if err != nil {
		return nil, err
	}
	var running []session.TimingRunning
	for i := range p.rec.Timings() {
		sum := t.sums.of(i)
		calls, ticks := sum.calls-sum.ended, open[i]
		if calls == 0 && ticks == 0 {
			continue
		}
		elapsed, err := t.clock.nanoseconds(ticks)
		if err != nil {
			return nil, err
		}
		if err := t.sums.add(i, &counters{elapsed: ticks, waited: ticks, open: ticks}); err != nil {
			return nil, err
		}
		running = append(running, session.TimingRunning{Timing: p.rec.TimingID(i), Calls: quantity.Count(calls),
			Elapsed: elapsed})
	}
	return running, nil
}

// openIntervals returns the ticks from the last event of each thread to its end, or to that of the process, or of the
// recording, by index of the innermost call's timing.
func (t *times) openIntervals(r *Recorder, p *process, h *wire.Header) (map[int]uint64, error) {
	end, err := t.endTicks(r, p, h)
	if err != nil {
		return nil, err
	}
	open := map[int]uint64{}
	clocks, activations := p.arena.Clocks(), p.arena.Activations()
	for i := range clocks {
		c := arena.Clock(&clocks[i])
		if c.Depth == 0 {
			continue
		}
		if c.Depth > c.Capacity || c.Activations > uint64(len(activations)) ||
			uint64(c.Depth) > uint64(len(activations))-c.Activations {
			err := fmt.Errorf("%w: %d calls of thread %d at %d", wire.ErrCorrupt, c.Depth, i+1, c.Activations)
			if p.over && !p.skips(err) { // else it is growing
				return nil, err
			}
			continue
		}
		n := arena.Activation(&activations[c.Activations+uint64(c.Depth)-1]).Timing
		if n == 0 || int64(n) > int64(t.taken.Len()) {
			err := fmt.Errorf("%w: a call of timing %d, of %d", wire.ErrCorrupt, n, t.taken.Len())
			if p.over && !p.skips(err) {
				return nil, err
			}
			continue
		}
		innermost := t.taken.At(int(n - 1))
		id, ok := p.threads.id(uint32(i + 1))
		sum := t.sums.of(int(innermost.own()))
		if !ok || innermost.place(p).thread != id || sum.calls == sum.ended {
			continue // the call of another thread, to which the room was given: this one has ended
		}
		until, err := t.threadEnd(r, p, uint32(i+1), end)
		if err != nil {
			return nil, err
		}
		passed, err := t.recorded(r, p, uint32(i+1), c.Last, until)
		if err != nil {
			return nil, err
		}
		if passed > 0 {
			open[int(innermost.own())] += passed
		}
		if err := t.runFolded(p, &c, activations[c.Activations:][:c.Depth], passed); err != nil && p.over &&
			!p.skips(err) {
			return nil, err
		}
	}
	return open, nil
}

// recorded is how much of the time between two readings of the clock was recorded in a thread.
func (t *times) recorded(r *Recorder, p *process, thread uint32, from, until uint64) (uint64, error) {
	passed := until - min(until, from)
	if p.rec.ThreadSettled(thread) || p.scopes.isOff(thread) {
		return 0, nil // it is off since its last event
	}
	if passed == 0 || !p.rec.EverPaused() {
		return passed, nil
	}
	length, err := t.clock.nanoseconds(passed)
	if err != nil {
		return 0, err
	}
	end, err := t.clock.monotonic(until)
	if err != nil {
		return 0, err
	}
	end -= r.start
	paused, err := t.clock.ticksOf(p.rec.ThreadPausedWithin(thread, end-length, end))
	return passed - min(passed, paused), err
}

// endTicks is when the process ended, or else now.
func (t *times) endTicks(r *Recorder, p *process, h *wire.Header) (uint64, error) {
	if h.EndTicks != 0 {
		return h.EndTicks, nil
	}
	if r.late && p.over { // all that is known is that it lived at the last event of a thread
		last := h.BeginTicks
		clocks := p.arena.Clocks()
		for i := range clocks {
			last = max(last, arena.Clock(&clocks[i]).Last)
		}
		return last, nil
	}
	end := p.end
	for _, name := range r.names { // a process that exec replaced ended when the next one of its id began
		o, err := r.processes[name].arena.Header()
		if err == nil && o.PID == h.PID && o.StartNS > h.StartNS {
			end = min(end, quantity.Nanoseconds(o.StartNS)-r.start)
		}
	}
	return t.clock.at(uint64(max(0, end+r.start)))
}

// threadEnd is when a thread ended, or else the process.
func (t *times) threadEnd(r *Recorder, p *process, thread uint32, end uint64) (uint64, error) {
	own, ok := p.threads.endOf(thread)
	if !ok {
		return end, nil
	}
	ticks, err := t.clock.at(uint64(max(0, own+r.start)))
	return min(end, ticks), err
}
