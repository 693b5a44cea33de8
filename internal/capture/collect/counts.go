package collect

import (
	"fmt"

	"github.com/clrprof/clrprof/internal/capture/arena"
	"github.com/clrprof/clrprof/internal/capture/cpucounter"
	"github.com/clrprof/clrprof/internal/capture/recording"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/wire"
)

// counts are what CPU counters counted in the timings of one process, since it began: room for one sync.
type counts struct {
	used  int                    // CPU counters that there are
	sums  []quantity.Counters    // by index in the recording
	folds []session.CountedFolds // by index in times.folds
}

// writeCounters writes which CPU counters the process reads.
func (t *times) writeCounters(p *process, h *wire.Header) error {
	if h.Counters == 0 {
		return nil
	}
	if h.Counters > wire.MaxCounters {
		return fmt.Errorf("%w: %d CPU counters", wire.ErrCorrupt, h.Counters)
	}
	t.counts.used = int(h.Counters)
	var rows []session.CPUCounter
	for i := range t.counts.used {
		w := &h.CPUCounters[i]
		c, ok := cpucounter.Of(w)
		if !ok || w.Inside > recording.MaxCounter || w.Outside > recording.MaxCounter {
			return fmt.Errorf("%w: a CPU counter %+v", wire.ErrCorrupt, *w)
		}
		rows = append(rows, session.CPUCounter{Position: int64(i + 1), Name: c.Name, Unit: c.Unit,
			Inside: float64(w.Inside) / overheadPart, Outside: float64(w.Outside) / overheadPart})
	}
	return p.rec.WriteCPUCounters(rows)
}

// countCounters adds up the CPU counters of the arena by the session's timings, after count.
func (t *times) countCounters(p *process) error {
	if t.counts.used == 0 {
		return nil
	}
	rows := p.arena.Counts()
	if len(rows) < t.taken.Len() {
		return fmt.Errorf("%w: CPU counters of %d timings of %d", wire.ErrCorrupt, len(rows), t.taken.Len())
	}
	t.counts.sums = make([]quantity.Counters, p.rec.Timings())
	t.counts.folds = make([]session.CountedFolds, t.folds.Len())
	for i := range t.taken.Len() {
		c, n := arena.Counts(&rows[i]), t.taken.At(i)
		err := t.counts.add(&t.counts.sums[n.own()], &c.Tail)
		if err == nil && n.lead != none {
			err = t.counts.add(&t.counts.sums[n.lead], &c.Lead)
		}
		if at := t.foldsOf(i); err == nil && at != none {
			f := &t.counts.folds[at]
			if err = t.counts.add(&f.Counters, &c.Inclusive); err == nil {
				err = t.counts.add(&f.Each, &c.Each)
			}
		}
		if err != nil && !p.skips(err) {
			return fmt.Errorf("timing %d: %w", i+1, err)
		}
	}
	return nil
}

// add adds counters, all of which are bounded.
func (c *counts) add(sum *quantity.Counters, more *[wire.MaxCounters]uint64) error {
	for i := range c.used {
		if err := bounded(more[i]); err != nil {
			return err
		}
		sum[i] += quantity.Count(more[i])
		if err := bounded(uint64(sum[i])); err != nil {
			return err
		}
	}
	return nil
}

// growCounters tells what CPU counters have counted.
func (t *times) growCounters(p *process) error {
	if t.counts.used == 0 {
		return nil
	}
	if err := p.rec.GrowCounts(t.counts.sums); err != nil {
		return err
	}
	return p.rec.GrowInclusiveCounts(t.counts.folds)
}
