package recording

import (
	"fmt"
	"slices"

	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// counts are what slices hold of CPU counters in the timings of one process.
type counts struct {
	written   []session.CPUCounter
	rows      []quantity.Counters    // by index of a timing
	inclusive []session.CountedFolds // by index of the inclusive time of folded calls
}

// WriteCPUCounters writes which CPU counters the process reads, when that has changed.
func (p *Process) WriteCPUCounters(rows []session.CPUCounter) error {
	for i := range rows {
		rows[i].Process = p.id
	}
	if slices.Equal(rows, p.counts.written) {
		return nil
	}
	p.counts.written = rows
	return p.recording.w.ReplaceCPUCounters(rows)
}

// GrowCounts takes what CPU counters have counted up to now in all timings, by index.
func (p *Process) GrowCounts(totals []quantity.Counters) error {
	c := &p.counts
	c.rows = append(c.rows, make([]quantity.Counters, max(0, len(totals)-len(c.rows)))...)
	var grown []session.TimingCount
	for i := range totals {
		d := totals[i].Sub(c.rows[i])
		if slices.Min(d[:]) < 0 {
			return fmt.Errorf("%w: CPU counters of %v after %v", ErrInconsistent, totals[i], c.rows[i])
		}
		if c.rows[i] = totals[i]; !d.IsZero() {
			grown = append(grown, session.TimingCount{Slice: p.recording.slice(), Timing: p.TimingID(i), Counters: d})
			p.recording.grown.any = true
		}
		if len(grown) < RowsAtOnce && i+1 < len(totals) {
			continue
		}
		if err := p.recording.w.InsertTimingCounts(grown); err != nil {
			return err
		}
		grown = grown[:0]
	}
	return nil
}

// GrowInclusiveCounts takes the same of the inclusive times of folded calls, by index.
func (p *Process) GrowInclusiveCounts(totals []session.CountedFolds) error {
	c := &p.counts
	c.inclusive = append(c.inclusive, make([]session.CountedFolds, max(0, len(totals)-len(c.inclusive)))...)
	var grown []session.TimingInclusiveCount
	for i := range totals {
		d := session.CountedFolds{Counters: totals[i].Counters.Sub(c.inclusive[i].Counters),
			Each: totals[i].Each.Sub(c.inclusive[i].Each)}
		if min(slices.Min(d.Counters[:]), slices.Min(d.Each[:])) < 0 {
			return fmt.Errorf("%w: CPU counters of folded calls of %v after %v", ErrInconsistent, totals[i],
				c.inclusive[i])
		}
		if c.inclusive[i] = totals[i]; d != (session.CountedFolds{}) {
			id := p.inclusiveID(i)
			grown = append(grown, session.TimingInclusiveCount{Slice: p.recording.slice(), Timing: id, CountedFolds: d})
			p.recording.grown.any = true
		}
	}
	return p.recording.w.InsertTimingInclusiveCounts(grown)
}
