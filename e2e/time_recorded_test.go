package e2e

import (
	"testing"

	"github.com/clrprof/clrprof/internal/session"
)

// called identifies a function as targets of time data do: by module and token. The zero value stands for the caller
// of a root.
type called struct {
	Module string
	Token  uint32
}

// call is a function and the one that is above it on the stack.
type call struct{ Caller, Callee called }

// spent is time as it was measured, with what the probes added, and what the operating system did in it.
type spent struct {
	Elapsed, Waited, Intervals, Voluntary, Preempted, Faults, Reads, OffCPU, Blocked, Ready int64
}

func (s *spent) add(v session.TimingValue) {
	s.plus(spent{int64(v.Elapsed), int64(v.Waited), int64(v.Waits.Intervals), int64(v.Voluntary), int64(v.Preempted),
		int64(v.Faults), int64(v.Reads), int64(v.OffCPU), int64(v.Blocked), int64(v.Ready)})
}

func (s *spent) plus(o spent) {
	s.Elapsed += o.Elapsed
	s.Waited += o.Waited
	s.Intervals += o.Intervals
	s.Voluntary += o.Voluntary
	s.Preempted += o.Preempted
	s.Faults += o.Faults
	s.Reads += o.Reads
	s.OffCPU += o.OffCPU
	s.Blocked += o.Blocked
	s.Ready += o.Ready
}

// application is the part of the time in which the system did not act.
func (s spent) application() int64 { return s.Elapsed - s.Waited }

// callsOf is what is known of the calls of one function.
type callsOf struct {
	name           string // as in metadata, without arguments
	began, ended   int64
	running        int64
	open           int64 // the longest interval that had not ended, ns
	tail           spent // of its own, ended by the end of a call
	own, inclusive spent
	added          session.NodeID // the node whose time was added last
}

// recordedTime is what a session says of calls, added up from the recorded tables alone and in the simplest way.
type recordedTime struct {
	functions map[called]*callsOf
	calls     map[call]int64
	externs   map[call]int64 // of functions without IL; calls has what these call back as calls of their callers
	nodes     int            // of calls
	total     spent
	processes []session.ProcessTime
	of        map[*function]*callsOf // the same, by what stacks have
}

func readRecordedTime(t *testing.T, path string) *recordedTime {
	t.Helper()
	r := newReader(t, path, false)
	out := &recordedTime{functions: map[called]*callsOf{}, calls: map[call]int64{},
		externs: map[call]int64{}, processes: need(t, r.s.ProcessTimes), of: map[*function]*callsOf{}}
	timings := byID(need(t, r.s.Timings), func(x session.Timing) session.TimingID { return x.ID })
	nodes := map[session.NodeID]bool{}
	inclusive := map[session.NodeID]*spent{}
	for _, v := range need(t, r.s.TimingValues) {
		node := r.nodes[timings[v.Timing].Node]
		out.addValue(r, node, v)
		if inclusive[node.ID] == nil {
			inclusive[node.ID] = &spent{}
		}
		inclusive[node.ID].add(v)
		if v.Calls > 0 && !nodes[node.ID] {
			nodes[node.ID] = true
			out.nodes++
		}
	}
	for id, s := range inclusive {
		out.addInclusive(r, id, *s)
	}
	for _, v := range need(t, r.s.TimingRunning) {
		node := r.nodes[timings[v.Timing].Node]
		in := r.within(node)
		f := out.function(r, in)
		if in == node.Function {
			f.running += int64(v.Calls)
		}
		f.open = max(f.open, int64(v.Elapsed))
	}
	return out
}

// key is the identity of a function of the session.
func (r *reader) key(id session.FunctionID) called {
	if id == 0 {
		return called{}
	}
	return called{r.functions[id].Module, r.functions[id].Token}
}

func (o *recordedTime) function(r *reader, id session.FunctionID) *callsOf {
	key := r.key(id)
	if o.functions[key] == nil {
		o.functions[key] = &callsOf{name: r.functions[id].Name}
	}
	return o.functions[key]
}

// within returns the function of a node, or what called it if that has no IL.
func (r *reader) within(node session.Node) session.FunctionID {
	for r.externs[node.Function] {
		node = r.nodes[node.Parent]
	}
	return node.Function
}

// addValue counts calls for a function and for its caller, and the times that are its own. A function without IL is a
// part of its caller, as hooks have it.
func (o *recordedTime) addValue(r *reader, node session.Node, v session.TimingValue) {
	isTail := node.Instruction == 0 && v.Made == 0
	if in := r.within(node); in != node.Function {
		o.externs[call{r.key(in), r.key(node.Function)}] += int64(v.Calls)
		v.Calls, v.Ended, node.Function, isTail = 0, 0, in, false
	}
	f := o.function(r, node.Function)
	f.began += int64(v.Calls)
	f.ended += int64(v.Ended)
	f.own.add(v)
	if isTail {
		f.tail.add(v)
	}
	if v.Calls > 0 {
		o.calls[call{r.key(r.within(r.nodes[node.Parent])), r.key(node.Function)}] += int64(v.Calls)
	}
	o.total.add(v)
}

// addInclusive adds all time of a node to each function on its stack once.
func (o *recordedTime) addInclusive(r *reader, node session.NodeID, s spent) {
	for _, on := range r.stack(node) {
		f := o.of[on]
		if f == nil {
			key := called{on.Module, on.Token}
			if o.functions[key] == nil {
				o.functions[key] = &callsOf{name: on.Name}
			}
			f = o.functions[key]
			o.of[on] = f
		}
		if f.added != node {
			f.inclusive.plus(s)
		}
		f.added = node
	}
}
