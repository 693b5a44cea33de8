package collect

import (
	"slices"

	"github.com/clrprof/clrprof/internal/capture/arena"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/wire"
)

// canWait reports whether a function with this name can be one that suspends or resumes async methods.
func canWait(name string) bool {
	return name == session.NameMoveNext || slices.Contains(session.NamesSuspend, name)
}

// writeBegan writes when the calls began of functions that suspend and resume async methods.
func (t *times) writeBegan(r *Recorder, p *process, h *wire.Header, rows []wire.Timing) error {
	end, err := t.endTicks(r, p, h)
	if err != nil {
		return err
	}
	at := map[int32]int{} // by index in the recording
	var began []session.TimingBegan
	for i := range t.taken.Len() {
		if !p.names.functions[rows[i].Function].waits {
			continue
		}
		x, own := arena.Timing(&rows[i]), t.taken.At(i).own()
		if x.Calls == 0 {
			continue
		}
		n, ok := at[own]
		if !ok {
			n = len(began)
			at[own] = n
			began = append(began, session.TimingBegan{Timing: p.rec.TimingID(int(own))})
		}
		began[n].Calls += quantity.Count(x.Calls)
		began[n].Ticks += int64(x.Calls*end - x.Began) // modulo 2^64, as all that is computed of it
	}
	return p.rec.AddBegan(began)
}
