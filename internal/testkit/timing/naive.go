package timing

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/clrprof/clrprof/internal/wire"
)

// errEvents is wrapped by every error of Naive: the events are not those of a program.
var errEvents = errors.New("impossible events")

// Naive computes the time of one thread by its definition: for each interval it goes through the stack at the
// interval's end and adds the interval to the values of each function, node and call site on it. It knows calls by
// Event.Frame, so that it does not have to guess which one an event is about. Make one with NewNaive.
type Naive struct {
	Blocks bool // as of Counters

	budget    budget
	overhead  wire.Overhead
	stack     []frame // calls of hooked functions, recorded or not
	roots     []*naiveNode
	pairs     map[pair]*naiveNode // of folded calls
	functions map[uint32]*Function
	edges     map[pair]*Edge
	last      uint64 // reading of the clock at the end of the last interval
	os        OS     // since then
	began     uint64 // recorded calls that began
	backwards uint64
	folded    uint64
	begun     bool // the clock was read
	ended     bool
	events    int
}

// frame is a call that has not ended.
type frame struct {
	id       uint32
	class    Class
	function uint32     // as what it is recorded
	node     *naiveNode // nil: it is not recorded
	caller   uint32     // function of the recorded call that made it, 0: none
	folded   bool       // it has no path of its own, and neither has what it calls
	gone     bool       // it ended, but that was not seen yet
	reported []int      // Naive.events when exceptions came to it, while it was the innermost one that is recorded
	block    bool       // no call: a filter or a finally block, which a dispatcher runs, or what it called
	calls    uint32     // of that: the id of the call that the runtime's native code makes
	filter   bool       // a filter
	sp       uint64
	event    int // Naive.events when a block began
	call     Values
	began    uint64 // Naive.began when it had begun
	children uint64 // recorded calls that it made and that ended
}

type pair struct{ caller, callee uint32 }

type naiveNode struct {
	Node
	parent   *naiveNode
	granted  uint32 // how many more of its calls get a path
	site     *Site  // in the parent
	children []*naiveNode
	sites    []*Site
}

// NewNaive starts a thread.
func NewNaive(limits Limits, overhead wire.Overhead) *Naive {
	return &Naive{budget: budget{limits: limits}, overhead: overhead, functions: map[uint32]*Function{},
		pairs: map[pair]*naiveNode{}, edges: map[pair]*Edge{}}
}

// Backwards is the number of intervals whose end was before their beginning.
func (n *Naive) Backwards() uint64 { return n.backwards }

// Folded is the number of calls that a limit folded.
func (n *Naive) Folded() uint64 { return n.folded }

// Add takes the thread's next event.
func (n *Naive) Add(e Event) error {
	if n.ended {
		return fmt.Errorf("%w: kind %d after the end", errEvents, e.Kind)
	}
	if e.Kind == KindVanished {
		return n.vanish(e)
	}
	n.os.add(e.OS)
	n.events++
	switch e.Kind {
	case KindEnter:
		if !n.begun {
			n.begun, n.last = true, e.Clock
		}
		n.see(e.CallerSP + 1)
		n.enter(e)
	case KindLeave, KindTailcall:
		n.see(e.CallerSP)
		return n.end(e, true)
	case KindFilter:
		n.stack = append(n.stack, frame{block: true, filter: true, sp: e.SP, event: n.events})
	case KindFinally:
		n.seeInside(e)
		n.stack = append(n.stack, frame{block: true, sp: e.SP, event: n.events})
	case KindFilterEnd, KindFinallyEnd:
		return n.endBlock(e)
	case KindUnwind:
		n.seeGone(e)
		n.unwinds(e)
	case KindUnwound:
		if e.Class == Boundary || e.Class == Instrumented {
			f := n.innermost()
			return n.end(e, f != nil && f.id == e.Frame && len(f.reported) > 0 && !n.Blocks)
		}
	case KindCatch:
		n.seeInside(e)
		n.stack = slices.DeleteFunc(n.stack, func(f frame) bool { return f.isNoCall() && f.sp <= e.SP })
		n.catches()
	case KindEnd:
		n.finish(e)
	default:
		return fmt.Errorf("%w: kind %d", errEvents, e.Kind)
	}
	return nil
}

// unwinds notes that an exception has come to a call. With Blocks it may be any of the calls by which the function
// called itself that are not known to be gone, or a block of one.
func (n *Naive) unwinds(e Event) {
	if n.Blocks {
		n.forgetLast()
	}
	f, i := n.innermost(), len(n.stack)-1
	if f == nil || f.class != Instrumented {
		return
	}
	for &n.stack[i] != f {
		i--
	}
	if f.id == e.Frame || n.Blocks && e.Class == Instrumented && f.function == e.Function &&
		!slices.ContainsFunc(n.stack[i:], func(f frame) bool { return f.filter }) {
		f.reported = append(f.reported, n.events)
	}
}

// catches forgets that the exception has come to the call that catches it. One may be on its way that runs the block in
// which this happens.
func (n *Naive) catches() {
	f := n.innermost()
	if f == nil {
		return
	}
	began := 0
	for _, b := range n.stack {
		if b.block {
			began = b.event
		}
	}
	f.reported = slices.DeleteFunc(f.reported, func(event int) bool { return event > began })
}

// isNoCall says whether it is one of the dispatcher's frames or blocks.
func (f *frame) isNoCall() bool { return f.block || f.class == Dispatcher }

// end ends the innermost call that is not gone. If that is not seen, or what is gone inside of it was not seen, it is
// one more that is gone.
func (n *Naive) end(e Event, seen bool) error {
	i := len(n.stack) - 1
	for i >= 0 && (n.stack[i].gone || n.stack[i].isNoCall()) {
		i--
	}
	if i < 0 || n.stack[i].id != e.Frame {
		return fmt.Errorf("%w: frame %d ends, which is not the innermost one", errEvents, e.Frame)
	}
	f := &n.stack[i]
	switch {
	case f.node == nil:
		n.stack = slices.Delete(n.stack, i, i+1)
	case f == n.innermost() && seen:
		n.interval(e, nil)
		n.pop(i)
	default:
		f.gone = true
	}
	if e.Kind != KindTailcall { // else what takes its place need not be hooked
		n.stack = slices.DeleteFunc(n.stack, func(f frame) bool { return f.block && f.calls == e.Frame })
	}
	return nil
}

func (n *Naive) vanish(e Event) error {
	if e.Class == Dispatcher {
		n.stack = slices.DeleteFunc(n.stack, func(f frame) bool { return f.id == e.Frame })
		return nil
	}
	return n.end(e, false)
}

// endBlock ends a block, with the dispatchers of exceptions that it handled itself, and with what an exception that
// leaves a filter left there.
func (n *Naive) endBlock(e Event) error {
	i := slices.IndexFunc(n.stack, func(f frame) bool { return f.block && f.sp == e.SP })
	if i < 0 {
		return fmt.Errorf("%w: no block ends", errEvents)
	}
	for j := len(n.stack) - 1; j > i; j-- {
		if n.stack[j].node != nil {
			n.interval(e, nil)
			n.pop(j)
		}
	}
	n.stack = slices.DeleteFunc(n.stack, func(f frame) bool { return f.isNoCall() && f.sp <= e.SP })
	return nil
}

// see lets the calls end that are gone and must be: a hook's stack pointer lies above theirs, or is equal to that of a
// new call.
func (n *Naive) see(sp uint64) {
	for i := len(n.stack) - 1; i >= 0; i-- {
		switch f := &n.stack[i]; {
		case !f.gone && !f.isNoCall():
			return
		case f.sp < sp:
			if f.node != nil {
				f.node.Unmatched++
			}
			if f.block && f.calls == 0 { // its end is never reported: what came to its call before is forgotten
				n.forgetTold(i)
			}
			n.pop(i)
		}
	}
}

// forgetTold forgets the exceptions that had come to the call around a block when that began.
func (n *Naive) forgetTold(block int) {
	began := n.stack[block].event
	for i := block - 1; i >= 0; i-- {
		if f := &n.stack[i]; f.node != nil {
			f.reported = slices.DeleteFunc(f.reported, func(event int) bool { return event < began })
			return
		}
	}
}

// forgetLast forgets the last call to which an exception had come, unless a block has begun since: the same search goes
// on, or that one ended in native code.
func (n *Naive) forgetLast() {
	var last *frame
	began := 0
	for i := range n.stack {
		f := &n.stack[i]
		if f.block {
			began = max(began, f.event)
		}
		if k := len(f.reported); k > 0 && (last == nil || f.reported[k-1] > last.reported[len(last.reported)-1]) {
			last = f
		}
	}
	if last != nil && last.reported[len(last.reported)-1] > began {
		last.reported = last.reported[:len(last.reported)-1]
	}
}

// seeGone lets calls end that are gone, when an exception comes to a function: the last one that was unwound before, if
// that was not reported or may have been a block of this function; and then one of framework code, if its caller's
// function is the one. No event tells of more than the function. What a filter does is nothing to the calls outside
// of it, and what a finally block does has nothing to do with native code outside of it.
func (n *Naive) seeGone(e Event) {
	if f, i, _ := n.gone(); f != nil && len(f.reported) > 0 &&
		!(n.Blocks && e.Class == Instrumented && f.class == Instrumented && f.function == e.Function) &&
		!slices.ContainsFunc(n.stack[i:], func(x frame) bool {
			return x.block && x.event > f.reported[len(f.reported)-1]
		}) {
		n.interval(e, nil)
		n.pop(i)
	}
	if f, i, caller := n.gone(); f != nil && f.class == Boundary && caller == e.Function && e.Class != NotHooked &&
		!slices.ContainsFunc(n.stack[i:], func(f frame) bool { return f.filter }) {
		n.interval(e, nil)
		n.pop(i)
	}
}

// seeInside lets all calls end that are gone, when a block of a frame further out runs.
func (n *Naive) seeInside(e Event) {
	for {
		f, i, _ := n.gone()
		if f == nil || f.sp > e.CallerSP {
			return
		}
		n.interval(e, nil)
		n.pop(i)
	}
}

// gone returns the innermost recorded call, if it is gone, where it is and its caller's function.
func (n *Naive) gone() (f *frame, index int, caller uint32) {
	f = n.innermost()
	if f == nil || !f.gone {
		return nil, 0, 0
	}
	for i := range n.stack {
		if x := &n.stack[i]; x == f {
			return f, i, caller
		} else if x.node != nil {
			caller = x.function
		}
	}
	return nil, 0, 0
}

// quiet says whether a dispatcher runs.
func (n *Naive) quiet() bool {
	for _, f := range slices.Backward(n.stack) {
		if f.isNoCall() || f.node != nil {
			return f.class == Dispatcher
		}
	}
	return false
}

// innermost returns the innermost call that is recorded, or nil.
func (n *Naive) innermost() *frame {
	for i := len(n.stack) - 1; i >= 0; i-- {
		if n.stack[i].node != nil {
			return &n.stack[i]
		}
	}
	return nil
}

func (n *Naive) enter(e Event) {
	f := frame{id: e.Frame, class: e.Class, function: e.Function, sp: e.CallerSP}
	caller := n.innermost()
	if e.Class != Dispatcher && e.isOfProgram() && n.quiet() {
		n.stack = append(n.stack, frame{block: true, calls: e.Frame, sp: e.CallerSP, event: n.events})
	}
	switch {
	case e.Class == Dispatcher:
	case n.quiet() && !e.isOfProgram():
	case e.Class == Boundary && (caller == nil || caller.class != Instrumented):
	default:
		n.begin(e, &f, caller)
	}
	n.stack = append(n.stack, f)
}

// begin begins a recorded call, which ends an interval.
func (n *Naive) begin(e Event, f, caller *frame) {
	n.place(f, caller, e.ReturnAddress)
	if x := f.node; x.parent != nil {
		x.site.Made++
	}
	switch {
	case caller == nil: // the thread was in no recorded function
		if e.Clock < n.last {
			n.backwards++
		}
		n.last, n.os = e.Clock, OS{}
	case f.folded:
		n.folded++
		n.interval(e, nil)
	default:
		add(&f.node.Lead, n.interval(e, f.node.site))
	}
	f.node.Calls++
	n.function(f.function).Calls++
	n.edge(f).Calls++
	n.began++
	f.began = n.began
}

// place finds the node of a call, or makes one. If there is no room for its path, it has that of its function and its
// caller's.
func (n *Naive) place(f, caller *frame, address uint64) {
	if caller == nil {
		f.node = n.node(nil, f.function, 0, true)
		return
	}
	f.caller = caller.function
	if caller.class == Boundary {
		address = 0 // it is in the framework, and need not be in the function that is recorded
	}
	if !caller.folded {
		if f.node = n.node(caller.node, f.function, address, false); f.node == nil && n.room(caller.node, f.function) {
			f.node = n.node(caller.node, f.function, address, true)
		}
	}
	if f.node != nil {
		return
	}
	f.folded = true
	k := pair{f.caller, f.function}
	if f.node = n.pairs[k]; f.node == nil {
		f.node = &naiveNode{Node: Node{Function: f.function}}
		n.pairs[k] = f.node
	}
}

// room says whether there is room for one more path, which ends with a function that is called now.
func (n *Naive) room(caller *naiveNode, function uint32) bool {
	room := n.budget.room(n.level(), caller.granted > 0, func() bool {
		return slices.ContainsFunc(n.stack, func(f frame) bool { return f.node != nil && f.function == function })
	})
	if room && caller.granted > 0 {
		caller.granted--
	}
	return room
}

// level is how many recorded calls are on the stack.
func (n *Naive) level() (level int) {
	for i := range n.stack {
		if n.stack[i].node != nil {
			level++
		}
	}
	return level
}

// node finds a child of a node, or a root, or makes one if it may.
func (n *Naive) node(parent *naiveNode, function uint32, address uint64, may bool) *naiveNode {
	siblings := &n.roots
	if parent != nil {
		siblings = &parent.children
	}
	i := slices.IndexFunc(*siblings, func(x *naiveNode) bool {
		return x.Function == function && x.ReturnAddress == address
	})
	if i >= 0 {
		return (*siblings)[i]
	}
	if !may {
		return nil
	}
	if parent == nil {
		n.budget.use(0, false)
	}
	x := &naiveNode{Node: Node{Function: function, ReturnAddress: address}, parent: parent}
	if parent != nil {
		x.site = parent.siteAt(address)
	}
	*siblings = append(*siblings, x)
	n.function(function) // has a row, if it has no time
	return x
}

func (x *naiveNode) siteAt(address uint64) *Site {
	i := slices.IndexFunc(x.sites, func(s *Site) bool { return s.ReturnAddress == address })
	if i < 0 {
		i = len(x.sites)
		x.sites = append(x.sites, &Site{ReturnAddress: address})
	}
	return x.sites[i]
}

// interval ends one with the stack as it is. At is where a call was made, which ended it; nil: the end of a call did.
func (n *Naive) interval(e Event, at *Site) wire.Waits {
	ticks := e.Clock - n.last
	if e.Clock < n.last {
		ticks = 0
		n.backwards++
	}
	waits := n.os.waits(ticks)
	n.spread(ticks, n.os.Acted(), waits.Blocked+waits.Ready, at)
	if at == nil {
		add(&n.innermost().node.Tail, waits)
	}
	n.last, n.os = e.Clock, OS{}
	return waits
}

// spread adds an interval to everything that is on the stack: once to each function, and to each pair of a caller and
// what it called.
func (n *Naive) spread(ticks uint64, acted bool, off uint64, at *Site) {
	innermost := n.innermost()
	functions, edges := map[uint32]bool{}, map[pair]bool{}
	for i := range n.stack {
		f := &n.stack[i]
		if f.node == nil {
			continue
		}
		f.call.interval(ticks, f == innermost, acted, off)
		if !f.folded {
			f.node.Total.interval(ticks, f == innermost, acted, off)
		}
		if f.node.site != nil {
			f.node.site.Total.interval(ticks, false, acted, off)
		}
		if !functions[f.function] {
			functions[f.function] = true
			n.function(f.function).Total.interval(ticks, f.function == innermost.function, acted, off)
		}
		if k := (pair{f.caller, f.function}); !edges[k] {
			edges[k] = true
			n.edge(f).Total.interval(ticks, k == pair{innermost.caller, innermost.function}, acted, off)
		}
	}
	if at != nil {
		at.Total.interval(ticks, true, acted, off)
	}
}

// interval is the table: to which of the values of a function on the stack is an interval added?
func (v *Values) interval(ticks uint64, executing, acted bool, off uint64) {
	v[ElapsedInclusive] += ticks
	v[CPUInclusive] += ticks - off
	if executing {
		v[ElapsedExclusive] += ticks
		v[CPUExclusive] += ticks - off
	}
	if !acted {
		v[ApplicationInclusive] += ticks
	}
	if executing && !acted {
		v[ApplicationExclusive] += ticks
	}
}

func add(to *wire.Waits, w wire.Waits) {
	to.Intervals += w.Intervals
	to.Voluntary += w.Voluntary
	to.Preempted += w.Preempted
	to.Faults += w.Faults
	to.Reads += w.Reads
	to.Blocked += w.Blocked
	to.Ready += w.Ready
}

// pop takes a call off the stack, with its blocks, which an exception has left if they are still there.
func (n *Naive) pop(i int) {
	f := n.stack[i]
	n.stack = slices.Delete(n.stack, i, i+1)
	if f.node == nil {
		return
	}
	above := slices.DeleteFunc(n.stack[i:], func(f frame) bool { return f.block })
	n.stack = n.stack[:i+len(above)]
	if caller := n.innermost(); caller != nil {
		caller.children++
		if f.folded && !caller.folded {
			caller.node.granted = n.budget.earn(n.level()+1, f.call[ElapsedInclusive], caller.node.granted)
		}
	}
	one := n.corrected(f)
	extremes(&f.node.Min, &f.node.Max, f.node.Ended, one, one, 1)
	f.node.Ended++
	function, edge := n.function(f.function), n.edge(&f)
	extremes(&function.Min, &function.Max, function.Ended, one, one, 1)
	function.Ended++
	extremes(&edge.Min, &edge.Max, edge.Ended, one, one, 1)
	edge.Ended++
}

// corrected is the time of a call without what the probes added to it: its own pair of probes, inside of it, and those
// of all recorded calls in it, which began and ended in it.
func (n *Naive) corrected(f frame) Values {
	inside, outside := n.overhead.Inside, n.overhead.Outside
	inclusive := (inside + (n.began-f.began)*(inside+outside)) / 1024
	exclusive := (inside + f.children*outside) / 1024
	one := f.call
	for v, overhead := range [ValueCount]uint64{inclusive, exclusive, inclusive, exclusive, inclusive, exclusive} {
		one[v] -= min(one[v], overhead)
	}
	return one
}

func (n *Naive) function(id uint32) *Function {
	f := n.functions[id]
	if f == nil {
		f = &Function{Function: id}
		n.functions[id] = f
	}
	return f
}

func (n *Naive) edge(f *frame) *Edge {
	k := pair{f.caller, f.function}
	if n.edges[k] == nil {
		n.edges[k] = &Edge{Caller: k.caller, Function: Function{Function: k.callee}}
	}
	return n.edges[k]
}

// finish lets the last interval count, of which it is not known whether the operating system acted in it.
func (n *Naive) finish(e Event) {
	if n.innermost() != nil {
		ticks := e.Clock - min(n.last, e.Clock)
		n.spread(ticks, true, ticks, nil)
	}
	n.ended = true
}

// Result is what the events up to now say.
func (n *Naive) Result() Result {
	r := Result{Functions: sorted(n.functions), Edges: sortedEdges(n.edges)}
	r.flatten(n.roots, -1)
	return r
}

func (r *Result) flatten(siblings []*naiveNode, parent int) {
	siblings = slices.Clone(siblings)
	slices.SortFunc(siblings, func(a, b *naiveNode) int {
		return cmp.Or(cmp.Compare(a.Function, b.Function), cmp.Compare(a.ReturnAddress, b.ReturnAddress))
	})
	for _, x := range siblings {
		index := len(r.Nodes)
		node := x.Node
		node.Parent = parent
		r.Nodes = append(r.Nodes, node)
		sites := slices.Clone(x.sites)
		slices.SortFunc(sites, func(a, b *Site) int { return cmp.Compare(a.ReturnAddress, b.ReturnAddress) })
		for _, s := range sites {
			site := *s
			site.Node = index
			r.Sites = append(r.Sites, site)
		}
		r.flatten(x.children, index)
	}
}
