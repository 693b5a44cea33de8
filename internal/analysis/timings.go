package analysis

import (
	q "github.com/clrprof/clrprof/internal/quantity"
)

// TimingTime is what a thread did at a node: the calls that began there, and its exclusive time.
type TimingTime struct {
	Calls q.Count
	q.Time
}

// TimingTimes returns the times of the timings, without what the probes added, in the order of Timings. Their sum is
// Source.TotalTime.
func (d *Data) TimingTimes() []TimingTime {
	probes := d.probesOf()
	out := make([]TimingTime, len(d.Timings))
	measures := d.measure()
	for i := range out {
		m := measures.of(i)
		out[i] = TimingTime{m.calls, m.correct(processOf(probes, d.threadProcess[d.timingThread[i]])).Time}
	}
	return out
}
