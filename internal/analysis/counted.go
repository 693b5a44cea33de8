package analysis

import (
	"fmt"
	"slices"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// Counted are the sums of the tables timing_value and timing_inclusive by timing, of who recorded them: completing a
// session takes twice as long if these millions of rows are added up once more.
type Counted interface {
	// Timings is how many timings there are: those of the session.
	Timings() int
	// Rows hands over the rows of the tables node and timing, in the order of id, once: to read them takes ten times as
	// long. nil: it does not know them.
	Rows() ([]session.Node, []session.Timing)
	// EachTiming calls one of two functions with the sum of each timing of which something was counted, in any order:
	// plain only if all of its calls ended and nothing was waited.
	EachTiming(plain func(id session.TimingID, calls, made q.Count, elapsed q.Nanoseconds),
		full func(*session.TimingValue))
	// EachInclusive calls one of two functions with the sum of the folded calls of each timing that has some, in any
	// order: plain only if nothing was waited, and what is known of each call by itself is the same, or nothing.
	EachInclusive(plain func(id session.TimingID, times, calls q.Count, elapsed q.Nanoseconds, each bool),
		full func(*session.TimingInclusive))
	// Release lets go of them: they are not asked for again.
	Release()
}

// isCounted reports whether a table is one of those that are not read, as it is known what they say; nil: nothing is.
func isCounted(counted Counted, table string) bool {
	if counted == nil {
		return false
	}
	known := slices.Contains([]string{"timing_value", "timing_inclusive"}, table)
	return known || counted.Timings() > 0 && (table == "node" || table == "timing")
}

// readRows reads the nodes and timings of a session, or takes them from who recorded it.
func (d *Data) readRows(s *session.Session) error {
	if d.counted != nil {
		d.Nodes, d.Timings = d.counted.Rows()
	}
	if d.Nodes == nil {
		if err := into(&d.Nodes, s.Nodes); err != nil {
			return err
		}
		return into(&d.Timings, s.Timings)
	}
	rows, err := s.PackedRows()
	if err == nil && (rows["node"] != int64(len(d.Nodes)) || rows["timing"] != int64(len(d.Timings))) {
		err = fmt.Errorf("session %s: %w: %d nodes and %d timings, of which %d and %d are known", s.Path(),
			session.ErrCorrupt, rows["node"], rows["timing"], len(d.Nodes), len(d.Timings))
	}
	return err
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

// plainTime corrects elapsed time, which is not negative, as measured.correct does where nothing was waited or counted:
// all of it is of the application, with a processor.
func plainTime(ended, made q.Count, elapsed q.Nanoseconds, p *probes) (corrected, overhead q.Nanoseconds) {
	overhead = min(elapsed, scale(ended, p.inside)+scale(made, p.outside))
	return elapsed - overhead, overhead
}

// addPlainTo adds elapsed time that plainTime corrects.
func addPlainTo(t *q.Time, ended, made q.Count, elapsed q.Nanoseconds, p *probes) {
	elapsed, overhead := plainTime(ended, made, elapsed, p)
	t.Elapsed += elapsed
	t.Application += elapsed
	t.CPU += elapsed
	t.Overhead += overhead
}

// probesAt returns those of a process; of none those that add nothing.
func probesAt(all []probes, process int32) *probes {
	if process < 0 {
		return &noProbes
	}
	return &all[process]
}

// noProbes are those of no process. They are not to be changed.
var noProbes probes

// addPlain is addMeasured of a timing all of whose calls ended, and in which nothing was waited or counted: most are
// such, and there can be millions.
func (d *Data) addPlain(n *nodeTimes, timing int32, calls, made q.Count, elapsed q.Nanoseconds, probes []probes) {
	node, thread := d.timingNode[timing], &n.threads[d.timingThread[timing]]
	elapsed, overhead := plainTime(calls, made, elapsed, probesAt(probes, d.threadProcess[d.timingThread[timing]]))
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
	d.counted.EachInclusive(func(session.TimingID, q.Count, q.Count, q.Nanoseconds, bool) { any = true },
		func(*session.TimingInclusive) { any = true })
	return any
}

// addCountedInclusives sums the folded calls of the sums that there are.
func (d *Data) addCountedInclusives(t *foldedTimes, probes []probes) {
	counters := d.counts.measureFolds(d.in)
	var whole, each measured
	full := func(v *session.TimingInclusive) {
		timing, _ := d.timings.find(v.Timing)
		whole = measured{ended: v.Calls, made: v.Calls - v.Times, elapsed: v.Elapsed, waited: v.Waited, Waits: v.Waits}
		each = measured{ended: v.EachCalls, made: v.EachCalls, elapsed: v.EachElapsed, waited: v.EachWaited,
			Waits: q.Waits{OffCPU: v.EachOffCPU}}
		whole.counters, each.counters = counters[timing].Counters, counters[timing].Each
		d.addFolded(t, timing, &whole, &each, probes)
	}
	plain := func(id session.TimingID, times, calls q.Count, elapsed q.Nanoseconds, isEach bool) {
		timing, _ := d.timings.find(id)
		if len(counters) > 0 {
			row := session.TimingInclusive{Timing: id, Times: times, Calls: calls, Elapsed: elapsed}
			if isEach {
				row.EachCalls, row.EachElapsed = calls, elapsed
			}
			full(&row)
			return
		}
		node, probe := d.timingNode[timing], probesAt(probes, d.threadProcess[d.timingThread[timing]])
		t.end[node] = !t.inside[node]
		r := t.row(node)
		addPlainTo(&r.inclusive, calls, calls-times, elapsed, probe)
		if r.calls += calls; isEach {
			addPlainTo(&r.each, calls, calls, elapsed, probe)
		}
	}
	d.counted.EachInclusive(plain, full)
}
