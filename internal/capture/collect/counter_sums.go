package collect

import (
	"github.com/clrprof/clrprof/internal/capture/recording"
	"github.com/clrprof/clrprof/internal/session/pieces"
	"github.com/clrprof/clrprof/internal/wire"
)

// counters of a timing; times in ticks.
type counters struct {
	calls, ended, made uint64
	elapsed, waited    uint64
	open               uint64 // of an interval that never ended: it is not known whether the thread had a processor
	waits              wire.Waits
}

// counterSums are the counters of all timings of a process, as one look at its arena adds them up. There can be
// millions, nearly all of them small.
type counterSums struct {
	rows pieces.Packed[recording.SmallTiming, counters]
}

// reset makes so many sums zero.
func (s *counterSums) reset(n int) { s.rows.Reset(n) }

// of returns a sum.
func (s *counterSums) of(row int) counters {
	small, large := s.rows.At(row)
	if large != nil {
		return *large
	}
	calls, made, elapsed := small.Counters()
	return counters{calls: calls, ended: calls, made: made, elapsed: elapsed}
}

// add adds counters, all of which are bounded.
func (s *counterSums) add(row int, o *counters) error {
	if err := bounded(o.calls, o.made, o.elapsed); err != nil {
		return err
	}
	small, large := s.rows.At(row)
	if large == nil {
		calls, made, elapsed := small.Counters()
		if o.waited|o.open == 0 && o.waits == (wire.Waits{}) {
			sum, ok := recording.NewSmallTiming(calls+o.calls, calls+o.ended, made+o.made, elapsed+o.elapsed)
			if ok {
				*small = sum
				return nil
			}
		}
		s.rows.SetLarge(row, counters{calls: calls, ended: calls, made: made, elapsed: elapsed})
		_, large = s.rows.At(row)
	}
	large.calls += o.calls
	large.ended += o.ended
	large.made += o.made
	large.elapsed += o.elapsed
	large.waited += o.waited
	large.open += o.open
	if err := addWaits(&large.waits, &o.waits); err != nil {
		return err
	}
	return bounded(large.calls, large.made, large.elapsed)
}

// ended returns how many calls of a sum have ended.
func (s *counterSums) ended(row int) uint64 {
	small, large := s.rows.At(row)
	if large != nil {
		return large.ended
	}
	calls, _, _ := small.Counters()
	return calls
}
