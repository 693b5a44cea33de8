package collect

import (
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/wire"
)

// cutting says whether marks end slices from now on: then threads that mark wait for that.
func (r *Recorder) cutting(on bool) {
	if r.control.file != nil {
		r.control.file.Cutting(on)
	}
}

// wantsCut says whether the slice ends now, because a thread has marked and waits for that.
func (r *Recorder) wantsCut(h *controller) bool {
	if err := r.findArenas(); err != nil {
		return true // the look says what is wrong
	}
	now := Monotonic()
	if r.cutAt(now) == now {
		return false // nobody does: other things, too, give an arena a new time
	}
	if h.early(r) {
		return true
	}
	r.wasCut(now)
	return false
}

// wasCut informs the agents that what was counted until then is read.
func (r *Recorder) wasCut(now quantity.Nanoseconds) {
	if r.control.file != nil {
		r.control.file.Cut(uint64(now))
	}
}

// cutAt is where the slice ends whose counters are read from now on, on the Monotonic clock: at the last mark at which
// somebody waits for that, or else now. What other threads do until they are read counts before the mark; a thread
// that waits does nothing.
func (r *Recorder) cutAt(now quantity.Nanoseconds) quantity.Nanoseconds {
	after, last := max(r.start+r.rec.Age(), now-wire.CutWait), quantity.Nanoseconds(0)
	consider := func(at quantity.Nanoseconds) {
		if at > after && at <= now {
			last = max(last, at)
		}
	}
	consider(r.control.cut)
	for _, name := range r.names {
		if p := r.processes[name]; !p.over {
			if h, err := p.arena.Header(); err == nil {
				consider(quantity.Nanoseconds(min(h.CutNS, uint64(now))))
			}
		}
	}
	if last == 0 {
		return now
	}
	return last
}
