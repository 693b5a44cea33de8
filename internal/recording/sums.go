package recording

import (
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// Sums are what the slices of a recording hold of its timings, in sum: what the tables timing_value and
// timing_inclusive add up to by timing. They are good once the recording is written, and need 8 to 30 bytes for each
// timing; the recording itself is not kept by them.
type Sums struct{ processes []*timings }

// Sums returns the sums of what is written.
func (r *Recording) Sums() *Sums {
	out := &Sums{}
	for _, p := range r.processes {
		t := &p.timings
		if t.rows.Len() > 0 {
			out.processes = append(out.processes, &timings{ids: t.ids, rows: t.rows, inclusive: t.inclusive, of: t.of})
		}
	}
	return out
}

// Timings is how many timings there are.
func (s *Sums) Timings() int {
	n := 0
	for _, t := range s.processes {
		n += t.rows.Len()
	}
	return n
}

// Release lets go of the sums, whoever else refers to them: there are none then.
func (s *Sums) Release() { s.processes = nil }

// EachTiming calls one of two functions with the sum of each timing of which something was counted: plain if all of
// its calls ended and nothing was waited, which is so for most, and full, with a row of no slice that the next one
// overwrites, for the others.
func (s *Sums) EachTiming(plain func(id session.TimingID, calls, made quantity.Count, elapsed quantity.Nanoseconds),
	full func(*session.TimingValue)) {
	var sum session.TimingValue
	for _, t := range s.processes {
		for i := range t.rows.Len() {
			id := session.TimingID(t.ids.id(i))
			small, large := t.rows.At(i)
			if large != nil {
				sum = t.counted(i)
				sum.Timing = id
				full(&sum)
			} else if *small != (SmallTiming{}) {
				calls, made, elapsed := small.Counters()
				plain(id, quantity.Count(calls), quantity.Count(made), quantity.Nanoseconds(elapsed))
			}
		}
	}
}

// EachInclusive calls one of two functions with the sum of the folded calls of each timing that has some: plain if
// nothing was waited, and what is known of each call by itself is the same or nothing, which is so for most; full, with
// a row of no slice that the next one overwrites, for the others.
func (s *Sums) EachInclusive(plain func(id session.TimingID, times, calls quantity.Count, elapsed quantity.Nanoseconds,
	each bool), full func(*session.TimingInclusive)) {
	var sum session.TimingInclusive
	for _, t := range s.processes {
		for i := range t.inclusive.Len() {
			small, c := t.inclusive.At(i)
			if c == nil && *small == (SmallInclusive{}) {
				continue
			}
			id := session.TimingID(t.ids.id(int(*t.of.At(i))))
			if c == nil {
				times, calls, elapsed, eachCalls, eachElapsed := small.Sums()
				plain(id, quantity.Count(times), quantity.Count(calls), quantity.Nanoseconds(elapsed),
					eachCalls|eachElapsed != 0)
				continue
			}
			sum = session.TimingInclusive{Timing: id, Times: c.times, Calls: c.calls, Elapsed: c.elapsed,
				Waited: c.waited, Waits: c.Waits, EachCalls: c.eachCalls, EachElapsed: c.eachElapsed,
				EachWaited: c.eachWaited, EachOffCPU: c.eachOff}
			full(&sum)
		}
	}
}

// countedInclusive returns what slices hold of the inclusive time with an index.
func (t *timings) countedInclusive(i int) countedInclusive {
	small, c := t.inclusive.At(i)
	if c != nil {
		return *c
	}
	times, calls, elapsed, eachCalls, eachElapsed := small.Sums()
	return countedInclusive{times: quantity.Count(times), calls: quantity.Count(calls),
		elapsed: quantity.Nanoseconds(elapsed), eachCalls: quantity.Count(eachCalls),
		eachElapsed: quantity.Nanoseconds(eachElapsed)}
}
