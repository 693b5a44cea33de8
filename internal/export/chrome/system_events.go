package chrome

import (
	"fmt"
	"slices"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/session"
)

// firstEventTrack is the number of the first track of system events, and a thread's is its id more: its own has the
// call tree, which is not in the order of time. Linux gives no thread a number above 4 Mi.
const firstEventTrack = 20_000_000

// longest returns at most so many of the events, in their order, how many are left out, and the length that these do
// not have.
func longest(all []analysis.PlacedEvent, most int) (kept []analysis.PlacedEvent, left int, least int64) {
	if len(all) <= most {
		return all, 0, 0
	}
	lengths := make([]int64, len(all))
	for i := range all {
		lengths[i] = int64(all[i].Length)
	}
	slices.Sort(lengths)
	least = lengths[len(all)-most]
	if lengths[len(all)-most-1] == least { // not some of those that are as long
		least++
	}
	for i := range all {
		if int64(all[i].Length) >= least {
			kept = append(kept, all[i])
		}
	}
	return kept, len(all) - len(kept), least
}

// systemEvents writes what the operating system did, a track for each thread.
func (w *writer) systemEvents() {
	named := map[session.ThreadID]bool{}
	for i := range w.system {
		e := &w.system[i]
		track := firstEventTrack + int64(e.Thread.ID)
		if !named[e.Thread.ID] {
			named[e.Thread.ID] = true
			name := e.Thread.Label(e.Of.PID)
			w.put(event{Phase: "M", PID: e.Of.PID, TID: track, Name: "thread_name",
				Args: map[string]any{"name": name + ": what the operating system did"}})
		}
		args := map[string]any{"function": e.Function.DisplayName()}
		if e.File != "" && e.Line > 0 {
			args["place"] = fmt.Sprintf("%s:%d", e.File, e.Line)
		}
		for _, a := range e.Amounts() {
			if a.Value != 0 {
				args[a.Key] = a.Value
			}
		}
		if calls := e.SystemCalls(); calls != "" {
			args["system_calls"] = calls
		}
		w.put(event{Phase: "X", PID: e.Of.PID, TID: track, Name: e.Reason(), Kind: "system", Time: at(e.From),
			Took: at(e.To - e.From), Args: args})
	}
}
