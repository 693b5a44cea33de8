package timing

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/clrprof/clrprof/internal/wire"
)

// ErrEvents is wrapped by every error of Naive: the events are not those of a program.
var ErrEvents = errors.New("impossible events")

// Naive computes the time of one thread by its definition: for each interval it goes through the stack at the interval's
// end and adds the interval to the values of each function, node and call site on it. It knows calls by Event.Frame, so
// that it does not have to guess which one an event is about. Make one with NewNaive.
type Naive struct {
	limits    Limits
	overhead  wire.Overhead
	stack     []frame // calls of hooked functions, recorded or not
	roots     []*naiveNode
	timings   int
	truncated int // nodes of function 0
	functions map[uint32]*Function
	last      uint64 // reading of the clock at the end of the last interval
	os        OS     // since then
	began     uint64 // recorded calls that began
	backwards uint64
	folded    uint64
	seen      []uint32
	begun     bool // the clock was read
	ended     bool
}

// frame is a call that has not ended.
type frame struct {
	id       uint32
	class    Class
	function uint32     // as what it is recorded
	node     *naiveNode // nil: it is not recorded
	deep     bool       // it is too deep: calls inside it are not recorded
	gone     bool       // it ended, but that was not seen yet
	unwind   bool       // an exception came to it when it was the innermost one that is recorded
	block    bool       // no call: a filter or a finally block, which a dispatcher runs
	filter   bool       // a filter
	sp       uint64
	call     Values
	began    uint64 // Naive.began when it had begun
	children uint64 // recorded calls that it made and that ended
}

type naiveNode struct {
	Node
	parent   *naiveNode
	site     *Site // in the parent
	children []*naiveNode
	sites    []*Site
}

// NewNaive starts a thread.
func NewNaive(limits Limits, overhead wire.Overhead) *Naive {
	return &Naive{limits: limits, overhead: overhead, functions: map[uint32]*Function{}}
}

// Backwards is the number of intervals whose end was before their beginning.
func (n *Naive) Backwards() uint64 { return n.backwards }

// Folded is the number of calls that a limit folded.
func (n *Naive) Folded() uint64 { return n.folded }

// Add takes the thread's next event.
func (n *Naive) Add(e Event) error {
	if n.ended {
		return fmt.Errorf("%w: kind %d after the end", ErrEvents, e.Kind)
	}
	if e.Kind == KindVanished {
		return n.vanish(e)
	}
	n.os.add(e.OS)
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
		n.stack = append(n.stack, frame{block: true, filter: true, sp: e.SP})
	case KindFinally:
		n.seeGone(e)
		n.stack = append(n.stack, frame{block: true, sp: e.SP})
	case KindFilterEnd, KindFinallyEnd:
		return n.endBlock(e)
	case KindUnwind:
		n.seeGone(e)
		innermost := n.innermost()
		for i := range n.stack {
			if f := &n.stack[i]; f.id == e.Frame && !f.isNoCall() {
				f.unwind = f == innermost && f.class == Instrumented && !f.deep
			}
		}
	case KindUnwound:
		if e.Class == Boundary || e.Class == Instrumented {
			f := n.innermost()
			return n.end(e, f != nil && f.id == e.Frame && f.unwind)
		}
	case KindCatch:
		n.seeGone(e)
		n.stack = slices.DeleteFunc(n.stack, func(f frame) bool { return f.isNoCall() && f.sp <= e.SP })
	case KindEnd:
		n.finish(e)
	default:
		return fmt.Errorf("%w: kind %d", ErrEvents, e.Kind)
	}
	return nil
}

// isNoCall says whether it is one of the dispatcher's frames or blocks.
func (f *frame) isNoCall() bool { return f.block || f.class == Dispatcher }

// end ends the innermost call that is not gone. If that is not seen, or what is gone inside of it was not seen, it is one
// more that is gone.
func (n *Naive) end(e Event, seen bool) error {
	i := len(n.stack) - 1
	for i >= 0 && (n.stack[i].gone || n.stack[i].isNoCall()) {
		i--
	}
	if i < 0 || n.stack[i].id != e.Frame {
		return fmt.Errorf("%w: frame %d ends, which is not the innermost one", ErrEvents, e.Frame)
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
	return nil
}

func (n *Naive) vanish(e Event) error {
	if e.Class == Dispatcher {
		n.stack = slices.DeleteFunc(n.stack, func(f frame) bool { return f.id == e.Frame })
		return nil
	}
	return n.end(e, false)
}

// endBlock ends a block, with the dispatchers of exceptions that it handled itself.
func (n *Naive) endBlock(e Event) error {
	if !slices.ContainsFunc(n.stack, func(f frame) bool { return f.block && f.sp == e.SP }) {
		return fmt.Errorf("%w: no block ends", ErrEvents)
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
			n.pop(i)
		}
	}
}

// seeGone lets calls end that are gone, when an exception comes to a function: the last one that an exception unwound
// before native code caught it, if another one is unwound; and then one of framework code, if its caller's function is
// the one. No event tells of more than the function. What a filter does is nothing to the calls outside of it, and what
// a finally block does has nothing to do with native code outside of it.
func (n *Naive) seeGone(e Event) {
	if f, i, _ := n.gone(); f != nil && f.unwind && e.Kind == KindUnwind &&
		!slices.ContainsFunc(n.stack[i:], func(f frame) bool { return f.block }) {
		n.interval(e, nil)
		n.pop(i)
	}
	if f, i, caller := n.gone(); f != nil && f.class == Boundary && caller == e.Function && e.Class != NotHooked &&
		!slices.ContainsFunc(n.stack[i:], func(f frame) bool { return f.filter }) {
		n.interval(e, nil)
		n.pop(i)
	}
}

// gone returns the innermost recorded call, if it is gone and not too deep, where it is and its caller's function.
func (n *Naive) gone() (f *frame, index int, caller uint32) {
	f = n.innermost()
	if f == nil || !f.gone || f.deep {
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

func (n *Naive) top() *frame { return &n.stack[len(n.stack)-1] }

// innermost returns the innermost call that is recorded, or nil.
func (n *Naive) innermost() *frame {
	f, _ := n.recorded()
	return f
}

// recorded also returns how many of these there are.
func (n *Naive) recorded() (innermost *frame, depth int) {
	for i := range n.stack {
		if n.stack[i].node != nil {
			innermost = &n.stack[i]
			depth++
		}
	}
	return innermost, depth
}

func (n *Naive) enter(e Event) {
	f := frame{id: e.Frame, class: e.Class, function: e.Function, sp: e.CallerSP}
	caller, depth := n.recorded()
	switch {
	case e.Class == Dispatcher:
	case caller != nil && caller.deep:
		n.folded++
	case n.quiet():
	case e.Class == Boundary && (caller == nil || caller.class != Instrumented):
	default:
		n.begin(e, &f, caller, depth)
	}
	n.stack = append(n.stack, f)
}

// begin begins a recorded call, which ends an interval.
func (n *Naive) begin(e Event, f, caller *frame, depth int) {
	lead := n.place(f, caller, e.ReturnAddress, depth)
	if x := f.node; x.parent != nil {
		x.site.Made++
	}
	switch {
	case caller == nil: // the thread was in no recorded function
		if e.Clock < n.last {
			n.backwards++
		}
		n.last, n.os = e.Clock, OS{}
	case lead:
		add(&f.node.Lead, n.interval(e, f.node.site))
	default:
		n.interval(e, nil)
	}
	f.node.Calls++
	n.function(f.function).Calls++
	n.began++
	f.began = n.began
}

// place finds the node of a call, or makes one. Is the interval before the call its lead?
func (n *Naive) place(f, caller *frame, address uint64, depth int) (lead bool) {
	var parent *naiveNode
	if caller != nil {
		parent = caller.node
	}
	if caller == nil || caller.class == Boundary {
		address = 0 // it is in the framework, and need not be in the function that is recorded
	}
	f.deep = depth >= n.limits.Depth
	if !f.deep {
		f.node = n.node(parent, f.function, address, n.timings < n.limits.Timings || caller == nil)
	}
	if f.node != nil {
		return true
	}
	f.node = n.fold(parent)
	if f.deep {
		f.function = 0
		n.folded++
	} else {
		f.node = n.node(f.node, f.function, 0, true)
	}
	return false
}

// fold returns the node of (truncated) into which what the caller calls is folded.
func (n *Naive) fold(caller *naiveNode) *naiveNode {
	if caller == nil {
		return n.node(nil, 0, 0, true)
	}
	if caller.parent != nil && caller.parent.Function == 0 {
		return caller.parent
	}
	var calls []*naiveNode
	for _, f := range n.stack {
		if f.node != nil {
			calls = append(calls, f.node)
		}
	}
	at := calls[min(len(calls), n.limits.FoldDepth)-1]
	if n.node(at, 0, 0, false) == nil && n.truncated >= n.limits.Truncated {
		at = calls[0]
	}
	if n.node(at, 0, 0, false) == nil {
		n.truncated++
	}
	return n.node(at, 0, 0, true)
}

// node finds a child of a node, or a root, or makes one if it may.
func (n *Naive) node(parent *naiveNode, function uint32, address uint64, may bool) *naiveNode {
	siblings := &n.roots
	if parent != nil {
		siblings = &parent.children
	}
	i := slices.IndexFunc(*siblings, func(x *naiveNode) bool { return x.Function == function && x.ReturnAddress == address })
	if i >= 0 {
		return (*siblings)[i]
	}
	if !may {
		return nil
	}
	n.timings++
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
	waits := wire.Waits{}
	if n.os.Acted() {
		waits = wire.Waits{Intervals: 1, Voluntary: n.os.Voluntary, Preempted: n.os.Preempted, Faults: n.os.Faults, Reads: n.os.Reads, OffNS: n.os.OffNS}
	}
	n.spread(ticks, n.os.Acted(), at)
	if at == nil {
		add(&n.innermost().node.Tail, waits)
	}
	n.last, n.os = e.Clock, OS{}
	return waits
}

// spread adds an interval to everything that is on the stack. Of nodes and functions that is the path of the innermost
// call, which is the stack unless calls were folded.
func (n *Naive) spread(ticks uint64, acted bool, at *Site) {
	innermost := n.innermost()
	for i := range n.stack {
		if f := &n.stack[i]; f.node != nil {
			f.call.interval(ticks, f == innermost, acted)
		}
	}
	n.seen = n.seen[:0]
	for x := innermost.node; x != nil; x = x.parent {
		x.Total.interval(ticks, x == innermost.node, acted)
		if x.site != nil {
			x.site.Total.interval(ticks, false, acted)
		}
		if !slices.Contains(n.seen, x.Function) {
			n.seen = append(n.seen, x.Function)
			n.function(x.Function).Total.interval(ticks, x.Function == innermost.function, acted)
		}
	}
	if at != nil {
		at.Total.interval(ticks, true, acted)
	}
}

// interval is the table: to which of the values of a function on the stack is an interval added?
func (v *Values) interval(ticks uint64, executing, acted bool) {
	v[ElapsedInclusive] += ticks
	if executing {
		v[ElapsedExclusive] += ticks
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
	to.OffNS += w.OffNS
}

// pop takes a call off the stack.
func (n *Naive) pop(i int) {
	f := n.stack[i]
	n.stack = slices.Delete(n.stack, i, i+1)
	if f.node == nil {
		return
	}
	if caller := n.innermost(); caller != nil {
		caller.children++
	}
	one := n.corrected(f)
	extremes(&f.node.Min, &f.node.Max, f.node.Ended, one, one, 1)
	f.node.Ended++
	function := n.function(f.function)
	extremes(&function.Min, &function.Max, function.Ended, one, one, 1)
	function.Ended++
}

// corrected is the time of a call without what the probes added to it: its own pair of probes, inside of it, and those
// of all recorded calls in it, which began and ended in it.
func (n *Naive) corrected(f frame) Values {
	inside, outside := n.overhead.Inside, n.overhead.Outside
	inclusive := (inside + (n.began-f.began)*(inside+outside)) / 1024
	exclusive := (inside + f.children*outside) / 1024
	one := f.call
	for v, overhead := range [ValueCount]uint64{inclusive, exclusive, inclusive, exclusive} {
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

// finish lets the last interval count, of which it is not known whether the operating system acted in it.
func (n *Naive) finish(e Event) {
	if n.innermost() != nil {
		n.spread(e.Clock-min(n.last, e.Clock), true, nil)
	}
	n.ended = true
}

// Result is what the events up to now say.
func (n *Naive) Result() Result {
	r := Result{Functions: sorted(n.functions)}
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
