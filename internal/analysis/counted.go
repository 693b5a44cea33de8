package analysis

import (
	"slices"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// Counted are the sums of the tables timing_value and timing_inclusive by timing, of who recorded them: completing a
// session takes twice as long if these millions of rows are added up once more.
type Counted interface {
	// Timings is how many timings there are: those of the session.
	Timings() int
	// EachTiming calls one of two functions with the sum of each timing of which something was counted, in any order:
	// plain only if all of its calls ended and nothing was waited.
	EachTiming(plain func(id session.TimingID, calls, made q.Count, elapsed q.Nanoseconds),
		full func(*session.TimingValue))
	// EachInclusive calls fn with the sum of the folded calls of each timing that has some, in any order.
	EachInclusive(fn func(*session.TimingInclusive))
	// Release lets go of them: they are not asked for again.
	Release()
}

// isCounted reports whether a table is one of those that Counted has the sums of.
func isCounted(table string) bool {
	return slices.Contains([]string{"timing_value", "timing_inclusive"}, table)
}

// addCounted is addUp of the sums that there are.
func (d *Data) addCounted(n *nodeTimes, probes []probes) {
	counters := d.counts.measure(d.in, d.timings.rows)
	var m measured
	full := func(v *session.TimingValue) {
		timing, _ := d.timings.find(v.Timing)
		m = measured{calls: v.Calls, ended: v.Ended, made: v.Made, running: v.Calls - v.Ended, elapsed: v.Elapsed,
			waited: v.Waited, Waits: v.Waits}
		if counters != nil {
			m.counters = counters[timing]
		}
		d.addMeasured(n, timing, &m, probes)
	}
	var row session.TimingValue
	plain := func(id session.TimingID, calls, made q.Count, elapsed q.Nanoseconds) {
		row = session.TimingValue{Timing: id, Calls: calls, Ended: calls, Made: made, Elapsed: elapsed}
		full(&row)
	}
	if counters == nil {
		plain = func(id session.TimingID, calls, made q.Count, elapsed q.Nanoseconds) {
			timing, _ := d.timings.find(id)
			d.addPlain(n, timing, calls, made, elapsed, probes)
		}
	}
	d.counted.EachTiming(plain, full)
}

// addPlain is addMeasured of a timing all of whose calls ended, and in which nothing was waited or counted: most are
// such, and there can be millions.
func (d *Data) addPlain(n *nodeTimes, timing int32, calls, made q.Count, elapsed q.Nanoseconds, probes []probes) {
	node, thread := d.timingNode[timing], &n.threads[d.timingThread[timing]]
	overhead := q.Nanoseconds(0)
	if p := d.threadProcess[d.timingThread[timing]]; p >= 0 {
		overhead = min(elapsed, scale(calls, probes[p].inside)+scale(made, probes[p].outside))
	}
	elapsed -= overhead
	thread.Elapsed += elapsed
	thread.Application += elapsed
	thread.CPU += elapsed
	thread.Overhead += overhead
	thread.calls += calls
	thread.made += made
	if r := &n.own.small[node]; r.large == 0 && r.add(int64(elapsed), int64(elapsed), int64(elapsed), int64(overhead),
		int64(calls), int64(made)) {
		return
	}
	t := q.Time{Elapsed: elapsed, Application: elapsed, CPU: elapsed, Overhead: overhead}
	n.own.add(node, &t, counts{calls: calls, made: made})
}

// hasInclusives reports whether there are folded calls whose time was measured.
func (d *Data) hasInclusives() bool {
	if d.counted == nil {
		return d.inclusives.rows.Len() > 0
	}
	any := false
	d.counted.EachInclusive(func(*session.TimingInclusive) { any = true })
	return any
}

// eachCountedInclusive is eachMeasuredInclusive of the sums that there are.
func (d *Data) eachCountedInclusive(fn func(timing int32, whole, each *measured)) {
	counters := d.counts.measureFolds(d.in)
	var whole, each measured
	d.counted.EachInclusive(func(v *session.TimingInclusive) {
		timing, _ := d.timings.find(v.Timing)
		whole = measured{ended: v.Calls, made: v.Calls - v.Times, elapsed: v.Elapsed, waited: v.Waited, Waits: v.Waits}
		each = measured{ended: v.EachCalls, made: v.EachCalls, elapsed: v.EachElapsed, waited: v.EachWaited,
			Waits: q.Waits{OffCPU: v.EachOffCPU}}
		whole.counters, each.counters = counters[timing].Counters, counters[timing].Each
		if whole != (measured{}) || each != (measured{}) {
			fn(timing, &whole, &each)
		}
	})
}
