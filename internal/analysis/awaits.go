package analysis

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// began are the calls of a kind, and how long before the end of the process they began, in sum.
type began struct {
	calls q.Count
	ticks uint64 // modulo 2^64
}

func (b *began) add(r *session.TimingBegan) {
	b.calls += r.Calls
	b.ticks += uint64(r.Ticks)
}

// machineWaits is what a state machine did: it was started, it began to wait, it went on.
type machineWaits struct{ started, suspended, resumed began }

// awaits returns how often and for how long async methods waited, of all processes. A suspension begins with the call
// by which the state machine asks to be resumed, and ends with the next call of its MoveNext. Which of these belong
// together need not be known: the time between them is the difference of two sums.
func (d *Data) awaits(times *nodeTimes) ([]session.FunctionAwait, error) {
	if s := d.in.selection; len(d.TimingBegan) == 0 || !s.WholeProcesses() || !s.asRecorded() {
		return nil, nil
	}
	losses, err := d.session.Losses()
	if err != nil {
		return nil, err
	}
	incomplete, err := d.incompleteCalls(losses)
	if err != nil {
		return nil, err
	}
	unstarted := d.startsUnknown(losses, times)
	machines := map[int32]*machineWaits{} // by function
	of := func(function int32) *machineWaits {
		if machines[function] == nil {
			machines[function] = &machineWaits{}
		}
		return machines[function]
	}
	for i := range d.TimingBegan {
		r := &d.TimingBegan[i]
		node := d.timingNode[d.beganOf[i]]
		function, caller := d.nodeFunction[node], int32(none)
		if p := d.tree.Parent[node]; p >= 0 {
			caller = d.nodeFunction[p]
		}
		name, byMachine := d.Functions[function].RawName, caller >= 0 &&
			d.Functions[caller].RawName == session.NameMoveNext
		switch {
		case slices.Contains(session.NamesSuspend, name) && byMachine:
			of(caller).suspended.add(r)
		case name != session.NameMoveNext:
		case caller >= 0 && startsMachine(&d.Functions[caller]):
			of(function).started.add(r)
		default:
			of(function).resumed.add(r)
		}
	}
	var out []session.FunctionAwait
	for function, m := range machines {
		if m.suspended.calls == 0 || m.started.calls == 0 { // no async method, or one whose calls are not all recorded
			continue
		}
		f := &d.Functions[function]
		row := session.FunctionAwait{Function: f.ID, Suspensions: m.suspended.calls, Resumptions: m.resumed.calls}
		if perSecond := d.ticksPerSecond(f.Process); !incomplete[f.Process] &&
			m.resumed.calls <= m.suspended.calls && !unstarted(function, m.started.calls) {
			row.Awaited, row.Known = nanoseconds64(m.suspended.ticks-m.resumed.ticks, perSecond)
		}
		out = append(out, row)
	}
	slices.SortFunc(out, func(a, b session.FunctionAwait) int { return cmp.Compare(a.Function, b.Function) })
	return out, nil
}

// startsMachine reports whether a function runs state machines up to their first wait: the builder of an async method,
// or that of an async iterator, for each element.
func startsMachine(f *session.Function) bool {
	return f.RawName == "Start" || f.RawName == session.NameMoveNext &&
		strings.HasSuffix(f.RawType, ".AsyncIteratorMethodBuilder")
}

// lossesOfCalls are those after which a call may be missing: without that of its builder, the start of a state machine
// passes for its going on.
var lossesOfCalls = []string{
	session.LossCallsFolded, session.LossCallsCut, session.LossNoThreadState, session.LossNotHooked,
	session.LossCallsNested,
}

// startsUnknown returns what reports whether a state machine may have been started more often than so many times. In a
// process of which functions have no probes one of these may start it. It is known that none does where the function
// that the compiler made for that has been called as often.
func (d *Data) startsUnknown(losses []session.Loss, times *nodeTimes) func(machine int32, started q.Count) bool {
	processes := map[session.ProcessID]bool{}
	for _, l := range losses {
		processes[l.Process] = processes[l.Process] || l.Reason == session.LossNotProbed
	}
	var stub map[int32]int32
	var calls []counts
	return func(machine int32, started q.Count) bool {
		if !processes[d.Functions[machine].Process] {
			return false
		}
		if calls == nil {
			stub = newAsyncFunctions(d.Functions).stub
			calls = times.own.calls(d.nodeFunction, len(d.Functions))
		}
		starts, known := stub[machine]
		return !known || calls[starts].calls != started
	}
}

// incompleteCalls returns the processes of which not all calls are recorded, or not up to an end of their own.
func (d *Data) incompleteCalls(losses []session.Loss) (map[session.ProcessID]bool, error) {
	out := map[session.ProcessID]bool{}
	for _, t := range d.Times {
		out[t.Process] = t.Instrument == session.InstrumentMine
	}
	for _, l := range losses {
		out[l.Process] = out[l.Process] || slices.Contains(lossesOfCalls, l.Reason)
	}
	pauses, err := d.session.Pauses()
	if err != nil {
		return nil, err
	}
	everywhere := false
	for _, p := range pauses {
		out[p.Process] = true
		everywhere = everywhere || p.Process == 0
	}
	for _, p := range d.Processes {
		out[p.ID] = out[p.ID] || everywhere || p.EndState != session.EndExited
	}
	return out, nil
}

// ticksPerSecond is the rate of the clock of a process.
func (d *Data) ticksPerSecond(p session.ProcessID) uint64 {
	for _, t := range d.Times {
		if t.Process == p {
			return uint64(max(0, t.TicksPerSec))
		}
	}
	return 0
}

// nanoseconds64 converts ticks; false: they are none that can be.
func nanoseconds64(ticks, perSecond uint64) (q.Nanoseconds, bool) {
	const second = 1_000_000_000
	hi, lo := bits.Mul64(ticks, second)
	if int64(ticks) < 0 || hi >= perSecond {
		return 0, false
	}
	n, _ := bits.Div64(hi, lo, perSecond)
	return q.Nanoseconds(n), int64(n) >= 0
}

// awaitsOfNodes returns the waits of async methods by the id of the row where what they did after them is, or, if they
// did nothing, where they were called. A method with several such rows is left out: which of its waits are whose is not
// known.
func (t *asyncTree) awaitsOfNodes() map[session.PathID]session.FunctionAwait {
	nodes := map[int32][]int32{} // by function
	for _, resumed := range []bool{true, false} {
		done := map[int32]bool{}
		for f := range nodes {
			done[f] = true
		}
		for i := range t.paths {
			f := t.paths[i].function
			if t.isMachine(int32(i)) && !done[f] && (t.start[i] == none) == resumed &&
				!slices.Contains(nodes[f], t.logical[i]) {
				nodes[f] = append(nodes[f], t.logical[i])
			}
		}
	}
	out := map[session.PathID]session.FunctionAwait{}
	for _, a := range t.awaits {
		f, _ := t.functions.index.find(a.Function)
		if at := nodes[f]; f != none && len(at) == 1 {
			out[session.PathID(at[0]+1)] = a
		}
	}
	return out
}
