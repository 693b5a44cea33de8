package collect

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/clrprof/clrprof/internal/capture/arena"
	"github.com/clrprof/clrprof/internal/capture/recording"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/wire"
)

// clock converts the ticks of a process.
type clock struct {
	perSecond uint64
	ticks     uint64 // at the time ns
	ns        uint64 // on the Monotonic clock
}

const second = 1_000_000_000 // in nanoseconds

// overheadPart is what wire.Overhead counts in: a part of a tick.
const overheadPart = 1024

// nanoseconds converts a number of ticks, rounded down.
func (c clock) nanoseconds(ticks uint64) (quantity.Nanoseconds, error) {
	if ticks == 0 && c.perSecond != 0 {
		return 0, nil
	}
	hi, lo := bits.Mul64(ticks, second)
	if hi < c.perSecond {
		if n, _ := bits.Div64(hi, lo, c.perSecond); n <= recording.MaxCounter {
			return quantity.Nanoseconds(n), nil
		}
	}
	return 0, fmt.Errorf("%w: %d ticks, %d a second", wire.ErrCorrupt, ticks, c.perSecond)
}

// monotonic returns the time of the Monotonic clock at a reading of this one.
func (c clock) monotonic(ticks uint64) (quantity.Nanoseconds, error) {
	since, before := ticks-c.ticks, false
	if ticks < c.ticks {
		since, before = c.ticks-ticks, true
	}
	n, err := c.nanoseconds(since)
	if before {
		n = -n
	}
	return quantity.Nanoseconds(c.ns) + n, err
}

// ticksOf converts a length of time.
func (c clock) ticksOf(length quantity.Nanoseconds) (uint64, error) {
	ticks, err := c.at(c.ns + uint64(max(0, length)))
	return ticks - c.ticks, err
}

// at returns what the clock shows at a time of the Monotonic clock.
func (c clock) at(ns uint64) (ticks uint64, err error) {
	before := ns < c.ns
	since := ns - c.ns
	if before {
		since = c.ns - ns
	}
	hi, lo := bits.Mul64(since, c.perSecond)
	if hi >= second {
		return 0, fmt.Errorf("%w: %d ticks a second", wire.ErrCorrupt, c.perSecond)
	}
	n, _ := bits.Div64(hi, lo, second)
	if before {
		return c.ticks - min(n, c.ticks), nil
	}
	return c.ticks + n, nil
}

var (
	clockNames = map[uint32]string{wire.ClockTSC: session.ClockTSC, wire.ClockMonotonic: session.ClockMonotonic,
		wire.ClockCNTVCT: session.ClockCNTVCT}
	instrumentNames = map[uint32]string{wire.InstrumentBoundary: session.InstrumentBoundary,
		wire.InstrumentMine: session.InstrumentMine,
		wire.InstrumentAll:  session.InstrumentAll}
	mechanismNames = map[uint32]string{wire.MechanismNone: session.MechanismNone,
		wire.MechanismRseq: session.MechanismRseq,
		wire.MechanismPerf: session.MechanismPerf, wire.MechanismGap: session.MechanismGap}
)

// writeProcess writes how the process is timed, when it has changed.
func (t *times) writeProcess(p *process, h *wire.Header) error {
	if h.TicksPerSec == 0 || h.TicksPerSec > recording.MaxCounter ||
		(t.clock.perSecond != 0 && t.clock.perSecond != h.TicksPerSec) {
		return fmt.Errorf("%w: %d ticks a second after %d", wire.ErrCorrupt, h.TicksPerSec, t.clock.perSecond)
	}
	t.clock = clock{h.TicksPerSec, h.BeginTicks, h.BeginNS}
	gap, err := t.clock.nanoseconds(h.GapTicks)
	if err != nil {
		return err
	}
	name, known := clockNames[h.Clock]
	instrument, known2 := instrumentNames[h.Instrument&^wire.InstrumentIL]
	mechanism, known3 := mechanismNames[h.Mechanism]
	if !known || !known2 || !known3 {
		return fmt.Errorf("%w: clock %d, instrumentation %d, mechanism %d", wire.ErrCorrupt, h.Clock, h.Instrument,
			h.Mechanism)
	}
	row := session.ProcessTime{Clock: name, TicksPerSec: int64(h.TicksPerSec), Instrument: instrument,
		Mechanism: mechanism, Gap: gap,
		MeasuresReady: h.ReadyMeasured != 0, Probes: session.ProbesHooks}
	if h.Instrument&wire.InstrumentIL != 0 {
		row.Probes = session.ProbesIL
	}
	if err := addOverhead(h, &row); err != nil {
		return err
	}
	if h.GCPauses > recording.MaxCounter || h.GCPausedNS > recording.MaxCounter || h.GCLongestNS > h.GCPausedNS {
		return fmt.Errorf("%w: %d pauses of %d ns, the longest of %d ns", wire.ErrCorrupt, h.GCPauses, h.GCPausedNS,
			h.GCLongestNS)
	}
	row.GCPauses, row.GCPaused = quantity.Count(h.GCPauses), quantity.Nanoseconds(h.GCPausedNS)
	row.GCLongest = quantity.Nanoseconds(h.GCLongestNS)
	if row.Agent, err = t.agent(p); err != nil {
		return err
	}
	if err := t.writeCounters(p, h); err != nil {
		return err
	}
	return p.rec.WriteTime(row)
}

// What the probes took is the mean of what was measured while the program ran, once that is enough of it to be more
// than what was measured in the first moments.
const (
	fewMeasured  = 8
	mostMeasured = 1 << 40 // a hundred a second, for centuries
)

// addOverhead adds what the probes take to a process, and by how much that may be wrong: by as much again, since in
// programs of short calls probes take 1.16 to 1.91 times what they take in the loop that is measured (see
// docs/design/0018), and by what the mean may be wrong, which is the less the more often it was measured.
func addOverhead(h *wire.Header, row *session.ProcessTime) error {
	o := &h.Overhead
	var laterInside, laterOutside float64
	for _, v := range []struct {
		parts uint64
		to    *float64
	}{{o.Inside, &row.Inside}, {o.Outside, &row.Outside}, {o.ColdInside, &row.ColdInside},
		{o.ColdOutside, &row.ColdOutside}, {o.Uncertain, &row.Uncertain}, {o.LaterInside, &laterInside},
		{o.LaterOutside, &laterOutside}, {o.Least, &row.Least}, {o.Most, &row.Most}} {
		if v.parts/overheadPart > h.TicksPerSec { // no probe takes a second
			return fmt.Errorf("%w: probes that take %d ticks", wire.ErrCorrupt, v.parts/overheadPart)
		}
		*v.to = float64(v.parts) / overheadPart * second / float64(h.TicksPerSec)
	}
	if o.Least > o.Most || o.Repeated > mostMeasured {
		return fmt.Errorf("%w: probes that take from %d to %d ticks, %d times", wire.ErrCorrupt, o.Least/overheadPart,
			o.Most/overheadPart, o.Repeated)
	}
	row.Measured = quantity.Count(o.Repeated)
	if o.Repeated < fewMeasured {
		return nil
	}
	row.FirstInside, row.FirstOutside = row.Inside, row.Outside
	row.Inside, row.Outside = laterInside, laterOutside
	row.Uncertain = laterInside + laterOutside + (row.Most-row.Least)/math.Sqrt(float64(o.Repeated))
	return nil
}

// agent returns what the agent took for itself, in all threads.
func (t *times) agent(p *process) (quantity.Nanoseconds, error) {
	clocks, sum := p.arena.Clocks(), uint64(0)
	for i := range clocks {
		own := arena.Clock(&clocks[i]).Own
		if own > recording.MaxCounter || sum+own > recording.MaxCounter {
			err := fmt.Errorf("%w: thread %d: %d ticks of the agent's own", wire.ErrCorrupt, i+1, own)
			if p.skips(err) {
				continue
			}
			return 0, err
		}
		sum += own
	}
	return t.clock.nanoseconds(sum)
}

// jumps returns how many calls ended by a jump, in all threads.
func (t *times) jumps(p *process) (uint64, error) {
	clocks, sum := p.arena.Clocks(), uint64(0)
	for i := range clocks {
		n := arena.Clock(&clocks[i]).Jumps
		if n > recording.MaxCounter || sum+n > recording.MaxCounter {
			return 0, fmt.Errorf("%w: thread %d: %d jumps", wire.ErrCorrupt, i+1, n)
		}
		sum += n
	}
	return sum, nil
}
