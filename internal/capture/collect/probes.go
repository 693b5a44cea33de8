package collect

import (
	"time"

	"github.com/clrprof/clrprof/internal/capture/steer"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/wire"
)

// Limits of the wait for probes that were taken out in a pause.
const (
	probesLook                      = time.Millisecond // between two looks at whether they are in
	probesTime quantity.Nanoseconds = 5_000_000_000    // then it goes on without those of a process that is stopped
)

// goesOn reports whether something may be recorded after an operation that was not before.
func goesOn(op steer.Op) bool { return op == steer.Resume || op == steer.Start }

// putProbesIn has the agents put in the probes that they have taken out while nothing is recorded, and waits until they
// are. An agent that is not done by then says so itself (wire.LossControl).
func (r *Recorder) putProbesIn() {
	if r.control.file == nil {
		return
	}
	number := r.control.file.Ready()
	for until := Monotonic() + probesTime; r.probesAreOut(number) && Monotonic() < until; {
		time.Sleep(probesLook)
		r.control.file.Wake() // an agent may have been about to sleep
	}
}

// probesAreOut reports whether a process has probes out, and has not put them in since it was asked to.
func (r *Recorder) probesAreOut(number uint32) bool {
	for _, name := range r.names {
		h, err := r.processes[name].arena.Header() // what is wrong with an arena is said when it is read
		if err == nil && h.ProbesOut != 0 && h.Ready != number && wire.State(h.State) == wire.StateRecording &&
			r.alive(int(h.PID)) {
			return true
		}
	}
	return false
}
